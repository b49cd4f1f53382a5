"""The engine: fails closed, asks others last, decides rewritten calls again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pytest

from policyengine.effects import Cause, Facts, FileRead, Opaque
from policyengine.engine import Engine
from policyengine.errors import UsageError
from policyengine.model import (
    ANONYMOUS,
    Context,
    Control,
    ControlKind,
    Decision,
    Finding,
    Grant,
    Obligation,
    ObligationKind,
    Outcome,
    Request,
    Resource,
    ResourceKind,
    Severity,
    Tier,
    Verdict,
    freeze_object,
)
from policyengine.state import START, RunState

T = TypeVar("T")
FACTS = Facts((FileRead("/a"),))
ALLOW = Verdict(policy="p", outcome=Outcome.ALLOW)


def _request(**arguments: Any) -> Request:
    return Request(
        principal=ANONYMOUS,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, "x"),
        arguments=freeze_object(arguments),
        context=Context(),
    )


def _verdict(outcome: Outcome, rule: str = "r", **more: Any) -> Verdict:
    finding = Finding(rule=rule, code=rule, message=rule, outcome=outcome, severity=Severity.MEDIUM)
    return Verdict(policy="p", outcome=outcome, findings=(finding,), **more)


@dataclass(frozen=True, slots=True)
class Says:
    """A policy that answers with a function of the request."""

    answer: Callable[[Request], Any]
    name: str = "says"

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Answer."""
        answer: Verdict = self.answer(request)
        return answer


@dataclass(frozen=True, slots=True)
class Asks:
    """A remote policy that takes a while, and notes that it was asked."""

    answer: Any
    clock: FakeClock
    takes: float = 0.0
    deadline: float = 1.0
    name: str = "asks"

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Answer after a while."""
        self.clock.asked.append(self.name)
        self.clock.time += self.takes
        if isinstance(self.answer, Exception):
            raise self.answer
        answer: Verdict = self.answer
        return answer

    async def aevaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Answer after a while."""
        return self.evaluate(request, facts, state)


class FakeClock:
    """A clock that policies move."""

    def __init__(self) -> None:
        self.time = 0.0
        self.asked: list[str] = []

    def seconds(self) -> float:
        """Read it."""
        return self.time

    async def within(self, answer: Awaitable[T], seconds: float) -> T:
        """Wait, and say that it was too long if the clock was moved too far."""
        start = self.time
        found = await answer
        if self.time - start > seconds:
            raise TimeoutError
        return found


def _always(verdict: Any) -> Says:
    return Says(lambda _: verdict)


def _raises(_: Request) -> Verdict:
    raise RuntimeError("secret detail")


def _engine(*policies: Any, facts: Any = FACTS, **more: Any) -> Engine:
    return Engine(analyze=lambda request, state: facts, policies=policies, **more)


def _decide(engine: Engine, request: Request | None = None, **more: Any) -> Decision:
    return engine.decide(request or _request(), START, **more)[0]


def _codes(decision: Decision) -> list[str]:
    return [finding.code for finding in decision.findings]


def test_what_every_policy_allows_is_allowed() -> None:
    decision = _decide(_engine(_always(ALLOW), policy_digest="d"))
    assert decision.outcome is Outcome.ALLOW
    assert (decision.effects, decision.policy_digest, decision.findings) == (FACTS.effects, "d", ())


def test_no_policies_deny() -> None:
    decision = _decide(_engine())
    assert (decision.outcome, _codes(decision)) == (Outcome.DENY, ["engine.no-policies"])


def test_an_analysis_that_raises_denies() -> None:
    def analyze(request: Request, state: RunState) -> Facts:
        raise RecursionError("x")

    decision = _decide(Engine(analyze=analyze, policies=(_always(ALLOW),)))
    assert (decision.outcome, _codes(decision)) == (Outcome.DENY, ["engine.analyzer-raised"])
    assert decision.effects == (Opaque(Cause.ANALYZER_ERROR),)


@pytest.mark.parametrize(
    "facts",
    [None, (), Facts([FileRead("/a")]), Facts(("x",)), Facts((), [1]), Facts((), (), 3)],  # type: ignore[arg-type]  # rubbish
)
def test_an_analysis_that_gives_rubbish_denies(facts: object) -> None:
    decision = _decide(_engine(_always(ALLOW), facts=facts))
    assert (decision.outcome, _codes(decision)) == (Outcome.DENY, ["engine.analyzer-rubbish"])


@pytest.mark.parametrize("cause", [Cause.LIMIT, Cause.UNPARSEABLE, Cause.ANALYZER_ERROR])
def test_what_cannot_be_read_is_denied_whatever_the_policies_say(cause: Cause) -> None:
    decision = _decide(_engine(_always(ALLOW), facts=Facts((Opaque(cause, span=(1, 2)),))))
    assert (decision.outcome, _codes(decision)) == (Outcome.DENY, [f"engine.opaque-{cause}"])
    assert decision.findings[0].span == (1, 2)


