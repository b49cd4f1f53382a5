"""How the engine fails closed: what is refused as no answer, and the verdicts that stand for what went wrong.

Codes: `engine.analyzer-raised`, `engine.analyzer-rubbish`, `engine.opaque-CAUSE` (text over a limit, or that cannot
be read), `engine.policy-raised`, `engine.policy-late`, `engine.policy-rubbish`; `policy.combine` adds
`engine.no-policies`, `engine.rewrites-differ` and `engine.unexplained`, `rewriting` the two about rewritten calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from policyengine.effects import KINDS, Cause, Facts, Opaque
from policyengine.model import Control, ControlKind, Finding, Obligation, Outcome, Severity, Verdict, freeze_object
from policyengine.policy import Policy, refusal
from policyengine.records import replace
from policyengine.state import Label

LABELS: frozenset[str] = frozenset(Label)
_SOUND = "is_sound"  # kept beside the fields of a verdict
ENGINE = "engine"  # name of the engine's own verdicts


def no_analysis(code: str, message: str) -> tuple[Facts, list[Verdict]]:
    """Give facts that say that nothing is known, and the refusal that follows."""
    return Facts((Opaque(Cause.ANALYZER_ERROR),)), [refusal(ENGINE, code, message)]


def are_facts(facts: object) -> bool:
    """Whether what an analysis gave is facts in every part."""
    return (
        type(facts) is Facts
        and type(facts.effects) is tuple
        and all(type(effect) in KINDS for effect in facts.effects)
        and type(facts.written) is tuple
        and (facts.cwd is None or isinstance(facts.cwd, str))
    )


_CAUSES = {
    Cause.LIMIT: "The text is longer or more nested than is read, and what is not read is not allowed.",
    Cause.UNPARSEABLE: "The text is not valid in its language, so what it would do is not known.",
    Cause.ANALYZER_ERROR: "A part of the text could not be analysed.",
}


def unreadable(effects: Iterable[Opaque]) -> Verdict:
    """Deny what broken or excessive text would hide; in the engine itself, so that no profile can leave it out."""
    findings = tuple(
        Finding(
            rule=f"engine.opaque-{effect.cause}",
            code=f"engine.opaque-{effect.cause}",
            message=_told(effect),
            outcome=Outcome.DENY,
            severity=Severity.HIGH,
            span=effect.span,
            instead="Send a shorter, plain, complete command.",
            effect=effect,
        )
        for effect in effects
    )
    return Verdict(policy=ENGINE, outcome=Outcome.DENY, findings=findings)


def _told(effect: Opaque) -> str:
    detail = f" In detail: {effect.detail}." if effect.detail else ""
    return _CAUSES[effect.cause] + detail


def late(policy: Policy) -> Verdict:
    """Refuse because a policy took longer than it may."""
    return refusal(ENGINE, "engine.policy-late", f"The policy {_name(policy)} did not answer in time.")


def raised(policy: Policy, error: Exception) -> Verdict:
    """Refuse because a policy raised."""
    return refusal(ENGINE, "engine.policy-raised", f"The policy {_name(policy)} failed ({type(error).__name__}).")


def _name(policy: Policy) -> str:
    try:
        return str(policy.name)
    except Exception:  # even its name may fail
        return type(policy).__name__


def checked(policy: Policy, answer: object) -> Verdict:
    """Give the answer if it is a verdict in every part; what is not one is a refusal.

    A verdict that was one in every part stays so, as all of it is frozen: it is looked through once.
    """
    if type(answer) is not Verdict:
        return _rubbish(policy)
    if _SOUND in answer.__dict__:
        return answer
    if type(answer.outcome) is Outcome:
        if not (answer.findings or answer.obligations or answer.control):
            return _sound(answer) if _is_empty(answer) else _rubbish(policy)
        if _are(answer.findings, _is_finding) and _are(answer.obligations, _is_obligation):
            if answer.control is None:
                return _sound(answer)
            if _is_control(answer.control):
                return replace(answer, control=_frozen(answer.control))
    return _rubbish(policy)


def _sound(answer: Verdict) -> Verdict:
    answer.__dict__[_SOUND] = True
    return answer


def _rubbish(policy: Policy) -> Verdict:
    return refusal(ENGINE, "engine.policy-rubbish", f"The policy {_name(policy)} gave no valid answer.")


def _is_empty(answer: Verdict) -> bool:
    return answer.findings == () and answer.obligations == () and answer.control is None


def _are(values: object, test: Callable[[object], bool]) -> bool:
    return type(values) is tuple and all(map(test, values))


def _is_finding(value: object) -> bool:
    return (
        type(value) is Finding
        and type(value.outcome) is Outcome
        and type(value.severity) is Severity
        and type(value.rule) is str
        and type(value.message) is str
        and (value.span is None or (_are(value.span, _is_whole) and len(value.span) == 2))
        and (value.effect is None or type(value.effect) in KINDS)
        and type(value.labels) is frozenset
        and value.labels <= LABELS
    )


def _is_obligation(value: object) -> bool:
    return (
        type(value) is Obligation
        and (value.limit is None or (_is_whole(value.limit) and value.limit >= 0))
        and type(value.names) is frozenset
    )


def _is_control(value: object) -> bool:
    return (
        type(value) is Control
        and type(value.kind) is ControlKind
        and type(value.text) is str
        and isinstance(value.at, int | float)
        and value.at == value.at  # not NaN
        and (value.arguments is not None) is (value.kind is ControlKind.REWRITE)
    )


def _is_whole(value: object) -> bool:
    return type(value) is int


def _frozen(control: Control) -> Control:
    return control if control.arguments is None else replace(control, arguments=freeze_object(control.arguments))
