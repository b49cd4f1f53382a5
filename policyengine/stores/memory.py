"""Stores in memory: for one long-lived process only, since another process, or the next one, knows nothing of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from policyengine.errors import StoreError
from policyengine.state import START, RunState
from policyengine.stores.store import GRACE, Reach, check_newer, check_scope, conflict, is_over

MAX_SPENT = 1_000_000  # approvals that are kept at once; beyond that none is spent until some have ended
PRUNE_EVERY = 1024  # spendings between two looks for what has ended


class MemoryApprovals:
    """Used approvals of this process, shared by its threads."""

    reach = Reach.PROCESS

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._spent: dict[str, float] = {}
        self._until_pruning = PRUNE_EVERY

    def spend(self, jti: str, until: float) -> bool:
        """Use an approval up (`Approvals.spend`)."""
        now = self._clock()
        if is_over(jti, until, now):
            return False
        with self._lock:
            if jti in self._spent:
                return False
            self._prune(now)
            if len(self._spent) >= MAX_SPENT:
                raise StoreError("store.full", f"{MAX_SPENT} approvals are in use already")
            self._spent[jti] = until
            return True

    def _prune(self, now: float) -> None:
        self._until_pruning -= 1
        if self._until_pruning <= 0 or len(self._spent) >= MAX_SPENT:
            self._until_pruning = PRUNE_EVERY
            self._spent = {jti: until for jti, until in self._spent.items() if now < until + GRACE}


class MemoryRunStates:
    """Run states of this process, shared by its threads; a host forgets those of runs that have ended."""

    reach = Reach.PROCESS

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[str, RunState] = {}

    def load(self, scope_id: str) -> RunState:
        """Give the state that was saved last (`RunStates.load`)."""
        check_scope(scope_id)
        return self._states.get(scope_id, START)

    def save(self, scope_id: str, expected_version: int, state: RunState) -> None:
        """Replace a state (`RunStates.save`)."""
        check_scope(scope_id)
        check_newer(expected_version, state)
        with self._lock:
            if self._states.get(scope_id, START).version != expected_version:
                raise conflict(expected_version)
            self._states[scope_id] = state

    def forget(self, scope_id: str) -> None:
        """Drop the state of a run that has ended (`RunStates.forget`)."""
        with self._lock:
            self._states.pop(scope_id, None)
