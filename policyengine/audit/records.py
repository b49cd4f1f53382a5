"""What records say: pure functions from what happened to what is written.

Values are left out unless a caller names `Detail.FULL`: of arguments there are names, types and lengths, and one digest
over all (from which a value that can be guessed can be found out by trying); of findings, rule and code, not the
message; of a token, no byte. Every record has a `type`, and of one type always the same fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from policyengine.effects import as_json
from policyengine.errors import AuditError, RequestError
from policyengine.model import (
    Attributes,
    Context,
    Decision,
    Exposure,
    Finding,
    Frozen,
    Grant,
    Obligation,
    Principal,
    Request,
    Resource,
    ResourceKind,
    ShellKind,
    digest_of,
    freeze_object,
)

MAX_NAME = 256  # characters of a name that a model or a client chose; a longer one is recorded by its digest
MAX_ITEMS = 256  # findings, arguments or names of one record; how many there are beyond that is recorded


class Detail(StrEnum):
    """What of a request is kept.

    `REDACTED`: no values. `FULL`: everything, secrets included, as `policyengine replay` needs it; such a log has to be
    guarded like the secrets in it.
    """

    REDACTED = "redacted"
    FULL = "full"


class CallStatus(StrEnum):
    """How a call that was let through ended."""

    OK = "ok"
    ERROR = "error"
    NOT_RUN = "not-run"  # the host stopped it: digest mismatch, an obligation it cannot discharge, a late denial
    UNKNOWN = "unknown"  # nobody can tell, e.g. after a timeout


class Answer(StrEnum):
    """What became of a question to a person."""

    APPROVED = "approved"
    REJECTED = "rejected"
    SPENT = "spent"  # the approval was used for this call
    REUSED = "reused"  # somebody tried to use it again


def decision_record(decision: Decision, detail: Detail = Detail.REDACTED) -> dict[str, Frozen]:
    """Record a decision, whatever its outcome, with the decision about the rewritten call in it where there was one."""
    request = decision.request
    later = None if decision.rewritten is None else decision_record(decision.rewritten, detail)
    return {
        "type": "decision",
        "id": decision.id,
        "outcome": decision.outcome.word,
        "request": None if request is None else request_summary(request),
        "findings": tuple(map(_finding, decision.findings[:MAX_ITEMS])),
        "findings_left_out": max(0, len(decision.findings) - MAX_ITEMS),
        "obligations": tuple(map(_obligation, decision.obligations)),
        "control": None if decision.control is None else decision.control.kind.value,
        "grants": tuple(_grant(grant, detail) for grant in decision.grants),
        "policy_digest": decision.policy_digest,
        "state_version": decision.state_version,
        "rewritten": later,
        "values": None if request is None or detail is Detail.REDACTED else values_of(request),
    }


def exposure_record(request: Request, exposure: Exposure) -> dict[str, Frozen]:
    """Record which tools a model was shown, and by which rules others were hidden from it."""
    hidden: dict[str, Frozen] = {
        _name(tool): tuple((_name(finding.rule), finding.code) for finding in findings[:MAX_ITEMS])
        for tool, findings in exposure.hidden.items()
    }
    return {
        "type": "exposure",
        "event": "ToolsFiltered",
        "principal": _principal(request.principal),
        "context": _context(request.context),
        "visible": tuple(map(_name, exposure.visible)),
        "deferred": tuple(map(_name, exposure.deferred)),
        "hidden": hidden,
    }


def refused_token_record(code: str, purpose: str, request: Request) -> dict[str, Frozen]:
    """Record that a signed token did not count, and why; the token itself is not written."""
    return {"type": "token", "event": "refused", "code": code, "purpose": purpose, "request": request_summary(request)}


def approval_record(
    decision: Decision, answer: Answer, *, by: str, jti: str = "", covers: Iterable[str] = ()
) -> dict[str, Frozen]:
    """Record an answer to a question.

    Args:
        decision: the one that asked.
        answer: what became of it.
        by: who answered.
        jti: id of the approval, where there is one.
        covers: rule ids that it answers beyond this call, as it was granted; none for this call alone.
    """
    return {
        "type": "approval",
        "answer": answer.value,
        "decision": decision.id,
        "by": _name(by),
        "jti": jti,
        "covers": tuple(sorted(map(_name, covers))),
        "request": None if decision.request is None else request_summary(decision.request),
    }


def result_record(
    decision: Decision,
    status: CallStatus,
    *,
    size: int | None = None,
    discharged: Iterable[Obligation] = (),
    error: str = "",
) -> dict[str, Frozen]:
    """Record how a call ended.

    Args:
        decision: the one that let it run.
        status: how it ended.
        size: bytes of the result that went on, None where there is none.
        discharged: the obligations that were met.
        error: name of an exception's class or of a code; never a message, which may hold values.
    """
    request = decision.request
    return {
        "type": "result",
        "decision": decision.id,
        "status": status.value,
        "size": size,
        "discharged": tuple(map(_obligation, discharged)),
        "error": _name(error),
        "context": None if request is None else _context(request.context),
        "arguments_digest": "" if request is None else request.arguments_digest,
    }


def request_summary(request: Request) -> dict[str, Frozen]:
    """What was asked, without values."""
    return {
        "digest": request.digest,
        "principal": _principal(request.principal),
        "action": request.action,
        "kind": request.resource.kind.value,
        "resource": _name(request.resource.id),
        "arguments_digest": request.arguments_digest,
        "arguments": None if request.arguments is None else _shapes(request.arguments),
        "context": _context(request.context),
    }


def _principal(principal: Principal) -> dict[str, Frozen]:
    return {
        "id": _name(principal.id),
        "roles": tuple(map(_name, principal.roles[:MAX_ITEMS])),
        "internal": principal.internal,
        "agent": _name(principal.agent),
        "delegation": tuple(map(_name, principal.delegation[:MAX_ITEMS])),
    }


def _context(context: Context) -> dict[str, Frozen]:
    return {
        "scope_id": _name(context.scope_id),
        "run_id": _name(context.run_id),
        "parent_run_id": _name(context.parent_run_id),
        "step_id": _name(context.step_id),
        "thread_id": _name(context.thread_id),
        "call_id": _name(context.call_id),
        "model": _name(context.model),
        "active_skills": tuple(map(_name, context.active_skills[:MAX_ITEMS])),
    }


def _name(text: str) -> str:
    return text if len(text) <= MAX_NAME else f"sha256:{digest_of(text)}"


def _shapes(arguments: Attributes) -> tuple[Frozen, ...]:
    """Name, type and length of each argument."""
    shapes = [(_name(name), *_shape(value)) for name, value in list(arguments.items())[:MAX_ITEMS]]
    return tuple(shapes) if len(arguments) <= MAX_ITEMS else (*shapes, ("", "left out", len(arguments) - MAX_ITEMS))


def _shape(value: Frozen) -> tuple[str, int | None]:
    match value:
        case str():
            return "text", len(value)
        case tuple():
            return "list", len(value)
        case Mapping():
            return "object", len(value)
        case bool():
            return "truth", None
        case None:
            return "null", None
        case _:
            return "number", None


def _finding(finding: Finding) -> dict[str, Frozen]:
    return {
        "rule": finding.rule,
        "code": finding.code,
        "outcome": finding.outcome.word,
        "severity": finding.severity.word,
        "shadow": finding.shadow,
    }


def _obligation(obligation: Obligation) -> dict[str, Frozen]:
    return {"kind": obligation.kind.value, "limit": obligation.limit, "names": tuple(sorted(obligation.names))}


def _grant(grant: Grant, detail: Detail) -> dict[str, Frozen]:
    """A grant; the effects that it covers say paths and hosts, so that they are values."""
    effects: Frozen = None if grant.effects is None else len(grant.effects)
    if grant.effects is not None and detail is Detail.FULL:
        effects = tuple(sorted((freeze_object(as_json(effect)) for effect in grant.effects), key=digest_of))
    return {
        "source": _name(grant.source),
        "tier": grant.tier.name.lower(),
        "rules": tuple(sorted(grant.rules)),
        "effects": effects,
        "until": grant.until,
        "uses": grant.uses,
    }


# ------------------------------------------------------------------------------------------------------- whole requests
def values_of(request: Request) -> dict[str, Frozen]:
    """Write a request with everything in it."""
    principal, context = request.principal, request.context
    return {
        "principal": {name: getattr(principal, name) for name in Principal._fields},
        "action": request.action,
        "kind": request.resource.kind.value,
        "resource": request.resource.id,
        "arguments": request.arguments,
        "context": {
            **{name: getattr(context, name) for name in Context._fields},
            "shell": context.shell.value,
            "tags": tuple(sorted(context.tags)),
        },
    }


def request_of(values: object) -> Request:
    """Read a request that `values_of` wrote.

    Raises:
        AuditError: it is none (`audit.record`).
    """
    try:
        known: Mapping[str, Any] = freeze_object(values)  # Any: written by `values_of`, and its MAC holds
        return Request(
            principal=Principal(**known["principal"]),
            action=known["action"],
            resource=Resource(ResourceKind(known["kind"]), known["resource"]),
            arguments=None if known["arguments"] is None else freeze_object(known["arguments"]),
            context=Context(**_context_of(known["context"])),
        )
    except (KeyError, TypeError, ValueError, RequestError) as error:
        raise AuditError("audit.record", f"a request that cannot be read back: {error}") from error


def _context_of(known: Mapping[str, Any]) -> dict[str, Any]:
    return {**known, "shell": ShellKind(known["shell"]), "tags": frozenset(known["tags"])}
