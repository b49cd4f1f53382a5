"""Approvals are spent once: by threads, by processes, after a restart, and never because something failed."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from policyengine.errors import StoreError
from policyengine.stores import Approvals, MemoryApprovals, Reach, memory
from policyengine.stores.sqlite import SqliteApprovals
from policyengine.stores.store import GRACE
from tests.stores.opening import approvals, fresh_ids, spent_by_threads
from tests.stores.servers import KEEPS, MISSING, Server, program

ROOT = Path(__file__).parents[2]
THREADS = 64


def test_sixty_four_threads_spend_an_approval_once_in_memory() -> None:
    ids = fresh_ids(20)
    assert spent_by_threads(MemoryApprovals(), ids, THREADS) == ids


def test_sixty_four_threads_spend_an_approval_once(place: Callable[[], str]) -> None:
    ids = fresh_ids(5)
    with approvals(place()) as store:
        assert spent_by_threads(store, ids, THREADS) == ids
        assert spent_by_threads(store, ids, 2) == []


def test_two_processes_spend_an_approval_once(place: Callable[[], str]) -> None:
    """Each with 32 threads, so that 64 want it; and neither after both have ended, nor a third that starts then."""
    ids = fresh_ids(5)
    processes = [_process(place(), 32), _process(place(), 32)]
    assert [process.stdout.readline() for process in processes if process.stdout] == ["ready\n", "ready\n"]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n".join([*ids, "", ""]))
        process.stdin.flush()
    spent = [line for process in processes for line in process.communicate()[0].split()]
    assert sorted(spent) == ids
    third = _process(place(), 1)
    assert third.communicate("\n".join([*ids, "", ""]))[0].split() == ["ready"]


def _process(place: str, threads: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.stores.opening", place, str(threads)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip


def test_a_killed_redis_server_knows_after_its_restart_what_was_spent(tmp_path: Path) -> None:
    if program() is None:
        pytest.skip(MISSING)
    server = Server(tmp_path, *KEEPS)
    try:
        with approvals(server.url, 2.0) as store:
            assert store.spend("a", time.time() + 600)
            server.kill()
            with pytest.raises(StoreError) as caught:
                store.spend("b", time.time() + 600)
            assert caught.value.code == "store.unavailable"
            server.start()
            assert not store.spend("a", time.time() + 600)
            assert store.spend("b", time.time() + 600)
    finally:
        server.kill()


def test_a_redis_server_that_may_forget_is_refused(tmp_path: Path) -> None:
    if program() is None:
        pytest.skip(MISSING)
    evicting = ("--appendonly", "yes", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    for settings, code in ((("--appendonly", "no"), "store.volatile"), (evicting, "store.evicting")):
        server = Server(tmp_path / code, *settings)
        try:
            with pytest.raises(StoreError) as caught, approvals(server.url):
                pass
            assert caught.value.code == code
        finally:
            server.kill()


def test_a_redis_server_that_is_not_there_is_an_error_in_bounded_time() -> None:
    start = time.monotonic()
    with pytest.raises(StoreError) as caught, approvals("redis://127.0.0.1:1/0", 1.0):
        pass
    assert caught.value.code == "store.unavailable"
    assert time.monotonic() - start < 10


def test_a_redis_server_that_hangs_is_an_error_in_bounded_time() -> None:
    import socket

    start = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with pytest.raises(StoreError) as caught, approvals(f"redis://127.0.0.1:{silent.getsockname()[1]}/0", 0.3):
            pass
        assert caught.value.code == "store.unavailable"
    assert time.monotonic() - start < 10


def test_an_approval_that_has_ended_is_not_spent(place: Callable[[], str]) -> None:
    [jti] = fresh_ids(1)
    with approvals(place()) as store:
        assert not store.spend(jti, time.time() - 1)
        assert store.spend(jti, time.time() + 600)


@pytest.mark.parametrize(
    ("jti", "until", "code"),
    [
        ("", 2e9, "store.jti"),
        ("a" * 257, 2e9, "store.jti"),
        ("a\n", 2e9, "store.jti"),
        ("ä", 2e9, "store.jti"),
        (7, 2e9, "store.jti"),
        ("a", float("inf"), "store.until"),
        ("a", float("nan"), "store.until"),
        ("a", 10**400, "store.until"),
        ("a", 1e13, "store.until"),
        ("a", True, "store.until"),
        ("a", "2e9", "store.until"),
        ("a", None, "store.until"),
    ],
)
def test_what_is_no_approval_is_refused(jti: str, until: float, code: str) -> None:
    with pytest.raises(StoreError) as caught:
        MemoryApprovals().spend(jti, until)
    assert caught.value.code == code


def test_an_id_that_is_longer_than_a_name_is_not_cut(place: Callable[[], str]) -> None:
    [stem] = fresh_ids(1)
    one, other = stem.ljust(255, "a") + "b", stem.ljust(255, "a") + "c"
    with approvals(place()) as store:
        assert store.spend(one, time.time() + 600)
        assert store.spend(other, time.time() + 600)
        assert store.spend(stem.upper().ljust(256, "a"), time.time() + 600)


def test_memory_keeps_a_used_approval_until_clocks_agree_that_it_has_ended() -> None:
    now = [0.0]
    store = MemoryApprovals(clock=lambda: now[0])
    assert store.spend("a", 10.0)
    now[0] = 10.0 + GRACE + 1
    for number in range(2000):  # enough to make it look for what has ended
        assert store.spend(f"b{number}", now[0] + 1)
    assert "a" not in store._spent
    assert not store.spend("a", 10.0)


def test_a_clock_that_is_set_back_gives_no_used_approval_back(tmp_path: Path) -> None:
    now = [time.time()]
    until = now[0] + 10
    memory_store = MemoryApprovals(lambda: now[0])
    file_store = SqliteApprovals(tmp_path / "store.db", clock=lambda: now[0])
    memory_store._until_pruning = 2
    stores: list[Approvals] = [memory_store, file_store]
    assert [store.spend("a", until) for store in stores] == [True, True]
    now[0] = until + GRACE + 1
    file_store._until_pruning = 0
    assert [store.spend("b", now[0] + 10) for store in stores] == [True, True]
    now[0] = until - 5
    assert [store.spend("a", until) for store in stores] == [False, False]
    file_store.close()


def test_a_forked_child_does_not_spend_from_its_parents_memory() -> None:
    script = """
