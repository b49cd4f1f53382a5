"""The schema of tool policies, in TinyAgents' names, and what it becomes (`config.toolpolicy` has the format)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints

from policyengine.config.validated import Schema
from policyengine.policies.tool import (
    STRICT,
    Layer,
    Metadata,
    Sandbox,
    Settings,
    SideEffect,
    When,
    Workspace,
)


def _whole(name: str) -> str:
    if "*" in name or "?" in name:
        raise ValueError(f"`{name}` is no name of a tool, and only the lists of `selection` may be globs")
    return name


Name: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=256)]
ToolName: TypeAlias = Annotated[Name, AfterValidator(_whole)]
SourceName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$")]
Kind: TypeAlias = Literal[
    "read_only", "writes_files", "network", "installs_dependencies", "destructive", "external_service", "payment"
]
Bound: TypeAlias = Annotated[int, Field(ge=0)]
_WORKSPACES = {"none": Workspace.NONE, "scoped": Workspace.SCOPED, "any": Workspace.ANY}


class Millis(Schema):
    """A bound of time as `timeout` writes it."""

    millis: Bound


class RuntimeSpec(Schema):
    """How a tool runs. Of its keys `max_retries`, `idempotent`, `cancelable` and `streaming` are not judged."""

    timeout_ms: Bound | None = None
    timeout: Literal["inherit", "unbounded"] | Millis = "inherit"
    max_retries: Bound | None = None
    idempotent: bool = False
    cancelable: bool = False
    sandbox: Literal["inherit", "disabled", "required"] = "inherit"
    max_result_bytes: Bound | None = None
    streaming: bool = False

    def bound(self) -> int | None:
        """Give the milliseconds that a call may take; `timeout_ms` counts only where `timeout` is inherited."""
        if isinstance(self.timeout, Millis):
            return self.timeout.millis
        return self.timeout_ms if self.timeout == "inherit" else None


class AccessSpec(Schema):
    """What a tool may touch, and when."""

    workspace: Literal["none", "scoped", "any"] = "none"
    trusted_roots: list[str] = Field(default=[])
    credentials: list[Name] = Field(default=[])
    approval_required: bool = False
    background_safe: bool = False


class PolicySpec(Schema):
    """What is declared about one tool; `display` is for people."""

    classified: bool | None = None
    side_effects: dict[Kind, bool] | list[Kind] | None = None
    runtime: RuntimeSpec | None = None
    access: AccessSpec | None = None
    display: Any = None

    def says_something(self) -> bool:
        """Whether it says anything that is judged."""
        return any(one is not None for one in (self.side_effects, self.runtime, self.access))

    def made(self, *, classified: bool) -> Metadata:
        """Make the declaration; `classified` counts where it does not say itself.

        Raises:
            UsageError: it contradicts itself, or a directory cannot be a trusted root.
        """
        runtime, access = self.runtime or RuntimeSpec(), self.access or AccessSpec()
        flags = self.side_effects or {}
        return Metadata(
            classified=classified if self.classified is None else self.classified,
            side_effects=frozenset(SideEffect(flag) for flag in flags if not isinstance(flags, dict) or flags[flag]),
            timeout_ms=runtime.bound(),
            sandbox=Sandbox(runtime.sandbox),
            max_result_bytes=runtime.max_result_bytes,
            workspace=_WORKSPACES[access.workspace],
            trusted_roots=tuple(access.trusted_roots),
            credentials=frozenset(access.credentials),
            approval_required=access.approval_required,
            background_safe=access.background_safe,
        )


class SettingsSpec(Schema):
    """What is asked of all tools."""

    strict: bool = False
    require_classification: bool = False
    require_background_safe: bool = False
    require_approval: bool = False
    require_sandbox: bool = False
    deny_side_effects: list[Kind] = Field(default=[])
    approved: list[ToolName] | None = None
    credentials: list[Name] | None = None
    sandboxes: list[Name] | None = None
    max_result_bytes: Bound | None = None
    timeout_ms: Bound | None = None

    def made(self) -> Settings:
        """Make the settings.

        Raises:
            UsageError: `read_only` is to be denied.
        """
        own = Settings(
            require_classification=self.require_classification,
            require_background_safe=self.require_background_safe,
            require_approval=self.require_approval,
            require_sandbox=self.require_sandbox,
            deny=frozenset(map(SideEffect, self.deny_side_effects)),
            approved=_set(self.approved),
            credentials=_set(self.credentials),
            sandboxes=_set(self.sandboxes),
            max_result_bytes=self.max_result_bytes,
            timeout_ms=self.timeout_ms,
        )
        return STRICT.tightened(own) if self.strict else own


class WhenSpec(Schema):
    """The circumstances in which a layer of lists holds."""

    tags: list[Name] = Field(default=[])
    depth: Bound = 0
    models: list[Name] = Field(default=[])


class LayerSpec(Schema):
    """One pair of lists."""

    source: SourceName
    allow: list[Name] | None = None
    deny: list[Name] = Field(default=[])
    when: WhenSpec = WhenSpec()

    def made(self) -> Layer:
        """Make the layer."""
        when = When(tags=frozenset(self.when.tags), least_depth=self.when.depth, models=tuple(self.when.models))
        allow = None if self.allow is None else tuple(self.allow)
        return Layer(source=self.source, allow=allow, deny=tuple(self.deny), when=when)


class FileSpec(Schema):
    """One YAML file."""

    settings: SettingsSpec = SettingsSpec()
    tools: dict[ToolName, PolicySpec] = Field(default={})
    annotations: dict[ToolName, dict[str, Any]] = Field(default={})
    selection: list[LayerSpec] = Field(default=[])


def _set(names: list[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)
