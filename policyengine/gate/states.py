"""The state of a run, read and changed although others may change it at the same time.

What a run has done belongs to its scope, which sub-agents share. Which skills are active belongs to each agent's run:
a sub-agent's are kept under a name of their own, and joined to the scope's state while something is decided.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from policyengine.gate.denials import failed
from policyengine.gate.parts import Parts
from policyengine.gate.steps import Do, Pause, Steps
from policyengine.gate.terms import Run
from policyengine.model import Finding, digest_of
from policyengine.records import NamedTuple, replace
from policyengine.state import START, Label, RunState, SkillState

CONFLICT = "store.conflict"
_LOST = SkillState(ceiling=(), before=())
MAX_TRIES = 24
SHORTEST, LONGEST = 0.0005, 0.05  # seconds between two tries


class Loaded(NamedTuple):
    """A state as policies see it, and the parts that it was joined from; or why there is none."""

    state: RunState
    shared: RunState = START
    own: RunState | None = None
    problem: Finding | None = None


def own_key(run: Run) -> str:
    """Name what belongs to a sub-agent's run alone; empty for a run that nobody started as a sub-agent's."""
    if not run.principal.delegation:
        return ""
    return f"run:{digest_of((run.context.scope_id, run.context.run_id))}"


def loaded(parts: Parts, run: Run) -> Steps[Loaded]:
    """Read the state of a run."""
    scope, key = run.context.scope_id, own_key(run) if parts.skills is not None else ""
    try:
        shared: RunState = yield Do(lambda: parts.states.load(scope), parts.waits)
        if not key:
            return Loaded(shared, shared)
        own: RunState = yield Do(lambda: parts.states.load(key), parts.waits)
    except parts.engine.control_flow:
        raise
    except Exception as error:  # whatever a store raises, the run's past is not known
        return Loaded(START, problem=failed("gate.store-failed", "What this run has done cannot be read", error))
    if own == START:  # what binds a sub-agent was kept when it was started: it is lost, and nothing is left
        own = replace(own, skills=_LOST)
    return Loaded(replace(shared, skills=own.skills), shared, own)


def changed(parts: Parts, run: Run, change: Callable[[RunState], Steps[RunState]]) -> Steps[Finding | None]:
    """Change the state of a run, from the beginning whenever somebody else has changed it meanwhile.

    Gives why that did not succeed; None where it did.
    """
    problem: Finding | None = None
    for attempt in range(MAX_TRIES):
        before = yield from loaded(parts, run)
        if before.problem is not None:
            return before.problem
        later = yield from change(before.state)
        if later is before.state:
            return None
        try:
            yield Do(_saving(parts, run, before, later), parts.waits)
        except parts.engine.control_flow:
            raise
        except Exception as error:  # as above
            problem = failed("gate.store-failed", "What this run does cannot be kept", error)
            if getattr(error, "code", "") != CONFLICT:
                return problem
            yield Pause(random.uniform(SHORTEST, min(SHORTEST * 2**attempt, LONGEST)))  # noqa: S311  no secret
        else:
            return None
    return problem


def _saving(parts: Parts, run: Run, before: Loaded, later: RunState) -> Callable[[], None]:
    """What a sub-agent's skills restrict is kept first: if the rest fails, only that has become stricter."""
    scope, key, shared, own = run.context.scope_id, own_key(run), before.shared, before.own
    version = max(later.version, shared.version + 1)

    def save() -> None:
        if own is None:
            parts.states.save(scope, shared.version, replace(later, version=version))
            return
        if later.skills != own.skills:
            parts.states.save(key, own.version, replace(own, skills=later.skills, version=own.version + 1))
        parts.states.save(scope, shared.version, replace(later, skills=shared.skills, version=version))

    return save


def labelled(parts: Parts, run: Run, labels: frozenset[Label]) -> Steps[Finding | None]:
    """Let a run carry labels from now on. Gives why that did not succeed; None where it did."""

    def change(state: RunState) -> Steps[RunState]:
        yield from ()
        return state if labels <= state.labels else replace(state, labels=state.labels | labels)

    return (yield from changed(parts, run, change))
