"""The input document of OPA: what a Rego policy finds under `input`.

    principal   {id, roles: [..], attributes: {..}, internal, agent, delegation: [..]}
    action      "invoke", or what the host calls it
    resource    {kind: "tool" | "model" | …, id}
    arguments   {..}: the call's arguments as they will run
    context     {scope_id, run_id, parent_run_id, step_id, thread_id, call_id, now, cwd, home, workspace: [..],
                 shell, platform, sandbox, depth, tags: [..], active_skills: [..],
                 model}
    effects     [{kind: "file.write", path, …}, …]: what the call would do; the README has the kinds and fields
    run         {version, labels: [..], counters: {..}}: what the run has done so far

Names from sets (`tags`, `labels`) are sorted. `now` is in seconds since the epoch, or null. The environment is left
out: it holds secrets, and the server logs its input.
"""

from __future__ import annotations

import json

from policyengine.effects import Facts, as_json
from policyengine.model import Context, Principal, Request
from policyengine.state import RunState

MAX_INPUT = 2 * 1024 * 1024  # bytes of one input document

_CONTEXT = (
    "scope_id", "run_id", "parent_run_id", "step_id", "thread_id", "call_id", "now", "cwd", "home", "workspace",
    "platform", "sandbox", "depth", "active_skills", "model",
)  # fmt: skip
_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=dict).encode


def input_document(request: Request, facts: Facts, state: RunState) -> dict[str, object]:
    """Give the document for a call; its values share the request's frozen ones."""
    return {
        "principal": _principal(request.principal),
        "action": request.action,
        "resource": {"kind": request.resource.kind.value, "id": request.resource.id},
        "arguments": request.arguments,
        "context": _context(request.context),
        "effects": [as_json(effect) for effect in facts.effects],
        "run": {"version": state.version, "labels": sorted(state.labels), "counters": state.counters},
    }


def encoded(document: dict[str, object]) -> bytes:
    """Write a query with this input.

    Raises:
        UnicodeEncodeError: a text holds half of a surrogate pair, of which JSON in Go makes another character.
    """
    return _write({"input": document}).encode("utf-8")  # `default`: read-only mappings are dictionaries to JSON


def _principal(principal: Principal) -> dict[str, object]:
    return {
        "id": principal.id,
        "roles": principal.roles,
        "attributes": principal.attributes,
        "internal": principal.internal,
        "agent": principal.agent,
        "delegation": principal.delegation,
    }


def _context(context: Context) -> dict[str, object]:
    values: dict[str, object] = {name: getattr(context, name) for name in _CONTEXT}
    return values | {"shell": context.shell.value, "tags": sorted(context.tags)}
