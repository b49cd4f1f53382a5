"""The last look before a tool runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from policyengine.errors import TokenError
from policyengine.gate import Call, Gate
from policyengine.model import Outcome
from policyengine.records import replace
from tests.gate.worlds import LS, RUN, Table, World, rules


def _code(gate: Gate, signed: Any, call: Call) -> str:
    with pytest.raises(TokenError) as caught:
        gate.release(signed, call)
    return caught.value.code


def test_a_decision_is_released_once_with_the_arguments_that_were_decided() -> None:
    world = World()
    arguments = {"command": "ls", "options": ["-l"]}
    signed = world.gate.before_tool(Call("bash", arguments, "c1"), RUN)
    released = world.gate.release(signed, Call("bash", arguments, "c1"))
    arguments["command"] = "rm -rf /"
    assert released.arguments == {"command": "ls", "options": ("-l",)}
    assert _code(world.gate, signed, signed.call) == "release.spent"


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (Call("bash", {"command": "ls -a"}, "c1"), "token.arguments"),
        (Call("bash", {}, "c1"), "token.arguments"),
        (Call("bash", {"command": "ls", "x": None}, "c1"), "token.arguments"),
        (Call("Bash", {"command": "ls"}, "c1"), "token.tool"),
        (Call("bash", {"command": float("inf")}, "c1"), "request.not-finite"),
    ],
)
def test_a_call_that_was_renamed_or_changed_after_the_decision_is_not_released(call: Call, code: str) -> None:
    """TinyAgents decides by the name that was asked for, and retargets and normalises the call afterwards."""
    world = World()
    signed = world.gate.before_tool(LS, RUN)
    assert _code(world.gate, signed, call) == code
    assert world.log.last("refused")["code"] == code
    assert world.gate.release(signed, LS)  # a refusal uses nothing up


@pytest.mark.parametrize("outcome", [Outcome.ASK, Outcome.DENY])
def test_only_an_allow_is_released(outcome: Outcome) -> None:
    world = World(Table({"bash": outcome}))
    signed = world.gate.before_tool(LS, RUN)
    assert _code(world.gate, signed, LS) == "release.not-allowed"
    forged = replace(signed, decision=replace(signed.decision, outcome=Outcome.ALLOW))
    assert _code(world.gate, forged, LS) == "release.not-allowed"


@pytest.mark.parametrize("field", ["scope_id", "run_id", "step_id", "thread_id"])
def test_a_decision_is_not_released_in_another_place(field: str) -> None:
    world = World()
    signed = world.gate.before_tool(LS, RUN)
    elsewhere: dict[str, Any] = {field: "other"}
    moved = replace(signed, run=replace(RUN, context=replace(RUN.context, **elsewhere)))
    expected = {"scope_id": "token.scope", "run_id": "token.run", "step_id": "token.step", "thread_id": "token.thread"}
    assert _code(world.gate, moved, LS) == expected[field]


def test_a_decision_is_not_released_for_somebody_else() -> None:
    world = World()
    signed = world.gate.before_tool(LS, RUN)
    moved = replace(signed, run=replace(RUN, principal=replace(RUN.principal, id="bob")))
    assert _code(world.gate, moved, LS) == "token.subject"


def test_an_old_decision_is_not_released() -> None:
    world = World()
    signed = world.gate.before_tool(LS, RUN)
    world.clock.time += 300
    assert _code(world.gate, signed, LS) == "token.expired"


def test_a_decision_of_other_policies_or_another_gate_is_not_released() -> None:
    world = World()
    signed = world.gate.before_tool(LS, RUN)
    assert _code(world.with_engine(policy_digest="d2"), signed, LS) == "token.policy"
    assert _code(Gate(world.parts), signed, LS) == "release.spent"


def test_two_decisions_do_not_share_their_tokens() -> None:
    world = World()
    one, other = world.gate.before_tool(LS, RUN), world.gate.before_tool(LS, RUN)
    assert _code(world.gate, replace(one, token=other.token), LS) == "release.not-allowed"


def test_a_refusal_holds_where_it_cannot_be_recorded() -> None:
    world = World(Table({"bash": Outcome.DENY}))
    signed = world.gate.before_tool(LS, RUN)
    world.log.fail()
    assert _code(world.gate, signed, LS) == "release.not-allowed"


class _Unreadable(Mapping[str, Any]):
    """Arguments that are an object of the host's, which fails when it is read."""

    def __getitem__(self, key: str) -> Any:
        raise OSError(key)

    def __iter__(self) -> Iterator[str]:
        raise OSError

    def __len__(self) -> int:
        return 1


def test_arguments_that_fail_when_they_are_read_are_denied_and_not_released_and_both_are_recorded() -> None:
    world = World()
    unreadable = Call("bash", _Unreadable(), "c1")
    assert rules(world.gate.before_tool(unreadable, RUN).findings) == ["gate.failed"]
    assert world.log.last("decision")["outcome"] == "deny"
    signed = world.gate.before_tool(LS, RUN)
    with pytest.raises(TokenError) as caught:
        world.gate.release(signed, unreadable)
    assert caught.value.code == "release.failed"
    assert world.log.last("refused")["code"] == "release.failed"
