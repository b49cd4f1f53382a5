"""`--setup`: commands that judge by a gate's setup file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapters.payloads import LISTING
from tests.cli.process import run


@pytest.fixture
def setup(tmp_path: Path) -> str:
    (tmp_path / "roles.yaml").write_text("roles:\n  dev: {tools: {allow: [bash]}}\n")
    (tmp_path / "settings.json").write_text('{"permissions": {"deny": ["Bash(git push:*)"]}}')
    (tmp_path / "setup.yaml").write_text("rbac: {deerflow: roles.yaml}\npermissions: {user: [settings.json]}\n")
    return str(tmp_path / "setup.yaml")


def test_decide_judges_by_a_setup(setup: str) -> None:
    rows = [
        {"id": "1", "tool": "bash", "arguments": {"command": "ls"}, "principal": {"id": "a", "roles": ["dev"]}},
        {"id": "2", "tool": "bash", "arguments": {"command": "git push"}, "principal": {"id": "a", "roles": ["dev"]}},
        {"id": "3", "tool": "bash", "arguments": {"command": "ls"}, "principal": {"id": "a", "roles": ["who"]}},
    ]
    ended = run("decide", "--setup", setup, given="\n".join(map(json.dumps, rows)))
    assert (ended.status, [line["outcome"] for line in ended.lines]) == (0, ["allow", "deny", "deny"])
    assert ended.lines[1]["findings"][0]["rule"] == "permission.denied"
    assert ended.lines[2]["findings"][0]["rule"] == "rbac.unknown-role"


def test_check_judges_by_a_setup(setup: str) -> None:
    ended = run("check", "--setup", setup, "--json", "ls")
    assert (ended.status, ended.lines[0]["findings"][0]["rule"]) == (2, "rbac.missing-role")


def test_a_hook_judges_by_a_setup_and_blocks_where_that_is_broken(setup: str, tmp_path: Path) -> None:
    ended = run("hook", "claude-code", "--setup", setup, given=json.dumps(LISTING))
    assert ended.status == 0
    assert ended.lines[0]["hookSpecificOutput"]["permissionDecision"] == "deny"
    (tmp_path / "setup.yaml").write_text("fail_open: true\n")
    ended = run("hook", "claude-code", "--setup", setup, given=json.dumps(LISTING))
    assert (ended.status, ended.out) == (2, "")
    assert "an error is always a denial" in ended.err


@pytest.mark.parametrize(
    "words",
    [("--profile", "sandbox"), ("--rules", "x"), ("--settings", "x"), ("--no-shipped-rules",), ("--host-settings",)],
)
def test_a_setup_stands_for_itself(setup: str, words: tuple[str, ...]) -> None:
    ended = run("check", "--setup", setup, *words, "ls")
    assert (ended.status, "say the same" in ended.err) == (64, True)


def test_a_broken_setup_is_told_with_its_line(setup: str, tmp_path: Path) -> None:
    (tmp_path / "setup.yaml").write_text("profile: workstation\nprofil: x\n")
    ended = run("check", "--setup", setup, "ls")
    assert (ended.status, "setup.yaml:2: `profil`" in ended.err) == (66, True)


@pytest.mark.parametrize("words", [("bench", "--suite", "rbac"), ("lint",), ("compile",)])
def test_commands_that_do_not_judge_by_a_setup_refuse_it(setup: str, words: tuple[str, ...]) -> None:
    assert run(*words, "--setup", setup).status == 64
