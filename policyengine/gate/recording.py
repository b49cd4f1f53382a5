"""What is written down: one record an answer, with no message or token in it, and no argument unless one wants that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeAlias

from policyengine import audit
from policyengine.audit import CallStatus
from policyengine.gate.bounds import Refused
from policyengine.gate.denials import failed
from policyengine.gate.parts import Parts
from policyengine.gate.steps import Do, Steps
from policyengine.gate.terms import Duty, Result, Run, SignedDecision, SignedExposure
from policyengine.model import Finding, Frozen, Outcome, Request, Resource, ResourceKind

Entry: TypeAlias = Mapping[str, Frozen]


def recorded(parts: Parts, entry: Callable[[], Entry]) -> Steps[Finding | None]:
    """Make a record and keep it. Gives why that failed; None where it is kept."""
    try:
        made = entry()
        yield Do(lambda: parts.log.append(made), parts.waits)
    except parts.engine.control_flow:
        raise
    except Exception as error:  # whatever a log raises, the answer is not on record
        return failed("gate.audit-failed", "This cannot be recorded", error)
    return None


def decision_entry(parts: Parts, signed: SignedDecision, refused: Iterable[Refused]) -> Entry:
    """Record a decision; where it is about a request, that says in which run."""
    return {
        **audit.decision_record(signed.decision, parts.detail),
        "jti": signed.id,
        "run": _run(signed.run) if signed.decision.request is None else None,
        "refused_tokens": _refused(refused),
    }


def reply_entry(parts: Parts, decided: Iterable[SignedDecision], run: Run, refused: Iterable[Refused]) -> Entry:
    """Record the decisions about the calls of one reply."""
    return {
        "type": "reply",
        "decisions": tuple(audit.decision_record(one.decision, parts.detail) for one in decided),
        "run": _run(run),
        "refused_tokens": _refused(refused),
    }


def exposure_entry(parts: Parts, answer: SignedExposure, run: Run, id: str, refused: Iterable[Refused]) -> Entry:
    """Record what a model was shown, by which rules tools were hidden, and what was found in its messages."""
    return {
        **audit.exposure_record(_about(run), answer.exposure),
        "jti": id,
        "run": _run(run),
        "policy_digest": parts.engine.policy_digest,
        "messages": _messages(answer.duties),
        "refused_tokens": _refused(refused),
    }


def _about(run: Run) -> Request:
    """Who was shown something, and where; also where no request could be made of that."""
    tool = Resource(ResourceKind.TOOL, "")
    return Request(principal=run.principal, action="", resource=tool, arguments=None, context=run.context)


def _messages(duties: Collection[Duty]) -> Entry:
    return {
        "number": len(duties),
        "findings": tuple(sorted({one.rule for duty in duties for one in duty.findings})),
        "withheld": sum(duty.outcome is not Outcome.ALLOW for duty in duties),
    }


def result_entry(result: Result, signed: SignedDecision, size: int | None, released: bool) -> Entry:
    """Record how a call ended; `released` says whether the host let it be released before it ran."""
    error = "withheld" if result.withheld else "truncated" if result.truncated else "error" if result.error else ""
    status = CallStatus.ERROR if result.error and not result.truncated else CallStatus.OK
    return {
        **audit.result_record(signed.decision, status, size=size, discharged=signed.obligations, error=error),
        "jti": signed.id,
        "released": released,
        "findings": tuple(sorted({one.rule for one in result.findings})),
    }


def entry(event: str, run: Run, **fields: Frozen) -> Entry:
    """Record something else that happened in a run."""
    return {"type": event, "run": _run(run), **fields}


def _run(run: Run) -> Entry:
    context, principal = run.context, run.principal
    return {
        "scope_id": context.scope_id,
        "run_id": context.run_id,
        "step_id": context.step_id,
        "thread_id": context.thread_id,
        "principal": principal.id,
        "agent": principal.agent,
        "delegation": principal.delegation,
        "depth": context.depth,
    }


def _refused(refused: Iterable[Refused]) -> Frozen:
    return tuple((one.purpose, one.code) for one in refused)
