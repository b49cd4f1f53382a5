"""What a decision may do to the run: rewrite arguments, stop with a text, interrupt; and how several of them join."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from policyengine.effects import Effect, Facts, FileRead, FileWrite
from policyengine.engine import Engine
from policyengine.model import (
    ANONYMOUS,
    Context,
    Control,
    ControlKind,
    Decision,
    Finding,
    Obligation,
    ObligationKind,
    Outcome,
    Request,
    Resource,
    ResourceKind,
    Severity,
    Verdict,
    freeze_object,
)
from policyengine.policy import Policy, combine, strongest
from policyengine.records import replace
from policyengine.state import START, Label, RunState

STOP = Control(kind=ControlKind.STOP, text="enough", at=1.0)
LATER_STOP = Control(kind=ControlKind.STOP, text="also enough", at=2.0)
INTERRUPT = Control(kind=ControlKind.INTERRUPT, text="tool: look", at=3.0)
LATER_INTERRUPT = Control(kind=ControlKind.INTERRUPT, text="a: look", at=4.0)
REWRITE = Control(kind=ControlKind.REWRITE, arguments=freeze_object({"a": 1}))
OTHER_REWRITE = Control(kind=ControlKind.REWRITE, arguments=freeze_object({"a": 2}))
ALLOW = Verdict(policy="p", outcome=Outcome.ALLOW)


def _with(control: Control | None, outcome: Outcome = Outcome.ALLOW, rule: str = "r", **more: Any) -> Verdict:
    finding = Finding(rule=rule, code=rule, message=rule, outcome=outcome, severity=Severity.MEDIUM, **more)
    return Verdict(policy="p", outcome=outcome, findings=(finding,), control=control)


# ------------------------------------------------------------------------------------------------------------ joining
@pytest.mark.parametrize(
    ("controls", "expected"),
    [
        ([], None),
        ([STOP], STOP),
        ([STOP, INTERRUPT], INTERRUPT),
        ([STOP, LATER_STOP], STOP),
        ([INTERRUPT, LATER_INTERRUPT], INTERRUPT),
        ([REWRITE, STOP], STOP),
        ([REWRITE, STOP, LATER_STOP, INTERRUPT, LATER_INTERRUPT], INTERRUPT),
        ([REWRITE, REWRITE], REWRITE),
    ],
)
def test_the_strongest_stays_and_of_equals_the_earlier_in_whatever_order(
    controls: list[Control], expected: Control | None
) -> None:
    for turned in itertools.permutations(controls):
        assert strongest(turned) == expected
        assert combine([ALLOW, *(_with(control) for control in turned)]).control == expected


def test_what_is_pending_in_a_turn_is_never_replaced_by_less() -> None:
    pending: Control | None = None
    for control in (STOP, INTERRUPT, LATER_STOP, LATER_INTERRUPT):
        pending = strongest(one for one in (pending, control) if one is not None)
    assert pending == INTERRUPT


def test_two_rewrites_that_differ_deny_even_where_the_run_would_stop() -> None:
    verdict = combine([_with(REWRITE), _with(OTHER_REWRITE), _with(STOP)])
    assert (verdict.outcome, verdict.control) == (Outcome.DENY, STOP)
    assert "engine.rewrites-differ" in {finding.code for finding in verdict.findings}


def test_a_control_changes_no_outcome() -> None:
    for control in (STOP, INTERRUPT, REWRITE):
        for outcome in Outcome:
            assert combine([_with(control, outcome)]).outcome is outcome


# ---------------------------------------------------------------------------------------------------------- rewriting
class Says:
    """A policy that answers by the argument `a`."""

    name = "says"

    def __init__(self, answers: dict[Any, Verdict]) -> None:
        self._answers = answers

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Answer."""
        return self._answers.get((request.arguments or {}).get("a"), ALLOW)


def _analyze(request: Request, state: RunState) -> Facts:
    effect: Effect = FileWrite("/out") if (request.arguments or {}).get("a") == 1 else FileRead("/in")
    return Facts((effect,))


def _decide(*policies: Policy, a: int = 0) -> tuple[Decision, RunState]:
    request = Request(
        principal=ANONYMOUS,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, "x"),
        arguments=freeze_object({"a": a}),
        context=Context(),
    )
    return Engine(analyze=_analyze, policies=policies).decide(request, START)


def test_what_was_found_about_either_call_is_told() -> None:
    decision, _ = _decide(Says({0: _with(REWRITE, rule="as-sent"), 1: _with(None, Outcome.ASK, "as-rewritten")}))
    assert decision.outcome is Outcome.ASK
    assert [finding.rule for finding in decision.findings] == ["as-rewritten", "as-sent"]


def test_what_the_rewritten_call_does_to_the_run_is_done_to_it() -> None:
    """Labels of the run come from the rules about the call that runs, which is the rewritten one."""
    labelled = _with(None, rule="reads", labels=frozenset({Label.UNTRUSTED}))
    _, state = _decide(Says({0: _with(REWRITE), 1: labelled}))
    assert state.labels == {Label.UNTRUSTED}


def test_duties_of_both_calls_hold() -> None:
    size = {value: replace(_with(None), obligations=(_cut(limit),)) for value, limit in ((0, 5), (1, 9))}
    decision, _ = _decide(Says({0: _with(REWRITE), 1: ALLOW}), Says(size))
    assert decision.obligations == (_cut(5),)


def _cut(limit: int) -> Obligation:
    return Obligation(kind=ObligationKind.TRUNCATE, limit=limit)


def test_a_rewrite_cannot_undo_what_another_policy_denies_about_both() -> None:
    refusing = Says({0: _with(None, Outcome.DENY), 1: _with(None, Outcome.DENY)})
    assert _decide(Says({0: _with(REWRITE)}), refusing)[0].outcome is Outcome.DENY


def test_a_rewrite_that_avoids_a_denial_asks() -> None:
    refusing = Says({0: _with(None, Outcome.DENY)})
    decision, _ = _decide(Says({0: _with(REWRITE)}), refusing)
    assert decision.outcome is Outcome.ASK
    assert "engine.rewritten" in {finding.code for finding in decision.findings}


def test_a_stop_keeps_a_call_from_being_rewritten_and_decided_again() -> None:
    decision, _ = _decide(Says({0: _with(REWRITE)}), Says({0: _with(STOP)}))
    assert (decision.control, decision.rewritten) == (STOP, None)


def test_a_stop_about_the_rewritten_call_counts() -> None:
    decision, _ = _decide(Says({0: _with(REWRITE)}), Says({1: _with(STOP)}))
    assert decision.control == STOP
    assert decision.rewritten is not None


def test_a_tool_is_bounded_without_rewrites_and_with_stops() -> None:
    engine = Engine(analyze=_analyze, policies=(Says({None: _with(STOP)}), Says({None: _with(REWRITE)})))
    request = Request(
        principal=ANONYMOUS, action="invoke", resource=Resource(ResourceKind.TOOL, "x"), arguments=None,
        context=Context(),
    )  # fmt: skip
    assert engine.evaluate_tool(request).control == STOP
