"""What each hook does, written once for both faces; whatever fails on our side is an answer with a code."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage
from langgraph.errors import GraphBubbleUp

from policyengine.adapters.langchain.calls import ran
from policyengine.adapters.langchain.deciding import Place
from policyengine.adapters.langchain.denials import code_of, refusal, told
from policyengine.adapters.langchain.faces import Handled, Steps
from policyengine.adapters.langchain.models import (
    Unsent,
    answered,
    denied_set,
    judged_set,
    names_of,
    new_step,
    pending,
    prepared,
    unsent,
)
from policyengine.adapters.langchain.results import Given
from policyengine.adapters.langchain.runs import Counts, parent_of
from policyengine.adapters.langchain.searching import Search
from policyengine.adapters.langchain.stepping import PolicyState, Step, in_step, step_of, with_replies
from policyengine.adapters.langchain.voices import EAR, Ear
from policyengine.adapters.langchain.vouched import Host, Vouched
from policyengine.gate import Gate, Run

if TYPE_CHECKING:
    from langchain.agents.middleware import ModelRequest, ToolCallRequest


class Hooks:
    """One agent's hooks."""

    def __init__(
        self, gate: Gate, vouched: Vouched, agent: str, only: frozenset[str] | None, search: Search | None
    ) -> None:
        self.gate = gate
        self._search = search
        self._vouched = vouched
        self._agent = agent
        self._only = only
        self._steps, self._suspended = Counts(), Counts()

    def model(self, request: ModelRequest[Any]) -> Steps[Any]:
        """Show the model what it may see, and of its answer what may be shown."""
        step = new_step(request)
        try:
            run = with_replies((yield from self._run(request.runtime, step)), request.state)
            ready = yield from prepared(self.gate, run, request, self._vouched.is_genuine, self._search)
            self._steps.add(_known(run))
        except GraphBubbleUp:
            raise
        except Unsent as answer:
            return AIMessage(str(answer))
        except Exception as error:  # whatever it is, the model must not see for it what it may not
            return AIMessage(unsent([told(error)]))
        listening = EAR.set(Ear(self.gate, run, request.runtime))
        try:
            response = yield Handled(ready)
        finally:
            EAR.reset(listening)
        return answered(self.gate, run, response, ready.tools)

    def reply(self, state: PolicyState, runtime: Any) -> Steps[dict[str, Any] | None]:
        """Judge the calls of a reply as a set."""
        calls = pending(state["messages"])
        if not calls:
            return None
        try:
            run = yield from self._run(runtime, step_of(state))
            denied = yield from judged_set(run, calls)
        except GraphBubbleUp:
            raise
        except Exception as error:  # whatever it is, no call may run for it
            denied = denied_set(calls, code_of(error), told(error))
        return {"messages": denied} if denied else None

    def tool(self, request: ToolCallRequest) -> Steps[Given]:
        """Let a call run, ask a person, or tell the model why not."""
        call = request.tool_call
        try:
            step = step_of(request.state, call["id"] or "")
            run = yield from self._run(request.runtime, step)
            place = self._place(request, run, step)
        except GraphBubbleUp:
            raise
        except Exception as error:  # whatever it is, the call must not run for it
            return refusal(call["name"], call["id"] or "", code_of(error), told(error))
        return (yield from ran(place, request))

    def _place(self, request: ToolCallRequest, run: Run, step: Step) -> Place:
        keep, runtime = self._vouched.keep, request.runtime
        return Place(
            gate=self.gate,
            run=run,
            config=runtime.config,
            by=self._person(runtime, run),
            keep=None if keep is None else partial(keep, runtime),
            suspended=self._suspended,
            tools=None if self._steps[_known(run)] else tuple(step.get("tools", names_of(runtime.tools))),
        )

    def _run(self, runtime: Host, step: Step) -> Steps[Run]:
        parent = parent_of(runtime)
        if parent is None:
            return in_step(self._vouched.identity(runtime), runtime, step)
        run = yield from parent.child(self._agent, self._only)
        return in_step(run, runtime, step)

    def _person(self, runtime: Host, run: Run) -> str:
        """Give who answers; nobody where LangGraph keeps nothing, since then no answer could come back."""
        info = runtime.execution_info
        if info is None or info.thread_id is None:
            return ""
        approver = self._vouched.approver
        return run.principal.id if approver is None else approver(runtime)


def _known(run: Run) -> str:
    """Name a step as the gate knows it."""
    return f"{run.context.run_id}/{run.context.step_id}"
