"""How the checks of tools say what failed."""

from __future__ import annotations

from policyengine.effects import Effect
from policyengine.model import Finding, Outcome, Severity
from policyengine.records import replace


def denied(code: str, message: str, *, case: str = "", instead: str = "", effect: Effect | None = None) -> Finding:
    """Deny; `case` makes the rule's id say which of several cases it is."""
    return Finding(
        rule=f"{code}.{case}" if case else code,
        code=code,
        message=message,
        outcome=Outcome.DENY,
        severity=Severity.MEDIUM,
        span=None if effect is None else effect.span,
        instead=instead,
        effect=effect,
    )


def asked(code: str, message: str, effect: Effect, *, instead: str = "") -> Finding:
    """Ask; a grant names the rule, and may name the effect."""
    return replace(denied(code, message, instead=instead, effect=effect), outcome=Outcome.ASK, severity=Severity.LOW)
