"""In which step a run is: what the agent's state keeps of a model call, for the calls of its reply and the next one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import PrivateStateAttr

from policyengine.adapters.langchain.vouched import Host
from policyengine.errors import RequestError
from policyengine.gate import Run
from policyengine.model import digest_of
from policyengine.records import replace

STEP = "policyengine_step"


class Step(TypedDict):
    """What the agent's state keeps of a model call, so that the calls of its reply are known for that: no secret.

    `run` names for whom and where it was; empty where there was no model call. `tools` are those that the model was
    shown, and `replies` counts the model calls of that run so far: a process that begins with this state knows both.
    """

    id: str
    model: str
    run: str
    tools: NotRequired[list[str]]
    replies: NotRequired[int]


def _later(known: Step | None, step: Step) -> Step:
    """Keep the later one; where two policies stand before one model, what both have shown."""
    if not known or known.get("id") != step["id"] or "tools" not in step:
        return step
    shown = frozenset(known.get("tools", ()))
    return {**step, "tools": [name for name in step["tools"] if name in shown]}


class PolicyState(AgentState[Any]):
    """The agent's state with the step that it is in; hidden from input, output and sub-agents."""

    policyengine_step: NotRequired[Annotated[Step, PrivateStateAttr, _later]]


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
    placed = replace(context, step_id=step["id"], thread_id=thread, model=context.model or step["model"])
    shown = frozenset(step["tools"]) if "tools" in step else None
    return replace(run, context=placed, offered=shown, replies=max(run.replies, step.get("replies", 0)))


def step_of(state: Any, call_id: str = "") -> Step:
    """Give the step that a state is in; in a graph without model hooks every call is a step of its own."""
    step = state.get(STEP) if isinstance(state, Mapping) else getattr(state, STEP, None)
    if not (isinstance(step, dict) and step):  # before the first model call it is empty
        return Step(id=f"call:{call_id}", model="", run="")
    known: Step = step  # type: ignore[assignment]
    return known


def with_replies(run: Run, state: Any) -> Run:
    """Say with a run how many model calls of it a state has on record, before a further one."""
    before = step_of(state)
    known = before.get("replies", 0) if before["run"] == named(run) else 0
    return replace(run, replies=max(run.replies, known))
