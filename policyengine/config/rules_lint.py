"""What rule files say that does nothing: rules that another covers, rules in shadow, names that nothing uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from policyengine.config.permissions_lint import Complaint
from policyengine.config.profiles import ProfileSpec
from policyengine.config.rules import CheckedRule
from policyengine.policies.permissions.globs import fits


def lint_rules(rules: Sequence[CheckedRule], profiles: Mapping[str, ProfileSpec]) -> Iterator[Complaint]:
    """Complain about rules over effects and requests, and about what profiles say of them."""
    answers = {rule.spec.id: _answers(rule, profiles) for rule in rules}
    for rule in rules:
        place = f"{rule.file}:{rule.line}"
        if rule.spec.shadow:
            yield Complaint(file=place, text=rule.spec.id, code="never", message="in shadow: recorded, not enforced")
            continue
        wider = next((one for one in rules if one is not rule and _is_covered(rule, one, answers)), None)
        if wider is not None:
            message = f"`{wider.spec.id}` looks at all that it looks at, and is as strict in every profile"
            yield Complaint(file=place, text=rule.spec.id, code="shadowed", message=message)
    for name, profile in profiles.items():
        for glob in (*profile.standing.never, *profile.standing.particular):
            if not any(fits(glob, known) for known in answers):
                message = f"the profile `{name}` keeps it from standing rules, and no rule has that name"
                yield Complaint(file=name, text=glob, code="unused", message=message)


Answer: TypeAlias = tuple[int, int]  # outcome and severity


def _answers(rule: CheckedRule, profiles: Mapping[str, ProfileSpec]) -> Mapping[str, Answer]:
    made = {name: rule.for_profile(profile) for name, profile in profiles.items() if rule.is_in(name)}
    return {name: (compiled["outcome"], compiled["severity"]) for name, compiled in made.items()}


def _is_covered(rule: CheckedRule, wider: CheckedRule, answers: Mapping[str, Mapping[str, Answer]]) -> bool:
    """Whether another rule has no condition that this one lacks, and is nowhere milder; of equals the earlier stays."""
    if wider.kind != rule.kind or wider.spec.shadow or wider.companions or wider.absent:
        return False
    if not _is_part(wider.where, rule.where):
        return False
    mine, others = answers[rule.spec.id], answers[wider.spec.id]
    if any(name not in others or others[name] < answer for name, answer in mine.items()):
        return False
    same = wider.where == rule.where and not (rule.companions or rule.absent) and mine == others
    return not same or (wider.file, wider.line or 0) < (rule.file, rule.line or 0)


def _is_part(conditions: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether every condition is one of the others too (Any: compiled matchers, which compare)."""
    return all(name in others and others[name] == value for name, value in conditions.items())
