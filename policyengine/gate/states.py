"""The state of a run, read and changed although others may change it at the same time."""

from __future__ import annotations

import random
from collections.abc import Callable

from policyengine.gate.denials import failed
from policyengine.gate.parts import Parts
from policyengine.gate.steps import Do, Pause, Steps
from policyengine.model import Finding
from policyengine.records import NamedTuple, replace
from policyengine.state import START, Label, RunState

CONFLICT = "store.conflict"
MAX_TRIES = 24
SHORTEST, LONGEST = 0.0005, 0.05  # seconds between two tries


class Loaded(NamedTuple):
    """A state, or why there is none."""

    state: RunState
    problem: Finding | None = None


def loaded(parts: Parts, scope: str) -> Steps[Loaded]:
    """Read the state of a scope."""
    try:
        return Loaded((yield Do(lambda: parts.states.load(scope), parts.waits)))
    except parts.engine.control_flow:
        raise
    except Exception as error:  # whatever a store raises, the run's past is not known
        return Loaded(START, failed("gate.store-failed", "What this run has done cannot be read", error))


def changed(parts: Parts, scope: str, change: Callable[[RunState], Steps[RunState]]) -> Steps[Finding | None]:
    """Change the state of a scope, from the beginning whenever somebody else has changed it meanwhile.

    Gives why that did not succeed; None where it did.
    """
    problem: Finding | None = None
    for attempt in range(MAX_TRIES):
        state, problem = yield from loaded(parts, scope)
        if problem is not None:
            return problem
        later = yield from change(state)
        try:
            yield Do(_save(parts, scope, state, later), parts.waits)
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


def labelled(parts: Parts, scope: str, labels: frozenset[Label]) -> Steps[Finding | None]:
    """Let a run carry labels from now on. Gives why that did not succeed; None where it did."""
    state, problem = yield from loaded(parts, scope)
    if problem is not None or labels <= state.labels:
        return problem

    def change(state: RunState) -> Steps[RunState]:
        yield from ()
        return replace(state, labels=state.labels | labels, version=state.version + 1)

    return (yield from changed(parts, scope, change))


def _save(parts: Parts, scope: str, before: RunState, later: RunState) -> Callable[[], None]:
    return lambda: parts.states.save(scope, before.version, later)
