"""Permission rules on the command line: `--settings` and its kin, `trust` and `lint`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.process import run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with settings of its own, in a home."""
    project = tmp_path / "home/w"
    _write(project / ".claude/settings.json", allow=["Bash(git push:*)"], deny=["Bash(rm:*)"])
    return project


def _write(path: Path, **lists: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"permissions": lists}), encoding="utf-8")
    return path


def _env(project: Path) -> Mapping[str, str]:
    home = project.parent
    return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "XDG_CACHE_HOME": str(home / "cache"),
            "CLAUDE_PROJECT_DIR": ""}  # fmt: skip


def test_check_takes_the_persons_and_the_organisations_rules(project: Path) -> None:
    user, managed = _write(project / "u.json", allow=["Bash(git push:*)"]), _write(project / "m.json", deny=["Bash(x)"])
    words = ("--settings", str(user), "--managed-settings", str(managed))
    env = _env(project)
    assert run("check", "git push", env=env, cwd=project).status == 1
    allowed = run("check", "git push", *words, env=env, cwd=project)
    assert (allowed.status, "granted by `Bash(git push:*)`" in allowed.out) == (0, True)
    assert run("check", "git push; x", *words, env=env, cwd=project).status == 2


def test_a_projects_rules_allow_once_they_are_trusted_and_until_they_change(project: Path) -> None:
    env, file = _env(project), ".claude/settings.json"
    words = ("--host-settings",)
    assert run("check", "git push", *words, env=env, cwd=project).status == 1
    assert run("check", "rm a", *words, env=env, cwd=project).status == 2
    assert run("trust", file, env=env, cwd=project).status == 64  # nobody there to be asked
    assert run("check", "git push", *words, env=env, cwd=project).status == 1
    trusted = run("trust", file, "--yes", env=env, cwd=project)
    assert (trusted.status, "Bash(git push:*)" in trusted.out) == (0, True)
    assert run("check", "git push", *words, env=env, cwd=project).status == 0
    assert run("check", "git push", "--project-settings", file, env=env, cwd=project).status == 0
    assert str(project / file) in run("trust", env=env, cwd=project).out
    _write(project / file, allow=["Bash"], deny=["Bash(rm:*)"])
    assert run("check", "git push", *words, env=env, cwd=project).status == 1
    assert run("trust", file, "--remove", env=env, cwd=project).status == 0
    assert run("trust", file, "--remove", env=env, cwd=project).status == 1


def test_an_agent_cannot_trust_by_itself(project: Path) -> None:
    env = _env(project)
    for command in ("policyengine trust x --yes", "python3 -m policyengine trust x", "uvx agent-policyengine trust x"):
        assert run("check", command, env=env, cwd=project).status != 0
    assert run("check", "policyengine trust x --yes", env=env, cwd=project).status == 2


def test_a_hook_takes_the_settings_of_the_host_and_follows_links(project: Path) -> None:
    _write(project / ".claude/settings.json", deny=["Read(//etc/hosts)"])
    (project / "link").symlink_to("/etc/hosts")
    payload = {
        "session_id": "s", "hook_event_name": "PreToolUse", "cwd": str(project), "tool_name": "Read",
        "tool_input": {"file_path": str(project / "link")},
    }  # fmt: skip
    done = run("hook", "claude-code", "--host-settings", given=json.dumps(payload), env=_env(project), cwd=project)
    assert json.loads(done.out)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_hook_blocks_where_settings_are_broken(project: Path) -> None:
    (project / ".claude/settings.json").write_text('{"permissions": {"denny": []}}', encoding="utf-8")
    done = run("hook", "claude-code", "--host-settings", given=json.dumps({
        "session_id": "s", "hook_event_name": "PreToolUse", "cwd": str(project), "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }), env=_env(project), cwd=project)  # fmt: skip
    assert (done.status, done.out) == (2, "")
    assert "denny" in done.err


def test_decide_takes_settings(project: Path) -> None:
    user = _write(project / "u.json", allow=["Bash(git push:*)"], deny=["Read(.env)"])
    lines = [
        {"id": at, "tool": "bash", "arguments": {"command": text}} for at, text in enumerate(("git push", "cat .env"))
    ]
    given = "\n".join(map(json.dumps, [{**line, "id": str(line["id"])} for line in lines]))
    done = run("decide", "--settings", str(user), given=given, env=_env(project))
    assert [line["outcome"] for line in done.lines] == ["allow", "deny"]


def test_lint_prints_what_it_finds_and_says_so_by_its_status(project: Path) -> None:
    user = _write(project / "u.json", allow=["Bash(curl -s *)", "Bash(ls"], deny=["Bash(curl:*)"])
    done = run("lint", "--settings", str(user), env=_env(project), cwd=project)
    assert done.status == 1
    assert "`Bash(curl -s *)` dead: the deny rule `Bash(curl:*)`" in done.out
    assert "`Bash(ls` refused: the parenthesis is not closed" in done.out
    assert [line["code"] for line in run("lint", "--json", "--settings", str(user), env=_env(project)).lines] == [
        "refused", "dead",
    ]  # fmt: skip
    assert run("lint", env=_env(project), cwd=project).status == 0


def test_lint_looks_at_rule_files_too(project: Path) -> None:
    rule = """
- id: mine.{name}
  title: Reading.
  effect: file.read
  where: {{path: {{inside: [workspace]}}}}
  outcome: {outcome}
  severity: low
  why: Why.
  instead: Instead.
  references: []
  examples: {{match: [cat a], pass: [ls]}}
"""
    folder = project / "rules"
    folder.mkdir()
    text = rule.format(name="a", outcome="deny") + rule.format(name="b", outcome="ask")
    (folder / "r.yaml").write_text(text, encoding="utf-8")
    done = run("lint", "--rules", str(folder), env=_env(project), cwd=project)
    assert done.status == 1
    assert "`mine.b` shadowed: `mine.a`" in done.out


def test_settings_load_neither_pydantic_nor_yaml(project: Path) -> None:
    user = _write(project / "u.json", allow=["Bash(git push:*)"], deny=["Read(.env)"])
    words = ("check", "git push", "--settings", str(user), "--host-settings")
    env = _env(project)
    assert run(*words, env=env, cwd=project).status == 0  # the bundle is compiled and kept
    report = run(*words, env={**env, "PYTHONPROFILEIMPORTTIME": "1"}, cwd=project).err
    loaded = {line.rpartition("|")[2].strip() for line in report.splitlines() if line.startswith("import time:")}
    assert "policyengine.policies.permissions" in loaded
    assert loaded & {"pydantic", "yaml", "re2", "ast", "cryptography", "casbin"} == set()
