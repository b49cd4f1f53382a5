"""The schema of the setup file (`config.setup` states the format)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, StringConstraints, TypeAdapter

from policyengine.config.validated import Schema

Text: TypeAlias = Annotated[str, StringConstraints(min_length=1)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, strict=False)]
ActionName: TypeAlias = Literal["ignore", "note", "redact", "neutralise", "ask", "deny"]
SourceName: TypeAlias = Literal["argument", "input", "remote", "local", "output"]


class RbacSpec(Schema):
    """Roles: Casbin's two files, or DeerFlow's own settings."""

    model: Text | None = None
    policy: Text | None = None
    deerflow: Text | None = None
    default_role: str = ""
    id_prefix: str = "user:"
    domain: str = "domain"
    depth: int | None = None


class OpaSpec(Schema):
    """A rule of an OPA server."""

    url: Text
    path: Text
    deadline: Seconds = 0.5
    token_file: Text | None = None


class GuardrailSpec(Schema):
    """An outside checker."""

    use: Text
    config: dict[str, Any] = Field(default_factory=dict)
    deadline: Seconds = 5.0
    passport: Text | None = None


class PermissionsSpec(Schema):
    """Files of permission rules, by who vouches for them."""

    organisation: list[Text] = Field(default_factory=list)
    user: list[Text] = Field(default_factory=list)
    project: list[Text] = Field(default_factory=list)


class ToolsSpec(Schema):
    """Files of tool policies, by who vouches for them."""

    user: list[Text] = Field(default_factory=list)
    project: list[Text] = Field(default_factory=list)


class KeysSpec(Schema):
    """Where the keys of tokens are."""

    file: Text | None = None
    environment: Text | None = None


class SqliteSpec(Schema):
    """A store in a file of this machine."""

    sqlite: Text


class RedisSpec(Schema):
    """A store that machines share."""

    redis: Text


Store: TypeAlias = Literal["memory"] | SqliteSpec | RedisSpec


class AuditSpec(Schema):
    """The audit log."""

    path: Text
    keys: Text
    durability: Literal["process-crash", "power-loss"] = "process-crash"
    detail: Literal["redacted", "full"] = "redacted"


class LifetimesSpec(Schema):
    """How long tokens are good for, in seconds."""

    decision: Seconds | None = None
    question: Seconds | None = None
    approval: Seconds | None = None
    exposure: Seconds | None = None
    delegation: Seconds | None = None


class SetupSpec(Schema):
    """The whole file."""

    profile: Text = "workstation"
    rules: list[Text] = Field(default_factory=list)
    shipped_rules: bool = True
    organisation_keys: list[Text] = Field(default_factory=list)
    rbac: RbacSpec | None = None
    opa: OpaSpec | None = None
    guardrails: list[GuardrailSpec] = Field(default_factory=list)
    content: dict[Text, dict[SourceName, ActionName]] = Field(default_factory=dict)
    tools: ToolsSpec | None = None
    skills: Text | None = None
    permissions: PermissionsSpec | None = None
    keys: KeysSpec | None = None
    approvals: Store = "memory"
    states: Store = "memory"
    audit: AuditSpec | None = None
    hide: Literal["deny", "ask"] = "deny"
    lifetimes: LifetimesSpec = Field(default_factory=LifetimesSpec)


SETUP = TypeAdapter(SetupSpec)
