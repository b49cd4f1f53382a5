"""Stores by address; run as a program, a process that spends approvals together with others."""

from __future__ import annotations

import secrets
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from policyengine.stores import Approvals, RunStates
from policyengine.stores.redis import RedisApprovals, RedisRunStates, connect
from policyengine.stores.sqlite import SqliteApprovals, SqliteRunStates


@contextmanager
def approvals(place: str, busy_seconds: float = 20.0) -> Iterator[Approvals]:
    """Open used approvals; patient, since test machines are slow."""
    if place.startswith("sqlite:"):
        store = SqliteApprovals(place.removeprefix("sqlite:"), busy_seconds=busy_seconds)
        yield store
        store.close()
    else:
        with connect(place, seconds=busy_seconds) as client:
            yield RedisApprovals(client)


@contextmanager
def run_states(place: str) -> Iterator[RunStates]:
    """Open run states."""
    if place.startswith("sqlite:"):
        store = SqliteRunStates(place.removeprefix("sqlite:"), busy_seconds=20.0)
        yield store
        store.close()
    else:
        with connect(place, seconds=20.0) as client:
            yield RedisRunStates(client)


def spent_by_threads(store: Approvals, ids: list[str], threads: int) -> list[str]:
    """Let so many threads try every id at the same time, and give the ids that were spent, each as often as it was."""
    start = threading.Barrier(threads)

    def attempt(_: int) -> list[str]:
        start.wait()
        return [jti for jti in ids if store.spend(jti, time.time() + 600)]

    with ThreadPoolExecutor(threads) as pool:
        return sorted(jti for found in pool.map(attempt, range(threads)) for jti in found)


def fresh_ids(number: int) -> list[str]:
    """Ids that no other test has."""
    return sorted(secrets.token_hex(16) for _ in range(number))


def main(place: str, threads: str) -> None:
    """Read ids, one a line, up to an empty line, and write those that were spent here."""
    with approvals(place) as store:
        print("ready", flush=True)
        ids = list(iter(lambda: sys.stdin.readline().strip(), ""))
        print("\n".join(spent_by_threads(store, ids, int(threads))))


if __name__ == "__main__":
    main(*sys.argv[1:])
