"""What a gate tells the skill policy of a run: messages that are heard, replies that begin, loads of skills."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policyengine.effects import Facts
from policyengine.engine import Engine
from policyengine.errors import StoreError
from policyengine.gate.asks import final, final_request
from policyengine.gate.parts import Parts
from policyengine.gate.states import changed, loaded, own_key
from policyengine.gate.steps import Do, Steps
from policyengine.gate.terms import Message, Run, SignedDecision
from policyengine.model import Context, Finding, Request
from policyengine.policies.skill import Heard, UserMessage, newest
from policyengine.records import NamedTuple, replace
from policyengine.state import START, RunState


class Begun(NamedTuple):
    """What the user's newest message did, and why a model call could not begin."""

    heard: Heard | None = None
    problem: Finding | None = None


def began(parts: Parts, run: Run, context: Context, messages: Sequence[Message]) -> Steps[Begun]:
    """Begin a model call."""
    skills = parts.skills
    if skills is None:
        return Begun()
    message = newest(map(_user_message, messages))
    heard: Heard | None = None

    def change(state: RunState) -> Steps[RunState]:
        nonlocal heard
        yield from ()
        heard = skills.hear(state, message, context, run.principal)
        return skills.begin(replace(state, skills=heard.skills), context, run.principal, replies=run.replies)

    problem = yield from changed(parts, run, change)
    return Begun(heard, problem)


def _user_message(message: Message) -> UserMessage:
    text = message.content if isinstance(message.content, str) else ""
    return UserMessage(id=message.id, text=text, genuine=message.genuine)


# --------------------------------------------------------------------------------------------------------------- loads
def analysed(engine: Engine, request: Request, state: RunState) -> Facts | None:
    """Analyse a call ahead of its decision; None where that fails, which the decision then meets as well."""
    try:
        return engine.analyze(request, state)
    except engine.control_flow:
        raise
    except Exception:  # the engine denies what it cannot analyse
        return None


def attempted(parts: Parts, state: RunState, calls: Iterable[tuple[Request, Facts | None]]) -> RunState:
    """Note the skills that calls are about to load, before any of them is decided."""
    if parts.skills is None:
        return state
    return parts.skills.attempt(state, [(request, facts) for request, facts in calls if facts is not None])


def completed(parts: Parts, signed: SignedDecision) -> Steps[Finding | None]:
    """Note that a call ended without an error. Gives why that could not be kept; None where it could."""
    skills, decision = parts.skills, signed.decision
    if skills is None or decision.request is None:
        return None
    request, facts = final_request(decision), Facts(final(decision).effects)

    def change(state: RunState) -> Steps[RunState]:
        yield from ()
        later = skills.complete(state, request, facts)
        return later if later.skills != state.skills else state

    return (yield from changed(parts, signed.run, change))


def delegated(parts: Parts, run: Run, child: Run) -> Steps[None]:
    """Let what binds a run bind the run of its sub-agent; one that goes on keeps what it has loaded itself.

    Raises:
        StoreError: it could not be kept.
    """
    skills = parts.skills
    if skills is None:
        return
    parent = yield from loaded(parts, run)
    if parent.problem is not None:
        raise StoreError(parent.problem.code, parent.problem.message)
    key, given = own_key(child), skills.delegate(parent.state, run.principal)
    own: RunState = yield Do(lambda: parts.states.load(key), parts.waits)
    if own != START and given.ceiling is None:
        given = replace(own.skills, outer=given.outer)
    later = replace(own, version=own.version + 1, skills=given)
    yield Do(lambda: parts.states.save(key, own.version, later), parts.waits)
