"""One call of a tool: decided, released where it starts, and its result judged."""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING

from langchain_core.messages import ToolCall
from langgraph.errors import GraphBubbleUp
from langgraph.types import interrupt

from policyengine.adapters.langchain.answers import thawed
from policyengine.adapters.langchain.deciding import No, Place, call_of, settled
from policyengine.adapters.langchain.denials import code_of, denial, refusal, told
from policyengine.adapters.langchain.faces import Handled, Steps, asked
from policyengine.adapters.langchain.guard import Guard, Refused, stands_before, watch
from policyengine.adapters.langchain.results import Given, failure, judged
from policyengine.adapters.langchain.runs import PARENT, Parent
from policyengine.gate import Call, SignedDecision
from policyengine.model import ControlKind, ObligationKind, Outcome, digest_of, freeze

if TYPE_CHECKING:
    from langchain.agents.middleware import ToolCallRequest


def ran(place: Place, request: ToolCallRequest) -> Steps[Given]:
    """Decide a call, let it run, and judge its result; whatever fails on our side is a denial."""
    call = call_of(request)
    try:
        signed, question = yield from settled(place, call)
        if signed.outcome is not Outcome.ALLOW or _ends_run(signed):
            return denial(signed)
        guard = Guard(place.gate, signed)
        ready = _ready(request, call, guard)
    except GraphBubbleUp:  # the host's own control flow, an interrupt above all
        raise
    except Exception as error:  # whatever it is, the call must not run for it
        return _refused(call, error)
    return (yield from _handled(place, ready, guard, question))


def _ends_run(signed: SignedDecision) -> bool:
    """Whether a decision ends the run, or interrupts it: then the call does not run when it is resumed either."""
    control = signed.control
    if control is not None and control.kind is ControlKind.INTERRUPT:
        interrupt({"type": "interrupted", "tool_call_id": signed.call.id, "description": control.text})
    return control is not None and control.kind is not ControlKind.REWRITE


def _ready(request: ToolCallRequest, call: Call, guard: Guard) -> ToolCallRequest:
    """Put a guard before the tool, and into the request the arguments that were decided.

    Raises:
        Refused: a tool that no guard can stand before may not run.
    """
    signed, tool = guard.signed, request.tool
    if digest_of(freeze(signed.call.arguments)) != digest_of(freeze(call.arguments)):
        final = ToolCall(**{**request.tool_call, "args": thawed(signed.call.arguments)})
        request = request.override(tool_call=final)
    watch(request.runtime.config, guard)
    if tool is not None and not stands_before(tool):
        guard.release(Call(tool.name, request.tool_call["args"], signed.call.id))
    return request


def _handled(place: Place, request: ToolCallRequest, guard: Guard, question: str) -> Steps[Given]:
    call, limit = guard.signed.call, _limit(guard.signed)
    above = PARENT.set(Parent(guard.signed.run, call.id, place.tools, request.runtime))
    try:
        given = yield Handled(request, None if limit is None else limit / 1000)
    except GraphBubbleUp:  # it goes on when the run is resumed
        if question:
            place.suspended.add(question)
        raise
    except (Refused, CancelledError) as error:
        if guard.has_started:  # how it ended belongs to its record
            yield from asked("after_tool", failure(error), guard.signed)
        if isinstance(error, CancelledError):
            raise
        return _refused(call, error)
    except Exception as error:
        yield from asked("after_tool", failure(error), guard.signed)
        if limit is None or not isinstance(error, TimeoutError):
            raise  # the tool's own failure, which the host handles
        return refusal(call.name, call.id, "adapter.timed-out", f"It took longer than {limit} ms. It may still go on.")
    finally:
        PARENT.reset(above)
    try:
        shown: Given = yield from judged(given, guard.signed)
        return shown
    except Exception as error:  # what cannot be judged is not shown
        return _refused(call, error)


def _limit(signed: SignedDecision) -> int | None:
    """Milliseconds that the call may take."""
    return next((one.limit for one in signed.obligations if one.kind is ObligationKind.TIMEOUT), None)


def _refused(call: Call, error: Exception) -> Given:
    if isinstance(error, No | Refused):
        return refusal(call.name, call.id, error.code, str(error))
    return refusal(call.name, call.id, code_of(error), told(error))
