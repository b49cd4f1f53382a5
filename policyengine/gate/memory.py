"""What a gate remembers of the steps that each run is in: bounded, and good only for making answers stricter."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TypeAlias

from policyengine.gate.terms import Run
from policyengine.model import Exposure
from policyengine.records import NamedTuple

MAX_RUNS = 4096  # of which steps are remembered; the one that was idle longest goes
MAX_STEPS = 8  # of one run: branches of a graph go on side by side, and a person may answer about an earlier step
MAX_ISSUED = 65_536  # decisions that wait for their call; the oldest can no longer be released
Key: TypeAlias = tuple[str, ...]


class Remembered(NamedTuple):
    """A step.

    Attributes:
        step_id: which.
        exposure: token of its exposure; empty where nothing could be exposed, or nothing was.
        expires: when that has ceased to count; 0 where nothing was asked to be exposed.
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
    """The latest steps of each run, and the decisions that were not yet released."""

    __slots__ = ("_issued", "_lock", "_steps")

    def __init__(self) -> None:
        self._steps: OrderedDict[Key, tuple[Remembered, ...]] = OrderedDict()
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
            return self._known(run)

    def expose(self, run: Run, token: str, expires: float, exposure: Exposure, *, generated: bool) -> None:
        """A step begins: remember its exposure."""
        visible, deferred = frozenset(exposure.visible), exposure.deferred
        with self._lock:
            self._keep(run, Remembered(run.context.step_id, token, expires, visible, deferred, generated))

    def reject(self, run: Run, call: str) -> None:
        """Remember that a person has said no to a call of this step."""
        with self._lock:
            step = self._known(run)
            self._keep(run, step._replace(rejected=step.rejected | {call}))

    def deny(self, run: Run, calls: frozenset[str]) -> None:
        """Remember which calls of the latest reply were denied."""
        with self._lock:
            self._keep(run, self._known(run)._replace(denied=calls))

    def _known(self, run: Run) -> Remembered:
        id = run.context.step_id
        return next((one for one in self._steps.get(_key(run), ()) if one.step_id == id), Remembered(id))

    def _keep(self, run: Run, step: Remembered) -> None:
        key = _key(run)
        others = [one for one in self._steps.get(key, ()) if one.step_id != step.step_id]
        self._steps[key] = (*others[1 - MAX_STEPS :], step)
        self._steps.move_to_end(key)
        while len(self._steps) > MAX_RUNS:
            self._steps.popitem(last=False)


def _key(run: Run) -> Key:
    context, principal = run.context, run.principal
    return (
        context.scope_id, context.thread_id, context.run_id, principal.id, principal.agent, *principal.delegation
    )  # fmt: skip
