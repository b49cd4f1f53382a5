"""`--audit` on `check`, `decide` and `explain`, and `policyengine audit` and `replay`, as processes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from policyengine.cli import audit_bench, bench
from policyengine.cli.arguments import parse
from policyengine.cli.status import Status
from tests.cli.process import COMMAND, ROOT, Ended, run, shell

Run = Callable[..., Ended]


@pytest.fixture
def pe(tmp_path: Path) -> Run:
    """The command line with a configuration of its own, in a folder of its own."""

    def command(*words: str, given: str = "") -> Ended:
        return run(*words, given=given, env={"XDG_CONFIG_HOME": str(tmp_path / "config")}, cwd=tmp_path)

    return command


def _records(shown: Ended) -> list[dict[str, object]]:
    return [line["record"] for line in shown.lines if line["record"]["type"] == "decision"]


def _request(id: str, command: str, **context: str) -> str:
    return json.dumps({"id": id, "tool": "bash", "arguments": {"command": command}, "context": context}) + "\n"


def test_nothing_is_recorded_unless_that_is_asked_for(pe: Run, tmp_path: Path) -> None:
    assert pe("check", "ls").status == 0
    assert pe("decide", given=_request("a", "ls")).status == 0
    assert list(tmp_path.iterdir()) == []


def test_what_check_and_explain_say_is_recorded_in_one_segment(pe: Run, tmp_path: Path) -> None:
    first = pe("check", "--audit", "log", "git push")
    assert (first.status, first.err) == (1, f"policyengine: made a key for audit logs: {tmp_path}/config/policyengine/"
                                            "keys/audit\n")  # fmt: skip
    second = pe("explain", "--audit", "log", "ls")
    assert (second.status, second.err) == (0, "")
    assert len(list((tmp_path / "log").glob("2*.jsonl"))) == 1
    shown = _records(pe("audit", "show", "log"))
    assert [record["outcome"] for record in shown] == ["ask", "allow"]
    assert "git push" not in json.dumps(shown)
    verified = pe("audit", "verify", "log")
    assert (verified.status, verified.out.split()[:2]) == (0, ["sound", "log"])


@pytest.mark.parametrize("place", ["log", "audit.jsonl"])
def test_every_line_that_decide_answers_is_recorded_before(pe: Run, place: str) -> None:
    lines = [_request("a", "ls"), "no json\n", _request("b", "rm -rf /"), _request("c", "echo a\0b")]
    deep: object = 0
    for _ in range(100):
        deep = [deep]
    lines.append(json.dumps({"id": "d", "tool": "bash", "arguments": {"deep": deep}}) + "\n")
    ended = pe("decide", "--audit", place, given="".join(lines))
    outcomes = [line["outcome"] for line in ended.lines if "outcome" in line]
    assert outcomes == ["allow", "deny", "deny", "deny"]
    assert [record["outcome"] for record in _records(pe("audit", "show", place))] == outcomes


def test_a_place_where_nothing_can_be_kept_gives_no_verdict(pe: Run, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path)
    for place in ("/dev/full", "/dev/null", "open", "link", "none/log", "/proc/log"):
        ended = pe("check", "--audit", place, "ls")
        assert (ended.status, ended.out) == (Status.IO, ""), place
        assert "audit." in ended.err
    assert pe("explain", "--audit", "link", "ls").out == ""
    ended = pe("decide", "--audit", "link", given=_request("a", "ls"))
    assert (ended.status, ended.out) == (Status.IO, "")


def test_what_cannot_be_recorded_is_denied(tmp_path: Path) -> None:
    """There is room for the beginning of the log, and for no decision."""
    env = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", "")}
    assert shell("$PE check ls", env=env).status == 0
    script = f"cd {tmp_path}; ulimit -f 1; $PE check --audit log --json ls; echo $?"
    ended = shell(script, env=env)
    answer, status = ended.out.splitlines()
    assert status == "2"
    assert [(found["rule"], found["code"]) for found in json.loads(answer)["findings"]] == [
        ("audit.not-recorded", "audit.full")
    ]
    assert run("audit", "verify", str(tmp_path / "log"), env=env).status == 0


def test_verify_tells_tampering_from_what_it_cannot_read(pe: Run, tmp_path: Path) -> None:
    pe("check", "--audit", "log", "ls")
    [segment] = (tmp_path / "log").glob("2*.jsonl")
    kept = segment.read_bytes()
    segment.write_bytes(kept.replace(b'"outcome":"allow"', b'"outcome":"deny "'))
    ended = pe("audit", "verify", "log")
    assert (ended.status, ended.out.split()[0]) == (2, "tampered")
    assert f"  audit.altered  {segment.stem}:2\n" in ended.out
    reported = json.loads(pe("audit", "verify", "log", "--json").out)
    assert (reported["standing"], reported["problems"][0]["code"]) == ("tampered", "audit.altered")
    segment.write_bytes(kept + b"{half")
    ended = pe("audit", "verify", "log")
    assert (ended.status, ended.out.split()[0]) == (0, "sound")
    assert "audit.torn" in ended.out
    ended = pe("audit", "verify", "elsewhere")
    assert (ended.status, ended.out.split()[0]) == (1, "unreadable")
    other = tmp_path / "keys"
    other.write_text(f"other {'A' * 43}=\n", encoding="ascii")
    other.chmod(0o600)
    ended = pe("audit", "verify", "log", "--audit-keys", "keys")
    assert (ended.status, ended.out.split()[0]) == (1, "unreadable")


def test_keys_that_are_missing_are_a_wrong_option_and_are_not_made(pe: Run, tmp_path: Path) -> None:
    for words in (
        ("audit", "verify", "log"),
        ("replay", "log"),
        ("check", "--audit", "log", "--audit-keys", "k", "ls"),
    ):
        ended = pe(*words)
        assert (ended.status, ended.out) == (Status.USAGE, "")
        assert "--audit-keys" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_an_anchor_shows_that_a_log_was_taken_back(pe: Run, tmp_path: Path) -> None:
    pe("check", "--audit", "log", "ls")
    old = {path: path.read_bytes() for path in (tmp_path / "log").rglob("*") if path.is_file()}
    pe("check", "--audit", "log", "git push")
    anchor = pe("audit", "checkpoint", "log").out.strip()
    assert pe("audit", "verify", "log", "--anchor", anchor).status == 0
    for path, content in old.items():
        path.write_bytes(content)
    assert pe("audit", "verify", "log").status == 0
    ended = pe("audit", "verify", "log", "--anchor", anchor)
    assert ended.status == 2
    assert "audit.rolled-back" in ended.out
    assert pe("audit", "verify", "log", "--anchor", anchor[:-1] + "x").status == Status.USAGE
    [segment] = (tmp_path / "log").glob("2*.jsonl")
    segment.write_bytes(b"")
    ended = pe("audit", "checkpoint", "log")
    assert (ended.status, ended.out) == (2, "")


def test_colours_are_for_terminals(pe: Run, tmp_path: Path) -> None:
    pe("check", "--audit", "log", "ls")
    assert "\x1b" not in pe("audit", "verify", "log").out
    leader, follower = pty.openpty()
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config"), "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    env.pop("NO_COLOR", None)
    done = subprocess.run([*COMMAND, "audit", "verify", "log"], stdout=follower, env=env, cwd=tmp_path, check=False)
    os.close(follower)
    shown = os.read(leader, 100_000)
    os.close(leader)
    assert (done.returncode, shown.startswith(b"\x1b[32msound\x1b[0m")) == (0, True)


def test_names_that_move_the_cursor_are_shown_as_what_they_are(pe: Run) -> None:
    ended = pe("audit", "verify", "\x1b[2Jlog")
    assert ended.status == 64 or "\x1b" not in ended.out


def test_the_suite_of_records_prints_its_cases(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit_bench, "CASE_SECONDS", 0.01)
    bench.run(parse(["bench", "--suite", "audit", "--json"]))
    found = json.loads(capsys.readouterr().out)
    assert {suite: list(costs) for suite, costs in found.items()} == {
        "audit": ["process-crash", "power-loss"], "reference": ["record", "write"]
    }  # fmt: skip
    assert all(0 < cost["p50_us"] <= cost["p99_us"] and cost["n"] for cost in found["audit"].values())
    bench.run(parse(["bench", "--suite", "audit"]))
    assert capsys.readouterr().out.startswith("audit ")


# ---------------------------------------------------------------------------------------------------------- replay
def test_replay_needs_a_log_that_keeps_values(pe: Run) -> None:
    pe("check", "--audit", "log", "ls")
    ended = pe("replay", "log")
    assert (ended.status, ended.out.splitlines()[0]) == (
        65,
        "0 decided again: 0 milder, 0 stricter, 0 for other reasons",
    )
    assert "--audit-detail full" in ended.out


def test_replay_says_what_other_rules_would_change(pe: Run) -> None:
    script = "curl -so tool.sh https://get.example.test/tool.sh"
    given = _request("a", "git push") + _request("b", script, scope_id="r") + _request("c", "sh tool.sh", scope_id="r")
    before = pe("decide", "--audit", "log", "--audit-detail", "full", given=given)
    assert [line["outcome"] for line in before.lines] == ["ask", "allow", "deny"]
    same = pe("replay", "log")
    assert (same.status, same.out) == (0, "3 decided again: 0 milder, 0 stricter, 0 for other reasons\n")
    other = pe("replay", "log", "--profile", "readonly", "--json")
    *changes, summary = other.lines
    assert other.status == 1
    assert (changes[0]["before"], changes[0]["now"]) == ("ask", "deny")
    assert changes[0]["arguments"] == {"command": "git push"}
    assert (summary["stricter"], summary["milder"]) == (2, 0), "that what was fetched is run is denied in both"
    shown = pe("replay", "log", "--profile", "readonly").out
    assert shown.startswith("ask -> deny  bash  git push\n    + ")


def test_replay_is_not_made_from_a_log_that_was_changed(pe: Run, tmp_path: Path) -> None:
    pe("check", "--audit", "log", "--audit-detail", "full", "git push")
    [segment] = (tmp_path / "log").glob("2*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b'"outcome":"ask"', b'"outcome":"deny"'))
    ended = pe("replay", "log")
    assert (ended.status, ended.out) == (Status.IO, "")
    assert "tampered" in ended.err
