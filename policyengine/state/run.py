"""What a run has done so far, as one frozen value, and its bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from policyengine.effects import NOTHING_LEFT, Left, Taints, WrittenFile
from policyengine.records import Record
from policyengine.state.skills import NO_SKILLS, SkillState

MAX_WRITTEN = 1024  # paths whose provenance is kept
MAX_TEXT = 64 * 1024  # characters of one file's text
MAX_TEXTS = 512 * 1024  # characters of all texts together
MAX_SHELL = 256  # variables, and functions, of a persistent shell
MAX_TREES = 64
MAX_LINKS = 256
MAX_READS = 1024
MAX_PROMOTIONS = 1024
MAX_COUNTERS = 256
MAX_RESTRICTIONS = 64
NOTHING: Mapping[str, Any] = {}  # Any: of whatever a field holds; never written to


class Label(StrEnum):
    """What a run carries with it from the moment it happened. Labels are never taken away."""

    UNTRUSTED = "untrusted"  # it has read content that strangers may have written
    SECRETS = "secrets"  # it has read secrets


class RunState(Record):
    """The run so far.

    Attributes:
        version: number of calls that have been decided; a store compares it before it writes.
        written: path → what this run knows of a file that it wrote or fetched; the oldest come first.
        digests: path → SHA-256, hex, of the text that was written there, also where that was too long to keep.
        forgotten: taints of the files that were dropped at `MAX_WRITTEN`; None while none was.
        cwd: working directory of a persistent shell, None where it is the context's, empty where it is not known.
        exports: exported variables of a persistent shell.
        functions: its functions, name → source text.
        aliases: its aliases, name → text.
        trees: beginning of paths below which everything came from elsewhere → where from; the oldest come first.
        links: symbolic links that the run made → what they lead to.
        labels: what the run carries (`Label`).
        counters: name → how often (`calls`, `allowed`, `asked`, `denied`, and what policies count).
        reads: path → version at which this run last read it, the oldest first.
        promotions: deferred tools that were promoted.
        restrictions: source (an operator, a parent) → the only tools that it leaves; all hold at once.
        skills: the active skills, and what they leave.
    """

    version: int = 0
    written: Mapping[str, WrittenFile] = NOTHING
    digests: Mapping[str, str] = NOTHING
    forgotten: Taints | None = None
    cwd: str | None = None
    exports: Mapping[str, str] = NOTHING
    functions: Mapping[str, str] = NOTHING
    aliases: Mapping[str, str] = NOTHING
    trees: Mapping[str, Taints] = NOTHING
    links: Mapping[str, str] = NOTHING
    labels: frozenset[Label] = frozenset()
    counters: Mapping[str, int] = NOTHING
    reads: Mapping[str, int] = NOTHING
    promotions: frozenset[str] = frozenset()
    restrictions: Mapping[str, frozenset[str]] = NOTHING
    skills: SkillState = NO_SKILLS

    def written_at(self, path: str) -> WrittenFile | None:
        """Give what is known of a file that this run wrote; once some were forgotten, any other may be one of them."""
        known = self.written.get(path)
        if known is None and self.forgotten is not None:
            return WrittenFile(path, None, self.forgotten)
        return known

    def left(self) -> Left:
        """Give what earlier calls left beside files."""
        if not (self.trees or self.links or self.exports or self.functions or self.aliases):
            return NOTHING_LEFT
        return Left(self.trees, self.links, self.exports, self.functions, self.aliases)

    def files(self) -> Mapping[str, WrittenFile]:
        """Give what `written_at` says of every path as a mapping, for readers that know nothing of runs."""
        return self.written if self.forgotten is None else _AnyFile(self)


class _AnyFile(Mapping[str, WrittenFile]):
    """The files of a run that has forgotten some: whatever path is asked for may be one of them."""

    __slots__ = ("_state",)

    def __init__(self, state: RunState) -> None:
        self._state = state

    def __getitem__(self, path: str) -> WrittenFile:
        found = self._state.written_at(path)
        if found is None:
            raise KeyError(path)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._state.written)

    def __len__(self) -> int:
        return len(self._state.written)


START = RunState()
