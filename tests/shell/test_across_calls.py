"""What one call leaves for the next: trees, links, files of projects, and a shell that goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from fuzz.wrapper_hunt import described
from policyengine.effects import Facts, as_json, kind_of
from policyengine.model import Decision, Outcome
from policyengine.shell.interpret import Situation, interpret
from policyengine.shell.programs import Programs
from policyengine.state import START, RunState, after

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent.parent / "cases" / "across_calls.yaml").read_text(encoding="utf-8")
)
ALLOWED = Decision(outcome=Outcome.ALLOW, findings=(), effects=())


@pytest.fixture(scope="module")
def programs() -> Programs:
    known = described()
    assert known is not None
    return known


def last_of(calls: Sequence[str], programs: Programs) -> Facts:
    state: RunState = START
    facts = Facts()
    for call in calls:
        cwd = state.cwd if state.cwd is not None else "/workspace"
        facts = interpret(call, Situation(cwd=cwd, written=state.files(), left=state.left()), programs)
        state = after(state, facts, ALLOWED)
    return facts


def some(facts: Facts, wanted: str | Mapping[str, Mapping[str, object]]) -> bool:
    kind, fields = (wanted, {}) if isinstance(wanted, str) else next(iter(wanted.items()))
    return any(kind_of(effect) == kind and _fits(as_json(effect), fields) for effect in facts.effects)


def _fits(found: Mapping[str, object], fields: Mapping[str, object]) -> bool:
    return all(
        set(value) <= set(found[name]) if isinstance(value, list) else found[name] == value  # type: ignore[call-overload]
        for name, value in fields.items()
    )


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_last_call_has_the_effects_of_its_row(case: dict[str, Any], programs: Programs) -> None:
    facts = last_of(case["calls"], programs)
    missing = [wanted for wanted in case.get("has", ()) if not some(facts, wanted)]
    surplus = [unwanted for unwanted in case.get("lacks", ()) if some(facts, unwanted)]
    assert (missing, surplus) == ([], []), facts.effects
