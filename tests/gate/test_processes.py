"""What holds across processes, and what the suite of the gate prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from policyengine.cli import bench, gate_bench
from policyengine.cli.arguments import parse
from policyengine.gate import Gate
from policyengine.model import Outcome
from policyengine.records import replace
from policyengine.stores.sqlite import SqliteApprovals, SqliteRunStates
from tests.gate.worlds import LS, RUN, Table, World

ROOT = Path(__file__).parents[2]
ATTEMPT = """
import sys
from policyengine.gate import Gate
from policyengine.model import Outcome
from policyengine.records import replace
from policyengine.stores.sqlite import SqliteApprovals, SqliteRunStates
from tests.gate.worlds import LS, RUN, Table, World

path, token = sys.argv[1:]
world = World(Table({"bash": Outcome.ASK}))
gate = Gate(replace(
    world.parts, approvals=SqliteApprovals(path, clock=world.clock), states=SqliteRunStates(path, busy_seconds=20)
))
run = replace(RUN, approvals=(token,))
print("ready", flush=True)
sys.stdin.readline()
print(sum(gate.before_tool(LS, run).outcome is Outcome.ALLOW for _ in range(8)))
"""


def test_an_approval_is_spent_once_by_two_processes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    world = World(Table({"bash": Outcome.ASK}))
    approvals, states = SqliteApprovals(path, clock=world.clock), SqliteRunStates(path)
    gate = Gate(replace(world.parts, approvals=approvals, states=states))
    token = gate.approve(gate.before_tool(LS, RUN), by="ada")
    command = [sys.executable, "-c", ATTEMPT, str(path), token]
    processes = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    allowed = [int(process.communicate("go\n", timeout=120)[0]) for process in processes]
    assert sum(allowed) == 1
    approvals.close()
    states.close()


def test_the_suite_of_the_gate_prints_the_whole_beside_its_parts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(gate_bench, "BLOCK_SECONDS", 0.001)
    monkeypatch.setattr(gate_bench, "BLOCKS", 1)
    (tmp_path / "rows.jsonl").write_text('{"text": "ls"}\n{"text": "git status"}\n', encoding="utf-8")
    words = ["bench", "--suite", "gate", "--input", str(tmp_path / "rows.jsonl")]
    bench.run(parse([*words, "--json"]))
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"gate", "reference"}
    whole = found["gate"]["before_tool"]
    assert (whole["durability"], whole["n"] > 0, 0 < whole["p50_us"] <= whole["p99_us"]) == (
        "process-crash",
        True,
        True,
    )
    assert {"sign", "make record", "append, process-crash", "release"} <= set(found["reference"])
    bench.run(parse(words))
    assert "log kept against: process-crash" in capsys.readouterr().out


def test_an_outcome_of_another_process_is_not_released_here() -> None:
    world = World(Table({}))
    signed = world.gate.before_tool(LS, RUN)
    assert signed.outcome is Outcome.ALLOW
    with pytest.raises(Exception, match="not decided by this gate"):
        Gate(world.parts).release(signed, LS)
