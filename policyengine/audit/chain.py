"""Whether the lines of a segment are those that its writers wrote, each once and in order. Pure: lines come in."""

from __future__ import annotations

from policyengine.audit.lines import START_HASH, Fault, Head, Line
from policyengine.audit.report import Extent, Problem

MAX_ALIKE = 100  # problems of one code in one segment; a longer list says nothing more


class Chain:
    """Follows a segment line by line."""

    def __init__(self, name: str, head: Head | None) -> None:
        self.name = name
        self.problems: list[Problem] = []
        self.head = head
        self._number = 0  # of the line in the file
        self.highest = 0  # number of the last record that was seen
        self._before: tuple[int, str] | None = (0, START_HASH)  # number and digest of the line before; None: it is bad
        self._bad = 0  # bad lines since the last good one: each stands for a record, or was put in
        self._missing: set[int] = set()
        self._good = 0
        self._first: float | None = None
        self._last: float | None = None
        self._at_head = START_HASH  # digest of the record that the head names
        self._doubtful: Problem | None = None  # the last line, if it is bad: it may have been cut short by a crash

    def take(self, found: Line | Fault) -> bool:
        """Look at the next line, and say whether it is one of this segment's."""
        self._number += 1
        self._settle()
        if isinstance(found, Fault):
            self._bad += 1
            self._before = None
            self._doubtful = Problem(found.code, self.name, self._number, found.message)
            return False
        self.name = self.name or found.segment  # of one file without a head, only its records say the name
        if found.segment != self.name:
            self._before = None
            self._add("audit.spliced", f"record {found.seq} of the segment `{found.segment}`")
            return False
        self._place(found)
        return True

    def _place(self, line: Line) -> None:
        expected = self.highest + 1
        if line.seq < expected:
            self._out_of_place(line.seq)
        else:
            gap = range(expected + min(self._bad, line.seq - expected), line.seq)
            self._missing.update(gap)
            self._follows(line)
            self.highest = line.seq
        self._count(line)
        self._bad = 0
        self._before = line.seq, line.digest

    def _out_of_place(self, seq: int) -> None:
        if seq in self._missing:
            self._missing.discard(seq)
            self._add("audit.reordered", f"record {seq} stands behind record {self.highest}")
        else:
            self._add("audit.repeated", f"record {seq} stands here once more")

    def _follows(self, line: Line) -> None:
        if self._before is not None and self._before[0] == line.seq - 1 and self._before[1] != line.prev:
            self._add("audit.forked", f"record {line.seq} does not follow the one before it")

    def _count(self, line: Line) -> None:
        self._good += 1
        self._first = line.at if self._first is None else self._first
        self._last = line.at
        if self.head is not None and line.seq == self.head.total:
            self._at_head = line.digest

    def end(self, torn: int, counted: int, hint: str = "") -> Extent:
        """Say how much holds, once there are no more lines.

        Args:
            torn: bytes behind the last whole line.
            counted: records that the head counts now; writers may have gone on since it was read first.
            hint: what else may explain a segment that is too short.
        """
        if self.head is not None:
            self._compare(self.head, counted, hint)
        if torn:
            self._settle()
            self._number += 1
            self._add("audit.torn", f"{torn} bytes of a record that was not written to its end")
        self._settle()
        if self._missing:
            self._add("audit.removed", f"{len(self._missing)} records are missing, the first is {min(self._missing)}")
        return Extent(self.name, self._good, self._first, self._last)

    def _compare(self, head: Head, counted: int, hint: str) -> None:
        """Hold the end against the head: a log ahead of its head is a crash's, one behind is not."""
        last, least = self.highest, head.total + head.torn
        if self._bad == 1 and last >= least and self._doubtful and self._doubtful.code == "audit.altered":
            # Nobody was told of this line, and a loss of power may keep a line's length and not its bytes.
            self._doubtful = self._doubtful._replace(
                code="audit.torn", message="the last record was not written to its end"
            )
        elif last + self._bad < least:
            self._add("audit.truncated", f"{least - last - self._bad} records fewer than the head counts{hint}")
        elif last >= head.total and head.total and self._at_head != head.last:
            self._add("audit.forked", f"record {head.total} is not the one that the head names")
        elif last > counted + 1:
            self._add("audit.head-old", f"{last - counted} records more than the head counts: it was taken back")
        elif last > counted:
            self._add("audit.ahead", "one record more than the head counts, as a crash leaves it")

    def _settle(self) -> None:
        if self._doubtful is not None:
            self._add(self._doubtful.code, self._doubtful.message, self._doubtful.line)
            self._doubtful = None

    def _add(self, code: str, message: str, line: int | None = None) -> None:
        if sum(problem.code == code for problem in self.problems) < MAX_ALIKE:
            self.problems.append(Problem(code, self.name, line or self._number, message))
