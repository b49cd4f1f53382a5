"""What a tool gave, as the model may see it: cleaned first and cut afterwards, so that nothing is cut in half."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from policyengine.errors import PolicyEngineError
from policyengine.gate.denials import ends_run, failed, finding
from policyengine.gate.parts import Held, Parts
from policyengine.gate.recording import recorded, result_entry
from policyengine.gate.skills import completed
from policyengine.gate.states import labelled
from policyengine.gate.steps import Steps
from policyengine.gate.terms import Result, SignedDecision
from policyengine.model import Finding, Frozen, Obligation, ObligationKind, Outcome, Verdict, freeze
from policyengine.policies.guardrails.content import Source, labels_of
from policyengine.policies.tool import bounded, flagged
from policyengine.policy import combine, merged
from policyengine.state import Label

T = TypeVar("T")
WITHHELD = "[withheld: this result may not be shown]"
_ALLOWED = Verdict(policy="content", outcome=Outcome.ALLOW)
_CLEANING = frozenset({ObligationKind.REDACT, ObligationKind.NEUTRALISE})


def after_tool(held: Held, result: Result, signed: SignedDecision) -> Steps[Result]:
    """Record how a call ended, and give its result (`Gate.after_tool`)."""
    parts, labels = held.parts, frozenset[Label]()
    try:
        source = parts.source(signed.call.name)
        verdict = _looked_at(parts, result, source)
        labels = labels_of(verdict.findings, source)
        given = _given(parts, result, verdict, signed.obligations)
    except Exception as error:  # what cannot be looked at is not shown
        given = _withheld(result, failed("gate.failed", "The result cannot be looked at", error))
    if signed.outcome is not Outcome.ALLOW or ends_run(signed.control):
        given = _withheld(result, finding("gate.not-allowed", "This is the result of a call that was not to run."))
    problem = (yield from labelled(parts, signed.run, labels)) if labels else None
    if problem is None and not result.error:
        problem = yield from completed(parts, signed)
    released = not held.memory.is_waiting(signed.id)
    unrecorded = yield from recorded(parts, lambda: result_entry(given, signed, _size(given.content), released))
    problem = unrecorded or problem
    return given if problem is None else _withheld(given, problem)


def _looked_at(parts: Parts, result: Result, source: Source) -> Verdict:
    if parts.content is None:
        return _ALLOWED
    texts = (freeze(result.content), freeze(result.raw), result.error)
    return combine([parts.content.look_at(texts, source)])


def _given(parts: Parts, result: Result, verdict: Verdict, decided: Iterable[Obligation]) -> Result:
    if verdict.outcome is not Outcome.ALLOW:
        return _withheld(result, *verdict.findings)
    obligations = merged((*decided, *verdict.obligations))
    content, raw, error = (
        _cleaned(parts, obligations, freeze(one)) for one in (result.content, result.raw, result.error)
    )
    limit = next((one.limit for one in obligations if one.kind is ObligationKind.TRUNCATE), None)
    cut = False
    if limit is not None:
        (content, cut_content), (raw, cut_raw) = bounded(content, limit), bounded(raw, limit)
        cut = cut_content or cut_raw
    return Result(
        content=content,
        raw=raw,
        error=flagged(str(error), limit) if cut and limit is not None else str(error),
        truncated=cut,
        findings=verdict.findings,
    )


def _cleaned(parts: Parts, obligations: Iterable[Obligation], value: Frozen) -> Frozen:
    cleaning = [one for one in obligations if one.kind in _CLEANING]
    if not cleaning:
        return value
    if parts.content is None:
        raise PolicyEngineError("no detectors")
    return parts.content.apply_to(cleaning, value)


def _withheld(result: Result, *reasons: Finding) -> Result:
    codes = ", ".join(dict.fromkeys(one.code for one in reasons if one.outcome is not Outcome.ALLOW))
    return Result(content=WITHHELD, error=f"withheld ({codes})", withheld=True, findings=reasons)


def _size(value: object) -> int | None:
    return len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else None
