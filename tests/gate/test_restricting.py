"""A run that is restricted while it goes on."""

from __future__ import annotations

import pytest

from policyengine.errors import AuditError, StoreError, UsageError
from policyengine.gate import Call
from policyengine.model import Outcome
from policyengine.records import replace
from tests.gate.worlds import LS, RUN, World, rules

READ = Call("Read", {"path": "a"}, "c2")
LATER = replace(RUN, context=replace(RUN.context, run_id="r2", step_id="9"))
ELSEWHERE = replace(RUN, context=replace(RUN.context, scope_id="s2"))


def test_only_the_tools_that_are_left_are_shown_and_run() -> None:
    gate = World().gate
    gate.restrict(RUN, ["Read"], by="ops")
    assert rules(gate.before_tool(LS, RUN).findings) == ["gate.restricted"]
    assert gate.before_tool(READ, RUN).outcome is Outcome.ALLOW
    assert gate.before_model([], ("bash", "Read"), RUN).visible == ("Read",)


def test_a_restriction_holds_for_the_whole_scope_and_no_other() -> None:
    gate = World().gate
    gate.restrict(RUN, ["Read"], by="ops")
    assert rules(gate.before_tool(LS, LATER).findings) == ["gate.restricted"]
    assert gate.before_tool(LS, ELSEWHERE).outcome is Outcome.ALLOW


@pytest.mark.parametrize("by", ["ops", "security"])
def test_a_further_restriction_can_only_narrow(by: str) -> None:
    gate = World().gate
    gate.restrict(RUN, ["Read"], by="ops")
    gate.restrict(RUN, ["bash", "Read"], by=by)
    assert rules(gate.before_tool(LS, RUN).findings) == ["gate.restricted"]
    assert gate.before_tool(READ, RUN).outcome is Outcome.ALLOW
    gate.restrict(RUN, (), by=by)
    assert gate.before_tool(READ, RUN).outcome is Outcome.DENY


def test_a_call_of_a_reply_is_denied_by_what_was_restricted_since() -> None:
    gate = World().gate
    assert gate.after_model([LS], RUN)[0].outcome is Outcome.ALLOW
    gate.restrict(RUN, ["Read"], by="ops")
    assert gate.before_tool(LS, RUN).outcome is Outcome.DENY


def test_a_restriction_is_on_record_with_who_said_so() -> None:
    world = World()
    world.gate.restrict(RUN, ["b", "a"], by="ops")
    kept = world.log.last("restricted")
    assert (kept["by"], kept["tools"]) == ("ops", ("a", "b"))


def test_one_that_cannot_be_recorded_holds_all_the_same() -> None:
    world = World()
    world.log.fail()
    with pytest.raises(AuditError):
        world.gate.restrict(RUN, ["Read"], by="ops")
    world.log.error = None
    assert world.gate.before_tool(LS, RUN).outcome is Outcome.DENY


def test_one_that_cannot_be_kept_is_said_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def lost(*_: object) -> None:
        raise OSError("no disk")

    monkeypatch.setattr(world.states, "save", lost)
    with pytest.raises(StoreError):
        world.gate.restrict(RUN, ["Read"], by="ops")


def test_somebody_has_to_restrict_it() -> None:
    with pytest.raises(UsageError):
        World().gate.restrict(RUN, ["Read"], by="")
