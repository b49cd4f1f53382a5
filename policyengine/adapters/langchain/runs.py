"""Whose run it is: as the host vouches for it, one step at a time, and below a parent never wider than that."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Annotated, Any, NotRequired, TypedDict

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import PrivateStateAttr

from policyengine.adapters.langchain.faces import Steps, asked
from policyengine.adapters.langchain.vouched import Host
from policyengine.errors import RequestError
from policyengine.gate import Run
from policyengine.model import digest_of
from policyengine.records import replace

MAX_COUNTED = 65_536
STEP = "policyengine_step"


class Step(TypedDict):
    """What the agent's state keeps of a model call, so that the calls of its reply are known for that: no secret.

    `run` names for whom and where it was; empty where there was no model call.
    """

    id: str
    model: str
    run: str


def _later(known: Step | None, step: Step) -> Step:
    """Keep the later one, where two policies stand before one agent."""
    del known
    return step


class PolicyState(AgentState[Any]):
    """The agent's state with the step that it is in; hidden from input, output and sub-agents."""

    policyengine_step: NotRequired[Annotated[Step, PrivateStateAttr, _later]]


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

    `tools` are all that the agent has, where this process did not see the model call: after a restart nobody knows what
    was exposed then, so what a sub-agent gets is what would be exposed now. `runtime` is of the call itself.
    """

    __slots__ = ("_children", "_lock", "_tools", "above", "call_id", "run", "runtime")

    def __init__(self, run: Run, call_id: str, tools: tuple[str, ...] | None, runtime: Host) -> None:
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
            run_id = f"{self.run.context.run_id}/{self.call_id}"
            made: Run = yield from asked("child", self.run, agent, run_id=run_id, tools=tools)
            with self._lock:
                known = self._children.setdefault(agent, made)
        return known


PARENT: ContextVar[Parent | None] = ContextVar("policyengine_parent", default=None)


def parent_of(runtime: Host) -> Parent | None:
    """Give the call that an agent runs below; where two policies stand before a call, it is not below itself."""
    parent = PARENT.get()
    return parent.above if parent is not None and parent.runtime is runtime else parent


def named(run: Run) -> str:
    """Name for whom a run is, and where, as what resumes it has to say again."""
    principal = run.principal
    return digest_of((run.context.scope_id, principal.id, principal.agent, principal.delegation))


def in_step(run: Run, runtime: Host, step: Step) -> Run:
    """Place a run in a step, a model and LangGraph's thread, where the host has said nothing else.

    Raises:
        RequestError: the step was somebody else's (`adapter.other-run`): whoever resumes a run, to answer for instance,
            does not lend it who they are.
    """
    if step["run"] not in {"", named(run)}:
        raise RequestError("adapter.other-run", "this step is of another person's run, or in another scope")
    context, info = run.context, runtime.execution_info
    thread = context.thread_id or (str(info.thread_id) if info is not None and info.thread_id else "")
    model = context.model or step["model"]
    return replace(run, context=replace(context, step_id=step["id"], thread_id=thread, model=model))


def step_of(state: Any, call_id: str = "") -> Step:
    """Give the step that a state is in; in a graph without model hooks every call is a step of its own."""
    step = state.get(STEP) if isinstance(state, Mapping) else getattr(state, STEP, None)
    if not isinstance(step, dict):
        return Step(id=f"call:{call_id}", model="", run="")
    return Step(id=step["id"], model=step["model"], run=step["run"])
