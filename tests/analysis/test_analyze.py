"""From requests to facts: the shipped tool catalogue, arguments that are none, and what runs hand on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from policyengine.analysis import analyze
from policyengine.analysis.tools import Tools
from policyengine.config.specs import compile_descriptions
from policyengine.config.tools import compile_tools
from policyengine.config.yamlfile import read_file, read_text
from policyengine.effects import Cause, Facts, FileDelete, Opaque, Taint, WrittenFile, as_json, kind_of
from policyengine.errors import LoadError
from policyengine.model import ANONYMOUS, Context, Request, Resource, ResourceKind, freeze_object
from policyengine.state import RunState

ROOT = Path(__file__).parent.parent.parent
TOOLS = Tools(compile_tools([read_file(ROOT / "rules" / "tools.yaml")]))
PROGRAMS = compile_descriptions([read_file(ROOT / "tests" / "shell" / "programs.yaml")])


def facts_of(tool: str, state: RunState | None = None, **arguments: Any) -> Facts:
    from policyengine.shell.programs import Programs

    request = Request(
        principal=ANONYMOUS,
        action="call",
        resource=Resource(ResourceKind.TOOL, tool),
        arguments=freeze_object(arguments),
        context=Context(),
    )
    return analyze(request, state or RunState(), SimpleNamespace(programs=Programs(PROGRAMS), tool=TOOLS.find))


def kinds(facts: Facts) -> list[str]:
    return [kind_of(effect) for effect in facts.effects]


CALLS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "shell": ("bash", {"command": "rm /a"}, {"kind": "file.delete", "path": "/a"}),
    "shell by another name": ("run_shell_command", {"command": "rm /a"}, {"kind": "file.delete", "path": "/a"}),
    "shell in a directory": ("bash", {"command": "rm a", "cwd": "/tmp"}, {"kind": "file.delete", "path": "/tmp/a"}),
    "words": ("local_shell", {"command": ["rm", "a b"]}, {"kind": "file.delete", "path": "/workspace/a b"}),
    "words for a shell": ("shell", {"command": ["bash", "-c", "rm /a"]}, {"kind": "file.delete", "path": "/a"}),
    "edits that name files": (
        "MultiEdit",
        {"file_path": "a", "edits": [{"file_path": "/b", "old_string": "x", "new_string": "y"}]},
        {"kind": "file.write", "path": "/b"},
    ),
    "blanks around a path": ("Write", {"file_path": "a/b \n", "content": "t"}, {"path": "/workspace/a/b"}),
    "fetch of a mended URL": ("WebFetch", {"url": " http:\\\\a.test"}, {"kind": "net.connect", "host": "a.test"}),
    "python": ("execute_python", {"code": "import os; os.remove('/a')"}, {"kind": "file.delete", "path": "/a"}),
    "other code": ("run_code", {"code": "rm /a", "language": "bash"}, {"kind": "file.delete", "path": "/a"}),
    "read": ("Read", {"file_path": "/a", "limit": 3}, {"kind": "file.read", "path": "/a"}),
    "read of home": ("read_file", {"path": "~/.ssh/id_rsa"}, {"kind": "file.read", "path": "/home/agent/.ssh/id_rsa"}),
    "read of a list": ("read_file", {"paths": ["a", "b"]}, {"kind": "file.read", "path": "/workspace/b"}),
    "write": ("Write", {"file_path": "x/../a", "content": "t"}, {"kind": "file.write", "path": "/workspace/a"}),
    "edit": ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, {"kind": "file.write"}),
    "editor that creates": (
        "str_replace_editor",
        {"command": "create", "path": "/a", "file_text": "t"},
        {"kind": "file.write", "path": "/a"},
    ),
    "editor that views": ("str_replace_editor", {"command": "view", "path": "/a"}, {"kind": "file.read"}),
    "editor without a mode": ("str_replace_editor", {"command": "zap", "path": "/a"}, {"kind": "opaque"}),
    "patch": ("apply_patch", {"input": "*** Update File: a\n@@\n"}, {"kind": "file.write", "path": "/workspace/a"}),
    "patch that deletes": ("apply_patch", {"input": "*** Delete File: a\n"}, {"kind": "file.delete"}),
    "unified diff": ("patch", {"diff": "--- a/x\n+++ b/x\n"}, {"kind": "file.write", "path": "/workspace/x"}),
    "patch of nothing": ("apply_patch", {"input": "hello"}, {"kind": "opaque", "cause": "unparseable"}),
    "search": ("Grep", {"pattern": "x"}, {"kind": "file.read", "path": "/workspace", "recursive": True}),
    "fetch": ("WebFetch", {"url": "http://a.test/x", "prompt": "y"}, {"kind": "net.connect", "host": "a.test"}),
    "fetch of a file": ("fetch", {"url": "file:///etc/passwd"}, {"kind": "file.read", "path": "/etc/passwd"}),
    "post": ("http_request", {"url": "http://a.test", "method": "post", "json": {"a": 1}}, {"kind": "net.transfer"}),
    "delegate": ("Task", {"prompt": "x", "description": "y"}, {"kind": "tool.use", "category": "delegate"}),
    "server tool": ("mcp__github__push", {"x": 1}, {"kind": "tool.use", "category": "mcp"}),
    "stopped job": ("KillShell", {"shell_id": "1"}, {"kind": "process.control", "by": "job"}),
    "unknown argument": ("Read", {"file_path": "a", "zap": 1}, {"kind": "opaque", "cause": "option"}),
    "unknown tool": ("frobnicate", {"x": 1}, {"kind": "opaque", "cause": "program"}),
    "missing argument": ("Read", {"limit": 1}, {"kind": "opaque", "cause": "unparseable"}),
}


@pytest.mark.parametrize(("tool", "arguments", "wanted"), CALLS.values(), ids=CALLS.keys())
def test_a_call_has_its_effect(tool: str, arguments: dict[str, Any], wanted: dict[str, Any]) -> None:
    found = [as_json(effect) for effect in facts_of(tool, **arguments).effects]
    assert any(all(effect.get(name) == value for name, value in wanted.items()) for effect in found), found


HARMLESS = {
    "list": ("LS", {"path": "src"}),
    "names": ("Glob", {"pattern": "**/*.py"}),
    "get": ("bash", {"command": "ls", "description": "x", "timeout": 5}),
    "restart": ("bash", {"restart": True}),
}


@pytest.mark.parametrize(("tool", "arguments"), HARMLESS.values(), ids=HARMLESS.keys())
def test_a_harmless_call_has_none(tool: str, arguments: dict[str, Any]) -> None:
    assert set(kinds(facts_of(tool, **arguments))) <= {"process.execute"}


def test_a_get_sends_nothing() -> None:
    assert kinds(facts_of("http_request", url="http://a.test")) == ["net.connect"]


IMPOSSIBLE = {
    "a list": ["ls"],
    "a number": 1,
    "empty": "",
    "blank": " \n",
    "NUL": "ls\0",
    "a lone surrogate": "ls \ud800",
    "too long": "a" * 300_000,
}


@pytest.mark.parametrize("command", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_a_command_that_is_none_is_fatal(command: object) -> None:
    (effect,) = facts_of("bash", command=command).effects
    assert isinstance(effect, Opaque)
    assert effect.cause in (Cause.UNPARSEABLE, Cause.LIMIT)


def test_a_written_script_is_known_to_the_next_call() -> None:
    first = facts_of("write_file", path="s.sh", content="rm /a")
    state = RunState(written={file.path: file for file in first.written})
    assert "file.delete" in kinds(facts_of("bash", state, command="sh s.sh"))


def test_an_edit_of_a_known_text_gives_the_new_text() -> None:
    state = RunState(written={"/workspace/s": WrittenFile("/workspace/s", "ls /a")})
    (written,) = facts_of("Edit", state, file_path="s", old_string="ls", new_string="rm").written
    assert written.text == "rm /a"


def test_a_shell_goes_on_where_the_last_call_left_it() -> None:
    (effect,) = facts_of("Read", RunState(cwd="/tmp"), file_path="a").effects
    assert as_json(effect)["path"] == "/tmp/a"


def test_a_question_without_arguments_has_no_effects() -> None:
    request = Request(
        principal=ANONYMOUS,
        action="call",
        resource=Resource(ResourceKind.TOOL, "bash"),
        arguments=None,
        context=Context(),
    )
    assert analyze(request, RunState(), SimpleNamespace(programs=None, tool=TOOLS.find)) == Facts()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t: {arguments: {a: frob}}", "no role"),
        ("t: {frob: 1}", "not known here"),
        ("t: {}\nu: {names: [t]}", "described twice"),
        ("t: {by: m, modes: {x: {a: frob}}}", "no role"),
    ],
)
def test_a_wrong_description_is_refused(text: str, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        compile_tools([read_text(text, "t.yaml")])


FOLLOWED: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "edits in a list": [
        ("Write", {"file_path": "s", "content": "A B\n"}),
        (
            "MultiEdit",
            {
                "file_path": "s",
                "edits": [{"old_string": "A", "new_string": "rm"}, {"old_string": "B", "new_string": "/a"}],
            },
        ),
    ],
    "a patch that adds": [
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: s\n+rm /a\n*** Update File: t\n@@\n"})
    ],
    "a move": [
        ("Write", {"file_path": "t", "content": "rm /a\n"}),
        ("move_file", {"source": "t", "destination": "s"}),
    ],
}


@pytest.mark.parametrize("steps", FOLLOWED.values(), ids=FOLLOWED.keys())
def test_what_tools_write_is_what_a_shell_runs_later(steps: list[tuple[str, dict[str, Any]]]) -> None:
    state = RunState()
    for tool, arguments in (*steps, ("bash", {"command": "sh s"})):
        facts = facts_of(tool, state, **arguments)
        state = RunState(written={**state.written, **{file.path: file for file in facts.written}})
    assert any(effect == {**effect, "kind": "file.delete", "path": "/a"} for effect in map(as_json, facts.effects))


def test_a_shell_may_also_start_anew_in_each_call() -> None:
    effects = facts_of("bash", RunState(cwd="/tmp"), command="rm a").effects
    assert [as_json(effect)["path"] for effect in effects if isinstance(effect, FileDelete)] == [
        "/tmp/a",
        "/workspace/a",
    ]


def test_a_shell_that_stands_where_the_context_says_is_read_once() -> None:
    effects = facts_of("bash", RunState(cwd="/workspace"), command="rm a").effects
    assert [effect.path for effect in effects if isinstance(effect, FileDelete)] == ["/workspace/a"]


def test_a_tool_writes_through_a_link_that_an_earlier_call_made() -> None:
    state = RunState(links={"/workspace/c": "/home/agent/.claude"})
    (effect,) = facts_of("Write", state, file_path="c/settings.json", content="{}").effects
    assert as_json(effect)["path"] == "/home/agent/.claude/settings.json"


def test_an_edited_file_of_a_clone_stays_foreign() -> None:
    state = RunState(trees={"/workspace/r/": frozenset({Taint.FOREIGN})})
    (file,) = facts_of("Edit", state, file_path="r/x.sh", old_string="a", new_string="b").written
    assert file.taint == {Taint.FOREIGN}
    (file,) = facts_of("Write", state, file_path="r/x.sh", content="ls").written
    assert file.taint == frozenset()
