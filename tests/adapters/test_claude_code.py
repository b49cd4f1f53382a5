"""Claude Code's payloads and answers, without a process around them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policyengine.adapters.claude_code import Host, is_tool_call, to_answer, to_request
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
)
from tests.adapters.payloads import BASE, LISTING, TASK

HOST = Host(home="/home/dev", platform="linux", shell="/usr/bin/bash")


def _finding(rule: str, outcome: Outcome, **more: Any) -> Finding:
    return Finding(rule=rule, code=rule, message=f"about {rule}.", outcome=outcome, severity=Severity.HIGH, **more)


def _decision(outcome: Outcome, *findings: Finding, **more: Any) -> Decision:
    return Decision(outcome=outcome, findings=findings, effects=(), **more)


def _said(answer: dict[str, object]) -> tuple[str, str]:
    output = answer["hookSpecificOutput"]
    assert isinstance(output, dict)
    assert output["hookEventName"] == "PreToolUse"
    return output["permissionDecision"], output["permissionDecisionReason"]


def test_a_payload_becomes_a_request() -> None:
    request = to_request(LISTING, HOST)
    assert request.resource.id == "Bash"
    assert request.arguments is not None
    assert request.arguments["command"] == "ls -la src"
    context = request.context
    assert (context.cwd, context.workspace, context.home) == ("/srv/shop", ("/srv/shop",), "/home/dev")
    assert (context.scope_id, context.thread_id, context.call_id) == (
        BASE["session_id"],
        BASE["session_id"],
        "toolu_01A9",
    )


def test_a_configured_workspace_replaces_the_cwd() -> None:
    host = Host(home="/home/dev", platform="linux", workspace=("/srv",))
    assert to_request(LISTING, host).context.workspace == ("/srv",)


@pytest.mark.parametrize(
    ("path", "shell"),
    [
        ("/bin/bash", ShellKind.BASH),
        ("/bin/zsh", ShellKind.ZSH),
        ("/usr/bin/fish", ShellKind.UNKNOWN),
        ("", ShellKind.UNKNOWN),
    ],
)
def test_the_shell_is_the_persons_or_unknown(path: str, shell: ShellKind) -> None:
    assert to_request(LISTING, Host(home="/h", platform="linux", shell=path)).context.shell is shell


def test_a_sub_agent_is_named() -> None:
    assert to_request(TASK | {"agent_id": "a1", "agent_type": "Explore"}, HOST).principal.agent == "Explore"


@pytest.mark.parametrize("event", ["PostToolUse", "Stop", "SessionStart", "PermissionRequest"])
def test_other_events_are_no_tool_calls(event: str) -> None:
    assert not is_tool_call(BASE | {"hook_event_name": event})


@pytest.mark.parametrize(
    "payload",
    [
        [],
        None,
        "PreToolUse",
        {},
        LISTING | {"hook_event_name": None},
        LISTING | {"hook_event_name": 7},
        LISTING | {"hook_event_name": ""},
        LISTING | {"tool_name": None},
        LISTING | {"tool_name": ""},
        LISTING | {"tool_name": ["Bash"]},
        LISTING | {"tool_input": None},
        LISTING | {"tool_input": "ls"},
        LISTING | {"tool_input": []},
        LISTING | {"cwd": None},
        LISTING | {"cwd": "src"},
        LISTING | {"session_id": 1},
        {key: value for key, value in LISTING.items() if key != "cwd"},
        LISTING | {"tool_use_id": 5},
    ],
)
def test_a_malformed_payload_is_refused(payload: object) -> None:
    with pytest.raises(RequestError):
        is_tool_call(payload)
        to_request(payload, HOST)


def test_an_allow_is_no_opinion() -> None:
    assert to_answer(_decision(Outcome.ALLOW, _finding("a.warning", Outcome.ALLOW))) == {}


@pytest.mark.parametrize("outcome", [Outcome.ASK, Outcome.DENY])
def test_the_reason_lists_every_finding_and_what_to_do_instead(outcome: Outcome) -> None:
    findings = (_finding("x.first", outcome, instead="Do this."), _finding("x.second", Outcome.ASK))
    word, reason = _said(to_answer(_decision(outcome, *findings)))
    assert word == outcome.word
    assert "about x.first. [x.first] Instead: Do this." in reason
    assert "about x.second. [x.second]" in reason


def test_shadow_findings_are_no_reason() -> None:
    _, reason = _said(
        to_answer(_decision(Outcome.ASK, _finding("a", Outcome.ASK), _finding("b", Outcome.DENY, shadow=True)))
    )
    assert "[b]" not in reason


def test_a_decision_without_findings_still_has_a_reason() -> None:
    assert "no policy allows" in _said(to_answer(_decision(Outcome.DENY)))[1]


@pytest.mark.parametrize("outcome", [Outcome.ALLOW, Outcome.ASK])
def test_what_the_host_cannot_discharge_is_denied(outcome: Outcome) -> None:
    duty = Obligation(kind=ObligationKind.REDACT)
    control = Control(kind=ControlKind.STOP)
    assert _said(to_answer(_decision(outcome, obligations=(duty,))))[0] == "deny"
    assert _said(to_answer(_decision(outcome, control=control)))[0] == "deny"


def test_the_reason_shows_control_characters() -> None:
    finding = _finding("a", Outcome.ASK, instead="x\x1b[2J\u202ey")
    assert "x<U+001B>[2J<U+202E>y" in json.dumps(to_answer(_decision(Outcome.ASK, finding)))
