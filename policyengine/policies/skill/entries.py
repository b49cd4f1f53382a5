"""Entries of `allowed-tools`: which tools they name, and what two lists of them have in common.

An entry is a rule's words as `policies.permissions` reads them: `Read`, `mcp__server__*`, `Bash(git diff:*)`. One with
a specifier names its tool for some calls only; which, is asked of a `Covers` (`config.skills` hands over that of the
permission rules). Without one, no such call is covered: an entry with a specifier never counts as the bare tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from functools import lru_cache
from typing import TypeAlias

from policyengine.effects import Facts
from policyengine.errors import LoadError
from policyengine.model import Request
from policyengine.policies.permissions.syntax import About, ToolPattern, is_server, names_tool, pattern_of
from policyengine.state import Entries
from policyengine.state.skills import MAX_ENTRIES

Clause: TypeAlias = "tuple[ToolPattern, ...]"  # one of them has to admit a call
Covers: TypeAlias = Callable[[Clause, Request, Facts], bool]
Naming: TypeAlias = Callable[[str], str]  # a tool's name → the name under which it is described


class Admission(IntEnum):
    """What a list of entries says of a call."""

    NO = 0  # none names the tool
    UNCOVERED = 1  # one does, for other arguments
    YES = 2


def nothing_covered(clause: Clause, request: Request, facts: Facts) -> bool:
    """Cover no call: what entries with a specifier are worth where nobody can read them."""
    return False


def as_written(name: str) -> str:
    """Take a tool's name for itself."""
    return name


class Reading:
    """How entries are read: by whom specifiers are judged, and which names are one tool's."""

    __slots__ = ("covers", "naming")

    def __init__(self, covers: Covers = nothing_covered, naming: Naming = as_written) -> None:
        self.covers = covers
        self.naming = naming

    def admits(self, clause: Clause, request: Request, facts: Facts) -> Admission:
        """Say whether a list admits a call; without arguments, whether it admits some call of the tool."""
        tool = request.resource.id
        naming = [pattern for pattern in clause if self.names(pattern, tool)]
        if not naming:
            return Admission.NO
        if request.arguments is None or any(pattern.specifier is None for pattern in naming):
            return Admission.YES
        covered = bool(facts.effects) and self.covers(clause, request, facts)
        return Admission.YES if covered else Admission.UNCOVERED

    def names(self, pattern: ToolPattern, tool: str) -> bool:
        """Whether an entry is about a tool, for some call at least."""
        if names_tool(pattern, tool):
            return True
        return pattern.about is not About.TOOL and self.naming(pattern.tool) == self.naming(tool)


@lru_cache(maxsize=4096)
def _pattern(entry: str) -> ToolPattern | None:
    try:
        return pattern_of(entry)
    except LoadError:
        return None


def clause_of(entries: Iterable[str]) -> Clause:
    """Read entries; what cannot be read names nothing."""
    return tuple(pattern for entry in dict.fromkeys(entries) if (pattern := _pattern(entry)) is not None)


@lru_cache(maxsize=256)  # of an edited skill it is asked for every call
def narrowed(one: Entries, other: Entries) -> Entries:
    """Give entries that both lists admit: never more than that, though it may be less where specifiers overlap."""
    if one is None or other is None or one == other:
        return other if one is None else one
    mine, others = clause_of(one), clause_of(other)
    kept = dict.fromkeys((*_included(mine, others), *_included(others, mine)))
    return tuple(kept)[:MAX_ENTRIES]


def _included(narrow: Clause, wide: Clause) -> list[str]:
    """The entries that are about no call that the others are not about: the same words, or their tool bare.

    A star in the name of such an entry is a text like another: only a star of a wide name can take it.
    """
    texts = {pattern.text for pattern in wide}
    bare = [pattern for pattern in wide if pattern.specifier is None]
    tools = {pattern.tool for pattern in bare}
    several = [pattern for pattern in bare if pattern.is_glob or is_server(pattern.tool)]
    return [
        entry.text
        for entry in narrow
        if entry.text in texts or entry.tool in tools or any(names_tool(pattern, entry.tool) for pattern in several)
    ]


def joined(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Give the entries of both; what is beyond `MAX_ENTRIES` is left out, which leaves less."""
    return tuple(dict.fromkeys((*one, *other)))[:MAX_ENTRIES]
