"""Claude Code's PreToolUse hook: its payload as a `Request`, a `Decision` as its answer.

Pure; `policyengine.cli.hook` does the I/O. Facts (Claude Code hooks reference): status 0 with JSON is a decision, `{}`
is no opinion (the host's own rules still hold), status 2 blocks with stderr as the reason, with any other status the
tool runs. A person sees the reason of an `ask`, the model that of a `deny`. The host cannot discharge an obligation or
control of ours before a tool runs, so a decision that carries one is a deny.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policyengine.errors import RequestError
from policyengine.model import (
    Context,
    Decision,
    Finding,
    Outcome,
    Principal,
    Request,
    Resource,
    ResourceKind,
    ShellKind,
    freeze_object,
)
from policyengine.records import Record
from policyengine.visible import visible

EVENT = "PreToolUse"
SHELLS = {"bash": ShellKind.BASH, "sh": ShellKind.SH, "dash": ShellKind.SH, "zsh": ShellKind.ZSH}


class Host(Record):
    """What the payload does not say. `shell` is the path of the person's; no `workspace` means the payload's cwd."""

    home: str
    platform: str
    shell: str = ""
    workspace: tuple[str, ...] = ()


def is_tool_call(payload: object) -> bool:
    """Whether the payload asks about a call. Other events get no opinion: no tool waits for their answer.

    Raises:
        RequestError: it is no hook payload at all.
    """
    return _text(_object(payload, "the payload"), "hook_event_name") == EVENT


def to_request(payload: object, host: Host) -> Request:
    """The request that a PreToolUse payload states.

    Raises:
        RequestError: a field that the host always sends is missing or of another type.
    """
    fields = _object(payload, "the payload")
    session = _text(fields, "session_id")
    cwd = _text(fields, "cwd")
    if not cwd.startswith("/"):
        raise RequestError("hook.payload", "`cwd` has to be an absolute path")
    return Request(
        principal=Principal(agent=_optional(fields, "agent_type")),
        action="invoke",
        resource=Resource(ResourceKind.TOOL, _text(fields, "tool_name")),
        arguments=freeze_object(_object(fields.get("tool_input"), "`tool_input`")),
        context=Context(
            scope_id=session,
            run_id=_optional(fields, "prompt_id") or session,
            thread_id=session,
            call_id=_optional(fields, "tool_use_id"),
            cwd=cwd,
            home=host.home,
            workspace=host.workspace or (cwd,),
            shell=SHELLS.get(host.shell.rpartition("/")[2], ShellKind.UNKNOWN),
            platform=host.platform,
        ),
    )


def to_answer(decision: Decision) -> dict[str, object]:
    """The hook's answer: `{}` for an allow, else the decision with a reason that lists every finding."""
    duties = [duty.kind.value for duty in decision.obligations]
    duties += [decision.control.kind.value] if decision.control else []
    outcome = Outcome.DENY if duties else decision.outcome
    if outcome is Outcome.ALLOW:
        return {}
    lines = [_line(finding) for finding in decision.findings if not finding.shadow]
    lines += [f"this host cannot discharge `{duty}`, which the answer requires" for duty in duties]
    reason = "\n".join(lines) or "no policy allows this call"
    return {
        "hookSpecificOutput": {
            "hookEventName": EVENT,
            "permissionDecision": outcome.word,
            "permissionDecisionReason": f"policyengine: {outcome.word}\n{reason}",
        }
    }


def _line(finding: Finding) -> str:
    instead = f" Instead: {finding.instead}" if finding.instead else ""
    return visible(f"- {finding.outcome.word}, {finding.severity.word}: {finding.message} [{finding.rule}]{instead}")


def _object(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise RequestError("hook.payload", f"{name} has to be a JSON object")
    return value


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not value:
        raise RequestError("hook.payload", f"`{key}` has to be a non-empty string")
    return value


def _optional(fields: Mapping[str, Any], key: str) -> str:
    return _text(fields, key) if fields.get(key) is not None else ""
