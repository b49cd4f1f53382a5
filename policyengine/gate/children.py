"""Sub-agents: the same person, scope, thread, tags and restrictions, one step deeper, and never more tools."""

from __future__ import annotations

from collections.abc import Iterable

from policyengine.errors import AuditError, TokenError, UsageError
from policyengine.gate.bounds import NOTHING
from policyengine.gate.parts import Held
from policyengine.gate.recording import entry, recorded
from policyengine.gate.skills import delegated as delegated_skills
from policyengine.gate.steps import Steps
from policyengine.gate.terms import Run
from policyengine.gate.tokens import delegation_token, verified_exposure
from policyengine.principal import delegated
from policyengine.records import replace


def child(held: Held, run: Run, agent: str, run_id: str, tools: Iterable[str] | None) -> Steps[Run]:
    """Give a sub-agent's run (`Gate.child`).

    Raises:
        TokenError: nothing could be signed.
        AuditError: it could not be recorded.
        StoreError: what binds the parent could not be kept for it.
        UsageError: its run or its name is empty.
    """
    if not (agent and run_id):
        raise UsageError("a sub-agent needs a name, and a run of its own")
    parts, names = held.parts, _names_of(held, run)
    for bound in (tools, run.offered):
        if bound is not None:
            names &= frozenset(bound)
    token = delegation_token(parts, parts.fresh(), run, agent, names)
    problem = yield from recorded(
        parts, lambda: entry("delegation", run, to=agent, to_run=run_id, tools=tuple(sorted(names)))
    )
    if problem is not None:
        raise AuditError(problem.code, problem.message)
    context = run.context
    below = Run(
        principal=delegated(run.principal, agent),
        context=replace(
            context, run_id=run_id, parent_run_id=context.run_id, step_id="", call_id="", depth=context.depth + 1
        ),
        delegation=token,
    )
    yield from delegated_skills(parts, run, below)
    return below


def _names_of(held: Held, run: Run) -> frozenset[str]:
    """What the parent sees in this step; nothing where that is not known."""
    token = run.exposure or held.memory.step(run).exposure
    if not token:
        return NOTHING
    try:
        names = verified_exposure(held.parts, token, run).names
    except TokenError:
        return NOTHING
    return NOTHING if names is None else names
