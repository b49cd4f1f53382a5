"""One segment: a file of records that has one writer at a time, and its head.

An append is one `write` of one line and one of the head. A writer that takes a segment over cuts off what a crash left
half written; it believes nothing that its own MACs do not hold for.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Mapping
from enum import StrEnum

from policyengine.audit.files import failed, has, open_file, read_all
from policyengine.audit.keys import Macs, Use
from policyengine.audit.lines import (
    MAX_LINE,
    SLOT,
    START_HASH,
    Fault,
    Head,
    Line,
    digest,
    head_of,
    head_slot,
    is_blank,
    line_of,
    record_json,
)
from policyengine.errors import AuditError
from policyengine.model import Frozen
from policyengine.records import NamedTuple

LATEST = 1e12  # seconds; a clock beyond that is none
LOCK_SECONDS = 2.0
CHECK_SECONDS = 1.0  # after which a writer looks whether its file is still the one that it knows
_FIRST_LOOK = 64 * 1024  # bytes from the end in which the last lines are sought first


class Durability(StrEnum):
    """What an acknowledged record survives.

    `PROCESS_CRASH`: the end of the process at any moment, `kill -9` included. A loss of power may take the last seconds
    back, and then looks like tampering. `POWER_LOSS`: that too; each append waits until the disk has it (`fdatasync`).
    """

    PROCESS_CRASH = "process-crash"
    POWER_LOSS = "power-loss"


class Receipt(NamedTuple):
    """Where a record is kept: its segment, its number there (from 1), and the digest of its line."""

    segment: str
    seq: int
    digest: str


class Place(NamedTuple):
    """The folders (descriptors) and names of a segment's two files."""

    folder: int
    file: str
    heads: int
    head: str


class Unsound(AuditError):
    """A segment that its head contradicts: nothing more is written to it."""


