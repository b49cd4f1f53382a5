"""Combining verdicts, and discharging asks."""

from __future__ import annotations

from typing import Any

import pytest

from policyengine.effects import Effect, FileDelete, FileRead, FileWrite
from policyengine.model import (
    Control,
    ControlKind,
    Finding,
    Grant,
    Obligation,
    ObligationKind,
    Outcome,
    Severity,
    Tier,
    Verdict,
    freeze_object,
)
from policyengine.policy import combine, discharge

WRITE = FileWrite("/a", span=(1, 2))


def _finding(rule: str, outcome: Outcome = Outcome.ASK, **more: Any) -> Finding:
    return Finding(rule=rule, code=rule, message=rule, outcome=outcome, severity=Severity.MEDIUM, **more)


def _verdict(outcome: Outcome = Outcome.ALLOW, *findings: Finding, policy: str = "p", **more: Any) -> Verdict:
    return Verdict(policy=policy, outcome=outcome, findings=findings, **more)


def _asks(*rules: str, effect: Effect | None = None) -> Verdict:
    return combine([_verdict(Outcome.ASK, *(_finding(rule, effect=effect) for rule in rules))])


def _grant(*rules: str, **more: Any) -> Grant:
    return Grant(**{"source": "me", "tier": Tier.USER, "rules": frozenset(rules), **more})


def _rewrite(**arguments: Any) -> Control:
    return Control(kind=ControlKind.REWRITE, arguments=freeze_object(arguments))


def test_no_verdict_at_all_is_a_deny() -> None:
    assert combine([]).outcome is Outcome.DENY
    assert [finding.code for finding in combine([]).findings] == ["engine.no-policies"]


def test_the_strictest_verdict_counts() -> None:
    assert combine([_verdict(Outcome.ALLOW), _verdict(Outcome.ALLOW)]).outcome is Outcome.ALLOW
    assert combine([_verdict(Outcome.ALLOW), _verdict(Outcome.ASK)]).outcome is Outcome.ASK
    assert combine([_verdict(Outcome.DENY), _verdict(Outcome.ASK)]).outcome is Outcome.DENY


def test_a_finding_stricter_than_its_verdict_counts() -> None:
    assert combine([_verdict(Outcome.ALLOW, _finding("a", Outcome.DENY))]).outcome is Outcome.DENY


def test_a_verdict_stricter_than_its_findings_counts_and_cannot_be_granted() -> None:
    verdict = combine([_verdict(Outcome.ASK, _finding("a", Outcome.ALLOW), policy="bare")])
    assert verdict.outcome is Outcome.ASK
    assert [finding.rule for finding in verdict.findings] == ["engine.unexplained.bare", "a"]
    assert discharge(verdict, [_grant("a", "engine.unexplained.bare")], None) == ()


def test_a_shadow_finding_does_not_count() -> None:
    assert combine([_verdict(Outcome.ALLOW, _finding("a", Outcome.DENY, shadow=True))]).outcome is Outcome.ALLOW


def test_findings_are_strictest_first() -> None:
    findings = [
        _finding("low"),
        _finding("deny", Outcome.DENY),
        _finding("shadow", Outcome.DENY, shadow=True),
        _finding("early", span=(0, 1)),
        _finding("late", span=(5, 6)),
        _finding("allow", Outcome.ALLOW),
    ]
    found = combine([_verdict(Outcome.DENY, *findings)]).findings
    assert [finding.rule for finding in found] == ["deny", "shadow", "low", "early", "late", "allow"]


def test_obligations_merge_to_the_strictest_of_each_kind() -> None:
    given = [
        Obligation(kind=ObligationKind.TRUNCATE, limit=10),
        Obligation(kind=ObligationKind.TRUNCATE, limit=5),
        Obligation(kind=ObligationKind.TRUNCATE),
        Obligation(kind=ObligationKind.REDACT, names=frozenset({"a"})),
        Obligation(kind=ObligationKind.REDACT, names=frozenset({"b"})),
    ]
    merged = combine([_verdict(obligations=(one,)) for one in given]).obligations
    assert merged == combine([_verdict(obligations=(one,)) for one in reversed(given)]).obligations
    assert merged == (
        Obligation(kind=ObligationKind.REDACT, names=frozenset({"a", "b"})),
        Obligation(kind=ObligationKind.TRUNCATE, limit=5),
    )


