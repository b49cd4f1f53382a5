"""Findings and effects as text for a person: complete, and never able to do anything to the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from policyengine.cli.paint import OUTCOME_STYLES, SEVERITY_STYLES, Paint, Style
from policyengine.cli.source import Source
from policyengine.effects import Effect, Where, as_json
from policyengine.model import Decision, Finding
from policyengine.visible import visible

COMMON_FIELDS = frozenset({"kind", "where", "span", "origin"})


def outcome_rows(decision: Decision, source: Source, paint: Paint) -> Iterator[str]:
    """The answer in one word, with the command it is about."""
    word = paint(decision.outcome.word, OUTCOME_STYLES[decision.outcome])
    first, *rest = source.shown(decision.findings, paint)
    yield f"{word}  {first}" if not rest else word
    yield from [] if not rest else [f"  {row}" for row in (first, *rest)]
    yield from (paint(f"  granted by {visible_text(grant.source)}", Style.FAINT) for grant in decision.grants)


def finding_rows(finding: Finding, source: Source, paint: Paint) -> Iterator[str]:
    """What one rule says: its message, and under it the rule, the place, what to do instead, and references."""
    outcome = paint(finding.outcome.word, OUTCOME_STYLES[finding.outcome])
    severity = paint(finding.severity.word, SEVERITY_STYLES[finding.severity])
    yield f"{outcome} {severity}  {paint(visible_text(finding.message), Style.STRONG)}"
    facts = {
        "rule": visible_text(finding.rule) + (" (in shadow: recorded, not enforced)" if finding.shadow else ""),
        "at": source.at(finding.span),
        "instead": visible_text(finding.instead),
        "see": visible_text(", ".join(finding.references)),
    }
    yield from (f"    {paint(f'{name:8}', Style.FAINT)}{value}" for name, value in facts.items() if value)


def effect_row(effect: Effect, source: Source, paint: Paint) -> str:
    """One effect: its kind, the fields that say something, and its place."""
    fields = as_json(effect)
    said = [
        f"{name}={_value(value)}"
        for name, value in fields.items()
        if name not in COMMON_FIELDS and value not in ("", False, None, [])
    ]
    said += [] if effect.where is Where.HERE else [f"where={effect.where.value}"]
    place = f"  {paint('at ' + source.place(effect.span[0]), Style.FAINT)}" if effect.span else ""
    return f"{paint(str(fields['kind']), Style.STRONG)}  {' '.join(said)}{place}"


def visible_text(text: str) -> str:
    """Text that is not the command's: our own, or a rule file's."""
    return visible(" ".join(text.split()))


def _value(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join("?" if item is None else visible(str(item)) for item in value) + "]"
    return "true" if value is True else visible(str(value))
