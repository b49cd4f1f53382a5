"""The `decide` contract's text side: what is a request, what is not, and what a decision looks like on the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policyengine.cli.wire import decision_json, dumps, loads, refusal, request_of
from policyengine.effects import FileWrite, Taint, as_json
from policyengine.errors import RequestError
from policyengine.model import (
    Control,
    ControlKind,
    Decision,
    Finding,
    Obligation,
    ObligationKind,
    Outcome,
    Severity,
    ShellKind,
    freeze_object,
)

REQUEST: dict[str, Any] = {"id": "a", "tool": "bash", "arguments": {"command": "ls"}}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"", "line.not-json"),
        (b"ls", "line.not-json"),
        (b'{"a": 1', "line.not-json"),
        (b'{"a": NaN}', "line.not-json"),
        (b'{"a": -Infinity}', "line.not-json"),
        (b'{"a": 1e999}', "line.number"),
        (b'{"a": ' + b"9" * 5000 + b"}", "line.number"),
        (b'{"a": 1, "a": 2}', "line.duplicate-key"),
        (b'{"a": {"b": 1, "b": 2}}', "line.duplicate-key"),
        (b'{"a": "\xff"}', "line.not-utf8"),
        (b'{"a": "\xed\xa0\x80"}', "line.not-utf8"),
        (b"[" * 100_000, "line.too-deep"),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "line.too-deep"),
    ],
)
def test_text_that_is_not_strict_json_is_refused_with_a_code(text: bytes, code: str) -> None:
    with pytest.raises(RequestError) as caught:
        loads(text)
    assert caught.value.code == code


def test_a_lone_surrogate_survives_the_round_trip() -> None:
    assert dumps(loads(b'{"id":"\\ud800"}')) == '{"id":"\\ud800"}'


def test_absent_context_and_principal_have_the_documented_defaults() -> None:
    request = request_of(REQUEST)
    assert (request.context.cwd, request.context.workspace, request.context.home) == (
        "/workspace",
        ("/workspace",),
        "/home/agent",
    )
    assert (request.context.shell, request.context.platform, request.context.env) == (ShellKind.BASH, "linux", None)
    assert request.principal.id == "anonymous"


@pytest.mark.parametrize("workspace", ["/srv/app", ["/srv/app"]])
def test_a_workspace_is_one_root_or_a_list_of_them(workspace: object) -> None:
    assert request_of(REQUEST | {"context": {"workspace": workspace}}).context.workspace == ("/srv/app",)


def test_every_context_field_is_taken() -> None:
    context = {
        "scope_id": "s", "run_id": "r", "parent_run_id": "p", "step_id": "t", "thread_id": "h", "call_id": "c",
        "now": 1.5, "cwd": "/a", "home": "/h", "workspace": ["/a", "/b"], "env": {"A": "1"}, "shell": "zsh",
        "platform": "darwin", "sandbox": "none", "depth": 2, "tags": ["x"], "active_skills": ["y"], "model": "m",
    }  # fmt: skip
    found = request_of(REQUEST | {"context": context}).context
    assert (found.scope_id, found.env, found.shell, found.depth) == ("s", {"A": "1"}, ShellKind.ZSH, 2)
    assert (found.tags, found.active_skills, found.model, found.now) == (frozenset({"x"}), ("y",), "m", 1.5)


@pytest.mark.parametrize(
    "value",
    [
        [], 1, None, "ls", {}, {"id": "a"}, {"id": "a", "tool": "bash"},
        REQUEST | {"id": 1}, REQUEST | {"id": None}, REQUEST | {"tool": 1},
        REQUEST | {"arguments": []}, REQUEST | {"arguments": "ls"}, REQUEST | {"principle": {}},
        REQUEST | {"principal": "root"}, REQUEST | {"principal": {"id": 1}},
        REQUEST | {"principal": {"roles": "admin"}}, REQUEST | {"principal": {"internal": 1}},
        REQUEST | {"context": []}, REQUEST | {"context": {"shell": "fish"}}, REQUEST | {"context": {"cwd": "src"}},
        REQUEST | {"context": {"cwd": "/a\0b"}}, REQUEST | {"context": {"workspace": [1]}},
        REQUEST | {"context": {"depth": True}}, REQUEST | {"context": {"depth": -1}},
        REQUEST | {"context": {"now": "noon"}}, REQUEST | {"context": {"env": {"A": 1}}},
        REQUEST | {"context": {"tags": "x"}}, REQUEST | {"context": {"shel": "bash"}},
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused(value: object) -> None:
    with pytest.raises(RequestError, match=r"."):
        request_of(value)


def test_a_decision_has_every_documented_field() -> None:
    finding = Finding(
        rule="file.x",
        code="x",
        message="m",
        outcome=Outcome.ASK,
        severity=Severity.LOW,
        span=(0, 2),
        instead="i",
        shadow=True,
    )
    decision = Decision(
        outcome=Outcome.ASK,
        findings=(finding,),
        effects=(FileWrite("/a", taint=frozenset({Taint.SECRET, Taint.FETCHED}), span=(1, 2)),),
        obligations=(Obligation(kind=ObligationKind.TRUNCATE, limit=10, names=frozenset({"b", "a"})),),
        control=Control(kind=ControlKind.REWRITE, arguments=freeze_object({"command": ["ls", {"a": None}]})),
    )
    assert json.loads(dumps(decision_json("é", decision, 12.34))) == {
        "id": "é",
        "outcome": "ask",
        "findings": [
            {
                "rule": "file.x", "code": "x", "severity": "low", "outcome": "ask", "message": "m", "instead": "i",
                "span": [0, 2], "shadow": True,
            }
        ],
        "effects": [
            {
                "kind": "file.write", "path": "/a", "unknown": False, "glob": False, "append": False,
                "taint": ["fetched", "secret"], "recursive": False, "where": "here", "span": [1, 2], "origin": "",
        "tail": "",
            }
        ],
        "obligations": [{"kind": "truncate", "limit": 10, "names": ["a", "b"]}],
        "control": {"kind": "rewrite", "text": "", "arguments": {"command": ["ls", {"a": None}]}},
        "micros": 12.3,
    }  # fmt: skip


def test_output_is_ascii_only() -> None:
    assert dumps(decision_json("日", refusal(RequestError("c", "ü")), 0.0)).isascii()


def test_an_impossible_request_is_denied() -> None:
    assert refusal(RequestError("request.too-deep", "too deep")).outcome is Outcome.DENY


def test_an_effect_is_json_with_its_kind_first() -> None:
    assert next(iter(as_json(FileWrite("/a")))) == "kind"
