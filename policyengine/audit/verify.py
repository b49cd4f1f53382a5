"""Whether a log is as it was written, and what stands in it, in the order of time.

Writers may go on meanwhile. Heads are read before the records that they count, so that a record more is no fault.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from policyengine.audit.chain import Chain
from policyengine.audit.files import failed, has, named, open_file, open_folder, read_all
from policyengine.audit.keys import AuditKey, Macs
from policyengine.audit.lines import MAX_LINE, SLOT, Anchor, Fault, Head, Line, anchor_of, head_of, is_blank, line_of
from policyengine.audit.log import HEAD_SUFFIX, HEADS, MANIFEST, SUFFIX, file_place, folder_place, is_file, names_in
from policyengine.audit.report import Extent, Problem, Report
from policyengine.audit.segment import Place
from policyengine.errors import AuditError
from policyengine.records import NamedTuple

Seen = Callable[[Line], None]


class Entry(NamedTuple):
    """A record, and where and when it was kept."""

    at: float  # seconds since the epoch
    segment: str
    seq: int
    record: Mapping[str, Any]  # JSON


class _Stream(NamedTuple):
    """One segment to read: its name (empty where only its head says it) and its files."""

    name: str
    place: Place


def verify(path: str | os.PathLike[str], keys: Iterable[AuditKey], anchors: Iterable[str] = ()) -> Report:
    """Say whether a log is as it was written.

    Args:
        path: a folder, or a log of one file.
        keys: all that its records may be under.
        anchors: what checkpoints gave, in any order.

    Raises:
        AuditError: a key or an anchor is none. What is wrong with the log is in the report.
    """
    macs = Macs(keys)
    wanted = [anchor_of(text, macs) for text in anchors]
    reader = _Reader(named(path), macs)
    try:
        with_folder = reader.open()
        checked = [reader.check(stream) for stream in reader.streams]
        extents = [extent for extent in checked if extent.name != MANIFEST]
        if with_folder:
            reader.compare_with_manifest()
        reader.compare_with(wanted)
    except AuditError as error:
        reader.problems.append(Problem(error.code, "", None, error.message))
        extents = []
    except OSError as error:
        reader.problems.append(Problem("audit.io", "", None, f"cannot be read: {error.strerror}"))
        extents = []
    finally:
        reader.close()
    return Report(path=os.fspath(path), segments=tuple(extents), problems=tuple(reader.problems))


def entries(path: str | os.PathLike[str], keys: Iterable[AuditKey]) -> Iterator[Entry]:
    """Give the records whose MACs hold, of all segments, in the order of time; `verify` says what else there is.

    Raises:
        AuditError: the log or a segment cannot be opened.
    """
    macs = Macs(keys)
    reader = _Reader(named(path), macs)
    try:
        reader.open()
        yield from heapq.merge(*(_entries(stream, macs) for stream in reader.streams if stream.name != MANIFEST))
    finally:
        reader.close()


def _entries(stream: _Stream, macs: Macs) -> Iterator[Entry]:
    for found in _lines(stream.place, macs):
        if isinstance(found, Line) and stream.name in {found.segment, ""}:
            yield Entry(found.at, found.segment, found.seq, found.content())


class _Reader:
    """A log that is being read: its folders, and what was found in it."""

    def __init__(self, path: str, macs: Macs) -> None:
        self._path = path
        self._macs = macs
        self._folders: list[int] = []
        self.streams: list[_Stream] = []
        self.problems: list[Problem] = []
        self._listed: list[str] = []  # names in the manifest as it was before anything else was read
        self._held: dict[str, int] = {}  # segment → records that hold
        self._durable: set[str] = set()  # segments whose records survive a loss of power
        self._checkpoints: list[tuple[Anchor, Mapping[str, Any]]] = []

    def open(self) -> bool:
        """Find the segments; True for a folder of them, False for one file.

        Raises:
            AuditError: there is no log.
        """
        if os.path.islink(self._path):
            raise AuditError("audit.linked", f"`{self._path}` is a link: name the log itself")
        if is_file(self._path):
            place = file_place(self._path)
            self._folders.append(place.folder)
            if not has(place.folder, place.file) and not has(place.folder, place.head):
                raise AuditError("audit.missing", f"there is no `{self._path}`")
            self.streams = [_Stream("", place)]
            return False
        self._folders.append(folder := open_folder(self._path, create=False))
        try:
            self._folders.append(heads := open_folder(HEADS, folder, create=False))
        except AuditError as error:
            if error.code != "audit.missing" or not names_in(folder):
                raise
            raise AuditError("audit.head-missing", "the heads of all segments are gone") from error
        names = names_in(folder)
        self.streams = [_Stream(name, folder_place(folder, heads, name)) for name in (*names, MANIFEST)]
        self._listed = self._manifest()
        return True

    def close(self) -> None:
        """Close the folders."""
        for folder in self._folders:
            os.close(folder)
        self._folders = []

    def check(self, stream: _Stream) -> Extent:
        """Check one segment against itself and its head."""
        try:
            try:
                return self._check(stream)
            except OSError as error:
                raise failed(error, f"cannot read `{stream.place.file}`") from error
        except AuditError as error:
            code = "audit.segment-missing" if error.code == "audit.missing" else error.code
            if stream.name == MANIFEST and code == "audit.segment-missing":
                code = "audit.manifest-missing"
            self._add(code, stream.name, error.message)
            return Extent(stream.name, 0, None, None)

    def _check(self, stream: _Stream) -> Extent:
        head = self._head(stream)
        lines = _lines(stream.place, self._macs)
        if head is None and _size(stream.place) == 0 and stream.name not in self._listed:
            self._add("audit.unused", stream.name, "it was begun and holds nothing")
            return Extent(stream.name, 0, None, None)
        if head is None:  # perhaps the segment was begun a moment ago
            head = self._head(stream) or Fault("audit.head-missing", "it has records and no head")
        if isinstance(head, Fault):
            self._add(head.code, stream.name, head.message)
        elif head.torn:
            self._add("audit.head-torn", stream.name, "half of the head does not hold; the other half counts")
        chain = Chain(stream.name or _name_of(head), head if isinstance(head, Head) else None)
        torn = 0
        for found in lines:
            if isinstance(found, int):
                torn = found
            elif chain.take(found):
                assert isinstance(found, Line)
                self._note(found)
        extent = chain.end(torn, self._counted(stream, chain), "" if chain.name in self._durable else _PERHAPS)
        self.problems += _as_copied(chain) if extent.records == 0 else chain.problems
        self._held[chain.name] = extent.records
        return extent

    def _counted(self, stream: _Stream, chain: Chain) -> int:
        """How many records the head counts; it is read once more where writers may have gone on meanwhile."""
        if chain.head is None or chain.highest <= chain.head.total + 1:
            return 0 if chain.head is None else chain.head.total
        head = self._head(stream)
        return head.total if isinstance(head, Head) else chain.head.total

    def _note(self, line: Line) -> None:
        """Keep in mind what a record says of the log itself."""
        if not line.record.startswith(_OF_THE_LOG):
            return
        content = line.content()
        if content.get("type") == "checkpoint":
            self._checkpoints.append((Anchor(line.segment, line.seq, line.digest), content.get("heads", {})))
        elif content.get("event") == "opened" and content.get("durability") == "power-loss":
            self._durable.add(line.segment)
        elif content.get("event") == "repaired":
            self.problems.append(
                Problem(
                    "audit.repaired", line.segment, line.seq, f"{content.get('bytes')} bytes of half a record were cut"
                )
            )

    def _head(self, stream: _Stream) -> Head | Fault | None:
        """Read a segment's head; None where there is none, or one that was not written yet."""
        place = stream.place
        if not has(place.heads, place.head):
            return None
        opened = open_file(place.heads, place.head, os.O_RDONLY)
        try:
            data = read_all(opened, 2 * SLOT + 1)
        finally:
            os.close(opened)
        if is_blank(data):
            return None
        head = head_of(data, self._macs)
        if isinstance(head, Head) and stream.name not in {head.segment, ""}:
            return Fault("audit.head-foreign", f"its head is that of the segment `{head.segment}`")
        return head

    def _manifest(self) -> list[str]:
        """Read the names in the manifest."""
        stream = next(stream for stream in self.streams if stream.name == MANIFEST)
        if not has(stream.place.folder, stream.place.file):
            return []
        found = [line.content() for line in _lines(stream.place, self._macs) if isinstance(line, Line)]
        return [str(record["name"]) for record in found if record.get("type") == "segment"]

    def compare_with_manifest(self) -> None:
        """Find segments that are gone, and such as nobody began."""
        there = {stream.name for stream in self.streams}
        heads = {name.removesuffix(HEAD_SUFFIX) for name in os.listdir(self._folders[1]) if name.endswith(HEAD_SUFFIX)}
        known = set(self._manifest())  # once more: a segment may have been begun meanwhile
        for name in sorted({*self._listed, *heads} - there):
            if has(self._folders[0], name + SUFFIX):  # begun since the segments were listed
                continue
            if name in known or not self._is_unused(name):
                self._add("audit.segment-missing", name, "the manifest or a head names it, and it is not there")
        for name in sorted(there - known - {MANIFEST}):
            if self._held.get(name):
                self._add("audit.segment-unknown", name, "it has records, and the manifest does not name it")

    def _is_unused(self, name: str) -> bool:
        """Whether a head without a segment is one that is just being made."""
        head = self._head(_Stream(name, folder_place(self._folders[0], self._folders[1], name)))
        return head is None or (isinstance(head, Head) and head.total == 0)

    def compare_with(self, anchors: Iterable[Anchor]) -> None:
        """Hold the log against anchors, and against what its own checkpoints say of other segments."""
        wanted = list(anchors)
        for at, heads in self._checkpoints:
            wanted += [Anchor(name, count, last) for name, (count, last) in heads.items() if name != at.segment]
        by_segment: dict[str, dict[int, str]] = {}
        for anchor in wanted:
            by_segment.setdefault(anchor.segment, {})[anchor.seq] = anchor.digest
        for name, digests in sorted(by_segment.items()):
            for seq in _not_in(self._place_of(name), digests, self._macs):
                self._add("audit.rolled-back", name, f"record {seq}, which a checkpoint names, is not there")

    def _place_of(self, name: str) -> Place:
        """Where a segment is, or would be: of one file, whatever its name."""
        if not self.streams[0].name:
            return self.streams[0].place
        return folder_place(self._folders[0], self._folders[1], name)

    def _add(self, code: str, segment: str, message: str) -> None:
        self.problems.append(Problem(code, segment, None, message))


