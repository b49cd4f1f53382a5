"""What a model may see in a step: its tools, narrowed by tokens, and its messages, cleaned."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from policyengine.engine.exposure import Catalogue, exposed
from policyengine.errors import RequestError
from policyengine.gate.bounds import Presented, bounds_of_agent, narrowed
from policyengine.gate.denials import failed, finding
from policyengine.gate.messages import labels_of
from policyengine.gate.parts import Held, Parts
from policyengine.gate.recording import entry, exposure_entry, recorded
from policyengine.gate.requests import circumstances, question_about
from policyengine.gate.states import changed, labelled, loaded
from policyengine.gate.steps import Steps
from policyengine.gate.terms import EXPOSES_NOTHING, Duty, Message, Run, SignedExposure
from policyengine.gate.tokens import exposure_token
from policyengine.model import Exposure, Finding, Outcome, Request
from policyengine.records import replace
from policyengine.state import Label, RunState, promote

NO_TOOL = ""  # of a whole catalogue it is the names that count


# -------------------------------------------------------------------------------------------------------------- a step
def before_model(held: Held, shown: Sequence[Message], catalogue: Catalogue, run: Run) -> Steps[SignedExposure]:
    """Decide what is exposed (`Gate.before_model`)."""
    parts, presented = held.parts, Presented()
    duties = tuple(map(held.messages.duty, shown))
    labels = frozenset[Label]().union(*map(labels_of, shown, duties))
    try:
        request = question_about(NO_TOOL, run, circumstances(run, parts.now()))
    except RequestError as error:
        code, why = error.code, finding(error.code, f"Nothing can be exposed: {error.message}.")
        unrecorded = yield from recorded(parts, lambda: entry("exposure-refused", run, code=code))
        return _nothing(catalogue, duties, unrecorded or why)
    exposure, problem = yield from _live(parts, request, catalogue, run, presented)
    if problem is None and labels:
        problem = yield from labelled(parts, run.context.scope_id, labels)
    id, token, problem = _signed(parts, run, exposure, problem)
    answer = SignedExposure(exposure=exposure, token=token, duties=duties, outcome=_strictest(duties))
    if problem is not None:
        answer = _nothing(catalogue, duties, problem)
    problem = yield from recorded(parts, lambda: exposure_entry(request, answer, id, presented.refused))
    if problem is not None:
        answer = _nothing(catalogue, duties, problem)
    held.memory.expose(run, answer.token, answer.exposure.deferred, generated=catalogue.generated)
    return answer


def _live(
    parts: Parts, request: Request, catalogue: Catalogue, run: Run, presented: Presented
) -> Steps[tuple[Exposure, Finding | None]]:
    """What the live policies and a sub-agent's delegation leave."""
    state, problem = yield from loaded(parts, request.context.scope_id)
    try:
        engine = narrowed(parts.engine, bounds_of_agent(parts, run, presented))
        return exposed(engine, request, catalogue, state, hidden_from=parts.hidden_from), problem
    except parts.engine.control_flow:
        raise
    except Exception as error:  # an engine that fails must not be taken for one that shows everything
        return EXPOSES_NOTHING, failed("gate.failed", "What may be exposed cannot be decided", error)


def _signed(parts: Parts, run: Run, exposure: Exposure, problem: Finding | None) -> tuple[str, str, Finding | None]:
    """The name and token of an exposure, and why there is none."""
    if problem is not None:
        return "", "", problem
    try:
        id = parts.fresh()
        return id, exposure_token(parts, id, run, exposure.visible), None
    except Exception as error:  # whatever a signer raises, nobody could tell this exposure from a forged one
        return "", "", failed("gate.signing-failed", "What is exposed cannot be signed", error)


def _nothing(catalogue: Catalogue, duties: tuple[Duty, ...], why: Finding) -> SignedExposure:
    hidden = {name: (why,) for name in catalogue.names if isinstance(name, str)}
    return SignedExposure(
        exposure=replace(EXPOSES_NOTHING, hidden=hidden), duties=duties, outcome=_strictest(duties), findings=(why,)
    )


def _strictest(duties: Sequence[Duty]) -> Outcome:
    return max((duty.outcome for duty in duties), default=Outcome.ALLOW)


# ---------------------------------------------------------------------------------------------------------- promotion
def promoted(held: Held, names: Collection[str], run: Run) -> Steps[frozenset[str]]:
    """Promote what this step deferred (`Gate.promote`); nothing else was permitted."""
    parts, chosen = held.parts, frozenset(names) & frozenset(held.memory.step(run).deferred)
    if not chosen:
        return chosen

    def change(state: RunState) -> Steps[RunState]:
        yield from ()
        return replace(promote(state, chosen), version=state.version + 1)

    problem = yield from recorded(parts, lambda: entry("promotion", run, tools=tuple(sorted(chosen))))
    if problem is None:
        problem = yield from changed(parts, run.context.scope_id, change)
    return chosen if problem is None else frozenset()
