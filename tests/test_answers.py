"""What whole calls are answered: `tests/cases/answers.yaml`, in both profiles, hits beside near-misses."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from policyengine.config import compiled, opened, source_files
from policyengine.engine import Engine
from policyengine.model import Decision, Outcome, Severity
from policyengine.state import START
from tests.policies.rulesets import request

TABLE: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "cases" / "answers.yaml").read_text(encoding="utf-8")
)
ROWS = [
    (family["family"], answers, command)
    for family in TABLE
    for answers, commands in family.items()
    if answers != "family"
    for command in commands
]


@cache
def _engine(profile: str) -> Engine:
    return opened(compiled(source_files()), profile).engine()


def _decided(profile: str, command: str) -> Decision:
    decision, _ = _engine(profile).decide(request(arguments={"command": command}), START)
    return decision


def _in_sandbox(decision: Decision) -> str:
    """Nobody can be asked there: deny, flag (allowed with a finding that is worth a warning) or pass."""
    if decision.outcome is not Outcome.ALLOW:
        return "deny"
    return "flag" if any(finding.severity >= Severity.MEDIUM for finding in decision.findings) else "pass"


@pytest.mark.parametrize(("family", "answers", "command"), ROWS, ids=[f"{row[0]}-{row[2][:60]}" for row in ROWS])
def test_a_call_is_answered_as_the_table_says(family: str, answers: str, command: str) -> None:
    workstation, sandbox = _decided("workstation", command), _decided("sandbox", command)
    found = f"{workstation.outcome.name.lower()} {_in_sandbox(sandbox)}"
    assert (family, found) == (family, answers), [finding.rule for finding in workstation.findings]


@pytest.mark.parametrize(
    "filler", ["echo " + "b" * 70_000, "printf x" + " y" * 20_000, ":" + " " * 50_000, "true #" + "z" * 50_000]
)
def test_length_hides_nothing(filler: str) -> None:
    joint = "\n" if "#" in filler else "; "
    for profile in ("workstation", "sandbox"):
        assert _decided(profile, f"{filler}{joint}rm -rf ~").outcome is Outcome.DENY
        assert _decided(profile, f"{filler}{joint}ls").outcome is Outcome.ALLOW


@pytest.mark.parametrize("levels", [40, 60, 4_000])
def test_depth_hides_nothing(levels: int) -> None:
    """Beyond a limit nothing is read, and what is not read is denied."""
    text = "echo " + "${b:-" * levels + "y" + "}" * levels
    assert _decided("workstation", text).outcome is (Outcome.ALLOW if levels < 100 else Outcome.DENY)
    assert _decided("workstation", text.replace("y", "$(rm -rf ~)")).outcome is Outcome.DENY
