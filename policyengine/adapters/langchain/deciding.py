"""A call decided, with whatever a person says about it: once, and the same whenever LangGraph runs the node again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from langgraph.types import interrupt

from policyengine.adapters.langchain.answers import SCHEMA, Answer, Asking, answer_of, asking, is_answered, named
from policyengine.adapters.langchain.faces import Steps, asked
from policyengine.adapters.langchain.runs import Counts
from policyengine.gate import Call, Gate, Run, SignedDecision
from policyengine.model import Grant, Outcome
from policyengine.records import NamedTuple, replace

if TYPE_CHECKING:
    from langchain.agents.middleware import ToolCallRequest
    from langchain_core.runnables import RunnableConfig

EDITED = "hitl_edited_tool_calls"  # where HumanInTheLoopMiddleware keeps what a reviewer made of a call
NOBODY = "Nobody can be asked: the agent has no checkpointer."


class Place(NamedTuple):
    """Where a call is made.

    Attributes:
        gate: whose answers count.
        run: for whom, in the step of the call.
        config: what LangGraph gives to the call; answers are in it.
        by: who answers for a person; empty where nobody can be asked.
        keep: keeps what a person grants for good; None where the host does not.
        suspended: how often calls were interrupted while they ran, by the question whose answer let them; for each time
            they may be started once more.
        tools: for `Parent`.
    """

    gate: Gate
    run: Run
    config: RunnableConfig
    by: str
    keep: Callable[[tuple[Grant, ...]], None] | None
    suspended: Counts
    tools: tuple[str, ...] | None


class Settled(NamedTuple):
    """A decision, and the question whose answer it needed; empty for none."""

    signed: SignedDecision
    question: str = ""


class No(Exception):
    """A call that does not run, and what the model is told."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def call_of(request: ToolCallRequest) -> Call:
    """Give the call as it would run: what a reviewer has made of it, if HumanInTheLoopMiddleware stands further in."""
    call = request.tool_call
    edits = request.state.get(EDITED) if isinstance(request.state, Mapping) else None
    edited = edits.get(call["id"]) if isinstance(edits, Mapping) else None
    final: Any = edited if isinstance(edited, Mapping) else call
    return Call(final["name"], final["args"], call["id"] or "")


def settled(place: Place, call: Call) -> Steps[Settled]:
    """Decide a call, with whatever a person has said about it.

    Raises:
        No: the person said no, or nobody can be asked.
        GraphInterrupt: they have to be asked first.
    """
    if not call.id:
        raise No("adapter.no-call-id", "A call without an id cannot be told from others.")
    signed, question = (yield from asked("before_tool", call, place.run)), ""
    while signed.outcome is Outcome.ASK or (
        signed.outcome is Outcome.ALLOW and is_answered(named(signed), place.config)
    ):
        if not place.by:
            raise No("adapter.no-checkpointer", NOBODY)
        asking_now = asking(place.gate, signed, always=place.keep is not None)
        answer = answer_of(interrupt(asking_now.value, response_schema=SCHEMA))
        if answer is None or answer.call != asking_now.call:
            continue  # it answers something else: ask
        if answer.kind == "reject":
            yield from asked("reject", signed, by=place.by)
            raise No("adapter.rejected", f"A person said no. {answer.message}".strip())
        if answer.kind == "edit":
            call = Call(call.name, answer.arguments or {}, call.id)
            signed = yield from asked("before_tool", call, place.run)
        elif signed.outcome is Outcome.ALLOW:
            break
        elif asking_now.asks <= answer.asks and (answer.kind == "approve" or asking_now.grants):
            signed, question = (yield from _approved(place, call, signed, answer.question)), answer.question
            if signed.outcome is not Outcome.ASK:
                _kept(place, answer, asking_now)
                break
    return Settled(signed, question)


def _kept(place: Place, answer: Answer, asking_now: Asking) -> None:
    if answer.kind == "always" and place.keep is not None:
        place.keep(asking_now.grants)


def _approved(place: Place, call: Call, signed: SignedDecision, question: str) -> Steps[SignedDecision]:
    """Decide once more with the answer, which counts once, and once more for each time that the call was suspended.

    Where the node runs again after a crash the answer is spent, so that the person is asked anew.
    """
    token = yield from asked("approve", signed, by=place.by, answer=f"{question}:{place.suspended[question]}")
    again: SignedDecision = yield from asked("before_tool", call, replace(place.run, approvals=(token,)))
    return again
