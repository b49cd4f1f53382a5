"""The shipped rules: every example holds in every profile, and what is not understood is never simply allowed."""

from __future__ import annotations

from functools import cache

import pytest

from policyengine.bundle import Bundle
from policyengine.config import Ready, compiled, opened, source_files
from policyengine.config.examples import Example, rule_examples, run
from policyengine.effects import EFFECTS, Cause, Facts, Opaque
from policyengine.engine import Engine
from policyengine.model import Outcome
from policyengine.state import START
from tests.policies.rulesets import request

PROFILES = ("sandbox", "workstation", "readonly")
FILES = source_files()
EXAMPLES = {profile: list(rule_examples(FILES, profile)) for profile in PROFILES}
RULES = [(profile, rule) for profile in PROFILES for rule in dict.fromkeys(one.rule for one in EXAMPLES[profile])]


@cache
def _bundle() -> Bundle:
    return compiled(FILES)


@cache
def _ready(profile: str) -> Ready:
    return opened(_bundle(), profile)


@cache
def _engine(profile: str) -> Engine:
    return _ready(profile).engine()


def _told(example: Example, found: list[str]) -> str:
    wanted = "should match" if example.matches else "should pass"
    return f"{example.file}:{example.line}: {wanted}: {example.text} (found: {', '.join(found) or 'nothing'})"


@pytest.mark.parametrize(("profile", "rule"), RULES, ids=[f"{profile}-{rule}" for profile, rule in RULES])
def test_a_rule_is_found_in_its_examples_and_not_in_its_near_misses(profile: str, rule: str) -> None:
    results = [run(_engine(profile), example) for example in EXAMPLES[profile] if example.rule == rule]
    wrong = [
        _told(result.example, [finding.rule for finding in result.decision.findings])
        for result in results
        if not result.holds
    ]
    assert wrong == []


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_without_a_person_never_asks_and_the_others_may(profile: str) -> None:
    outcomes = {run(_engine(profile), example).decision.outcome for example in EXAMPLES[profile]}
    assert (Outcome.ASK in outcomes) is (profile != "sandbox")
    assert Outcome.DENY in outcomes


@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize("profile", ["workstation", "readonly"])
def test_what_is_not_understood_is_never_allowed_where_somebody_can_be_asked(profile: str, cause: Cause) -> None:
    verdict = _ready(profile).rules.evaluate(request(arguments={}), Facts((Opaque(cause),)), START)
    assert verdict.outcome >= Outcome.ASK


def test_every_kind_of_effect_is_reached_by_some_example() -> None:
    reached = {
        type(effect)
        for example in EXAMPLES["workstation"]
        for effect in run(_engine("workstation"), example).decision.effects
    }
    assert {name for name, kind in EFFECTS.items() if kind not in reached} <= set()


@pytest.mark.parametrize("kind", ["process.execute", "file.read", "file.write", "shell.variable"])
def test_no_rule_is_tried_on_every_effect_of_a_frequent_kind(kind: str) -> None:
    """A rule that is filed under no value costs every command: `in` is found by a look-up, `matches` is not."""
    index, _ = _ready("workstation").rules._index(EFFECTS[kind])
    assert [rule.id for rule in index._rest] == []
