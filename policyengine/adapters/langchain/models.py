"""One call of the model: what it may see, and what becomes of what it says."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from policyengine.adapters.langchain.answers import thawed
from policyengine.adapters.langchain.denials import denial, refusal, stopped
from policyengine.adapters.langchain.faces import Steps, asked
from policyengine.adapters.langchain.searching import Search
from policyengine.adapters.langchain.speaking import speaking
from policyengine.adapters.langchain.stepping import STEP, Step, named
from policyengine.adapters.langchain.voices import EAR, Ear, Voice
from policyengine.adapters.langchain.vouched import Genuine
from policyengine.gate import Call, Gate, Message, Run, SignedDecision, SignedExposure, Source
from policyengine.model import Outcome
from policyengine.visible import visible

Tools: TypeAlias = Iterable[BaseTool | dict[str, Any]]
# Settings that would bind tools past the request's own: of any model, of OpenAI's and of Anthropic's.
_TOOLS = frozenset({"tools", "functions", "web_search_options", "mcp_servers"})


def new_step(request: ModelRequest[Any]) -> Step:
    """Name a call of the model, and the model; where two policies stand before it, they are in one step."""
    above = EAR.get()
    known = above.run.context.step_id if above is not None and above.runtime is request.runtime else ""
    model = getattr(request.model, "model_name", None) or getattr(request.model, "model", None)
    return Step(id=known or secrets.token_hex(8), model=model if isinstance(model, str) else "", run="")


def names_of(tools: Tools) -> tuple[str, ...]:
    """Give the names of tools that run here. Those of the provider run where nothing can stand before them."""
    return tuple(tool.name for tool in tools if isinstance(tool, BaseTool))


# ----------------------------------------------------------------------------------------------------- before and after
def prepared(
    gate: Gate, run: Run, request: ModelRequest[Any], is_genuine: Genuine, search: Search | None
) -> Steps[ModelRequest[Any]]:
    """Give the request with the tools and messages that the model may see.

    Raises:
        Unsent: the model is not to be called.
    """
    ending = stopped(request.state.get("messages", ()))
    if ending:
        raise Unsent(ending)
    seen = [message for message in request.messages if message.content]  # the host's own prompt is not among them
    about = [_about(gate, message, is_genuine) for message in seen]
    names = names_of(request.tools)
    catalogue = names if search is None else search.catalogue(names, request.tools)
    exposed: SignedExposure = yield from asked("before_model", about, catalogue, run)
    if _is_refused(exposed, seen):
        raise Unsent(unsent(_reasons(exposed)))
    cleaned = {
        id(message): message.model_copy(update={"content": thawed(gate.cleaned(said, duty))})
        for message, said, duty in zip(seen, about, exposed.duties, strict=True)
        if duty.obligations or duty.outcome is not Outcome.ALLOW
    }
    tools = [tool for tool in request.tools if isinstance(tool, BaseTool) and tool.name in exposed.visible]
    ready = request.override(tools=list(tools), messages=[cleaned.get(id(one), one) for one in request.messages])
    settings = {key: value for key, value in ready.model_settings.items() if key not in _TOOLS}
    ready = ready.override(model_settings=settings)
    return ready.override(model=speaking(ready.model)) if gate.cleans else ready


def answered(gate: Gate, run: Run, response: ModelResponse[Any], tools: Tools) -> ExtendedModelResponse[Any]:
    """Give what may be shown of the model's answer, and let the state keep its step, with the tools that it saw."""
    context, shown = run.context, [*names_of(tools)]
    step = Step(id=context.step_id, model=context.model, run=named(run), tools=shown, replies=run.replies + 1)
    voice = Voice(Ear(gate, run))
    said = [voice.whole(one) if gate.cleans and isinstance(one, AIMessage) else one for one in response.result]
    return ExtendedModelResponse(replace(response, result=said), Command(update={STEP: step}))


class Unsent(Exception):
    """Why the model is not called, in its place."""


def _about(gate: Gate, message: BaseMessage, is_genuine: Genuine) -> Message:
    genuine = isinstance(message, HumanMessage) and is_genuine(message) is True
    if isinstance(message, ToolMessage):
        source = gate.source(message.name or "")
    else:
        source = Source.OUTPUT if isinstance(message, AIMessage) else Source.INPUT
    return Message(message.content, source, id=message.id or "", genuine=genuine)


def _is_refused(exposed: SignedExposure, seen: Sequence[BaseMessage]) -> bool:
    """Whether the model is not called: what a person has just said may not be sent. Older messages are replaced."""
    wrong = [duty.outcome is not Outcome.ALLOW for duty in exposed.duties]
    if exposed.outcome is not Outcome.ALLOW and not any(wrong):
        return True
    last = max((at for at, message in enumerate(seen) if isinstance(message, AIMessage)), default=-1)
    return any(wrong[at] for at in range(last + 1, len(seen)) if isinstance(seen[at], HumanMessage))


def _reasons(exposed: SignedExposure) -> list[str]:
    findings = [*exposed.findings, *(one for duty in exposed.duties for one in duty.findings)]
    return [f"{one.message} [{one.code}]" for one in findings if one.outcome is not Outcome.ALLOW]


def unsent(reasons: Iterable[str]) -> str:
    """Say in the model's place why it was not called."""
    return "\n".join(("policyengine: the model was not called", *map(visible, dict.fromkeys(reasons))))


# ----------------------------------------------------------------------------------------------------------- its reply
def pending(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """Give the calls of the latest reply that nobody has answered; structured output is answered already."""
    last = next((at for at in range(len(messages) - 1, -1, -1) if isinstance(messages[at], AIMessage)), None)
    if last is None:
        return []
    answered = {message.tool_call_id for message in messages[last + 1 :] if isinstance(message, ToolMessage)}
    reply = messages[last]
    return [one for one in reply.tool_calls if one["id"] not in answered] if isinstance(reply, AIMessage) else []


def judged_set(run: Run, calls: Sequence[ToolCall]) -> Steps[list[ToolMessage]]:
    """Judge the calls of a reply as a set, and answer those that are denied: then they never reach their tools."""
    wanted = [Call(one["name"], one["args"], one["id"] or "") for one in calls]
    signed: Sequence[SignedDecision] = yield from asked("after_model", wanted, run)
    denied = {one.call.id: denial(one) for one in signed if one.outcome is Outcome.DENY and one.call.id}
    return list(denied.values())


def denied_set(calls: Sequence[ToolCall], code: str, message: str) -> list[ToolMessage]:
    """Answer all calls of a reply that could not be judged."""
    return [refusal(one["name"], one["id"], code, message) for one in calls if one["id"]]
