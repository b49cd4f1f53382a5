"""Calls decided: live, narrowed by tokens, answered by a person where one has, kept in the run, and recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from policyengine.effects import Facts
from policyengine.engine import Engine
from policyengine.errors import RequestError, TokenError
from policyengine.gate.asks import final_asks, final_request, in_place, place_of
from policyengine.gate.bounds import Presented, engine_for
from policyengine.gate.denials import denied, enforceable, failed, finding, undecided
from policyengine.gate.parts import Held, Parts
from policyengine.gate.recording import decision_entry, recorded, reply_entry
from policyengine.gate.requests import call_of, request_of
from policyengine.gate.skills import analysed, attempted
from policyengine.gate.states import changed
from policyengine.gate.steps import Decide, Do, Steps, guarded
from policyengine.gate.terms import Call, Run, SignedDecision
from policyengine.gate.tokens import decision_token, verified_approval
from policyengine.model import Decision, Finding, Grant, Outcome, Request
from policyengine.policy import merged
from policyengine.records import NamedTuple, replace
from policyengine.signing import grants_of
from policyengine.state import START, RunState, after

MAX_CALLS = 128  # in one reply
MAX_APPROVALS = 64  # with one call
NO_FACTS = Facts()


class Judged(NamedTuple):
    """A decision, and the run after it."""

    decision: Decision
    after: RunState


class Case(NamedTuple):
    """A call under the policies that are asked about it: the live ones, and what its tokens leave."""

    engine: Engine
    request: Request
    run: Run
    presented: Presented


# ---------------------------------------------------------------------------------------------------------- one call
def before_tool(held: Held, call: Call, run: Run) -> Steps[SignedDecision]:
    """Decide one call (`Gate.before_tool`)."""
    parts, presented = held.parts, Presented()
    try:
        request = request_of(parts, call, run)
    except RequestError as error:
        decision = undecided(_impossible(error))
    except parts.engine.control_flow:
        raise
    except Exception as error:  # arguments are the host's objects, and may fail when they are read
        decision = _broken(None, error)
    else:
        deciding = _settled(held, request, run, presented)
        decision = yield from guarded(deciding, parts.engine.control_flow, partial(_broken, request))
    signed = yield from _kept(parts, decision, call, run, presented)
    if signed.token and signed.outcome is Outcome.ALLOW:
        held.memory.issue(signed.id)
    return signed


def _broken(request: Request | None, error: Exception) -> Decision:
    return undecided(failed("gate.failed", "The decision failed", error), request)


def _impossible(error: RequestError) -> Finding:
    return finding(error.code, f"This call cannot be decided: {error.message}.")


def _settled(held: Held, request: Request, run: Run, presented: Presented) -> Steps[Decision]:
    """Decide, and keep what the run is after that."""
    parts = held.parts
    case = Case(engine_for(held, request, run, presented), request, run, presented)
    decision: Decision | None = None

    def change(state: RunState) -> Steps[RunState]:
        nonlocal decision
        decision, later = yield from _judged(parts, case, state)
        return later

    problem = yield from changed(parts, run, change)
    if problem is not None:
        return undecided(problem, request) if decision is None else denied(decision, problem)
    assert decision is not None  # what was kept has been decided
    return decision


def _judged(parts: Parts, case: Case, state: RunState) -> Steps[Judged]:
    """Decide, with loads of skills noted before, and what the host cannot enforce denied afterwards."""
    known: Facts | None = None
    if parts.skills is not None:
        known = analysed(case.engine, case.request, state)
        state = attempted(parts, state, [(case.request, known)])
    case.presented.cwd = state.cwd
    grants = (*parts.grants, *case.run.grants)
    judged = yield from _asked(case.engine, case.request, state, grants, known)
    if judged.decision.outcome is Outcome.ASK and case.run.approvals:
        judged = yield from _answered(parts, case, judged, state, grants)
    decision = enforceable(judged.decision, parts.capabilities, parts.content)
    return judged if decision is judged.decision else Judged(decision, after(state, NO_FACTS, decision))


def _asked(
    engine: Engine, request: Request, state: RunState, grants: tuple[Grant, ...], known: Facts | None = None
) -> Steps[Judged]:
    try:
        decision, later = yield Decide(engine, request, state, grants, known)
    except engine.control_flow:
        raise
    except Exception as error:  # an engine that fails must not be taken for one that allows
        decision = undecided(failed("gate.failed", "The decision failed", error), request)
        return Judged(decision, after(state, NO_FACTS, decision))
    return Judged(decision, later)


# --------------------------------------------------------------------------------------------------------- approvals
def _answered(parts: Parts, case: Case, first: Judged, state: RunState, grants: tuple[Grant, ...]) -> Steps[Judged]:
    """Decide once more with what a person has answered, if that is about this very call."""
    asks, wanted = final_asks(first.decision), final_request(first.decision)
    for number, token in enumerate(case.run.approvals):
        try:
            if number >= MAX_APPROVALS:
                raise TokenError("approval.too-many", f"more than {MAX_APPROVALS} approvals with one call")
            claims = verified_approval(parts, token, wanted)
            if place_of(wanted.context, state.cwd) not in claims.asks:
                raise TokenError("approval.place", "given for another directory, shell or sandbox")
            given = grants_of(claims, asks)
            again = yield from _asked(case.engine, in_place(case.request, first.decision), state, (*grants, *given))
            if not _is_answered(again.decision, wanted):
                continue
            yield from _spent(parts, case, claims.jti, claims.expires)
        except TokenError as error:
            case.presented.refuse("approval", error)
        else:
            return Judged(_with_both(first.decision, again.decision), again.after)
    return first


def _is_answered(decision: Decision, wanted: Request) -> bool:
    return decision.outcome is Outcome.ALLOW and final_request(decision).arguments_digest == wanted.arguments_digest


def _spent(parts: Parts, case: Case, jti: str, until: float) -> Steps[None]:
    """Use an approval up. Deciding again because the run changed meanwhile does not need another.

    Raises:
        TokenError: it is used up already, or nobody can say.
    """
    if jti in case.presented.used:
        return
    try:
        first = yield Do(lambda: parts.approvals.spend(jti, until), parts.waits)
    except parts.engine.control_flow:
        raise
    except Exception as error:  # whatever a store raises, the approval may have been used before
        raise TokenError("approval.store-failed", f"cannot be used up ({type(error).__name__})") from error
    if first is not True:
        raise TokenError("approval.spent", "used up already")
    case.presented.used.add(jti)


def _with_both(first: Decision, again: Decision) -> Decision:
    """Give the decision about the approved call, with the call that was sent where that was another."""
    if first.rewritten is None:
        return again
    return replace(
        first,
        outcome=again.outcome,
        obligations=merged((*first.obligations, *again.obligations)),
        control=again.control or first.control,
        grants=again.grants,
        rewritten=again,
    )


# -------------------------------------------------------------------------------------------------- sign and record
def _kept(parts: Parts, decision: Decision, call: Call, run: Run, presented: Presented) -> Steps[SignedDecision]:
    """Sign a decision and record it; what cannot be signed or recorded is a DENY that nothing can be released with."""
    token = id = ""
    try:
        id = parts.fresh()
        token = decision_token(parts, id, decision) if decision.request is not None else ""
    except Exception as error:  # whatever a signer raises, nobody could tell the decision from a forged one
        decision = denied(decision, failed("gate.signing-failed", "The decision cannot be signed", error))
    signed = SignedDecision(
        decision=decision, call=_final_call(decision, call), run=run, id=id, cwd=presented.cwd, token=token
    )
    problem = yield from recorded(parts, lambda: decision_entry(parts, signed, presented.refused))
    return signed if problem is None else replace(signed, decision=denied(decision, problem), token="")


def _final_call(decision: Decision, call: Call) -> Call:
    """Give the call as it would run; as it was sent, where no request could be made of it."""
    return call if decision.request is None else call_of(final_request(decision), call.id)


# ------------------------------------------------------------------------------------------------------------- a set
def after_model(held: Held, calls: Sequence[Call], run: Run) -> Steps[tuple[SignedDecision, ...]]:
    """Decide the calls of one reply (`Gate.after_model`)."""
    parts, presented = held.parts, Presented()

    def broken(error: Exception) -> list[SignedDecision]:
        return [SignedDecision(decision=_broken(None, error), call=call, run=run) for call in calls]

    decided = yield from guarded(_all(held, calls, run, presented), parts.engine.control_flow, broken)
    held.memory.deny(run, frozenset(one.call.id for one in decided if one.call.id and one.outcome is Outcome.DENY))
    problem = yield from recorded(parts, lambda: reply_entry(parts, decided, run, presented.refused))
    if problem is None:
        return tuple(decided)
    return tuple(replace(one, decision=denied(one.decision, problem)) for one in decided)


def _all(held: Held, calls: Sequence[Call], run: Run, presented: Presented) -> Steps[list[SignedDecision]]:
    ids = Counter(call.id for call in calls if call.id)
    wrongs = [_wrong_in_set(at, call, ids) for at, call in enumerate(calls)]
    cases = [_case(held, call, run, presented, wrong) for call, wrong in zip(calls, wrongs, strict=True)]
    state, problem = yield from _noted(held.parts, run, cases)
    decided = []
    for call, case in zip(calls, cases, strict=True):
        decision, state = yield from _foreseen(held.parts, case, state, problem)
        decided.append(SignedDecision(decision=decision, call=_final_call(decision, call), run=run))
    return decided


def _case(held: Held, call: Call, run: Run, presented: Presented, wrong: Finding | None) -> Case | Decision:
    """What a call is decided under; or its DENY, where it cannot be."""
    try:
        request = request_of(held.parts, call, run)
    except RequestError as error:
        return undecided(_impossible(error))
    if wrong is not None:
        return undecided(wrong, request)
    return Case(engine_for(held, request, run, presented), request, replace(run, approvals=()), presented)


def _noted(parts: Parts, run: Run, cases: Sequence[Case | Decision]) -> Steps[tuple[RunState, Finding | None]]:
    """The run before the first call: the loads of skills of all calls have begun."""
    noted = START

    def change(state: RunState) -> Steps[RunState]:
        nonlocal noted
        yield from ()
        noted = state
        if parts.skills is not None:
            asked = [one for one in cases if isinstance(one, Case)]
            noted = attempted(parts, state, [(one.request, analysed(one.engine, one.request, state)) for one in asked])
        return noted

    problem = yield from changed(parts, run, change)
    return noted, problem


def _wrong_in_set(at: int, call: Call, ids: Counter[str]) -> Finding | None:
    if at >= MAX_CALLS:
        return finding("gate.too-many-calls", f"A reply may have at most {MAX_CALLS} calls.")
    if ids[call.id] > 1:
        return finding("gate.duplicate-call", "Several calls of this reply have the same id.")
    return None


def _foreseen(parts: Parts, case: Case | Decision, state: RunState, problem: Finding | None) -> Steps[Judged]:
    """Decide a call in the light of those before it; nothing is used up or kept."""
    if isinstance(case, Decision):
        return Judged(case, state)
    if problem is not None:
        return Judged(undecided(problem, case.request), state)
    return (yield from _judged(parts, case, state))