_OF_THE_LOG = (b'{"type":"log",', b'{"type":"checkpoint",')
_PERHAPS = ", or power was lost: this log is kept against the end of a process only"


def _size(place: Place) -> int:
    return os.stat(place.file, dir_fd=place.folder, follow_symlinks=False).st_size


def _name_of(head: Head | Fault) -> str:
    return head.segment if isinstance(head, Head) else ""


def _as_copied(chain: Chain) -> list[Problem]:
    """A segment without a record of its own, and with records of another, holds the other one's."""
    foreign = [problem for problem in chain.problems if problem.code == "audit.spliced"]
    if not foreign:
        return chain.problems
    copied = Problem("audit.copied", chain.name, None, f"it holds the records of another: {foreign[0].message}")
    return [copied, *(problem for problem in chain.problems if problem.code != "audit.spliced")]


def _not_in(place: Place, digests: Mapping[int, str], macs: Macs) -> list[int]:
    """The numbers of records that are missing from a segment or have another digest."""
    missing = dict(digests)
    if has(place.folder, place.file):
        for line in _lines(place, macs):
            if isinstance(line, Line) and missing.get(line.seq) == line.digest:
                del missing[line.seq]
    return sorted(missing)


def _lines(place: Place, macs: Macs) -> Iterator[Line | Fault | int]:
    """Read a segment line by line; last, the number of bytes of a line without an end, if there is one.

    Raises:
        AuditError: it cannot be opened or read.
    """
    with os.fdopen(open_file(place.folder, place.file, os.O_RDONLY), "rb") as file:
        try:
            while data := file.readline(MAX_LINE + 1):
                if data.endswith(b"\n"):
                    yield line_of(data, macs)
                elif len(data) > MAX_LINE:
                    yield Fault("audit.altered", "a line longer than any writer writes")
                    _skip(file)
                else:
                    yield len(data)
        except OSError as error:
            raise failed(error, f"cannot read `{place.file}`") from error


def _skip(file: Any) -> None:
    while (data := file.readline(MAX_LINE)) and not data.endswith(b"\n"):
        pass
