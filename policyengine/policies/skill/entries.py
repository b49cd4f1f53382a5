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

MAX_COMPILED = 256  # lists of entries that are kept ready
MAX_NAMES = 4096  # tools whose described names are kept
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


class _Compiled:
    """A list of entries, ready to be asked about one tool after the other."""

    __slots__ = ("_bare", "_described", "_naming", "_others", "_scoped", "clause")

    def __init__(self, clause: Clause, naming: Naming) -> None:
        self.clause = clause
        self._naming = naming
        self._bare = {pattern.tool for pattern in clause if pattern.specifier is None}
        self._scoped = {pattern.tool for pattern in clause if pattern.specifier is not None}
        self._others = [pattern for pattern in clause if pattern.is_glob or is_server(pattern.tool)]
        known = [pattern for pattern in clause if pattern.about is not About.TOOL]
        self._described = {naming(pattern.tool): True for pattern in known if pattern.specifier is not None}
        self._described |= {naming(pattern.tool): False for pattern in known if pattern.specifier is None}

    def names(self, tool: str) -> bool:
        """Whether a tool is named, for some calls at least."""
        if tool in self._bare or tool in self._scoped:
            return True
        if self._others and any(names_tool(pattern, tool) for pattern in self._others):
            return True
        return bool(self._described) and self._naming(tool) in self._described

    def is_scoped(self, tool: str) -> bool | None:
        """Whether a tool is named for some calls only; None where it is not named."""
        if tool in self._bare:
            return False
        found = {pattern.specifier is not None for pattern in self._others if names_tool(pattern, tool)}
        if self._described:
            described = self._described.get(self._naming(tool))
            found |= set() if described is None else {described}
        if False in found:
            return False
        return True if found or tool in self._scoped else None


class Reading:
    """How entries are read: by whom specifiers are judged, and which names are one tool's."""

    __slots__ = ("_compiled", "_names", "_naming", "covers")

    def __init__(self, covers: Covers = nothing_covered, naming: Naming = as_written) -> None:
        self.covers = covers
        self._naming = naming
        self._compiled: dict[tuple[str, ...], _Compiled] = {}
        self._names: dict[str, str] = {}

    def admits(self, entries: tuple[str, ...], request: Request, facts: Facts) -> Admission:
        """Say whether a list admits a call; without arguments, whether it admits some call of the tool."""
        compiled = self._of(entries)
        scoped = compiled.is_scoped(request.resource.id)
        if scoped is None:
            return Admission.NO
        if not scoped or request.arguments is None:
            return Admission.YES
        covered = bool(facts.effects) and self.covers(compiled.clause, request, facts)
        return Admission.YES if covered else Admission.UNCOVERED

    def namer(self, entries: tuple[str, ...]) -> Callable[[str], bool]:
        """Give the question whether a list admits some call of a tool."""
        return self._of(entries).names

    def _of(self, entries: tuple[str, ...]) -> _Compiled:
        known = self._compiled.get(entries)
        if known is not None:
            return known
        if len(self._compiled) >= MAX_COMPILED:
            self._compiled.clear()
        made = self._compiled[entries] = _Compiled(clause_of(entries), self._name)
        return made

    def _name(self, tool: str) -> str:
        known = self._names.get(tool)
        if known is None:
            if len(self._names) >= MAX_NAMES:
                self._names.clear()
            known = self._names[tool] = self._naming(tool)
        return known


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
