"""Permission rules with where they come from."""

from __future__ import annotations

from policyengine.model import Outcome, Tier
from policyengine.policies.permissions.syntax import ToolPattern
from policyengine.records import Record


class Source(Record):
    """Where rules come from.

    Attributes:
        file: the file as the person named it.
        tier: who vouches for it; a project's rules tighten, and allow nothing.
        folder: where `/x` in a path begins (absolute, normal); empty where nothing does.
        project: the only directory in which what these rules allow holds; empty for every one.
    """

    file: str
    tier: Tier
    folder: str = ""
    project: str = ""


class Rule(Record):
    """One rule: what it is about, and what it says of that.

    Attributes:
        outcome: deny and ask are judgements; allow is an answer to asks.
        pattern: what it is about.
        source: where it comes from.
        reason: why, in its author's words; may be empty.
    """

    outcome: Outcome
    pattern: ToolPattern
    source: Source
    reason: str = ""

    @property
    def title(self) -> str:
        """Name the rule and its file."""
        return f"`{self.pattern.text}` in {self.source.file}"
