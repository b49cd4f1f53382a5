"""What a tool declares about itself, in the names of TinyAgents' `ToolPolicy`, and what its host asks of all tools.

Declarations bind: none of them can loosen another, and what is said of a tool nowhere is taken for the worst wherever
a setting asks about it. `max_retries`, `idempotent`, `cancelable`, `streaming` and `display` are not judged, nor kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum

from policyengine.errors import UsageError
from policyengine.records import Record


class SideEffect(StrEnum):
    """What a tool may do to the world."""

    READ_ONLY = "read_only"
    WRITES_FILES = "writes_files"
    NETWORK = "network"
    INSTALLS_DEPENDENCIES = "installs_dependencies"
    DESTRUCTIVE = "destructive"
    EXTERNAL_SERVICE = "external_service"
    PAYMENT = "payment"


ALL_SIDE_EFFECTS = frozenset(SideEffect) - {SideEffect.READ_ONLY}
# What nothing that only reads does; reading may well use the network.
CHANGING = frozenset({
    SideEffect.WRITES_FILES, SideEffect.INSTALLS_DEPENDENCIES, SideEffect.DESTRUCTIVE, SideEffect.PAYMENT,
})  # fmt: skip


class Sandbox(StrEnum):
    """Where a tool wants to run."""

    INHERIT = "inherit"
    DISABLED = "disabled"
    REQUIRED = "required"


class Workspace(IntEnum):
    """Which files a tool may touch: none, those of the workspace and of its trusted roots, or any."""

    NONE = 0
    SCOPED = 1
    ANY = 2


class Metadata(Record):
    """One declaration about one tool.

    Attributes:
        classified: whether somebody answers for the rest. Where nobody does, what is declared counts against the tool,
            and what is not declared does not count for it.
        side_effects: what it says that it does.
        timeout_ms: how long a call may take, in milliseconds; None for no bound.
        sandbox: where it wants to run.
        max_result_bytes: how long a result may be, in bytes of UTF-8; None for no bound.
        workspace: which files it may touch.
        trusted_roots: directories beside the workspace that it may touch; absolute, or below `~`.
        credentials: names of what it uses to prove who it is; None where it does not say.
        approval_required: whether a person has to approve each call.
        background_safe: whether it may run where nobody watches.

    Raises:
        UsageError: it contradicts itself, or a bound or directory cannot be one.
    """

    classified: bool = False
    side_effects: frozenset[SideEffect] = frozenset()
    timeout_ms: int | None = None
    sandbox: Sandbox = Sandbox.INHERIT
    max_result_bytes: int | None = None
    workspace: Workspace = Workspace.NONE
    trusted_roots: tuple[str, ...] = ()
    credentials: frozenset[str] | None = frozenset()
    approval_required: bool = False
    background_safe: bool = False

    def __post_init__(self) -> None:
        against = self.side_effects & CHANGING
        if SideEffect.READ_ONLY in self.side_effects and against:
            raise UsageError(f"it declares `read_only` and `{min(against)}`, and cannot be both")
        for name in ("timeout_ms", "max_result_bytes"):
            _check_bound(name, getattr(self, name))
        for root in self.trusted_roots:
            if not root.startswith(("/", "~/")) and root != "~":
                raise UsageError(f"the trusted root `{root[:200]}` is neither absolute nor below `~`")

    @property
    def scope(self) -> Workspace:
        """Which files it may touch; where nobody answers for it, `none` is only what is there when nothing was said."""
        return Workspace.ANY if not self.classified and self.workspace is Workspace.NONE else self.workspace

    @property
    def may(self) -> frozenset[SideEffect]:
        """The side effects that its calls may have without going beyond what it says."""
        return self.side_effects if self.classified else ALL_SIDE_EFFECTS


def _check_bound(name: str, value: object) -> None:
    if value is not None and (type(value) is not int or value < 0):
        raise UsageError(f"`{name}` has to be a whole number from 0")


UNDECLARED = Metadata(workspace=Workspace.ANY, credentials=None)  # a tool of which nobody has said anything


class Hint(Record):
    """What somebody says of a tool who does not answer for it: it counts against the tool, and never for it.

    Attributes:
        does: side effects that it has.
        does_not: side effects that its calls may not have, then.
    """

    does: frozenset[SideEffect] = frozenset()
    does_not: frozenset[SideEffect] = frozenset()


class Settings(Record):
    """What a host asks of every tool; what is not set asks nothing.

    Attributes:
        require_classification: tools that nobody classified are denied.
        require_background_safe: tools that may not run where nobody watches are denied.
        require_approval: tools that nobody classified ask too. What declares `approval_required` always asks.
        require_sandbox: tools that need a sandbox, or may need one, are denied in a run that has none. Without it, what
            declares `sandbox: required` is an obligation of whoever runs the call.
        deny: side effects that are denied, be they declared, not ruled out, or seen in a call.
        approved: tools that need not ask; None says nothing.
        sandboxes: what `Context.sandbox` says of runs whose calls are isolated; None for `required` alone.
        credentials: names of credentials that tools may use unasked; None says nothing.
        max_result_bytes: bound on the results of all tools, in bytes of UTF-8.
        timeout_ms: bound on all calls, in milliseconds.

    Raises:
        UsageError: `read_only` is to be denied, which is no side effect, or a bound cannot be one.
    """

    require_classification: bool = False
    require_background_safe: bool = False
    require_approval: bool = False
    require_sandbox: bool = False
    deny: frozenset[SideEffect] = frozenset()
    approved: frozenset[str] | None = None
    sandboxes: frozenset[str] | None = None
    credentials: frozenset[str] | None = None
    max_result_bytes: int | None = None
    timeout_ms: int | None = None

    def __post_init__(self) -> None:
        if SideEffect.READ_ONLY in self.deny:
            raise UsageError("`read_only` is no side effect that could be denied")
        for name in ("timeout_ms", "max_result_bytes"):
            _check_bound(name, getattr(self, name))

    def tightened(self, other: Settings) -> Settings:
        """Add settings: what either asks is asked, and only what both release is released. Nothing can be dropped."""
        return Settings(
            require_classification=self.require_classification or other.require_classification,
            require_background_safe=self.require_background_safe or other.require_background_safe,
            require_approval=self.require_approval or other.require_approval,
            require_sandbox=self.require_sandbox or other.require_sandbox,
            deny=self.deny | other.deny,
            approved=_common(self.approved, other.approved),
            sandboxes=_common(self.sandboxes, other.sandboxes),
            credentials=_common(self.credentials, other.credentials),
            max_result_bytes=least(self.max_result_bytes, other.max_result_bytes),
            timeout_ms=least(self.timeout_ms, other.timeout_ms),
        )


STRICT = Settings(require_classification=True, deny=frozenset({SideEffect.DESTRUCTIVE, SideEffect.PAYMENT}))


def _common(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return other if one is None else one if other is None else one & other


def least(*bounds: int | None) -> int | None:
    """Give the smallest of the bounds that are there; None where none is."""
    return min((bound for bound in bounds if bound is not None), default=None)


def ordered(side_effects: Iterable[SideEffect]) -> list[SideEffect]:
    """Sort side effects as they are listed above."""
    known = frozenset(side_effects)
    return [one for one in SideEffect if one in known] if known else []