@pytest.mark.parametrize(
    ("controls", "index"),
    [
        ([Control(kind=ControlKind.STOP), Control(kind=ControlKind.INTERRUPT)], 1),
        ([_rewrite(a=1), Control(kind=ControlKind.STOP)], 1),
        ([Control(kind=ControlKind.STOP, text="b", at=2.0), Control(kind=ControlKind.STOP, text="a", at=1.0)], 1),
        ([Control(kind=ControlKind.STOP, text="b"), Control(kind=ControlKind.STOP, text="a")], 1),
        ([_rewrite(a=1), _rewrite(a=1)], 0),
    ],
)
def test_one_control_stays_whatever_the_order(controls: list[Control], index: int) -> None:
    verdicts = [_verdict(control=control) for control in controls]
    assert combine(verdicts).control == combine(verdicts[::-1]).control == controls[index]


@pytest.mark.parametrize(("one", "other"), [({"a": 1}, {"a": 2}), ({"a": 1}, {"a": True}), ({"a": 1}, {})])
def test_two_rewrites_that_differ_are_a_deny(one: dict[str, Any], other: dict[str, Any]) -> None:
    verdict = combine([_verdict(control=_rewrite(**one)), _verdict(control=_rewrite(**other))])
    assert verdict.outcome is Outcome.DENY
    assert verdict.control is None
    assert [finding.code for finding in verdict.findings] == ["engine.rewrites-differ"]


@pytest.mark.parametrize(
    ("grant", "used"),
    [
        (_grant("a"), True),
        (_grant("a", "b"), True),
        (_grant("b"), False),
        (_grant("a", tier=Tier.PROJECT), False),
        (_grant("a", tier=Tier.ORGANISATION), True),
        (_grant("a", until=11.0), True),
        (_grant("a", until=10.0), False),
        (_grant("a", until=float("nan")), False),
        (_grant("a", uses=1), True),
        (_grant("a", uses=0), False),
        (_grant("a", uses=-1), False),
        (_grant("a", effects=frozenset({FileWrite("/a")})), True),
        (_grant("a", effects=frozenset({FileWrite("/b"), FileWrite("/a", span=(7, 9))})), True),
        (_grant("a", effects=frozenset({FileWrite("/b")})), False),
        (_grant("a", effects=frozenset({FileDelete("/a")})), False),
        (_grant("a", effects=frozenset()), False),
    ],
)
def test_a_grant_answers_what_it_names_while_it_lasts(grant: Grant, used: bool) -> None:
    assert discharge(_asks("a", effect=WRITE), [grant], 10.0) == ((grant,) if used else ())


def test_without_a_clock_a_grant_that_ends_has_ended() -> None:
    assert discharge(_asks("a"), [_grant("a", until=11.0)], None) == ()
    assert discharge(_asks("a"), [_grant("a")], None) != ()


def test_every_ask_has_to_be_granted() -> None:
    first, second = _grant("a"), _grant("b")
    assert discharge(_asks("a", "b"), [first], None) == ()
    assert discharge(_asks("a", "b"), [first, second], None) == (first, second)


def test_a_deny_is_never_discharged() -> None:
    verdict = combine([_verdict(Outcome.DENY, _finding("a", Outcome.DENY), _finding("b"))])
    assert discharge(verdict, [_grant("a", "b")], None) == ()


def test_a_grant_for_an_effect_does_not_answer_a_finding_without_one() -> None:
    assert discharge(_asks("a"), [_grant("a", effects=frozenset({WRITE}))], None) == ()


def test_a_grant_for_reading_does_not_answer_a_delete_of_the_same_path() -> None:
    grant = _grant("a", effects=frozenset({FileRead("/a")}))
    assert discharge(_asks("a", effect=FileDelete("/a")), [grant], None) == ()
    assert discharge(_asks("a", effect=FileRead("/a")), [grant], None) == (grant,)


def test_a_standing_grant_is_used_before_one_that_is_used_up() -> None:
    standing, single = _grant("a", source="z"), _grant("a", uses=1)
    assert discharge(_asks("a"), [single, standing], None) == (standing,)


def test_a_shadow_ask_needs_no_grant() -> None:
    verdict = combine([_verdict(Outcome.ASK, _finding("a"), _finding("b", shadow=True))])
    assert discharge(verdict, [_grant("a")], None) == (_grant("a"),)
