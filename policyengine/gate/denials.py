"""Answers that are the gate's own: DENY, each with a code that says what is missing or failed.

Codes: `gate.no-scope`, `gate.failed`, `gate.store-failed`, `gate.audit-failed`, `gate.signing-failed`,
`gate.cannot-ask` and the like for every capability that a host lacks, `gate.no-detector`, `gate.too-many-calls`,
`gate.duplicate-call`, `gate.denied-before`, `gate.rejected`, `gate.tool-name`; tokens
that are refused keep the codes of `signing`.
"""

from __future__ import annotations

from collections.abc import Iterator

from policyengine.gate.terms import Capabilities
from policyengine.model import (
    Control,
    ControlKind,
    Decision,
    Finding,
    Obligation,
    ObligationKind,
    Outcome,
    Request,
    Severity,
)
from policyengine.policies.guardrails.content import Content
from policyengine.policy import strictest_first
from policyengine.records import replace

ISOLATED = "required"  # says `Context.sandbox` of runs in which every call is isolated; no other name is taken for it


def finding(code: str, message: str, instead: str = "") -> Finding:
    """Give the finding for an answer of the gate's own."""
    return Finding(rule=code, code=code, message=message, outcome=Outcome.DENY, severity=Severity.HIGH, instead=instead)


def failed(code: str, what: str, error: Exception) -> Finding:
    """Give the finding for something that failed. Of the error only its own code or type is told, never its text."""
    detail = str(getattr(error, "code", "")) or type(error).__name__  # errors of ours have a code, others may
    return finding(code, f"{what} ({detail}), so nothing is allowed.")


def undecided(reason: Finding, request: Request | None = None) -> Decision:
    """Deny what the engine was not asked about."""
    return Decision(outcome=Outcome.DENY, findings=(reason,), effects=(), request=request)


def denied(decision: Decision, *reasons: Finding) -> Decision:
    """Deny for further reasons what the engine has decided."""
    return replace(
        decision,
        outcome=Outcome.DENY,
        findings=strictest_first((*reasons, *decision.findings)),
        grants=(),
    )


# ---------------------------------------------------------------------------------------------------- capabilities
_DUTIES = {
    ObligationKind.REDACT: "can_change_results",
    ObligationKind.NEUTRALISE: "can_change_results",
    ObligationKind.TRUNCATE: "can_change_results",
    ObligationKind.SANDBOX: "can_sandbox",
    ObligationKind.TIMEOUT: "can_limit_time",
    ObligationKind.NOTIFY: "can_notify",
}
_CONTROLS = {
    ControlKind.REWRITE: "can_rewrite",
    ControlKind.STOP: "can_stop",
    ControlKind.INTERRUPT: "can_interrupt",
}
_LACKS = {
    "can_ask": ("gate.cannot-ask", "This asks a person, and there is nobody to ask."),
    "can_rewrite": (
        "gate.cannot-rewrite",
        "This would only be allowed with other arguments, and this host cannot change them.",
    ),
    "can_change_results": (
        "gate.cannot-change-results",
        "The result would have to be changed before it is shown, and this host cannot do that.",
    ),
    "can_sandbox": ("gate.cannot-sandbox", "This has to run in a sandbox, and this host has none."),
    "can_limit_time": (
        "gate.cannot-limit-time",
        "This may only take a limited time, and this host cannot end it.",
    ),
    "can_notify": ("gate.cannot-notify", "Somebody has to be told about this, and this host cannot do that."),
    "can_stop": ("gate.cannot-stop", "This ends the run, and this host cannot do that."),
    "can_interrupt": ("gate.cannot-interrupt", "This interrupts the run, and this host cannot do that."),
}


def enforceable(decision: Decision, capabilities: Capabilities, content: Content | None) -> Decision:
    """Deny what the host could not enforce as it was decided."""
    if decision.outcome is Outcome.DENY:
        return decision
    lacking = [name for name in _needed(decision) if not getattr(capabilities, name)]  # a field of Capabilities
    reasons = [finding(*_LACKS[name]) for name in lacking]
    if not _are_known(decision.obligations, content):
        reasons.append(finding("gate.no-detector", "What would have to be cleaned in the result cannot be found here."))
    return denied(decision, *reasons) if reasons else decision


def _needed(decision: Decision) -> Iterator[str]:
    if decision.outcome is Outcome.ASK:
        yield "can_ask"
    for obligation in decision.obligations:
        if obligation.kind is not ObligationKind.SANDBOX or not _is_sandboxed(decision):
            yield _DUTIES[obligation.kind]
    if decision.control is not None:
        yield _CONTROLS[decision.control.kind]


def _is_sandboxed(decision: Decision) -> bool:
    return decision.request is not None and decision.request.context.sandbox == ISOLATED


_CLEANING = frozenset({ObligationKind.REDACT, ObligationKind.NEUTRALISE})


def _are_known(obligations: tuple[Obligation, ...], content: Content | None) -> bool:
    names = {name for one in obligations if one.kind in _CLEANING for name in one.names}
    return not names or (content is not None and names <= content.detectors.by_id().keys())


def ends_run(control: Control | None) -> bool:
    """Whether a control keeps the call from running."""
    return control is not None and control.kind is not ControlKind.REWRITE
