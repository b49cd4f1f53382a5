"""The decision point: analyse, ask every policy, combine, discharge. It keeps nothing and fails closed.

Whatever goes wrong is DENY with a code of its own (`engine.closed`); no setting changes that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeAlias, TypeVar

from policyengine.effects import FATAL_CAUSES, Contains, Effect, Facts, Opaque
from policyengine.engine.closed import are_facts, checked, late, no_analysis, raised, unreadable
from policyengine.engine.rewriting import joined, rewritten
from policyengine.errors import UsageError
from policyengine.model import Decision, Grant, Outcome, Request, Verdict, digest_of
from policyengine.policy import Grantor, Policy, RemotePolicy, about, combine, discharge, unrewritten
from policyengine.records import Record, replace
from policyengine.state import START, RunState, after

T = TypeVar("T")
Analyze: TypeAlias = Callable[[Request, RunState], Facts]
NO_FACTS = Facts()


class Clock(Protocol):
    """Time, which the engine does not know by itself."""

    def seconds(self) -> float:
        """Read a clock that only goes forward."""

    async def within(self, answer: Awaitable[T], seconds: float) -> T:
        """Wait for an answer at most so long; TimeoutError after that."""


class Engine(Record):
    """A set of policies behind one analysis.

    Attributes:
        analyze: what a request would do; pure.
        policies: asked about every request.
        remote: asked, in order, only while the answer is below DENY, so that denied calls leak nowhere.
        policy_digest: names the rules in every decision.
        clock: needed where an answer may be late.
        deadline: seconds that each of `policies` may take; None for no limit. Remote policies state their own.
        grantors: asked for standing answers where the answer is ASK; one that fails has none.
        control_flow: exceptions by which the host's runtime interrupts a run; they are no failures, and pass through.
    """

    analyze: Analyze
    policies: tuple[Policy, ...]
    remote: tuple[RemotePolicy, ...] = ()
    policy_digest: str = ""
    clock: Clock | None = None
    deadline: float | None = None
    control_flow: tuple[type[Exception], ...] = ()
    grantors: tuple[Grantor, ...] = ()

    def __post_init__(self) -> None:
        if self.clock is None and (self.remote or self.deadline is not None):
            raise UsageError("a deadline needs a clock")

    def decide(
        self, request: Request, state: RunState, grants: Iterable[Grant] = (), *, known: Facts | None = None
    ) -> tuple[Decision, RunState]:
        """Decide a call, and say what the run is after it.

        Args:
            request: the call.
            state: the run so far.
            grants: answers on offer.
            known: what `analyze` has said of just this request in this run, where somebody has asked it already.
        """
        offered = tuple(grants)
        first, facts = self._decide_once(request, state, offered, known)
        again = rewritten(request, first)
        if again is None:
            return first, after(state, facts, first)
        second, facts = self._decide_once(again, state, offered)
        decision = joined(first, second, again)
        return decision, after(state, facts, decision)

    async def adecide(
        self, request: Request, state: RunState, grants: Iterable[Grant] = (), *, known: Facts | None = None
    ) -> tuple[Decision, RunState]:
        """Decide as `decide` does, without blocking the event loop while remote policies are asked."""
        offered = tuple(grants)
        first, facts = await self._adecide_once(request, state, offered, known)
        again = rewritten(request, first)
        if again is None:
            return first, after(state, facts, first)
        second, facts = await self._adecide_once(again, state, offered)
        decision = joined(first, second, again)
        return decision, after(state, facts, decision)

    def also(self, policy: Policy, digest: str) -> Engine:
        """Give an engine that asks one more policy, and whose decisions name it by its digest."""
        digest = digest_of((self.policy_digest, digest))
        return replace(self, policies=(*self.policies, policy), policy_digest=digest)

    def evaluate_tool(self, request: Request, state: RunState = START) -> Decision:
        """Bound the answers for a tool from below, whatever its arguments: nothing is analysed, nothing granted.

        A tool is hidden only where this is DENY, so that what is hidden can never be decided otherwise.
        """
        bare = replace(request, arguments=None)
        verdicts = [unrewritten(self.answer(policy, bare, NO_FACTS, state)) for policy in self.policies]
        return self._decision(bare, NO_FACTS, state, verdicts, ())

    def answer(
        self,
        policy: Policy,
        request: Request,
        facts: Facts,
        state: RunState,
        remote: RemotePolicy | None = None,
    ) -> Verdict:
        """Ask one policy; whatever goes wrong is a refusal. `remote` is the same policy where it has a deadline."""
        try:
            deadline = self.deadline if remote is None else remote.deadline
            if deadline is None or self.clock is None:
                return checked(policy, policy.evaluate(request, facts, state))
            start = self.clock.seconds()
            answer = policy.evaluate(request, facts, state)
            return checked(policy, answer) if self.clock.seconds() - start <= deadline else late(policy)
        except self.control_flow:
            raise
        except Exception as error:  # a policy that fails denies
            return raised(policy, error)

    def _decide_once(
        self, request: Request, state: RunState, grants: tuple[Grant, ...], known: Facts | None = None
    ) -> tuple[Decision, Facts]:
        facts, verdicts = self._judge(request, state, known)
        for policy in self.remote:
            if _is_denied(verdicts):
                break
            verdicts.append(self.answer(policy, request, facts, state, policy))
        return self._decision(request, facts, state, verdicts, grants), facts

    async def _adecide_once(
        self, request: Request, state: RunState, grants: tuple[Grant, ...], known: Facts | None = None
    ) -> tuple[Decision, Facts]:
        facts, verdicts = self._judge(request, state, known)
        for policy in self.remote:
            if _is_denied(verdicts):
                break
            verdicts.append(await self._aanswer(policy, request, facts, state))
        return self._decision(request, facts, state, verdicts, grants), facts

    def _judge(self, request: Request, state: RunState, known: Facts | None) -> tuple[Facts, list[Verdict]]:
        """What the call would do, and what the policies say that need nothing else."""
        facts, verdicts = self._analyzed(request, state, known)
        verdicts += [self.answer(policy, request, facts, state) for policy in self.policies]
        return facts, verdicts

    def _analyzed(self, request: Request, state: RunState, known: Facts | None) -> tuple[Facts, list[Verdict]]:
        try:
            facts = self.analyze(request, state) if known is None else known
        except Exception as error:  # an analysis that fails must not let anything through
            return no_analysis("engine.analyzer-raised", f"The analysis failed ({type(error).__name__}).")
        if not are_facts(facts):
            return no_analysis("engine.analyzer-rubbish", "The analysis gave no facts.")
        fatal = [effect for effect in facts.effects if type(effect) is Opaque and effect.cause in FATAL_CAUSES]
        return facts, [unreadable(fatal)] if fatal else []

    async def _aanswer(self, policy: RemotePolicy, request: Request, facts: Facts, state: RunState) -> Verdict:
        try:
            assert self.clock is not None  # __post_init__
            start, deadline = self.clock.seconds(), policy.deadline
            answer = await self.clock.within(policy.aevaluate(request, facts, state), deadline)
            return checked(policy, answer) if self.clock.seconds() - start <= deadline else late(policy)
        except self.control_flow:
            raise
        except TimeoutError:
            return late(policy)
        except Exception as error:  # a policy that fails denies
            return raised(policy, error)

    def _decision(
        self,
        request: Request,
        facts: Facts,
        state: RunState,
        verdicts: Iterable[Verdict],
        grants: tuple[Grant, ...],
    ) -> Decision:
        verdict = combine(verdicts)
        offered = (*about(request, state.cwd, grants), *self._granted(request, facts, verdict))
        used = discharge(verdict, offered, request.context.now)
        return Decision(
            outcome=Outcome.ALLOW if used else verdict.outcome,
            findings=verdict.findings,
            effects=facts.effects + _contained(facts, verdict),
            obligations=verdict.obligations,
            control=verdict.control,
            grants=used,
            request=request,
            policy_digest=self.policy_digest,
            state_version=state.version,
        )

    def _granted(self, request: Request, facts: Facts, verdict: Verdict) -> list[Grant]:
        """Standing answers to a call's asks; a bound over all calls has none."""
        if verdict.outcome is not Outcome.ASK or request.arguments is None:
            return []
        return [grant for grantor in self.grantors for grant in self._offered(grantor, request, facts, verdict)]

    def _offered(self, grantor: Grantor, request: Request, facts: Facts, verdict: Verdict) -> list[Grant]:
        try:
            return [grant for grant in grantor.grants(request, facts, verdict) if type(grant) is Grant]
        except self.control_flow:
            raise
        except Exception:  # whose answers cannot be told has none: the ask stays
            return []


def _is_denied(verdicts: Iterable[Verdict]) -> bool:
    return combine(verdicts).outcome is Outcome.DENY


def _contained(facts: Facts, verdict: Verdict) -> tuple[Effect, ...]:
    """What policies found in the call's texts, which no analysis of what it would do shows."""
    found = [finding.effect for finding in verdict.findings if type(finding.effect) is Contains]
    return tuple([effect for effect in dict.fromkeys(found) if effect not in facts.effects]) if found else ()
