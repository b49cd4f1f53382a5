"""The log that a process writes: one segment of a folder, or one file.

    DIR/NAME.jsonl          a segment: who writes it holds its lock
    DIR/heads/NAME.head     its head
    DIR/manifest.jsonl      a segment too: the names of all segments
    DIR/heads/manifest.head

A writer takes over a segment that nobody writes any more, or begins one, so that there are about as many segments as
there ever were writers at the same time, and no writer waits for another. A path that ends in `.jsonl` or `.log` is one
file with its head beside it (`FILE.head`), for one writer at a time.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping

from policyengine.audit.files import failed, has, named, open_file, open_folder, read_all
from policyengine.audit.keys import AuditKey, Macs
from policyengine.audit.lines import SLOT, Anchor, Fault, anchor_text, head_of
from policyengine.audit.segment import LOCK_SECONDS, Durability, Place, Receipt, Segment, Unsound
from policyengine.errors import AuditError
from policyengine.model import Frozen

MANIFEST = "manifest"
HEADS = "heads"
SUFFIX, HEAD_SUFFIX = ".jsonl", ".head"
FILE_SUFFIXES = (".jsonl", ".log")
MAX_SEGMENT = 256 * 1024 * 1024  # bytes; a longer segment is left, and a new one begun
MAX_TRIES = 64  # segments that a writer tries to take over before it begins one
_SEGMENT_FILE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,63})\.jsonl")


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path names a log of one file."""
    try:
        return not stat.S_ISDIR(os.stat(path).st_mode)  # one look: another process may just be making it
    except OSError:
        return os.fspath(path).endswith(FILE_SUFFIXES) or os.path.islink(path)


def file_place(path: str | os.PathLike[str]) -> Place:
    """Say where the two files of a log of one file are.

    Raises:
        AuditError: its folder cannot be opened.
    """
    parent, name = os.path.split(os.fspath(path))
    folder = open_folder(os.path.realpath(parent or "."), create=False)
    return Place(folder, name, folder, name + HEAD_SUFFIX)


def folder_place(folder: int, heads: int, name: str) -> Place:
    """Say where the two files of a folder's segment are."""
    return Place(folder, name + SUFFIX, heads, name + HEAD_SUFFIX)


def names_in(folder: int) -> list[str]:
    """Names of the segments in a folder, the manifest left out; the newest come last.

    Raises:
        AuditError: the folder cannot be read.
    """
    try:
        found = map(_SEGMENT_FILE.fullmatch, os.listdir(folder))
    except OSError as error:
        raise failed(error, "cannot look for segments") from error
    return sorted(match[1] for match in found if match is not None and match[1] != MANIFEST)


