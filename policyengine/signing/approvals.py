"""What an approval answers: the questions of one call, named one by one, and no others."""

from __future__ import annotations

from collections.abc import Iterable

from policyengine.effects import Effect, as_json
from policyengine.errors import TokenError
from policyengine.model import Finding, Grant, Outcome, Tier, digest_of, freeze
from policyengine.policy import placeless
from policyengine.signing.claims import Ask, Claims, Purpose


def open_asks(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Give the findings that somebody has to answer."""
    return tuple(one for one in findings if one.outcome is Outcome.ASK and not one.shadow)


def ask_of(finding: Finding) -> Ask:
    """Name a question: its rule, and its effect wherever in a text that is written."""
    return Ask(finding.rule, "" if finding.effect is None else digest_of(freeze(as_json(placeless(finding.effect)))))


def asks_of(findings: Iterable[Finding]) -> tuple[Ask, ...]:
    """Name the open questions among findings, for `Claims.asks`; in an order of their own."""
    return tuple(sorted({ask_of(one) for one in open_asks(findings)}))


def grants_of(claims: Claims, findings: Iterable[Finding]) -> tuple[Grant, ...]:
    """Give grants, one for each rule, that answer the open questions among live findings, if all of them were answered.

    Args:
        claims: of an approval of this call, verified.
        findings: of the live decision about it.

    Raises:
        TokenError: there is a question that was not answered (`token.asks`), or these are claims of something else
            (`token.purpose`).
    """
    if claims.purpose is not Purpose.APPROVAL:
        raise TokenError("token.purpose", "expected claims of an approval")
    asked = open_asks(findings)
    if not {ask_of(one) for one in asked} <= set(claims.asks):
        raise TokenError("token.asks", "the call now asks about something that was not answered")
    effects: dict[str, set[Effect] | None] = {}
    for one in asked:
        known = effects.setdefault(one.rule, set())
        if one.effect is None or known is None:
            effects[one.rule] = None  # of this rule every question was answered, also those without an effect
        else:
            known.add(placeless(one.effect))
    return tuple(
        Grant(
            source=f"approval:{claims.jti}",
            tier=Tier.USER,
            rules=frozenset({rule}),
            effects=None if found is None else frozenset(found),
            until=claims.expires,
            uses=1,
        )
        for rule, found in effects.items()
    )
