"""Stores in one SQLite file, for all processes of a machine (SQLite's write-ahead log needs a local file system).

Every wait is bounded. A file that is locked for longer, damaged, replaced, of another shape, or that others may write,
is a `StoreError`: nothing is spent or saved then. Entries of approvals that ended are pruned. A used approval survives
a loss of power (`synchronous=FULL`); run states survive the end of every process, but a loss of power, which ends the
runs too, may take their last calls back (`synchronous=NORMAL`).
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from policyengine.errors import RequestError, StoreError
from policyengine.state import START, RunState, from_json, to_json
from policyengine.stores.store import GRACE, Reach, check_newer, check_scope, checked_end, conflict

BUSY_SECONDS = 2.0  # how long a caller waits for other threads, and then for other processes
LEAST_BYTES = 512  # of a database that has anything in it
PRUNE_EVERY = 256  # spendings between two looks for what has ended
VERSION = 1
SCHEMA = (
    "CREATE TABLE spent (jti TEXT PRIMARY KEY, until REAL NOT NULL) WITHOUT ROWID",
    "CREATE TABLE forgotten (until REAL NOT NULL)",
    "CREATE TABLE states (scope TEXT PRIMARY KEY, version INTEGER NOT NULL, state TEXT NOT NULL) WITHOUT ROWID",
)
_ABANDONED: list[sqlite3.Connection] = []  # connections of a parent process: closing them here could harm it


class _File:
    """A database file and this process's connection to it, which threads use in turn."""

    def __init__(self, path: str | os.PathLike[str], synchronous: str, busy_seconds: float) -> None:
        self._path = os.path.abspath(path)
        self._synchronous = synchronous
        self._busy_seconds = busy_seconds
        self.renew_lock()
        _FILES.add(self)
        self._open()

    def renew_lock(self) -> None:
        """Begin with a lock that nobody holds."""
        self._lock = threading.Lock()

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection.

        Raises:
            StoreError: it is in use for too long, or what is done with it fails.
        """
        if not self._lock.acquire(timeout=self._busy_seconds):
            raise StoreError("store.locked", f"the store was in use for {self._busy_seconds} seconds")
        try:
            if self._pid != os.getpid():
                _ABANDONED.append(self._connection)
                self._open()
            if self._identity != _identity(self._path):
                raise StoreError("store.replaced", f"`{self._path}` is not the file that was opened")
            yield self._connection
        except (sqlite3.Error, OverflowError) as error:  # of numbers that SQLite cannot hold
            _refuse(error, self._path)
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the connection; nothing can be asked afterwards."""
        with self._lock:
            self._connection.close()

    def _open(self) -> None:
        self._pid = os.getpid()
        _make_private(self._path)
        self._identity = _identity(self._path)
        try:
            self._connection = sqlite3.connect(
                self._path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
            )
            _prepare(self._connection, self._synchronous)
        except sqlite3.Error as error:
            _refuse(error, self._path)


def _renew_locks() -> None:
    """Let no forked child wait for a thread that only its parent has."""
    for file in _FILES:
        file.renew_lock()


_FILES: weakref.WeakSet[_File] = weakref.WeakSet()
os.register_at_fork(after_in_child=_renew_locks)


def _make_private(path: str) -> None:
    """Create the file for its owner alone, or refuse one that is a link or that others may write.

    Raises:
        StoreError: `store.unsafe-file`, or `store.unavailable` where it can be neither made nor opened.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        opened = os.open(path, flags, 0o600)
    except OSError as error:
        code = "store.unsafe-file" if os.path.islink(path) else "store.unavailable"
        raise StoreError(code, f"`{path}` cannot be opened: {error.strerror}") from error
    try:
        found = os.fstat(opened)
    finally:
        os.close(opened)
    others_write = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if stat.S_ISREG(found.st_mode) and 0 < found.st_size < LEAST_BYTES:  # SQLite would take it for a new one
        raise StoreError("store.corrupt", f"`{path}` is no SQLite file")
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink > 1 or others_write:
        raise StoreError("store.unsafe-file", f"`{path}` has to be a plain file that its owner alone may write")


def _identity(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError as error:
        raise StoreError("store.replaced", f"`{path}` cannot be seen any more: {error.strerror}") from error
    return found.st_dev, found.st_ino


def _prepare(connection: sqlite3.Connection, synchronous: str) -> None:
    mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    if mode != "wal":
        raise StoreError("store.unavailable", "this file system cannot keep a write-ahead log")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute("INSERT INTO forgotten VALUES (0)")
            connection.execute(f"PRAGMA user_version={VERSION}")
        _check(connection)
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _check(connection: sqlite3.Connection) -> None:
    """Refuse damage, and tables or triggers that are not ours."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    shape = {row[0] for row in connection.execute("SELECT sql FROM sqlite_schema")}
    if version != VERSION or shape != set(SCHEMA):
        raise StoreError("store.schema", f"expected a store of version {VERSION} and nothing else in the file")
    if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise StoreError("store.corrupt", "the file is damaged; restore it, or end all open approvals and remove it")


