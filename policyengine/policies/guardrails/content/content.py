"""What text contains, judged: a policy over the arguments of calls, and the same for results, inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from policyengine.effects import Contains, Facts
from policyengine.errors import UsageError
from policyengine.model import (
    EMPTY,
    Attributes,
    Control,
    ControlKind,
    Finding,
    Frozen,
    Obligation,
    ObligationKind,
    Outcome,
    Request,
    Severity,
    Verdict,
)
from policyengine.policies.guardrails.content.applying import apply, apply_to, cleaned
from policyengine.policies.guardrails.content.detectors import (
    Action,
    Detector,
    Detectors,
    Place,
    Plain,
    Source,
    Text,
    places,
)
from policyengine.policies.guardrails.content.stream import Scanner
from policyengine.state import Label, RunState

MAX_FINDINGS = 50  # of one detector about one text; one more says how many others there are
SECRET = "secret"  # noqa: S105  a category
Overrides = Mapping[str, Mapping[Source, Action]]

_OUTCOMES: Mapping[Action, Outcome] = {Action.ASK: Outcome.ASK, Action.DENY: Outcome.DENY}
_LEAST: Mapping[Outcome, Severity] = {
    Outcome.ALLOW: Severity.INFO,
    Outcome.ASK: Severity.LOW,
    Outcome.DENY: Severity.MEDIUM,
}
_OBLIGATIONS: Mapping[Action, ObligationKind] = {
    Action.REDACT: ObligationKind.REDACT,
    Action.NEUTRALISE: ObligationKind.NEUTRALISE,
}


class Content:
    """Detectors, and what is done about what they find.

    Args:
        detectors: those of the rules that are loaded, as compiled (`Ready.detectors`).
        overrides: id or category of detectors → where a text comes from → what is done instead; an id wins.

    Raises:
        UsageError: an override is for something that no detector is.
    """

    __slots__ = ("_active", "_overrides", "detectors", "name")

    def __init__(
        self, detectors: Mapping[str, Plain], *, overrides: Overrides | None = None, name: str = "content"
    ) -> None:
        self.name = name
        self.detectors = Detectors(detectors)
        self._overrides = overrides or {}
        self._active: dict[Source, list[tuple[Detector, Action]]] = {}
        known = {*detectors, *(one.partition(".")[0] for one in detectors)}
        for key in self._overrides:
            if key not in known:
                raise UsageError(f"no detector is or belongs to `{key}`")

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge the texts among a call's arguments; what is to be redacted there rewrites the call."""
        del facts, state
        if request.arguments is None:
            return Verdict(policy=self.name, outcome=Outcome.ALLOW)
        verdict = self._judged(_texts(request.arguments), Source.ARGUMENT)
        changes, others = _split(verdict.obligations)
        if not changes:
            return verdict
        control = Control(kind=ControlKind.REWRITE, arguments=self._rewritten(changes, request.arguments))
        return Verdict(
            policy=self.name, outcome=verdict.outcome, findings=verdict.findings, obligations=others, control=control
        )

    def look(self, text: str, source: Source) -> Verdict:
        """Judge one text: findings with `content.contains` effects, and obligations for whoever passes it on."""
        return self._judged((text,), source)

    def look_at(self, value: Frozen, source: Source) -> Verdict:
        """Judge every text in a value, such as the parts of a message."""
        return self._judged(_texts(value), source)

    def apply(self, obligations: Sequence[Obligation], text: str) -> str:
        """Carry out obligations on a text (see `applying.apply`)."""
        return apply(obligations, text, self.detectors)

    def apply_to(self, obligations: Sequence[Obligation], value: Frozen) -> Frozen:
        """Carry out obligations on every text in a value (see `applying.apply_to`)."""
        return apply_to(obligations, value, self.detectors)

    def cleaned(self, text: str, source: Source) -> str:
        """Redact and neutralise what is to be, without judging."""
        return cleaned(text, self._cleaning(source))

    def scanner(self, source: Source) -> Scanner:
        """Clean a text from a source while it arrives."""
        return Scanner(self._cleaning(source))

    def active(self, source: Source) -> Sequence[tuple[Detector, Action]]:
        """Give the detectors that look at texts of a source, and what is done about what each finds."""
        if source not in self._active:
            pairs = [(one, self._action(one, source)) for one in self.detectors.by_id().values()]
            self._active[source] = [(one, action) for one, action in pairs if action is not Action.IGNORE]
        return self._active[source]

    def _cleaning(self, source: Source) -> list[Detector]:
        return [detector for detector, action in self.active(source) if action in _OBLIGATIONS]

    def _action(self, detector: Detector, source: Source) -> Action:
        for key in (detector.id, detector.category):
            chosen = self._overrides.get(key, {}).get(source)
            if chosen is not None:
                return chosen
        return detector.actions.get(source, Action.IGNORE)

    def _judged(self, texts: Sequence[str], source: Source) -> Verdict:
        findings: list[Finding] = []
        names: dict[ObligationKind, set[str]] = {}
        for text in texts:
            looked_at = Text(text)
            for detector, action in self.active(source):
                found = list(places(looked_at, detector))
                if found:
                    findings += _findings(detector, action, found, source)
                    kind = _OBLIGATIONS.get(action)
                    if kind is not None:
                        names.setdefault(kind, set()).add(detector.id)
        return Verdict(
            policy=self.name,
            outcome=max((finding.outcome for finding in findings), default=Outcome.ALLOW),
            findings=tuple(findings),
            obligations=tuple(Obligation(kind=kind, names=frozenset(ids)) for kind, ids in names.items()),
        )

    def _rewritten(self, obligations: Sequence[Obligation], arguments: Attributes) -> Attributes:
        changed = self.apply_to(obligations, arguments)
        return changed if isinstance(changed, Mapping) else EMPTY


def _findings(detector: Detector, action: Action, found: Sequence[Place], source: Source) -> Iterator[Finding]:
    for place in found[:MAX_FINDINGS]:
        yield _finding(detector, action, source, detector.message, (place.start, place.end))
    if len(found) > MAX_FINDINGS:
        more = f"{detector.message} ({len(found) - MAX_FINDINGS} more places)"
        yield _finding(detector, action, source, more, None)


def _finding(detector: Detector, action: Action, source: Source, message: str, span: tuple[int, int] | None) -> Finding:
    outcome = _OUTCOMES.get(action, Outcome.ALLOW)
    read = detector.category == SECRET and source in (Source.REMOTE, Source.LOCAL)
    return Finding(
        rule=detector.id,
        code=detector.id,
        message=message,
        outcome=outcome,
        severity=max(detector.severity, _LEAST[outcome]),
        span=span,
        instead=detector.instead,
        references=detector.references,
        effect=Contains(detector.category, detector.id, span=span, origin=source),
        labels=frozenset({Label.SECRETS}) if read else frozenset(),
    )


def _split(obligations: Sequence[Obligation]) -> tuple[tuple[Obligation, ...], tuple[Obligation, ...]]:
    changes = tuple(one for one in obligations if one.kind in _OBLIGATIONS.values())
    return changes, tuple(one for one in obligations if one not in changes)


def _texts(value: Frozen) -> list[str]:
    """Every text in a value, keys included."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for key, item in value.items() for text in (key, *_texts(item))]
    return [text for item in value for text in _texts(item)] if isinstance(value, tuple) else []
