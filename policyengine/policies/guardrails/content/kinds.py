"""Which tools bring content from elsewhere: told by what the catalogue says of them, never by a list of names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from policyengine.policies.guardrails.content.detectors import Source

REMOTE_USES = frozenset({"search", "browser", "mcp"})  # categories of `tool.use` in `rules/tools.yaml`
REMOTE_ROLES = frozenset({"url", "host"})  # of an argument


class Meaning(Protocol):
    """An argument's meaning, as the catalogue gives it."""

    @property
    def role(self) -> str:
        """What the argument is, such as `url`, `read` or `shell`."""


class Described(Protocol):
    """A tool's description, as the catalogue gives it."""

    @property
    def arguments(self) -> Mapping[str, Meaning]:
        """Argument → meaning."""

    @property
    def modes(self) -> Mapping[str, Mapping[str, Meaning]]:
        """The same for each mode."""

    @property
    def use(self) -> str:
        """Category of use, or empty."""

    @property
    def opaque(self) -> bool:
        """Whether it may do more than is described."""


def source_of_result(tool: Described | None) -> Source:
    """Where a tool's results come from. What nobody described may come from anywhere."""
    if tool is None or tool.opaque or tool.use in REMOTE_USES:
        return Source.REMOTE
    meanings = [*tool.arguments.values(), *(one for mode in tool.modes.values() for one in mode.values())]
    return Source.REMOTE if any(one.role in REMOTE_ROLES for one in meanings) else Source.LOCAL
