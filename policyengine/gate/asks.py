"""A decision about the call as it would run, which is what a person is asked about and what is signed."""

from __future__ import annotations

from collections.abc import Iterable

from policyengine.effects import Effect
from policyengine.model import Context, Decision, Finding, Grant, Request, Tier, digest_of
from policyengine.policy import placeless
from policyengine.records import replace
from policyengine.signing import Ask, open_asks

ALWAYS = "person:always"  # source of standing answers
PLACE = "gate.place"  # in an approval, beside the rules
_NOT_OURS_TO_ANSWER = ("engine.", "gate.")  # such an ask has no reason that a person could have weighed


def final(decision: Decision) -> Decision:
    """Give the decision about the call as it would run: the rewritten one where there is one."""
    return decision if decision.rewritten is None else decision.rewritten


def final_request(decision: Decision) -> Request:
    """Give the request about the call as it would run."""
    request = final(decision).request
    assert request is not None  # only an engine's decision is asked about, and that has one
    return request


def final_asks(decision: Decision) -> tuple[Finding, ...]:
    """Give what a person has to answer about the call as it would run."""
    return open_asks(final(decision).findings)


def in_place(request: Request, decision: Decision) -> Request:
    """Give the request about the call as it would run, under the circumstances of the one that was sent."""
    return replace(request, arguments=final_request(decision).arguments)


def place_of(context: Context, cwd: str | None) -> Ask:
    """Name where a call would run, beside what it asks: a yes in one directory is none in another.

    `cwd` is that of the run's persistent shell (`RunState.cwd`).
    """
    where = (context.cwd, cwd, context.home, context.workspace, context.shell.value, context.platform, context.sandbox)
    return Ask(PLACE, digest_of(where))


def are_answerable(asks: Iterable[Finding]) -> bool:
    """Whether a person's answer can discharge all of them."""
    return not any(one.rule.startswith(_NOT_OURS_TO_ANSWER) for one in asks)


def standing(asks: tuple[Finding, ...]) -> tuple[Grant, ...]:
    """Give what an "always" would grant: each rule, for just the effects that it asks about.

    Nothing where one of the asks is about no effect: the answer would cover calls that nobody has seen.
    """
    if not asks or not are_answerable(asks) or any(one.effect is None for one in asks):
        return ()
    effects: dict[str, set[Effect]] = {}
    for one in asks:
        assert one.effect is not None  # as above
        effects.setdefault(one.rule, set()).add(placeless(one.effect))
    return tuple(
        Grant(source=ALWAYS, tier=Tier.USER, rules=frozenset({rule}), effects=frozenset(found))
        for rule, found in effects.items()
    )
