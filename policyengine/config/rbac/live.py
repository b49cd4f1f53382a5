"""A policy that is reloaded while it decides: whole, or not at all.

Every decision is by the policy before a reload or by the one after it. A reload that fails changes nothing
but `failure`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from policyengine.effects import Facts
from policyengine.engine import Engine
from policyengine.errors import LoadError
from policyengine.model import Request, Verdict
from policyengine.policies.rbac import Rbac
from policyengine.records import Record
from policyengine.state import RunState


class Watcher(Protocol):
    """What pycasbin calls a watcher: it calls back when somebody has changed the policy."""

    def set_update_callback(self, callback: Callable[..., object]) -> object:
        """Say whom to call, with whatever the watcher passes."""


class Reloaded(Record):
    """How a reload ended: the digest of the policy that decides from now on, and why that is not a new one."""

    digest: str
    failure: LoadError | None = None


class LiveRbac:
    """The last good policy of a loader, as a policy itself.

    Args:
        load: reads and compiles; raises LoadError for what it refuses.
        told: is called after every reload, so that a failed one is said aloud.

    Raises:
        LoadError: the first policy is refused: there is no last good one yet.
    """

    __slots__ = ("_current", "_load", "_lock", "_told", "name")

    def __init__(self, load: Callable[[], Rbac], told: Callable[[Reloaded], object] | None = None) -> None:
        self._load = load
        self._told = told
        self._lock = threading.Lock()
        first = load()
        self.name = first.name
        self._current: tuple[Rbac, LoadError | None] = (first, None)

    @property
    def current(self) -> Rbac:
        """The policy that decides. Take it once where several questions must have answers of one policy."""
        return self._current[0]

    @property
    def failure(self) -> LoadError | None:
        """Why the last reload failed; None if it did not."""
        return self._current[1]

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge a call by the policy of this moment."""
        return self._current[0].evaluate(request, facts, state)

    def bounds(self, request: Request, names: Sequence[str], state: RunState) -> list[Verdict]:
        """Judge a catalogue by the policy of this moment."""
        return self._current[0].bounds(request, names, state)

    def generating(self, deferred: Collection[str]) -> Rbac:
        """Give the policy of this moment for a build that generated `tool_search` (`Rbac.generating`)."""
        return self._current[0].generating(deferred)

    def engine(self, base: Engine) -> Engine:
        """Give an engine that also asks the policy of this moment; it goes on asking just that one.

        A gate that follows reloads has this as its `Parts.roles`.
        """
        policy = self.current
        return base.also(policy, policy.digest)

    def reload(self) -> Reloaded:
        """Load again. What is refused, or fails in any way, leaves the policy as it is."""
        with self._lock:
            try:
                self._current = (self._load(), None)
            except LoadError as error:
                self._current = (self.current, error)
            except Exception as error:  # whatever a loader's storage raises
                self._current = (self.current, LoadError(f"the loader failed: {error}"))
            reloaded = Reloaded(digest=self.current.digest, failure=self.failure)
        if self._told is not None:
            self._told(reloaded)
        return reloaded

    def watch(self, watcher: Watcher) -> None:
        """Reload whenever a pycasbin watcher says that the policy has changed."""
        watcher.set_update_callback(lambda *_: self.reload())
