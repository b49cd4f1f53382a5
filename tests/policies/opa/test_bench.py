"""`policyengine bench --suite opa`, on a small scale."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from policyengine.cli import main, opa
from policyengine.cli.status import Status

if TYPE_CHECKING:
    import pytest


def test_it_measures_the_real_server(
    opa_program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(opa, "ROUNDS", 1)
    monkeypatch.setattr(opa, "ROUND", opa.TOGETHER)
    assert main(["bench", "--suite", "opa", "--json"]) == Status.ALLOW
    printed = json.loads(capsys.readouterr().out)
    assert set(printed["opa"]) == {"thread", "unix", "loop", "threads16", "tasks16"}
    assert {"p50_us", "p99_us", "n", "per_second"} == set(printed["opa"]["thread"])
    assert "http.client" in printed["reference"]


def test_it_says_that_the_server_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(opa, "program", lambda: None)
    assert main(["bench", "--suite", "opa"]) == Status.USAGE
    assert "OPA server is missing" in capsys.readouterr().err