_CODES = {
    sqlite3.SQLITE_BUSY: ("store.locked", "another process held `{}` for too long"),
    sqlite3.SQLITE_LOCKED: ("store.locked", "another process held `{}` for too long"),
    sqlite3.SQLITE_CORRUPT: ("store.corrupt", "`{}` is damaged"),
    sqlite3.SQLITE_NOTADB: ("store.corrupt", "`{}` is no SQLite file"),
}


def _refuse(error: sqlite3.Error | OverflowError, path: str) -> NoReturn:
    primary = getattr(error, "sqlite_errorcode", 0) & 0xFF  # absent where the fault is the binding's own
    code, message = _CODES.get(primary, ("store.unavailable", "`{}` cannot be used: " + str(error)))
    raise StoreError(code, message.format(path)) from error


class SqliteApprovals:
    """Used approvals of all processes of this machine."""

    reach = Reach.MACHINE

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        busy_seconds: float = BUSY_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._file = _File(path, "FULL", busy_seconds)
        self._clock = clock
        self._until_pruning = 0

    def spend(self, jti: str, until: float) -> bool:
        """Use an approval up (`Approvals.spend`)."""
        end, now = checked_end(jti, until), self._clock()
        if not now < end:  # also where the clock shows no time
            return False
        with self._file.connection() as connection:
            self._until_pruning -= 1
            if self._until_pruning < 0:
                _prune(connection, now - GRACE)
                self._until_pruning = PRUNE_EVERY
            return connection.execute(_SPEND, {"jti": jti, "until": end}).rowcount == 1

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class SqliteRunStates:
    """Run states of all processes of this machine."""

    reach = Reach.MACHINE

    def __init__(self, path: str | os.PathLike[str], *, busy_seconds: float = BUSY_SECONDS) -> None:
        self._file = _File(path, "NORMAL", busy_seconds)

    def load(self, scope_id: str) -> RunState:
        """Give the state that was saved last (`RunStates.load`)."""
        check_scope(scope_id)
        with self._file.connection() as connection:
            row = connection.execute("SELECT version, state FROM states WHERE scope = ?", (scope_id,)).fetchone()
        if row is None:
            return START
        try:
            state = from_json(row[1])
        except RequestError as error:
            raise StoreError("store.corrupt", f"the stored state cannot be read: {error.message}") from error
        if state.version != row[0]:
            raise StoreError("store.corrupt", "the stored state is of another version than its entry says")
        return state

    def save(self, scope_id: str, expected_version: int, state: RunState) -> None:
        """Replace a state (`RunStates.save`)."""
        check_scope(scope_id)
        check_newer(expected_version, state)
        new = {"scope": scope_id, "version": state.version, "state": to_json(state), "expected": expected_version}
        statement = _FIRST if expected_version == START.version else _NEXT
        with self._file.connection() as connection:
            saved = connection.execute(statement, new).rowcount == 1
        if not saved:
            raise conflict(expected_version)

    def forget(self, scope_id: str) -> None:
        """Drop the state of a run that has ended (`RunStates.forget`)."""
        with self._file.connection() as connection:
            connection.execute("DELETE FROM states WHERE scope = ?", (scope_id,))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


# One statement, so that no other process comes between; what ended before the last pruning may have been spent.
_SPEND = (
    "INSERT INTO spent SELECT :jti, :until WHERE :until > (SELECT max(until) FROM forgotten) "
    "ON CONFLICT (jti) DO NOTHING"
)


def _prune(connection: sqlite3.Connection, before: float) -> None:
    """Drop what ended before, and remember up to when, whatever the clock may show later."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("UPDATE forgotten SET until = max(until, ?)", (before,))
        connection.execute("DELETE FROM spent WHERE until <= (SELECT max(until) FROM forgotten)")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


_NEXT = "UPDATE states SET version = :version, state = :state WHERE scope = :scope AND version = :expected"
_FIRST = (
    "INSERT INTO states VALUES (:scope, :version, :state) ON CONFLICT (scope) "
    "DO UPDATE SET version = excluded.version, state = excluded.state WHERE version = :expected"
)
