"""Whether patterns of tools cover a whole call, for lists that say what may be used (`allowed-tools`)."""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.effects import Facts
from policyengine.model import Request
from policyengine.policies.permissions.coverage import NO_MEANS, Allowed, Coverage, Means
from policyengine.policies.permissions.syntax import About, ToolPattern, names_tool, pattern_of

__all__ = ["About", "Means", "ToolPattern", "all_covered", "covers", "names_tool", "pattern_of"]


def covers(pattern: ToolPattern, request: Request, facts: Facts, means: Means = NO_MEANS) -> bool:
    """Whether one pattern covers all that a call would do: see `all_covered`."""
    return all_covered((pattern,), request, facts, means)


def all_covered(patterns: Sequence[ToolPattern], request: Request, facts: Facts, means: Means = NO_MEANS) -> bool:
    """Whether every effect of a call is covered by some pattern; a call without effects, by one for its tool."""
    coverage = Coverage([Allowed(pattern) for pattern in patterns], request, facts, means)
    if not facts.effects:
        return coverage.is_called()
    return all(coverage.answering(effect) for effect in facts.effects)