def test_what_is_merely_unknown_is_left_to_the_policies() -> None:
    assert _decide(_engine(_always(ALLOW), facts=Facts((Opaque(Cause.PROGRAM),)))).outcome is Outcome.ALLOW


def test_a_policy_that_raises_denies_without_its_details() -> None:
    decision = _decide(_engine(_always(ALLOW), Says(_raises)))
    assert (decision.outcome, _codes(decision)) == (Outcome.DENY, ["engine.policy-raised"])
    assert "secret" not in decision.findings[0].message


class Nameless:
    """A policy whose name fails as well."""

    @property
    def name(self) -> str:
        """Fail."""
        raise RuntimeError

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Fail."""
        raise RuntimeError


def test_a_policy_whose_very_name_fails_denies() -> None:
    assert _codes(_decide(_engine(Nameless()))) == ["engine.policy-raised"]


FINDING = _verdict(Outcome.ASK).findings[0]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        True,
        "allow",
        Outcome.ALLOW,
        (True, []),
        {"outcome": "allow"},
        replace(ALLOW, outcome="allow"),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, outcome=0),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, outcome=math.nan),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, outcome=None),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, findings=None),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, findings=[FINDING]),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, findings=(None,)),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, findings=(replace(FINDING, outcome=2),)),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, findings=(replace(FINDING, severity=math.nan),)),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, findings=(replace(FINDING, span="xy"),)),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, findings=(replace(FINDING, span=(1.5, math.nan)),)),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, findings=(replace(FINDING, rule=3),)),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, findings=(replace(FINDING, effect="x"),)),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, findings=(replace(FINDING, labels=frozenset({"nonsense"})),)),
        replace(ALLOW, obligations=({},)),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, obligations=(Obligation(kind=ObligationKind.TRUNCATE, limit=-1),)),
        replace(ALLOW, obligations=(Obligation(kind=ObligationKind.TRUNCATE, limit=1.5),)),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, control="stop"),  # type: ignore[arg-type]  # rubbish
        replace(ALLOW, control=Control(kind=ControlKind.REWRITE)),
        replace(ALLOW, control=Control(kind=ControlKind.STOP, arguments=freeze_object({}))),
        replace(ALLOW, control=Control(kind=ControlKind.STOP, at=math.nan)),
        replace(ALLOW, control=Control(kind="stop")),  # type: ignore[arg-type]  # rubbish
    ],
)
def test_a_policy_that_gives_rubbish_denies(answer: object) -> None:
    decision = _decide(_engine(_always(ALLOW), _always(answer)))
    assert (decision.outcome, _codes(decision)) == (Outcome.DENY, ["engine.policy-rubbish"])


def test_a_rewrite_to_what_is_no_json_denies() -> None:
    rewrite = Control(kind=ControlKind.REWRITE, arguments={"a": math.nan})
    assert _codes(_decide(_engine(_always(replace(ALLOW, control=rewrite))))) == ["engine.policy-raised"]


def test_a_late_answer_is_refused() -> None:
    clock = FakeClock()
    late = _decide(_engine(_always(ALLOW), remote=(Asks(ALLOW, clock, takes=1.5),), clock=clock))
    assert (late.outcome, _codes(late)) == (Outcome.DENY, ["engine.policy-late"])
    assert (
        _decide(_engine(_always(ALLOW), remote=(Asks(ALLOW, clock, takes=1.0),), clock=clock)).outcome is Outcome.ALLOW
    )


def test_an_answer_at_no_time_is_late() -> None:
    clock = FakeClock()
    decision = _decide(_engine(_always(ALLOW), remote=(Asks(ALLOW, clock, takes=math.nan),), clock=clock))
    assert _codes(decision) == ["engine.policy-late"]


def test_a_pure_policy_may_have_a_deadline_as_well() -> None:
    clock = FakeClock()
    assert _codes(_decide(_engine(Asks(ALLOW, clock, takes=2.0), clock=clock, deadline=1.0))) == ["engine.policy-late"]


def test_a_deadline_needs_a_clock() -> None:
    with pytest.raises(UsageError):
        _engine(_always(ALLOW), deadline=1.0)
    with pytest.raises(UsageError):
        _engine(_always(ALLOW), remote=(Asks(ALLOW, FakeClock()),))


def test_others_are_asked_only_while_nothing_denies() -> None:
    clock = FakeClock()
    remote = (Asks(_verdict(Outcome.DENY), clock, name="first"), Asks(ALLOW, clock, name="second"))
    _decide(_engine(_always(_verdict(Outcome.DENY)), remote=remote, clock=clock))
    assert clock.asked == []
    _decide(_engine(_always(replace(ALLOW, findings=_verdict(Outcome.DENY).findings)), remote=remote, clock=clock))
    assert clock.asked == []
    _decide(_engine(_always(_verdict(Outcome.ASK)), remote=remote, clock=clock))
    assert clock.asked == ["first"]


def test_others_alone_decide_nothing_about_what_cannot_be_read() -> None:
    clock = FakeClock()
    engine = _engine(_always(ALLOW), facts=None, remote=(Asks(ALLOW, clock),), clock=clock)
    assert _decide(engine).outcome is Outcome.DENY
    assert clock.asked == []


@pytest.mark.parametrize("answer", [ALLOW, _verdict(Outcome.ASK), None, RuntimeError()])
@pytest.mark.parametrize("takes", [0.0, 2.0])
def test_both_faces_decide_alike(answer: Any, takes: float) -> None:
    clock = FakeClock()
    engine = _engine(_always(ALLOW), remote=(Asks(answer, clock, takes=takes),), clock=clock)
    assert asyncio.run(engine.adecide(_request(), START)) == engine.decide(_request(), START)


def test_a_granted_ask_is_allowed_and_says_by_whom() -> None:
    grant = Grant(source="me", tier=Tier.USER, rules=frozenset({"r"}))
    decision = _decide(_engine(_always(_verdict(Outcome.ASK))), grants=[grant])
    assert (decision.outcome, decision.grants) == (Outcome.ALLOW, (grant,))
    assert decision.findings[0].outcome is Outcome.ASK
    assert _decide(_engine(_always(_verdict(Outcome.DENY))), grants=[grant]).outcome is Outcome.DENY


def _rewriting(bad: Outcome, good: Outcome, to: Any = 1) -> Says:
    """Wants the argument `a` to be `to`."""
    rewrite = Control(kind=ControlKind.REWRITE, arguments=freeze_object({"a": to}))

    def answer(request: Request) -> Verdict:
        assert request.arguments is not None
        fine = request.arguments.get("a") == 1
        return _verdict(good, "good") if fine else _verdict(bad, "bad", control=rewrite)

    return Says(answer)


@pytest.mark.parametrize(
    ("bad", "good", "outcome"),
    [
        (Outcome.ALLOW, Outcome.ALLOW, Outcome.ALLOW),
        (Outcome.ASK, Outcome.ALLOW, Outcome.ALLOW),
        (Outcome.DENY, Outcome.ALLOW, Outcome.ASK),
        (Outcome.DENY, Outcome.ASK, Outcome.ASK),
        (Outcome.ALLOW, Outcome.DENY, Outcome.DENY),
        (Outcome.ALLOW, Outcome.ASK, Outcome.ASK),
    ],
)
def test_a_rewritten_call_is_decided_again(bad: Outcome, good: Outcome, outcome: Outcome) -> None:
    decision = _decide(_engine(_rewriting(bad, good)), _request(a=0))
    assert decision.outcome is outcome
    assert decision.rewritten is not None
    assert decision.rewritten.request is not None
    assert decision.rewritten.request.arguments == {"a": 1}
    assert decision.control is not None
    assert decision.control.arguments == {"a": 1}


def test_no_grant_makes_a_rewritten_deny_an_allow() -> None:
    grant = Grant(source="me", tier=Tier.USER, rules=frozenset({"bad", "good", "engine.rewritten"}))
    assert _decide(_engine(_rewriting(Outcome.DENY, Outcome.ASK)), _request(a=0), grants=[grant]).outcome is Outcome.ASK


def test_a_call_is_rewritten_once() -> None:
    decision = _decide(_engine(_rewriting(Outcome.ALLOW, Outcome.ALLOW, to=2)), _request(a=0))
    assert decision.outcome is Outcome.ALLOW  # the second rewrite wants what the call already is
    flip = Says(
        lambda request: replace(
            ALLOW,
            control=Control(
                kind=ControlKind.REWRITE, arguments=freeze_object({"a": 1 - int(str((request.arguments or {})["a"]))})
            ),
        )
    )
    flipped = _decide(_engine(flip), _request(a=0))
    assert (flipped.outcome, _codes(flipped)) == (Outcome.DENY, ["engine.rewritten-again"])


def test_an_interrupt_about_the_rewritten_call_outranks_the_rewrite() -> None:
    def answer(request: Request) -> Verdict:
        rewrite = Control(kind=ControlKind.REWRITE, arguments=freeze_object({"a": 1}))
        first = (request.arguments or {}).get("a") == 0
        return replace(ALLOW, control=rewrite if first else Control(kind=ControlKind.INTERRUPT))

    decision = _decide(_engine(Says(answer)), _request(a=0))
    assert decision.control is not None
    assert decision.control.kind is ControlKind.INTERRUPT


def test_a_tool_is_bounded_without_analysis_and_without_others() -> None:
    def analyze(request: Request, state: RunState) -> Facts:
        raise AssertionError

    clock = FakeClock()
    engine = Engine(
        analyze=analyze,
        policies=(Says(lambda request: ALLOW if request.arguments is None else None),),
        remote=(Asks(_verdict(Outcome.DENY), clock),),
        clock=clock,
    )
    assert engine.evaluate_tool(_request(a=1)).outcome is Outcome.ALLOW
    assert clock.asked == []


def test_the_run_moves_on_with_every_decision() -> None:
    engine = _engine(_always(ALLOW))
    _, state = engine.decide(_request(), START)
    second, state = engine.decide(_request(), state)
    assert (state.version, second.state_version) == (2, 1)
    assert state.counters == {"calls": 2, "allowed": 2}
