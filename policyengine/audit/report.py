"""What `verify` finds: codes, what kind each is of, and the report. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from policyengine.records import NamedTuple, Record


class Standing(IntEnum):
    """What is to be thought of a log, or what a finding says of it; the worst counts."""

    SOUND = 0  # as it was written; what a crash cut short is reported
    UNREADABLE = 1  # something could not be read or checked, so that nothing is known of it
    TAMPERED = 2  # somebody changed it

    @property
    def word(self) -> str:
        """The lower-case spelling used on every wire."""
        return self.name.lower()


# Every code of a problem, and what it says. A code that is not here means that something could not be read.
STANDINGS: dict[str, Standing] = {
    # What crashes leave behind: nothing that was acknowledged is missing.
    "audit.torn": Standing.SOUND,  # half a line at the end, which the next writer cuts off
    "audit.repaired": Standing.SOUND,  # a writer did so
    "audit.ahead": Standing.SOUND,  # a record that the head does not count yet
    "audit.head-torn": Standing.SOUND,  # half a head; the other half holds
    "audit.unused": Standing.SOUND,  # a segment that was begun and holds nothing
    # What cannot be read or checked.
    "audit.missing": Standing.UNREADABLE,
    "audit.linked": Standing.UNREADABLE,  # the path that was given is a link
    "audit.permission": Standing.UNREADABLE,
    "audit.io": Standing.UNREADABLE,
    "audit.key-unknown": Standing.UNREADABLE,
    "audit.version": Standing.UNREADABLE,
    # What nobody does who has the key.
    "audit.altered": Standing.TAMPERED,  # a line that no key of ours made: edited, or put in
    "audit.removed": Standing.TAMPERED,  # records missing between others
    "audit.reordered": Standing.TAMPERED,
    "audit.repeated": Standing.TAMPERED,  # the same record twice
    "audit.spliced": Standing.TAMPERED,  # a record of another segment
    "audit.copied": Standing.TAMPERED,  # a whole segment under another name
    "audit.forked": Standing.TAMPERED,  # a record that does not follow the one before it: two histories
    "audit.truncated": Standing.TAMPERED,  # fewer records than the head counts
    "audit.head-missing": Standing.TAMPERED,
    "audit.head-altered": Standing.TAMPERED,
    "audit.head-old": Standing.TAMPERED,  # more than one record behind: an older copy
    "audit.head-foreign": Standing.TAMPERED,  # the head of another segment
    "audit.segment-missing": Standing.TAMPERED,
    "audit.segment-unknown": Standing.TAMPERED,  # not in the manifest
    "audit.manifest-missing": Standing.TAMPERED,
    "audit.symlink": Standing.TAMPERED,  # a link in the place of a file
    "audit.unsafe-file": Standing.TAMPERED,  # a pipe, folder or device in the place of a file
    "audit.rolled-back": Standing.TAMPERED,  # what an anchor or checkpoint names is not there
}


class Problem(NamedTuple):
    """One thing that was found. `line` is 1-based, None where it is about a whole file."""

    code: str
    segment: str
    line: int | None
    message: str

    @property
    def standing(self) -> Standing:
        """What it says of the log."""
        return STANDINGS.get(self.code, Standing.UNREADABLE)


class Extent(NamedTuple):
    """How much of a segment holds. Times are seconds since the epoch, None where it has no records."""

    name: str
    records: int
    first: float | None
    last: float | None


class Report(Record):
    """What `verify` found."""

    path: str
    segments: tuple[Extent, ...]
    problems: tuple[Problem, ...]

    @property
    def standing(self) -> Standing:
        """What is to be thought of the log."""
        return worst(self.problems)

    @property
    def records(self) -> int:
        """How many records hold, in all segments."""
        return sum(segment.records for segment in self.segments)


def worst(problems: Iterable[Problem]) -> Standing:
    """Give the worst that some problems say."""
    return max((problem.standing for problem in problems), default=Standing.SOUND)
