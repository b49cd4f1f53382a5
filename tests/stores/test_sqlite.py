"""The SQLite file: what is refused, how long a caller waits, and what is dropped."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from policyengine.errors import StoreError
from policyengine.records import replace
from policyengine.state import START
from policyengine.stores import sqlite
from policyengine.stores.sqlite import SqliteApprovals, SqliteRunStates
from policyengine.stores.store import GRACE


def _code(attempt: Callable[[], object]) -> str:
    with pytest.raises(StoreError) as caught:
        attempt()
    return caught.value.code


def _later() -> float:
    return time.time() + 600


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def _made(file: Path) -> None:
    store = SqliteApprovals(file)
    store.spend("a", _later())
    store.close()


def test_the_file_is_its_owners_alone(file: Path) -> None:
    store = SqliteApprovals(file)
    store.spend("a", _later())
    assert {path.name: path.stat().st_mode & 0o777 for path in file.parent.iterdir()} == {
        "store.db": 0o600,
        "store.db-wal": 0o600,
        "store.db-shm": 0o600,
    }
    store.close()


def test_a_locked_file_is_an_error_after_a_bounded_wait_and_nothing_is_spent(file: Path) -> None:
    store = SqliteApprovals(file, busy_seconds=0.2)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    start = time.monotonic()
    assert _code(lambda: store.spend("a", _later())) == "store.locked"
    assert 0.1 < time.monotonic() - start < 5
    other.execute("ROLLBACK")
    assert store.spend("a", _later())
    assert not store.spend("a", _later())
    other.close()
    store.close()


def test_a_locked_file_saves_no_state(file: Path) -> None:
    store = SqliteRunStates(file, busy_seconds=0.2)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert _code(lambda: store.save("s", 0, replace(START, version=1))) == "store.locked"
    assert store.load("s") == START, "reading goes on"
    other.close()
    store.close()


def test_a_file_that_is_locked_when_it_is_opened_is_an_error(file: Path) -> None:
    _made(file)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert _code(lambda: SqliteApprovals(file, busy_seconds=0.2)) == "store.locked"
    other.close()


@pytest.mark.parametrize("content", [b"x", b"not a database " * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_a_clear_error(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    file.chmod(0o600)
    assert _code(lambda: SqliteApprovals(file)) == "store.corrupt"
    assert file.read_bytes() == content, "nothing is overwritten"


@pytest.mark.parametrize("page", [0, 1, 2])
def test_a_damaged_database_is_a_clear_error(file: Path, page: int) -> None:
    store = SqliteApprovals(file)
    for number in range(500):
        store.spend(f"{number:060}", _later())
    store.close()
    content = bytearray(file.read_bytes())
    assert len(content) > 5 * 4096
    start = 4096 * page + (100 if page == 0 else 0)
    content[start : start + 2000] = b"\xa5" * 2000
    file.write_bytes(content)
    assert _code(lambda: SqliteApprovals(file)) in {"store.corrupt", "store.schema"}


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TRIGGER forgets AFTER INSERT ON spent BEGIN DELETE FROM spent; END",
        "CREATE TABLE other (a)",
        "DROP TABLE states",
        "PRAGMA user_version = 2",
        "ALTER TABLE spent RENAME TO used",
    ],
)
def test_a_file_of_another_shape_is_refused(file: Path, change: str) -> None:
    _made(file)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute(change)
    other.close()
    assert _code(lambda: SqliteApprovals(file)) == "store.schema"


def test_a_state_that_was_changed_in_the_file_is_no_state(file: Path) -> None:
    store = SqliteRunStates(file)
    store.save("s", 0, replace(START, version=1))
    other = sqlite3.connect(file, isolation_level=None)
    for change in ("version = 7", "state = '{}'", "state = 'x'", "state = NULL || ''", "state = x'ff'"):
        try:
            other.execute(f"UPDATE states SET {change}")
        except sqlite3.IntegrityError:
            continue
        assert _code(lambda: store.load("s")) == "store.corrupt"
    other.close()
    store.close()


def test_links_pipes_and_files_that_others_may_write_are_refused(file: Path) -> None:
    _made(file)
    link, hard, fifo, shared = (file.with_name(name) for name in ("link.db", "hard.db", "fifo.db", "shared.db"))
    link.symlink_to(file)
    assert _code(lambda: SqliteApprovals(link)) == "store.unsafe-file"
    os.mkfifo(fifo)
    assert _code(lambda: SqliteApprovals(fifo)) == "store.unsafe-file"
    shared.touch()
    shared.chmod(0o666)
    assert _code(lambda: SqliteApprovals(shared)) == "store.unsafe-file"
    os.link(file, hard)
    assert _code(lambda: SqliteApprovals(file)) == "store.unsafe-file"
    assert _code(lambda: SqliteApprovals(file.parent)) == "store.unavailable"
    assert _code(lambda: SqliteApprovals(file.parent / "none" / "store.db")) == "store.unavailable"


def test_a_file_that_is_replaced_or_removed_underneath_spends_nothing(file: Path) -> None:
    store = SqliteApprovals(file)
    assert store.spend("a", _later())
    for name in os.listdir(file.parent):
        (file.parent / name).unlink()
    assert _code(lambda: store.spend("a", _later())) == "store.replaced"
    _made(file)
    assert _code(lambda: store.spend("b", _later())) == "store.replaced"
    store.close()


def test_a_name_that_means_memory_to_sqlite_is_a_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    _made(Path(":memory:"))
    assert (file.parent / ":memory:").is_file()
    store = SqliteApprovals(":memory:")
    assert not store.spend("a", _later())
    store.close()


def test_used_approvals_are_dropped_some_time_after_their_end(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PRUNE_EVERY", 10)
    now = [time.time()]
    store = SqliteApprovals(file, clock=lambda: now[0])
    until = now[0] + 10
    assert store.spend("a", until)
    now[0] = until + GRACE - 1
    for number in range(25):
        store.spend(f"b{number}", now[0] + 10)
    assert _kept(file, "a") == 1
    now[0] = until + GRACE + 1
    for number in range(25):
        store.spend(f"c{number}", now[0] + 10)
    assert _kept(file, "a") == 0
    assert not store.spend("a", until)
    store.close()


def _kept(file: Path, jti: str) -> int:
    other = sqlite3.connect(file)
    found: int = other.execute("SELECT count(*) FROM spent WHERE jti = ?", (jti,)).fetchone()[0]
    other.close()
    return found


def test_a_forked_child_opens_the_file_for_itself(file: Path) -> None:
    script = """
