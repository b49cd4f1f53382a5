"""Other outcomes of rules, in the organisation's name: the only way to make a shipped deny milder.

A file `overrides.yaml` counts only in a bundle that the organisation signs. Whoever reads a decision is told: the
message of the rule says what it was before, and why it is not any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from pydantic import Field, TypeAdapter

from policyengine.config.profiles import OUTCOMES, OutcomeWord
from policyengine.config.rules import CheckedRule, RuleId, Words
from policyengine.config.validated import Schema, validated
from policyengine.config.yamlfile import Document, Place
from policyengine.model import Outcome, Severity
from policyengine.policies.ruleset.ruleset import SEVERITIES

Overrides: TypeAlias = "dict[tuple[str, str], OverrideSpec]"


class OverrideSpec(Schema):
    """Another outcome for one rule, in some profiles or in all."""

    rule: RuleId
    outcome: OutcomeWord
    why: Words
    profiles: list[str] = Field(default=[])


_FILE: TypeAdapter[list[OverrideSpec]] = TypeAdapter(list[OverrideSpec])


def compile_overrides(
    documents: Iterable[Document], rules: Iterable[CheckedRule], profiles: Iterable[str]
) -> Overrides:
    """Check overrides and gather them by rule and profile.

    Raises:
        LoadError: there is no such rule or profile, or two are for the same rule in the same profile.
    """
    ids, known = frozenset(rule.spec.id for rule in rules), sorted(profiles)
    found: Overrides = {}
    for document in documents:
        specs: list[OverrideSpec] = validated(_FILE, document)
        for index, spec in enumerate(specs):
            place: Place = (index,)
            if spec.rule not in ids:
                raise document.error(f"there is no rule `{spec.rule}`", (*place, "rule"), expected="the id of a rule")
            for profile in spec.profiles or known:
                if profile not in known:
                    raise document.error(
                        f"there is no profile `{profile}`", (*place, "profiles"), expected=", ".join(known)
                    )
                if (spec.rule, profile) in found:
                    raise document.error(f"a second override of `{spec.rule}` in `{profile}`", place, expected="one")
                found[spec.rule, profile] = spec
    return found


def overridden(rule: Mapping[str, Any], spec: OverrideSpec | None) -> dict[str, Any]:
    """Give a compiled rule with another outcome, and say so in its message."""
    if spec is None:
        return dict(rule)
    before, now = Outcome(rule["outcome"]), OUTCOMES[spec.outcome]
    note = f"The organisation has changed this from {before.word} to {now.word}: {spec.why}"
    severity = max(Severity(rule["severity"]), SEVERITIES[now])
    return {**rule, "outcome": int(now), "severity": int(severity), "message": f"{rule['message']} {note}"}
