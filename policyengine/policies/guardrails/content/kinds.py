"""Where content comes from, by what the catalogue says of tools and never by names; what reading it does to a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from policyengine.model import Finding
from policyengine.policies.guardrails.content.detectors import Source
from policyengine.state import Label

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


def labels_of(findings: Iterable[Finding], source: Source) -> frozenset[Label]:
    """What a run carries once it has read a text from a source in which this was found."""
    labels = frozenset(Label(label) for finding in findings for label in finding.labels)
    return labels | {Label.UNTRUSTED} if source is Source.REMOTE else labels
