"""`policyengine hook claude-code` as a host runs it: status 0 with an answer, or status 2 with a reason."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.adapters import payloads
from tests.cli.process import COMMAND, Ended, run, shell

HOOK = ("hook", "claude-code")
PAYLOAD = json.dumps(payloads.LISTING)


def _hook(payload: object, *words: str, **more: Any) -> Ended:
    return run(*HOOK, *words, given=payload if isinstance(payload, str | bytes) else json.dumps(payload), **more)


def _blocked(ended: Ended) -> None:
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("policyengine: ")
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("payload", [payloads.LISTING, payloads.READ, payloads.WRITE, payloads.EDIT])
def test_an_allow_is_no_opinion(payload: dict[str, Any]) -> None:
    assert _hook(payload) == (0, "{}\n", "")


@pytest.mark.parametrize(
    ("payload", "answer"),
    [
        (payloads.PUSH, "ask"),
        (payloads.READ_KEY, "ask"),
        (payloads.FETCH_AND_RUN, "deny"),
        (payloads.WRITE_SYSTEM, "deny"),
    ],
)
def test_ask_and_deny_carry_their_reasons(payload: dict[str, Any], answer: str) -> None:
    ended = _hook(payload)
    assert (ended.status, ended.err) == (0, "")
    output = json.loads(ended.out)["hookSpecificOutput"]
    assert (output["hookEventName"], output["permissionDecision"]) == ("PreToolUse", answer)
    assert "Instead:" in output["permissionDecisionReason"]


@pytest.mark.parametrize("payload", [payloads.FETCH, payloads.MCP, payloads.TASK])
def test_every_kind_of_tool_gets_an_answer(payload: dict[str, Any]) -> None:
    ended = _hook(payload)
    assert (ended.status, ended.err) == (0, "")
    assert isinstance(json.loads(ended.out), dict)


def test_an_unknown_tool_is_not_let_through() -> None:
    assert "permissionDecision" in _hook(payloads.UNKNOWN).out


def test_paths_outside_the_payloads_cwd_are_outside_the_workspace() -> None:
    payload = payloads.call("Write", file_path="/srv/other/a.py", content="")
    assert "permissionDecision" in _hook(payload).out
    assert _hook(payload, "--workspace", "/srv/other").out == "{}\n"


def test_other_events_get_no_opinion() -> None:
    assert _hook(payloads.LISTING | {"hook_event_name": "PostToolUse"}) == (0, "{}\n", "")


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "\n",
        "not json",
        "[]",
        "null",
        "{}",
        PAYLOAD + PAYLOAD,
        PAYLOAD[:-2],
        b"\xff\xfe",
        "[" * 100_000,
        '{"hook_event_name": NaN}',
        '{"cwd": "/a", "cwd": "/b"}',
        payloads.LISTING | {"tool_input": "ls"},
        payloads.LISTING | {"cwd": 7},
        payloads.LISTING | {"tool_name": None},
        payloads.LISTING | {"hook_event_name": None},
        payloads.call("Bash", command="ls", deep=json.loads("[" * 200 + "]" * 200)),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_payload_that_cannot_be_read_blocks(payload: object) -> None:
    _blocked(_hook(payload))


@pytest.mark.parametrize("command", [5, None, ["ls"], "ls\0", "a" * 300_000, "echo 'unterminated"])
def test_an_impossible_command_is_denied_or_blocked(command: object) -> None:
    ended = _hook(payloads.call("Bash", command=command))
    assert ended.status == 2 or '"permissionDecision":"deny"' in ended.out


@pytest.mark.parametrize(
    "words",
    [
        ("hook",),
        ("hook", "nothing"),
        ("hook", "claude-code", "--frobnicate"),
        ("hook", "claude-code", "extra"),
        ("--profile", "sandbox", "hook", "claude-code"),
        ("hook", "claude-code", "--profile", "nonexistent"),
        ("hook", "claude-code", "--rules", "/nonexistent"),
        ("hook", "claude-code", "--rules", "/dev/null"),
        ("hook", "claude-code", "--no-shipped-rules", "--rules", "/nonexistent"),
    ],
)
def test_a_wrong_configuration_blocks(words: tuple[str, ...]) -> None:
    _blocked(run(*words, given=PAYLOAD))


def test_broken_rules_block(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("- id: [broken", encoding="utf-8")
    _blocked(_hook(PAYLOAD, "--rules", str(tmp_path)))


@pytest.mark.parametrize("redirections", ["<&-", ">&-", "<&- >&-", "0> /dev/null", "> /dev/full", ">&- 2>&-"])
def test_closed_or_broken_streams_block(redirections: str) -> None:
    feed = "" if "<&-" in redirections or "0>" in redirections else f"printf %s '{PAYLOAD}' | "
    ended = shell(f"{feed}$PE hook claude-code {redirections}; echo $?")
    assert ended.out == "2\n"
    assert "Traceback" not in ended.err


def test_a_host_that_does_not_read_blocks() -> None:
    with subprocess.Popen(
        [*COMMAND, *HOOK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stdin is not None
        process.stdin.write(PAYLOAD.encode())
        process.stdin.close()
        assert process.stderr is not None
        assert process.stderr.read().startswith(b"policyengine: ")
        assert process.wait(timeout=60) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM])
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs proc(5)")
def test_a_signal_while_it_waits_blocks(number: signal.Signals) -> None:
    with subprocess.Popen(
        [*COMMAND, *HOOK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        _wait_until_it_catches_signals(process.pid)
        process.send_signal(number)
        assert process.wait(timeout=60) == 2


def test_a_package_that_cannot_be_imported_blocks(tmp_path: Path) -> None:
    (tmp_path / "argparse.py").write_text("raise ImportError('gone')", encoding="utf-8")
    ended = shell(f"printf %s '{PAYLOAD}' | PYTHONPATH={tmp_path}:$PYTHONPATH $PE hook claude-code; echo $?")
    assert ended.out == "2\n"
    assert "gone" in ended.err


def _wait_until_it_catches_signals(process: int) -> None:
    """As proc(5) shows it: the mask of caught signals holds SIGALRM once the hook has begun."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
        if int(caught.split()[1], 16) >> (signal.SIGALRM - 1) & 1:
            return
        time.sleep(0.01)
    pytest.fail("the hook did not begin")


