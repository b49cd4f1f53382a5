"""A gate follows roles that are reloaded: each question by one policy, and nothing runs that another one decided."""

from __future__ import annotations

import pytest

from policyengine.config.rbac import LiveRbac, Settings, from_texts
from policyengine.errors import TokenError
from policyengine.model import Outcome, Request
from policyengine.records import replace
from tests.gate.worlds import LS, RUN, Says, Table, World, rules
from tests.policies.rbac.worlds import MODEL

GRANTS, OTHERS = "p, dev, *, tool, bash, *, allow", "p, dev, *, tool, other, *, allow"


def _live(*texts: str, roles: tuple[str, ...] = ()) -> LiveRbac:
    """Roles that have one text after the other, with these default roles."""
    left, names = list(texts), list(roles)
    return LiveRbac(
        lambda: from_texts(MODEL, left.pop(0), Settings(default_role=names.pop(0)) if names else Settings())
    )


def test_an_answer_is_by_the_roles_of_its_moment() -> None:
    gate = World(roles=_live(OTHERS, GRANTS)).gate
    assert rules(gate.before_tool(LS, RUN).findings) == ["rbac.not-granted"]
    gate.reload()
    assert gate.before_tool(LS, RUN).outcome is Outcome.ALLOW


def test_a_catalogue_is_by_the_roles_of_its_moment() -> None:
    gate = World(roles=_live(OTHERS, GRANTS)).gate
    assert gate.before_model([], ("bash", "other"), RUN).exposure.visible == ("other",)
    gate.reload()
    assert gate.before_model([], ("bash", "other"), RUN).exposure.visible == ("bash",)


def test_a_missing_role_is_that_of_the_moment() -> None:
    guests = f"{GRANTS}\np, guest, *, tool, other, *, allow"
    gate = World(roles=_live(GRANTS, guests, roles=("dev", "guest"))).gate
    nobody = replace(RUN, principal=replace(RUN.principal, roles=()))
    assert gate.before_tool(LS, nobody).outcome is Outcome.ALLOW
    gate.reload()
    assert rules(gate.before_tool(LS, nobody).findings) == ["rbac.not-granted"]


def test_what_other_roles_have_decided_is_not_released() -> None:
    world = World(roles=_live(GRANTS, f"{GRANTS}\n{OTHERS}"))
    signed = world.gate.before_tool(LS, RUN)
    world.gate.reload()
    with pytest.raises(TokenError) as caught:
        world.gate.release(signed, LS)
    assert caught.value.code == "token.policy"
    assert world.gate.release(world.gate.before_tool(LS, RUN), LS) == LS


def test_an_answer_to_what_other_roles_have_asked_does_not_count() -> None:
    world = World(Table({"bash": Outcome.ASK}), roles=_live(GRANTS, f"{GRANTS}\n{OTHERS}"))
    signed = world.gate.before_tool(LS, RUN)
    world.gate.reload()
    with pytest.raises(TokenError):
        world.gate.approve(signed, by="ada")


def test_roles_that_are_refused_change_nothing() -> None:
    live = _live(GRANTS, "p, dev, *, tool, bash, allow")
    gate = World(roles=live).gate
    signed = gate.before_tool(LS, RUN)
    gate.reload()
    assert live.failure is not None
    assert gate.release(signed, LS) == LS


def test_a_question_is_answered_by_one_policy_whatever_is_reloaded_meanwhile() -> None:
    """The record, the answer and the token name the same policy."""
    live = _live(GRANTS, OTHERS)

    def reloading(request: Request) -> None:
        if live.current is first:
            live.reload()

    first = live.current
    world = World(Says(reloading), roles=live)
    signed = world.gate.before_tool(LS, RUN)
    assert (signed.outcome, live.current is first) == (Outcome.ALLOW, False)
    assert world.log.last("decision")["policy_digest"] == world.parts.engine.also(first, first.digest).policy_digest


def test_a_gate_without_roles_has_nothing_to_reload() -> None:
    assert World().gate.reload() is None
