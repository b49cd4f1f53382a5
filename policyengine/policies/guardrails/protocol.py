"""What an outside checker is shown and answers: the guardrail provider protocol of DeerFlow, so that its providers fit.

A provider answers with any object that has `allow` (a boolean, nothing else) and `reasons` (each with `code` and
`message`); `GuardrailDecision` is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias

from policyengine.model import Frozen, Request
from policyengine.records import Record

Json: TypeAlias = Any  # plain lists and dictionaries, as providers expect them


class GuardrailRequest(Record):
    """One call of a tool. Everything is a copy: what a provider does to it changes nothing.

    `agent_id` is the passport that the operator configured, or the agent's name; `timestamp` is ISO 8601 in UTC;
    `user_role` is the first of `user_roles`.
    """

    tool_name: str
    tool_input: dict[str, Json]
    agent_id: str | None = None
    thread_id: str | None = None
    is_subagent: bool = False
    timestamp: str = ""
    user_id: str | None = None
    user_role: str | None = None
    user_roles: tuple[str, ...] = ()
    oauth_provider: str | None = None
    oauth_id: str | None = None
    run_id: str | None = None
    tool_call_id: str | None = None
    channel_user_id: str | None = None
    is_internal: bool = False
    authz_attributes: dict[str, Json]


class GuardrailReason(Record):
    """Why: a stable code, and words."""

    code: str
    message: str = ""


class GuardrailDecision(Record):
    """A provider's answer."""

    allow: bool
    reasons: tuple[GuardrailReason, ...] = ()
    policy_id: str | None = None
    metadata: Mapping[str, Json] = {}


class GuardrailProvider(Protocol):
    """An outside checker."""

    @property
    def name(self) -> str:
        """Name it in findings and records."""

    def evaluate(self, request: GuardrailRequest) -> GuardrailDecision:
        """Judge a call."""

    async def aevaluate(self, request: GuardrailRequest) -> GuardrailDecision:
        """Judge a call without blocking the event loop."""


def request_for(request: Request, now: float, passport: str | None) -> GuardrailRequest:
    """Copy what a provider may know of a request; `now` is in seconds since the epoch."""
    principal, context = request.principal, request.context
    attributes: dict[str, Json] = plain(principal.attributes)
    return GuardrailRequest(
        tool_name=request.resource.id,
        tool_input=plain(request.arguments or {}),
        agent_id=passport or principal.agent or None,
        thread_id=context.thread_id or None,
        is_subagent=context.depth > 0 or bool(principal.delegation),
        timestamp=datetime.fromtimestamp(now, UTC).isoformat(),
        user_id=principal.id or None,
        user_role=principal.roles[0] if principal.roles else None,
        user_roles=principal.roles,
        oauth_provider=_text(attributes, "oauth_provider"),
        oauth_id=_text(attributes, "oauth_id"),
        run_id=context.run_id or None,
        tool_call_id=context.call_id or None,
        channel_user_id=_text(attributes, "channel_user_id"),
        is_internal=principal.internal is True,
        authz_attributes=attributes,
    )


def _text(attributes: Mapping[str, Json], name: str) -> str | None:
    value = attributes.get(name)
    return value if isinstance(value, str) else None


def plain(value: Frozen) -> Json:
    """Copy a frozen value into lists and dictionaries."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value
