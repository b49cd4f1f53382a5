"""Calls that a policy wants with other arguments: they are decided again, once."""

from __future__ import annotations

from policyengine.model import ControlKind, Decision, Finding, Outcome, Request, Severity, digest_of
from policyengine.policy import merged, strictest_first
from policyengine.records import replace


def rewritten(request: Request, decision: Decision) -> Request | None:
    """The call that a decision wants instead, or None."""
    control = decision.control
    if control is None or control.kind is not ControlKind.REWRITE:
        return None
    return replace(request, arguments=control.arguments)


def joined(first: Decision, second: Decision, request: Request) -> Decision:
    """The answer about the rewritten call counts, but no rewriting turns a DENY into an ALLOW without a person.

    What was found about either call is told; what runs is the rewritten one, so what that one's findings say of the run
    (`Finding.labels`) has to be there.
    """
    notes: list[Finding] = []
    if first.outcome is Outcome.DENY:
        notes.append(_note("engine.rewritten", Outcome.ASK, "The call was denied as it was sent, and was rewritten."))
    control = first.control
    if second.control is not None and second.control.kind is not ControlKind.REWRITE:
        control = second.control
    elif second.control is not None and digest_of(second.control.arguments) != digest_of(request.arguments):
        notes.append(_note("engine.rewritten-again", Outcome.DENY, "The rewritten call would have to be rewritten."))
    return replace(
        first,
        outcome=max(second.outcome, *(note.outcome for note in notes), Outcome.ALLOW),
        findings=strictest_first(tuple(dict.fromkeys((*first.findings, *second.findings, *notes)))),
        obligations=merged((*first.obligations, *second.obligations)),
        control=control,
        grants=tuple(dict.fromkeys((*first.grants, *second.grants))),
        rewritten=second,
    )


def _note(code: str, outcome: Outcome, message: str) -> Finding:
    return Finding(rule=code, code=code, message=message, outcome=outcome, severity=Severity.MEDIUM)
