"""A gate over the real log and stores: what it decides is in the log, survives, and can be decided again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from policyengine.audit import AuditLog, CallStatus, Detail, Standing, entries, result_record, verify
from policyengine.cli.replay import Replay, decisions_of
from policyengine.engine import Engine
from policyengine.gate import Call
from policyengine.model import Outcome
from policyengine.stores.sqlite import SqliteApprovals, SqliteRunStates
from tests.audit.logs import KEYS
from tests.gate.worlds import LS, NOW, RUN, Table, World, analyze, rules

SECRET = "hunter2-THE-SECRET"
PUSH = Call("push", {"command": f"git push {SECRET}"}, "c2")
DROP = Call("drop", {"command": "drop all"}, "c3")
TABLE = {"push": Outcome.ASK, "drop": Outcome.DENY}


def _world(tmp_path: Path, detail: Detail) -> World:
    return World(
        Table(TABLE),
        log=AuditLog(tmp_path / "log", KEYS, clock=lambda: NOW),
        approvals=SqliteApprovals(tmp_path / "store.db", clock=lambda: NOW),
        states=SqliteRunStates(tmp_path / "store.db"),
        detail=detail,
    )


def _close(world: World) -> None:
    for part in (world.parts.log, world.parts.approvals, world.parts.states):
        part.close()  # type: ignore[union-attr]  # the real ones have it


@pytest.mark.parametrize("detail", list(Detail))
def test_what_a_gate_decides_is_in_the_log(tmp_path: Path, detail: Detail) -> None:
    world = _world(tmp_path, detail)
    signed = [world.gate.before_tool(call, RUN) for call in (LS, PUSH, DROP)]
    _close(world)
    assert [one.decision.outcome for one in signed] == [Outcome.ALLOW, Outcome.ASK, Outcome.DENY]
    assert verify(tmp_path / "log", KEYS).standing is Standing.SOUND
    kept = [entry.record for entry in entries(tmp_path / "log", KEYS) if entry.record["type"] == "decision"]
    assert [(record["id"], record["outcome"]) for record in kept] == [
        (one.decision.id, one.decision.outcome.word) for one in signed
    ]
    assert [record["request"]["context"]["call_id"] for record in kept] == ["c1", "c2", "c3"]
    content = b"".join(path.read_bytes() for path in (tmp_path / "log").rglob("*") if path.is_file())
    assert (SECRET.encode() in content) is (detail is Detail.FULL)


def test_a_log_that_keeps_nothing_denies(tmp_path: Path) -> None:
    world = _world(tmp_path, Detail.REDACTED)
    assert isinstance(world.parts.log, AuditLog)
    world.parts.log.close()
    signed = world.gate.before_tool(LS, RUN)
    assert (signed.decision.outcome, rules(signed.decision.findings)) == (Outcome.DENY, ["gate.audit-failed"])


def test_a_store_that_is_removed_denies(tmp_path: Path) -> None:
    world = _world(tmp_path, Detail.REDACTED)
    for file in tmp_path.glob("store.db*"):
        file.unlink()
    signed = world.gate.before_tool(LS, RUN)
    assert (signed.decision.outcome, rules(signed.decision.findings)) == (Outcome.DENY, ["gate.store-failed"])
    _close(world)


def test_a_result_follows_its_decision(tmp_path: Path) -> None:
    world = _world(tmp_path, Detail.REDACTED)
    signed = world.gate.before_tool(LS, RUN)
    world.parts.log.append(result_record(signed.decision, CallStatus.OK, size=3))
    _close(world)
    *_, decision, result = [entry.record for entry in entries(tmp_path / "log", KEYS)]
    assert (result["type"], result["decision"]) == ("result", decision["id"])


def test_what_a_gate_decided_can_be_decided_again(tmp_path: Path) -> None:
    world = _world(tmp_path, Detail.FULL)
    for call in (LS, PUSH, DROP, LS):
        world.gate.before_tool(call, RUN)
    world.gate.after_model([LS, DROP], RUN)
    _close(world)
    records = [entry.record for entry in entries(tmp_path / "log", KEYS)]
    same = _replayed(TABLE, records)
    assert same == []
    other = _replayed({"push": Outcome.ALLOW, "bash": Outcome.ASK}, records)
    assert other == [("bash", "allow", "ask"), ("push", "ask", "allow"), ("drop", "deny", "allow"),
                     ("bash", "allow", "ask"), ("drop", "deny", "allow")]  # fmt: skip


def _replayed(table: dict[str, Outcome], records: list[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    replay = Replay(Engine(analyze=analyze, policies=(Table(table),)))
    changes = [replay.change(0.0, one) for record in records for one in decisions_of(record)]
    assert replay.counts["replayed"] == len(changes)
    return [(one.request.resource.id, one.before.word, one.now.word) for one in changes if one is not None]