class Segment:
    """The writer of one segment; not for two threads at once."""

    def __init__(self, place: Place, name: str, macs: Macs, durability: Durability, wait: float = LOCK_SECONDS) -> None:
        """Take a segment over, or begin it.

        Args:
            place: its files.
            name: what a new one is called; an old one has its name in its head.
            macs: keys.
            durability: what appends survive.
            wait: seconds to wait for another writer.

        Raises:
            Unsound: it is not as its head says.
            AuditError: it has another writer (`audit.busy`), or its files cannot be opened or mended.
        """
        self._macs, self._place, self._durable = macs, place, durability is Durability.POWER_LOSS
        self._file = self._head = -1
        try:
            if has(place.heads, place.head) and not has(place.folder, place.file):
                raise Unsound("audit.segment-missing", "there is a head, and no segment")
            self._file = open_file(place.folder, place.file, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            _lock(self._file, wait)
            self._take_over(place, name)
        except OSError as error:
            self.close()
            raise failed(error, "cannot take a segment over") from error
        except BaseException:
            self.close()
            raise
        self._start = f'{{"v":1,"segment":"{self.name}","seq":'
        self._kid = f',"kid":"{macs.kid}","prev":"'
        self._dirty = False  # whether there may be a line behind the last one that was acknowledged
        self._checked = -CHECK_SECONDS
        self._length = 0  # bytes of the last line, if it is one of this writer's

    def _take_over(self, place: Place, name: str) -> None:
        opened = os.fstat(self._file)
        size, self._inode = opened.st_size, opened.st_ino
        if size and not has(place.heads, place.head):
            raise Unsound("audit.head-missing", "the segment has records and no head")
        self._head = open_file(place.heads, place.head, os.O_RDWR | os.O_CREAT)
        data = read_all(self._head, 2 * SLOT + 1)
        if not size and is_blank(data):
            data = self._begin(place, name)
        head = head_of(data, self._macs)
        if isinstance(head, Fault):
            raise Unsound(head.code, head.message)
        end = end_of(self._file, size, head, self._macs)
        self.name, self.count, self.last, self.at, self.size = head.segment, end.seq, end.digest, end.at, end.size
        self._is_behind = end.seq > head.total
        self.torn = size - end.size  # bytes
        self.torn_digest = ""
        if self.torn:
            self.torn_digest = hashlib.sha256(os.pread(self._file, self.torn, end.size)).hexdigest()
            os.ftruncate(self._file, end.size)

    def _begin(self, place: Place, name: str) -> bytes:
        slot = head_slot(name, 0, START_HASH, self._macs)
        if os.pwrite(self._head, slot, 0) != SLOT:
            os.ftruncate(self._head, 0)
            raise AuditError("audit.full", "there is no room for the head of a segment")
        self._settle(place)
        return slot

    def _settle(self, place: Place) -> None:
        """Let the names of new files survive what the records have to survive."""
        if self._durable:
            for opened in (self._head, place.folder, place.heads):
                os.fsync(opened)

    def append(self, record: Mapping[str, Frozen], now: float) -> Receipt:
        """Keep a record; when this returns, it is kept.

        Raises:
            AuditError: it is not kept, or nobody could tell if it vanished. The segment stays as it was before, or
                holds a record that nobody was told of.
        """
        body = record_json(record)
        if not 0 <= now < LATEST:
            raise AuditError("audit.clock", "the clock gives no time")
        if self._dirty:
            self._clean()
        if self._is_behind:
            self._write_head()
        if not self._checked <= now < self._checked + CHECK_SECONDS:
            self._check_untouched()
            self._checked = now
        at = now if now > self.at else self.at
        seq = self.count + 1
        said = f'{self._start}{seq},"at":{at!r}{self._kid}{self.last}","record":{body}'.encode("ascii")
        line = said + f',"mac":"{self._macs.mac(Use.RECORD, said)}"}}\n'.encode("ascii")
        if len(line) > MAX_LINE:
            raise AuditError("audit.too-large", f"a record of more than {MAX_LINE} bytes")
        self._write(line)
        self.count, self.last, self.at = seq, digest(line), at
        self.size += len(line)
        self._length = len(line)
        self._is_behind = True
        self._dirty = False
        self._write_head()
        return Receipt(self.name, seq, self.last)

    def _check_untouched(self) -> None:
        """Refuse to go on in a file that somebody removed, replaced or changed: what goes there is not kept."""
        place = self._place
        try:
            found = os.stat(place.file, dir_fd=place.folder, follow_symlinks=False)
        except OSError as error:
            raise failed(error, "the segment is not there any more") from error
        if found.st_ino != self._inode or found.st_size != self.size:
            raise AuditError("audit.altered", "somebody else changed the segment since the last record")

    def _write(self, line: bytes) -> None:
        self._dirty = True  # whatever interrupts from here on, the next append cuts off what is not acknowledged
        try:
            written = os.write(self._file, line)
            if written == len(line):
                if self._durable:
                    os.fdatasync(self._file)
                return
            os.write(self._file, line[written:])  # says why there was no room, or makes a whole of it that is cut off
        except OSError as error:
            self._clean()
            raise failed(error, "a record could not be kept") from error
        self._clean()
        raise AuditError("audit.io", "a record could not be written in one piece")

    def _write_head(self) -> None:
        """Count the last record. No other follows before that: a head is never more than one record behind."""
        self._is_behind = True
        try:
            slot = head_slot(self.name, self.count, self.last, self._macs)
            written = os.pwrite(self._head, slot, SLOT * (self.count % 2))
        except OSError as error:
            raise failed(error, "the head of a segment could not be written") from error
        if written != SLOT:
            raise AuditError("audit.full", "the head of a segment could not be written whole")
        self._is_behind = False

    def _clean(self) -> None:
        """Cut off a line that is not acknowledged, and nothing else.

        Raises:
            AuditError: that cannot be done, or the line in front of it is not the last that was acknowledged.
        """
        try:
            if self._length and digest(os.pread(self._file, self._length, self.size - self._length)) != self.last:
                raise AuditError("audit.altered", "somebody else changed the segment since the last record")
            os.ftruncate(self._file, self.size)
        except OSError as error:
            raise failed(error, "a half-written record could not be cut off") from error
        self._dirty = False

    def close(self) -> None:
        """Let another writer have the segment."""
        for opened in (self._file, self._head):
            if opened >= 0:
                os.close(opened)
        self._file = self._head = -1


def _lock(opened: int, wait: float) -> None:
    """Be the only writer.

    Raises:
        AuditError: somebody else is, for longer than `wait` seconds.
    """
    until = time.monotonic() + wait
    while True:
        try:
            return fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until:
                raise AuditError("audit.busy", "the segment has another writer") from error
            time.sleep(0.005)


class End(NamedTuple):
    """The last line of a segment that holds: its number, digest and time, and the bytes up to its end."""

    seq: int
    digest: str
    at: float
    size: int


_EMPTY = End(0, START_HASH, 0.0, 0)


def end_of(opened: int, size: int, head: Head, macs: Macs) -> End:
    """Find where a segment ends that a crash may have left with half a line.

    Raises:
        Unsound: it does not end as its head says.
    """
    end = _EMPTY
    lines, start = _last_lines(opened, size)
    for line in reversed(lines):
        found = line_of(line, macs)
        if isinstance(found, Line):
            stop = start + sum(map(len, lines[: lines.index(line) + 1]))
            end = End(found.seq, found.digest, found.at, stop)
            _check_name(found, head)
            break
        if line is not lines[-1] or found.code != "audit.altered":
            raise Unsound(found.code, found.message)
    if end.seq < head.total + head.torn:
        raise Unsound("audit.truncated", "the segment has fewer records than its head says")
    if end.seq > head.total + 1:
        raise Unsound("audit.head-old", "the head is more than one record behind: it was taken back")
    if end.seq == head.total and end.digest != head.last:
        raise Unsound("audit.forked", "the last record is not the one that the head names")
    return end


def _check_name(line: Line, head: Head) -> None:
    if line.segment != head.segment:
        raise Unsound("audit.spliced", f"a record of the segment `{line.segment}`")


def _last_lines(opened: int, size: int) -> tuple[list[bytes], int]:
    """Read the last two whole lines (fewer where there are fewer), and say at which byte they start."""
    look = _FIRST_LOOK
    while True:
        start = max(0, size - look)
        data = os.pread(opened, size - start, start)
        lines = [line + b"\n" for line in data.split(b"\n")[:-1]]
        if start == 0 or len(lines) >= 3:
            return lines[-2:], start + sum(map(len, lines[:-2]))
        if look >= 3 * MAX_LINE:
            raise Unsound("audit.altered", "the segment ends in something that is no record")
        look = min(8 * look, 3 * MAX_LINE)
