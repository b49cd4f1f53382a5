"""What a gate remembers of the step that each run is in: bounded, and good only for making answers stricter."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TypeAlias

from policyengine.gate.terms import Run
from policyengine.model import Exposure
from policyengine.records import NamedTuple

MAX_RUNS = 4096  # of which the step is remembered; the one that was idle longest goes
MAX_ISSUED = 65_536  # decisions that wait for their call; the oldest can no longer be released
Key: TypeAlias = tuple[str, ...]


class Remembered(NamedTuple):
    """A step.

    Attributes:
        step_id: which.
        exposure: token of its exposure.
        expires: when that has ceased to count.
        visible: tools that may be used.
        deferred: tools that a search may find.
        generated: whether the search is the build's own.
        denied: ids of the calls that were denied as a part of the latest reply.
        rejected: ids of the calls that a person has rejected.
    """

    step_id: str
    exposure: str = ""
    expires: float = 0.0
    visible: frozenset[str] = frozenset()
    deferred: tuple[str, ...] = ()
    generated: bool = False
    denied: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()


class Memory:
    """The latest step of each run, and the decisions that were not yet released."""

    __slots__ = ("_issued", "_lock", "_steps")

    def __init__(self) -> None:
        self._steps: OrderedDict[Key, Remembered] = OrderedDict()
        self._issued: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def issue(self, id: str) -> None:
        """A decision may be released."""
        with self._lock:
            self._issued[id] = None
            if len(self._issued) > MAX_ISSUED:
                self._issued.popitem(last=False)

    def is_waiting(self, id: str) -> bool:
        """Whether a decision could still be released."""
        with self._lock:
            return id in self._issued

    def take(self, id: str) -> bool:
        """Whether a decision may be released; it may be only once."""
        with self._lock:
            return self._issued.pop(id, self) is None

    def step(self, run: Run) -> Remembered:
        """Give what is known of the step that a run is in; nothing where it is another step."""
        with self._lock:
            found = self._steps.get(_key(run))
        return found if found is not None and found.step_id == run.context.step_id else Remembered(run.context.step_id)

    def expose(self, run: Run, token: str, expires: float, exposure: Exposure, *, generated: bool) -> None:
        """A step begins: remember its exposure."""
        visible, deferred = frozenset(exposure.visible), exposure.deferred
        self._keep(run, Remembered(run.context.step_id, token, expires, visible, deferred, generated))

    def reject(self, run: Run, call: str) -> None:
        """Remember that a person has said no to a call of this step."""
        step = self.step(run)
        self._keep(run, step._replace(rejected=step.rejected | {call}))

    def deny(self, run: Run, calls: frozenset[str]) -> None:
        """Remember which calls of the latest reply were denied."""
        self._keep(run, self.step(run)._replace(denied=calls))

    def _keep(self, run: Run, step: Remembered) -> None:
        key = _key(run)
        with self._lock:
            self._steps[key] = step
            self._steps.move_to_end(key)
            while len(self._steps) > MAX_RUNS:
                self._steps.popitem(last=False)


def _key(run: Run) -> Key:
    context, principal = run.context, run.principal
    return (
        context.scope_id, context.thread_id, context.run_id, principal.id, principal.agent, *principal.delegation
    )  # fmt: skip