class AuditLog:
    """A writer: threads may share it, and a forked child begins a segment of its own."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        keys: Iterable[AuditKey],
        *,
        durability: Durability = Durability.PROCESS_CRASH,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open the log at a path, and make it where there is none.

        Args:
            path: a folder that its owner alone may write, or a file (`FILE_SUFFIXES`).
            keys: writers use the first; the others are those that older records may be under.
            durability: what an acknowledged record survives.
            clock: seconds since the epoch.

        Raises:
            AuditError: nothing can be kept there.
        """
        self._path, self._clock, self._durability = named(path), clock, durability
        self._macs = Macs(keys)
        self.renew_lock()
        _LOGS.add(self)
        self.left: tuple[tuple[str, AuditError], ...] = ()  # segments found unsound, which were left as they are
        self._folder: int | None = None
        self._place: Place | None = None
        self._folders: list[int] = []
        self._closed = False
        try:
            if is_file(self._path):
                self._place = file_place(self._path)
                self._folders.append(self._place.folder)
            else:
                self._folders.append(folder := open_folder(self._path, create=True))
                if durability is Durability.POWER_LOSS:
                    _settle(os.path.dirname(self._path) or ".")
                self._folders.append(heads := open_folder(HEADS, folder, create=True))
                self._folder, self._heads = folder, heads
            self._segment = self._opened()
        except BaseException:
            self._close_folders()
            raise

    def renew_lock(self) -> None:
        """Begin with a lock that nobody holds."""
        self._lock = threading.Lock()

    def append(self, record: Mapping[str, Frozen]) -> Receipt:
        """Keep a record; once this returns, it is kept.

        Raises:
            AuditError: it is not; the caller has to deny.
        """
        with self._lock:
            if self._closed:
                raise AuditError("audit.closed", "the log is closed")
            if self._pid != os.getpid() or (self._segment.size > MAX_SEGMENT and self._folder is not None):
                self._begin_another()
            return self._segment.append(record, self._clock())

    def checkpoint(self) -> str:
        """Record how far every segment is, and give the anchor: a short text to keep where this log cannot be changed.

        Raises:
            AuditError: it cannot be kept, or a head does not hold.
        """
        heads: dict[str, Frozen] = {}
        if self._folder is not None:
            for name in (*names_in(self._folder), MANIFEST):
                count, last = self._head(name)
                if count:
                    heads[name] = (count, last)
        receipt = self.append({"type": "checkpoint", "heads": heads})
        return anchor_text(Anchor(*receipt), self._macs)

    def close(self) -> None:
        """End writing: another process may take the segment over."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._segment.close()
                self._close_folders()

    def _close_folders(self) -> None:
        for opened in self._folders:
            os.close(opened)

    def _head(self, name: str) -> tuple[int, str]:
        assert self._folder is not None
        if not has(self._heads, name + HEAD_SUFFIX):
            return 0, ""  # being made, or to be found missing by `verify`
        opened = open_file(self._heads, name + HEAD_SUFFIX, os.O_RDONLY)
        try:
            head = head_of(read_all(opened, 2 * SLOT + 1), self._macs)
        finally:
            os.close(opened)
        if isinstance(head, Fault):
            raise AuditError(head.code, f"the head of `{name}`: {head.message}")
        return head.total, head.last

    def _begin_another(self) -> None:
        left = self._segment
        self._segment = self._opened()
        left.close()

    def _opened(self) -> Segment:
        if self._place is not None:
            segment = self._mended(self._taken(self._place, _new_name(self._clock()), LOCK_SECONDS))
        else:
            segment = self._free() or self._new()
        self._pid = os.getpid()  # only now: what a parent process had opened is never written to
        return segment

    def _free(self) -> Segment | None:
        """Take over a segment that has no writer."""
        assert self._folder is not None
        left = []
        for name in names_in(self._folder)[: -MAX_TRIES - 1 : -1]:
            place = folder_place(self._folder, self._heads, name)
            if not has(self._heads, place.head) or _is_empty(place):
                continue
            try:
                segment = self._taken(place, name, 0.0)
            except Unsound as error:
                left.append((name, error))
                continue
            except AuditError:  # it has a writer, or is not ours to write: there are others
                continue
            if segment.name == name and segment.count > 0 and segment.size <= MAX_SEGMENT:
                self.left = tuple(left)
                return self._mended(segment)
            segment.close()
        self.left = tuple(left)
        return None

    def _new(self) -> Segment:
        """Begin a segment: it is in the manifest before it holds anything."""
        assert self._folder is not None
        name = _new_name(self._clock())
        segment = self._taken(folder_place(self._folder, self._heads, name), name, LOCK_SECONDS)
        try:
            manifest = self._taken(folder_place(self._folder, self._heads, MANIFEST), MANIFEST, LOCK_SECONDS)
            try:
                self._mended(manifest)
                manifest.append({"type": "segment", "name": name}, self._clock())
            finally:
                manifest.close()
            opened: dict[str, Frozen] = {"durability": self._durability.value, "pid": os.getpid()}
            at = {"manifest": (manifest.count, manifest.last)}
            segment.append({"type": "log", "event": "opened"} | opened | at, self._clock())
        except BaseException:
            segment.close()
            raise
        return segment

    def _taken(self, place: Place, name: str, wait: float) -> Segment:
        return Segment(place, name, self._macs, self._durability, wait)

    def _mended(self, segment: Segment) -> Segment:
        """Report in the log itself what was cut off."""
        if segment.torn:
            event: dict[str, Frozen] = {"type": "log", "event": "repaired"}
            segment.append(event | {"bytes": segment.torn, "sha256": segment.torn_digest}, self._clock())
        return segment


def _settle(folder: str) -> None:
    """Let the names in a folder survive a loss of power."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
    except OSError as error:
        raise failed(error, f"cannot settle the folder `{folder}`") from error


def _renew_locks() -> None:
    """Let no forked child wait for a thread that only its parent has."""
    for log in _LOGS:
        log.renew_lock()


_LOGS: weakref.WeakSet[AuditLog] = weakref.WeakSet()
os.register_at_fork(after_in_child=_renew_locks)


def _is_empty(place: Place) -> bool:
    """Whether a segment was only begun, perhaps by a writer that is about to name it in the manifest."""
    try:
        return os.stat(place.file, dir_fd=place.folder, follow_symlinks=False).st_size == 0
    except OSError:
        return True


def _new_name(now: float) -> str:
    """A name that sorts by time, and that no other writer takes."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}-{os.getpid()}-{secrets.token_hex(6)}"
