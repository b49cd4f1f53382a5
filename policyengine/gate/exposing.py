"""What a model may see in a step: its tools, narrowed by tokens, and its messages, cleaned."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from policyengine.engine.exposure import Catalogue, exposed
from policyengine.errors import RequestError
from policyengine.gate.bounds import Presented, Refused, bounds_of_agent, narrowed
from policyengine.gate.denials import failed, finding
from policyengine.gate.parts import Held, Parts
from policyengine.gate.recording import entry, exposure_entry, recorded
from policyengine.gate.requests import catalogue_request
from policyengine.gate.skills import Begun, began
from policyengine.gate.states import changed, labelled, loaded
from policyengine.gate.steps import Steps, guarded
from policyengine.gate.terms import Duty, Message, Run, SignedExposure
from policyengine.gate.tokens import exposure_token
from policyengine.model import Exposure, Finding, Outcome, Request
from policyengine.policies.guardrails.content import labels_of
from policyengine.policies.skill import Discovery, Heard, SkillClaims, discovered
from policyengine.records import NamedTuple, replace
from policyengine.state import NO_SKILLS, Label, RunState, promote


class Shown(NamedTuple):
    """What may be exposed, and what a token about it says of skills; or why there is nothing."""

    exposure: Exposure | None = None
    claims: SkillClaims | None = None
    heard: Heard | None = None
    problem: Finding | None = None


def before_model(held: Held, messages: Sequence[Message], catalogue: Catalogue, run: Run) -> Steps[SignedExposure]:
    """Decide what is exposed (`Gate.before_model`)."""
    parts = held.parts

    def broken(error: Exception) -> Offered:
        return Offered(_nothing(catalogue, (), failed("gate.failed", "What may be exposed cannot be decided", error)))

    offered = yield from guarded(_offered(held, messages, catalogue, run), parts.engine.control_flow, broken)
    answer = offered.answer
    unrecorded = yield from recorded(parts, lambda: exposure_entry(parts, answer, run, offered.id, offered.refused))
    if unrecorded is not None:
        answer = _nothing(catalogue, answer.duties, unrecorded)
    expires = parts.now() + parts.lifetimes.exposure
    held.memory.expose(run, answer.token, expires, answer.exposure, generated=catalogue.generated)
    return answer


class Offered(NamedTuple):
    """An exposure, the name of its token, and the tokens that were refused on the way."""

    answer: SignedExposure
    id: str = ""
    refused: Collection[Refused] = ()


def _offered(held: Held, messages: Sequence[Message], catalogue: Catalogue, run: Run) -> Steps[Offered]:
    parts, presented = held.parts, Presented()
    duties = tuple(map(held.messages.duty, messages))
    try:
        request = catalogue_request(parts, run)
    except RequestError as error:
        return Offered(_nothing(catalogue, duties, finding(error.code, f"Nothing can be exposed: {error.message}.")))
    labels = frozenset[Label]().union(
        *(labels_of(duty.findings, message.source) for message, duty in zip(messages, duties, strict=True))
    )
    begun = Begun(problem=(yield from labelled(parts, run, labels)) if labels else None)
    if begun.problem is None:
        begun = yield from began(parts, run, request.context, messages)
    shown = Shown(problem=begun.problem)
    if shown.problem is None:
        shown = yield from _shown(parts, request, catalogue, run, presented)
    id, answer = _signed(parts, run, catalogue, duties, shown._replace(heard=begun.heard))
    return Offered(answer, id, tuple(presented.refused))


def _shown(parts: Parts, request: Request, catalogue: Catalogue, run: Run, presented: Presented) -> Steps[Shown]:
    """What the live policies and a sub-agent's delegation leave."""
    state, *_, problem = yield from loaded(parts, run)
    engine = narrowed(parts.engine, bounds_of_agent(parts, run, presented))
    exposure = exposed(engine, request, catalogue, state, hidden_from=parts.hidden_from)
    claims = None if parts.skills is None else parts.skills.claims(request, state, catalogue.names)
    return Shown(exposure, claims, problem=problem)


def _signed(
    parts: Parts, run: Run, catalogue: Catalogue, duties: tuple[Duty, ...], shown: Shown
) -> tuple[str, SignedExposure]:
    """The name of an exposure's token, and the exposure."""
    if shown.problem is not None or shown.exposure is None:
        return "", _nothing(catalogue, duties, shown.problem or finding("gate.failed", "Nothing was decided."))
    try:
        id = parts.fresh()
        token = exposure_token(parts, id, run, shown.exposure.visible, shown.claims)
    except Exception as error:  # whatever a signer raises, nobody could tell this exposure from a forged one
        return "", _nothing(catalogue, duties, failed("gate.signing-failed", "What is exposed cannot be signed", error))
    heard = Heard(skills=NO_SKILLS) if shown.heard is None else shown.heard
    wrong = () if heard.problem is None else (finding(heard.problem.code, heard.problem.message),)
    return id, SignedExposure(
        exposure=shown.exposure,
        token=token,
        duties=duties,
        outcome=Outcome.DENY if wrong else _strictest(duties),
        findings=wrong,
        skill=heard.skill,
        task=heard.rest,
    )


def _nothing(catalogue: Catalogue, duties: tuple[Duty, ...], why: Finding) -> SignedExposure:
    hidden = {name: (why,) for name in catalogue.names}
    nothing = Exposure(visible=(), deferred=(), hidden=hidden)
    return SignedExposure(exposure=nothing, duties=duties, outcome=_strictest(duties), findings=(why,))


def _strictest(duties: Sequence[Duty]) -> Outcome:
    return max((duty.outcome for duty in duties), default=Outcome.ALLOW)


# ---------------------------------------------------------------------------------------------------------- discovery
def found(held: Held, names: object, schemas: object, run: Run) -> Steps[Discovery]:
    """Cut what a search found to permitted names, and promote these (`Gate.discovered`).

    Raises:
        RequestError: the result is malformed.
    """
    step = held.memory.step(run)
    permitted = frozenset((*step.visible, *step.deferred))
    result = discovered(names, schemas, permitted.__contains__)
    kept = yield from promoted(held, result.names, run)
    allowed = kept | frozenset(step.visible)
    return result if allowed.issuperset(result.names) else discovered(names, schemas, allowed.__contains__)


def promoted(held: Held, names: Collection[str], run: Run) -> Steps[frozenset[str]]:
    """Promote what this step deferred (`Gate.promote`); nothing else was permitted."""
    parts, chosen = held.parts, frozenset(names) & frozenset(held.memory.step(run).deferred)
    if not chosen:
        return chosen

    def change(state: RunState) -> Steps[RunState]:
        yield from ()
        return state if chosen <= state.promotions else replace(promote(state, chosen), version=state.version + 1)

    problem = yield from recorded(parts, lambda: entry("promotion", run, tools=tuple(sorted(chosen))))
    if problem is None:
        problem = yield from changed(parts, run, change)
    return chosen if problem is None else frozenset()