import os, sys, time
from policyengine.stores import sqlite
from policyengine.stores.sqlite import SqliteApprovals
store = SqliteApprovals(sys.argv[1])
assert store.spend("a", time.time() + 600)
child = os.fork()
if child == 0:
    os._exit(store.spend("a", time.time() + 600) * 2 + (not store.spend("b", time.time() + 600)))
assert os.waitpid(child, 0)[1] == 0
assert not store.spend("b", time.time() + 600)
assert store.spend("c", time.time() + 600)
"""
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", script, str(file)], cwd=root, capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_full_disk_spends_nothing(file: Path) -> None:
    script = """
import resource, sys, time
from policyengine.errors import StoreError
from policyengine.stores import sqlite
from policyengine.stores.sqlite import SqliteApprovals
store = SqliteApprovals(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
spent = []
try:
    for number in range(1000):
        if store.spend(f"{number:0200}", time.time() + 600):
            spent.append(number)
except StoreError as error:
    print(error.code, len(spent))
"""
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", script, str(file)], cwd=root, capture_output=True, check=False)
    code, spent = ended.stdout.split()
    assert code == b"store.unavailable", ended.stderr
    store = SqliteApprovals(file)
    assert not any(store.spend(f"{number:0200}", _later()) for number in range(int(spent)))
    assert store.spend(f"{int(spent):0200}", _later()), "the one that failed was not spent"
    store.close()