import os, sys, time
from policyengine.errors import StoreError
from policyengine.state import START
from policyengine.stores import MemoryApprovals, MemoryRunStates
approvals, states = MemoryApprovals(), MemoryRunStates()
if os.fork() == 0:
    codes = []
    for attempt in (lambda: approvals.spend("a", time.time() + 60), lambda: states.load("s")):
        try:
            attempt()
        except StoreError as error:
            codes.append(error.code)
    os._exit(0 if codes == ["store.forked"] * 2 else 1)
assert os.wait()[1] == 0
assert approvals.spend("a", time.time() + 60)
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_memory_that_is_full_spends_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_SPENT", 3)
    store = MemoryApprovals()
    assert [store.spend(f"a{number}", time.time() + 600) for number in range(3)] == [True] * 3
    with pytest.raises(StoreError) as caught:
        store.spend("b", time.time() + 600)
    assert caught.value.code == "store.full"


def test_stores_say_who_shares_them(place: Callable[[], str]) -> None:
    assert MemoryApprovals().reach is Reach.PROCESS
    with approvals(place()) as store:
        assert store.reach in {Reach.MACHINE, Reach.FLEET}


def test_a_clock_that_shows_no_time_spends_nothing(tmp_path: Path) -> None:
    for store in (MemoryApprovals(lambda: math.nan), SqliteApprovals(tmp_path / "a.db", clock=lambda: math.nan)):
        assert store.spend("a", 2_000_000_000.0) is False
