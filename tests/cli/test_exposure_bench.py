"""`policyengine bench --suite exposure`, on a small scale: it also checks its own answers, one tool after the other."""

from __future__ import annotations

import json

import pytest

from policyengine.cli import exposure_bench
from policyengine.cli.arguments import parse


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take little time, and few lines."""
    monkeypatch.setattr(exposure_bench, "SECONDS", 0.02)
    monkeypatch.setattr(exposure_bench, "ROLES", 10)


def test_the_case_and_its_parts_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert exposure_bench.run(parse(["bench", "--suite", "exposure", "--json"])) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"exposure", "reference"}
    assert set(found["exposure"]) == {"200"}
    assert set(found["exposure"]["200"]) == {"p50_us", "p99_us", "n"}
    assert {"rbac", "tool", "selection", "one by one"} <= set(found["reference"])
    assert sum(found["reference"][name] for name in ("visible", "deferred", "hidden")) == 200


def test_a_table_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert exposure_bench.run(parse(["bench", "--suite", "exposure"])) == 0
    assert "reference one by one" in capsys.readouterr().out