# --------------------------------------------------------------------------------------------------- what a session did
def _said(ended: Ended) -> str:
    assert (ended.status, ended.err) == (0, "")
    return str(json.loads(ended.out).get("hookSpecificOutput", {}).get("permissionDecision", "allow"))


def test_what_one_call_wrote_the_next_one_runs(tmp_path: Path) -> None:
    state = ("--state", str(tmp_path / "new" / "runs.db"))
    write = payloads.call("Write", file_path="/srv/shop/s.sh", content="rm -rf ~\n")
    execute = payloads.call("Bash", command="sh s.sh")
    assert _said(_hook(write, *state)) == "allow"
    assert _said(_hook(execute, *state)) == "deny"
    assert _said(_hook(execute)) == "allow"
    assert _said(_hook(execute | {"session_id": "another"}, *state)) == "allow"


def test_calls_beside_each_other_are_all_remembered(tmp_path: Path) -> None:
    words = [*COMMAND, *HOOK, "--state", str(tmp_path / "runs.db")]
    writes = [
        json.dumps(payloads.call("Write", file_path=f"/srv/shop/{at}.sh", content=f"rm -rf /srv/{at}\n"))
        for at in range(6)
    ]
    started = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in writes]
    for one, payload in zip(started, writes, strict=True):
        assert one.communicate(payload.encode(), timeout=60)[0] == b"{}\n"
    for at in range(6):
        assert _said(_hook(payloads.call("Bash", command=f"sh {at}.sh"), "--state", str(tmp_path / "runs.db"))) == "ask"


def test_a_state_that_cannot_be_kept_blocks(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_text("no database")
    _blocked(_hook(payloads.LISTING, "--state", str(tmp_path / "runs.db")))
    (tmp_path / "link.db").symlink_to(tmp_path / "other.db")
    _blocked(_hook(payloads.LISTING, "--state", str(tmp_path / "link.db")))


def test_answers_are_recorded(tmp_path: Path) -> None:
    words = ("--audit", str(tmp_path / "log"), "--audit-keys", str(tmp_path / "keys"))
    (tmp_path / "keys").write_text("k " + "ab" * 32 + "\n")
    (tmp_path / "keys").chmod(0o600)
    assert _said(_hook(payloads.PUSH, *words)) == "ask"
    shown = run("audit", "show", str(tmp_path / "log"), "--audit-keys", str(tmp_path / "keys"))
    assert [line["record"].get("outcome") for line in shown.lines] == [None, "ask"]
