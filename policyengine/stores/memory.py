"""Stores in memory: for one long-lived process only, since another process, or the next one, knows nothing of them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from policyengine.errors import StoreError
from policyengine.state import START, RunState
from policyengine.stores.store import GRACE, Reach, check_newer, check_scope, checked_end, conflict

MAX_SPENT = 1_000_000  # approvals that are kept at once; beyond that none is spent until some have ended
PRUNE_EVERY = 1024  # spendings between two looks for what has ended


class MemoryApprovals:
    """Used approvals of this process, shared by its threads."""

    reach = Reach.PROCESS

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._spent: dict[str, float] = {}
        self._forgotten = 0.0  # what ended before may have been spent
        self._until_pruning = PRUNE_EVERY

    def spend(self, jti: str, until: float) -> bool:
        """Use an approval up (`Approvals.spend`)."""
        end, now = checked_end(jti, until), self._clock()
        _check_process(self._pid)
        with self._lock:
            if not (now < end and self._forgotten < end) or jti in self._spent:  # so that no NaN is before anything
                return False
            self._prune(now)
            if len(self._spent) >= MAX_SPENT:
                raise StoreError("store.full", f"{MAX_SPENT} approvals are in use already")
            self._spent[jti] = end
            return True

    def _prune(self, now: float) -> None:
        self._until_pruning -= 1
        if self._until_pruning <= 0 or len(self._spent) >= MAX_SPENT:
            self._until_pruning = PRUNE_EVERY
            self._forgotten = max(self._forgotten, now - GRACE)
            self._spent = {jti: end for jti, end in self._spent.items() if end > self._forgotten}


class MemoryRunStates:
    """Run states of this process, shared by its threads; a host forgets those of runs that have ended."""

    reach = Reach.PROCESS

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._states: dict[str, RunState] = {}

    def load(self, scope_id: str) -> RunState:
        """Give the state that was saved last (`RunStates.load`)."""
        check_scope(scope_id)
        _check_process(self._pid)
        return self._states.get(scope_id, START)

    def save(self, scope_id: str, expected_version: int, state: RunState) -> None:
        """Replace a state (`RunStates.save`)."""
        check_scope(scope_id)
        check_newer(expected_version, state)
        _check_process(self._pid)
        with self._lock:
            if self._states.get(scope_id, START).version != expected_version:
                raise conflict(expected_version)
            self._states[scope_id] = state

    def forget(self, scope_id: str) -> None:
        """Drop the state of a run that has ended (`RunStates.forget`)."""
        with self._lock:
            self._states.pop(scope_id, None)


def _check_process(pid: int) -> None:
    """Refuse a forked child: what it would spend or save, its parent would not know.

    Raises:
        StoreError: this is another process than the one that made the store.
    """
    if pid != os.getpid():
        raise StoreError("store.forked", "a store in memory is for the process that made it")
