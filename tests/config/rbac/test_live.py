"""A policy that is reloaded decides by the one before or the one after, and is never without."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from policyengine.config.rbac import LiveRbac, Reloaded, from_files, from_texts
from policyengine.effects import Facts
from policyengine.engine import Engine
from policyengine.engine.exposure import Catalogue, exposed
from policyengine.errors import LoadError
from policyengine.model import Outcome
from policyengine.policies.rbac import Rbac
from policyengine.state import START
from tests.policies.rbac.worlds import MODEL, call, policy, principal

# Of two policies each grants what the other denies; no decision may be a mixture.
EVEN = "p, dev, *, tool, even, *, allow\np, dev, *, tool, both, *, allow"
ODD = "p, dev, *, tool, odd, *, allow\np, dev, *, tool, both, *, allow"
DEV = principal("dev")


def _outcome(live: LiveRbac, tool: str) -> Outcome:
    return live.evaluate(call(DEV, tool, {}), Facts(), START).outcome


class _Loader:
    """Gives one text after the other."""

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)

    def __call__(self) -> Rbac:
        return from_texts(MODEL, self._texts.pop(0))


def test_a_reload_changes_the_policy_and_its_digest() -> None:
    live = LiveRbac(_Loader(EVEN, ODD))
    before = live.current.digest
    assert (_outcome(live, "even"), _outcome(live, "odd")) == (Outcome.ALLOW, Outcome.DENY)
    reloaded = live.reload()
    assert (_outcome(live, "even"), _outcome(live, "odd")) == (Outcome.DENY, Outcome.ALLOW)
    assert reloaded == Reloaded(digest=live.current.digest)
    assert live.current.digest != before


def test_a_catalogue_is_judged_by_the_policy_of_the_moment() -> None:
    live = LiveRbac(_Loader(EVEN, ODD))
    catalogue = Catalogue(names=("even", "odd", "tool_search"), deferred=frozenset({"even", "odd"}), generated=True)
    engine = Engine(analyze=lambda request, state: Facts(), policies=(live,))
    shown = exposed(engine, call(DEV, ""), catalogue)
    assert (shown.visible, shown.deferred) == (("tool_search",), ("even",))
    live.reload()
    shown = exposed(engine, call(DEV, ""), catalogue)
    assert (shown.visible, shown.deferred) == (("tool_search",), ("odd",))


@pytest.mark.parametrize("broken", ["", "# gone", "p, dev, *, tool", "g, a, b, *", "p, dev, *, tool, x, *, maybe"])
def test_a_failed_reload_keeps_the_last_good_policy_and_says_so(broken: str) -> None:
    told: list[Reloaded] = []
    live = LiveRbac(_Loader(EVEN, broken, ODD), told.append)
    good = live.current
    reloaded = live.reload()
    assert live.current is good
    assert isinstance(live.failure, LoadError)
    assert told == [reloaded]
    assert (reloaded.digest, reloaded.failure) == (good.digest, live.failure)
    assert _outcome(live, "even") is Outcome.ALLOW
    assert live.reload().failure is None
    assert live.failure is None


def test_a_loader_that_raises_anything_else_keeps_the_policy_too() -> None:
    live = LiveRbac(_Loader(EVEN))
    assert "the loader failed" in str(live.reload().failure)
    assert _outcome(live, "even") is Outcome.ALLOW


def test_the_first_policy_has_to_be_good() -> None:
    with pytest.raises(LoadError):
        LiveRbac(_Loader(""))


class _Watcher:
    """A pycasbin watcher, without anything to watch."""

    def __init__(self) -> None:
        self.callback: Callable[..., object] | None = None

    def set_update_callback(self, callback: Callable[..., object]) -> None:
        """Note whom to call."""
        self.callback = callback


@pytest.mark.parametrize("passed", [(), ("a message",), ("a", 1)])
def test_a_watcher_reloads(passed: tuple[Any, ...]) -> None:
    watcher, live = _Watcher(), LiveRbac(_Loader(EVEN, ODD))
    live.watch(watcher)
    assert watcher.callback is not None
    watcher.callback(*passed)
    assert _outcome(live, "odd") is Outcome.ALLOW


def test_decisions_of_an_engine_name_the_policy_that_made_them() -> None:
    base = Engine(analyze=lambda request, state: Facts(), policies=(policy(),), policy_digest="rules")
    live = LiveRbac(_Loader(EVEN, ODD))
    first = live.engine(base)
    live.reload()
    second = live.engine(base)
    assert len({base.policy_digest, first.policy_digest, second.policy_digest}) == 3
    assert first.decide(call(DEV, "odd", {}), START)[0].outcome is Outcome.DENY


def test_decisions_under_reloads_are_by_the_old_or_the_new_policy(tmp_path: Path) -> None:
    model, file = tmp_path / "model.conf", tmp_path / "policy.csv"
    model.write_text(MODEL)
    file.write_text(EVEN)
    live = LiveRbac(lambda: from_files(model, file))
    done = threading.Event()
    reloads: list[Reloaded] = []

    def reload() -> None:
        texts = (ODD, "", EVEN, "p, dev")
        while not done.is_set():
            new = tmp_path / "policy.new"
            new.write_text(texts[len(reloads) % len(texts)])
            new.replace(file)
            reloads.append(live.reload())

    def decide(_: int) -> tuple[Outcome, ...]:
        rbac = live.current
        return tuple(
            rbac.judge(DEV, call(DEV, tool).resource, "invoke").outcome for tool in ("even", "odd", "both", "no")
        )

    watcher = threading.Thread(target=reload)
    watcher.start()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(decide, range(10_000), chunksize=100))
    done.set()
    watcher.join()
    allow, deny = Outcome.ALLOW, Outcome.DENY
    assert set(answers) <= {(allow, deny, allow, deny), (deny, allow, allow, deny)}
    assert {reloaded.failure is None for reloaded in reloads} == {True, False}
