"""Live ∩ signed: what verified claims leave of a live answer, which is never more than it was."""

from __future__ import annotations

from policyengine.model import Decision, Exposure, Finding, Outcome, Severity
from policyengine.policy import merged, strictest_first
from policyengine.records import replace
from policyengine.signing.claims import Claims

HIDDEN = Finding(
    rule="token.not-allowed",
    code="token.not-allowed",
    message="What was signed does not allow this tool.",
    outcome=Outcome.DENY,
    severity=Severity.MEDIUM,
)


def exposed(live: Exposure, claims: Claims) -> Exposure:
    """Hide what the claims do not name."""
    names = claims.names
    if names is None:
        return live
    lost = [name for name in (*live.visible, *live.deferred) if name not in names]
    return replace(
        live,
        visible=tuple(name for name in live.visible if name in names),
        deferred=tuple(name for name in live.deferred if name in names),
        hidden={**live.hidden, **{name: (*live.hidden.get(name, ()), HIDDEN) for name in lost}},
    )


def decided(live: Decision, claims: Claims) -> Decision:
    """Give the stricter of the live outcome and the signed one, with the duties of both; DENY for a tool not named."""
    tool = None if live.request is None else live.request.resource.id
    if claims.names is not None and tool not in claims.names:
        return _stricter(live, Outcome.DENY, HIDDEN, claims)
    signed = Outcome.ALLOW if claims.outcome is None else claims.outcome
    if signed <= live.outcome:
        return replace(live, obligations=merged((*live.obligations, *claims.obligations)))
    rules = ", ".join(claims.rules)
    message = f"What was signed says {signed.word} (by {rules})." if rules else f"What was signed says {signed.word}."
    return _stricter(live, signed, replace(HIDDEN, code="token.stricter", message=message, outcome=signed), claims)


def _stricter(live: Decision, outcome: Outcome, finding: Finding, claims: Claims) -> Decision:
    return replace(
        live,
        outcome=outcome,
        findings=strictest_first((*live.findings, finding)),
        obligations=merged((*live.obligations, *claims.obligations)),
    )
