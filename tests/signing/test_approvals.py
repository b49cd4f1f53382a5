"""Approvals answer the questions that were asked, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from policyengine.effects import EFFECTS, Connect, Effect, FileWrite
from policyengine.errors import TokenError
from policyengine.model import Finding, Outcome, Severity, Verdict
from policyengine.policy import combine, discharge
from policyengine.signing import Ask, Claims, Purpose, asks_of, grants_of
from tests.signing.rings import NOW, claims

WRITE, CONNECT = FileWrite("/etc/x"), Connect("x.test")


def finding(rule: str, effect: Effect | None = None, outcome: Outcome = Outcome.ASK, **fields: Any) -> Finding:
    """Something that a rule has to say."""
    return Finding(
        rule=rule, code=rule, message="m", outcome=outcome, severity=Severity.MEDIUM, effect=effect, **fields
    )


def approval(*findings: Finding) -> Claims:
    """An approval that answers these."""
    return claims(Purpose.APPROVAL, outcome=None, asks=asks_of(findings))


def lowered(answered: tuple[Finding, ...], live: tuple[Finding, ...]) -> bool:
    """Whether an approval of some questions lets a call run that asks others."""
    verdict = combine([Verdict(policy="p", outcome=max((one.outcome for one in live), default=Outcome.ALLOW),
                               findings=live)])  # fmt: skip
    return bool(discharge(verdict, grants_of(approval(*answered), live), NOW))


def test_questions_are_named_by_rule_and_effect_wherever_that_is_written() -> None:
    here, there = WRITE._replace(span=(0, 4)), WRITE._replace(span=(9, 12))
    assert asks_of([finding("a", here), finding("a", there)]) == asks_of([finding("a", WRITE)])
    assert len(asks_of([finding("a", WRITE), finding("a", CONNECT), finding("b", WRITE), finding("b")])) == 4


@pytest.mark.parametrize("kind", EFFECTS)
def test_effects_of_every_kind_have_a_name(kind: str) -> None:
    cls: Any = EFFECTS[kind]
    needed = [name for name in cls._fields if name not in cls._field_defaults]
    effects = [cls(*[value] * len(needed)) for value in ("x", "y")]
    assert len(asks_of([finding("a", effect) for effect in effects])) == 2


def test_only_open_questions_are_named() -> None:
    others = [
        finding("a", outcome=Outcome.DENY),
        finding("b", outcome=Outcome.ALLOW),
        finding("c", shadow=True),
    ]
    assert asks_of(others) == ()
    assert asks_of([*others, finding("d")]) == (Ask("d"),)


@pytest.mark.parametrize(
    "questions",
    [
        (finding("a", WRITE),),
        (finding("a"),),
        (finding("a", WRITE), finding("a", CONNECT), finding("b", WRITE)),
        (finding("a"), finding("a", WRITE)),
        (finding("a", WRITE), finding("a")),
    ],
)
def test_answered_questions_are_lowered(questions: tuple[Finding, ...]) -> None:
    assert lowered(questions, questions)
    assert lowered((*questions, finding("other")), questions)


@pytest.mark.parametrize(
    ("answered", "live"),
    [
        ((finding("a", WRITE),), (finding("b", WRITE),)),
        ((finding("a", WRITE),), (finding("a", CONNECT),)),
        ((finding("a", WRITE),), (finding("a", FileWrite("/etc/y")),)),
        ((finding("a", WRITE),), (finding("a", FileWrite("/etc/x", append=True)),)),
        ((finding("a", WRITE),), (finding("a"),)),
        ((finding("a"),), (finding("a", WRITE),)),
        ((finding("a"),), (finding("a"), finding("a", WRITE))),
        ((finding("a", WRITE),), (finding("a", WRITE), finding("b"))),
        ((finding("a", WRITE), finding("b", CONNECT)), (finding("a", CONNECT),)),
    ],
)
def test_a_question_that_was_not_answered_stays_open(answered: tuple[Finding, ...], live: tuple[Finding, ...]) -> None:
    with pytest.raises(TokenError) as caught:
        lowered(answered, live)
    assert caught.value.code == "token.asks"


def test_grants_are_for_one_use_until_the_approval_ends() -> None:
    questions = (finding("a", WRITE), finding("b", CONNECT), finding("b", WRITE))
    first, second = grants_of(approval(*questions), questions)
    assert (set(first.rules), first.effects, first.uses, first.until) == ({"a"}, frozenset({WRITE}), 1, NOW + 60)
    assert (set(second.rules), second.effects) == ({"b"}, frozenset({CONNECT, WRITE}))
    assert second.source == "approval:jti-1"


def test_a_denial_is_never_answered() -> None:
    live = (finding("a", WRITE), finding("b", outcome=Outcome.DENY))
    assert not lowered(live, live)


def test_only_an_approval_answers() -> None:
    with pytest.raises(TokenError) as caught:
        grants_of(claims(), ())
    assert caught.value.code == "token.purpose"
