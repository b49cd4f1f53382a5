"""A run narrowed while it goes on, by whoever operates it: for all who share its scope, and to its end."""

from __future__ import annotations

from collections.abc import Iterable

from policyengine.errors import AuditError, StoreError, UsageError
from policyengine.gate.parts import Parts
from policyengine.gate.recording import entry, recorded
from policyengine.gate.states import changed
from policyengine.gate.steps import Steps
from policyengine.gate.terms import Run
from policyengine.state import RunState, restrict


def restricted(parts: Parts, run: Run, tools: Iterable[str], by: str) -> Steps[None]:
    """Leave only these tools (`Gate.restrict`).

    Raises:
        UsageError: nobody is named.
        StoreError: it could not be kept; nothing has changed.
        AuditError: it holds, and could not be recorded.
    """
    if not by:
        raise UsageError("say who restricts the run")
    names = frozenset(tools)

    def change(state: RunState) -> Steps[RunState]:
        yield from ()
        return restrict(state, by, names)

    problem = yield from changed(parts, run, change)
    if problem is not None:
        raise StoreError(problem.code, problem.message)
    problem = yield from recorded(parts, lambda: entry("restricted", run, by=by, tools=tuple(sorted(names))))
    if problem is not None:
        raise AuditError(problem.code, problem.message)
