"""Calls that are running: agents below one are sub-agents of whoever made it, and never have more than that."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from policyengine.adapters.langchain.faces import Steps, asked
from policyengine.adapters.langchain.vouched import Host
from policyengine.gate import Run

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolRuntime

MAX_COUNTED = 65_536


class Counts:
    """How often things happened, of the latest that did."""

    __slots__ = ("_counts", "_lock")

    def __init__(self) -> None:
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> int:
        return self._counts.get(name, 0)

    def add(self, name: str) -> None:
        """Count once more; the one that was idle longest is forgotten."""
        with self._lock:
            self._counts[name] = self._counts.pop(name, 0) + 1
            if len(self._counts) > MAX_COUNTED:
                self._counts.popitem(last=False)


class Parent:
    """A call that is running: agents that start below it are its sub-agents, whatever the tool is called.

    `tools` are given where this process did not see the model call: those that the model was shown, as the state says,
    or all that the agent has. Of these a sub-agent gets what would be exposed now. `runtime` is of the call itself.
    """

    __slots__ = ("_children", "_lock", "_tools", "above", "call_id", "run", "runtime")

    def __init__(self, run: Run, call_id: str, tools: tuple[str, ...] | None, runtime: ToolRuntime[Any, Any]) -> None:
        self.run = run
        self.call_id = call_id
        self.runtime = runtime
        self.above = PARENT.get()
        self._tools = tools
        self._children: dict[str, Run] = {}
        self._lock = threading.Lock()

    def child(self, agent: str, tools: frozenset[str] | None) -> Steps[Run]:
        """Give the run of a sub-agent, delegated once for each of this call.

        Raises:
            TokenError: nothing could be signed.
            AuditError: it could not be recorded.
        """
        known = self._children.get(agent)
        if known is None:
            if self._tools is not None:
                yield from asked("before_model", (), self._tools, self.run)
            context = self.run.context  # a model may give a later call the same id
            run_id = f"{context.run_id}/{context.step_id}/{self.call_id}"
            made: Run = yield from asked("child", self.run, agent, run_id=run_id, tools=tools)
            with self._lock:
                known = self._children.setdefault(agent, made)
        return known


PARENT: ContextVar[Parent | None] = ContextVar("policyengine_parent", default=None)


def parent_of(runtime: Host) -> Parent | None:
    """Give the call that an agent runs below; where two policies stand before a call, it is not below itself."""
    parent = PARENT.get()
    return parent.above if parent is not None and parent.runtime is runtime else parent
