"""What a tool gave, judged as the model would see it; what the host keeps beside it stays as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as changed
from typing import Any, TypeAlias

from langchain_core.messages import BaseMessage, RemoveMessage, ToolMessage, convert_to_messages
from langgraph.types import Command

from policyengine.adapters.langchain.answers import thawed
from policyengine.adapters.langchain.faces import Steps, asked
from policyengine.errors import RequestError
from policyengine.gate import Result, SignedDecision
from policyengine.model import Control, ControlKind, ObligationKind, Outcome, freeze
from policyengine.visible import visible

Given: TypeAlias = "ToolMessage | Command[Any] | list[ToolMessage | Command[Any]]"
MARK = "policyengine"  # in a message's `additional_kwargs`: what became of the call, for the host and not for the model
MESSAGES = "messages"
WITHHELD = "[withheld: this result may not be shown]"
_CHANGING = frozenset({ObligationKind.TRUNCATE, ObligationKind.REDACT, ObligationKind.NEUTRALISE})


# -------------------------------------------------------------------------------------------------------------- denials
def refusal(name: str, call_id: str, code: str, message: str, stop: str = "") -> ToolMessage:
    """Tell the model that a call may not run, with the reason's code."""
    mark = {"outcome": Outcome.DENY.word, "codes": [code], **({"stop": stop} if stop else {})}
    lines = [visible(line) for line in message.splitlines()] + ([] if f"[{code}]" in message else [f"[{code}]"])
    return ToolMessage(
        "\n".join(("policyengine: deny", *lines)),
        name=name,
        tool_call_id=call_id,
        status="error",
        additional_kwargs={MARK: mark},
    )


def denial(signed: SignedDecision) -> ToolMessage:
    """Tell the model why a call may not run; a decision that ends the run says with which text."""
    control = signed.control
    stop = control.text or "The run was ended." if control is not None and control.kind is ControlKind.STOP else ""
    code = next((one.code for one in signed.findings if one.outcome is signed.outcome), "gate.run-ends")
    return refusal(signed.call.name, signed.call.id, code, _why(signed, control), stop)


def _why(signed: SignedDecision, control: Control | None) -> str:
    if signed.outcome is Outcome.ALLOW and control is not None:
        return control.text or f"The answer was to {control.kind.value} the run."
    return signed.reason


def stopped(messages: Sequence[BaseMessage]) -> str:
    """Give the text that the latest calls' decisions end the run with; empty where they do not."""
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            return ""
        mark = message.additional_kwargs.get(MARK)
        if isinstance(mark, dict) and isinstance(mark.get("stop"), str):
            return str(mark["stop"])
    return ""


# -------------------------------------------------------------------------------------------------------------- results
def judged(given: Any, signed: SignedDecision) -> Steps[Any]:
    """Judge all messages of a result together and put them back in their places.

    Raises:
        RequestError: it holds something that cannot be read for messages.
    """
    found = list(_messages(given))
    contents = [thawed(freeze(message.content)) for message in found]
    kept = [_plain(getattr(message, "artifact", None)) for message in found]
    one = len(found) == 1
    result: Result = yield from asked(
        "after_tool", Result(contents[0] if one else contents, raw=kept[0] if one else kept), signed
    )
    content, raw = (thawed([value] if one else value) for value in (result.content, result.raw))
    shown = content if isinstance(content, list) and len(content) == len(found) else [WITHHELD] * len(found)
    beside = raw if isinstance(raw, list) and len(raw) == len(found) else [None] * len(found)
    return _put(given, iter([_shown(*each, result, signed) for each in zip(found, shown, beside, strict=True)]))


def failure(error: BaseException) -> Result:
    """Say of a tool that raised no more than what kind of error it was."""
    return Result("", error=type(error).__name__)


def _shown(message: BaseMessage, content: Any, raw: Any, result: Result, signed: SignedDecision) -> BaseMessage:
    update: dict[str, Any] = {} if content == message.content else {"content": content or ""}
    artifact = getattr(message, "artifact", None)
    if result.withheld:
        update |= {"additional_kwargs": {}, "artifact": None}
    elif _plain(artifact) is not None:
        update |= {"artifact": raw} if raw != artifact else {}
    elif any(one.kind in _CHANGING for one in signed.obligations):
        update["artifact"] = None  # it is no data that could be cut or cleaned
    if result.error:
        kwargs = update.get("additional_kwargs", message.additional_kwargs)
        update |= {"status": "error", "additional_kwargs": {**kwargs, MARK: {"note": result.error}}}
    if not isinstance(message, ToolMessage):
        update = {key: value for key, value in update.items() if key not in {"artifact", "status"}}
    return message.model_copy(update=update)


def _plain(artifact: object) -> Any:
    """An artifact that is JSON data; None for anything else, which no model sees and nobody can look into."""
    try:
        return thawed(freeze(artifact))
    except RequestError:
        return None


# ------------------------------------------------------------------------------------------------- messages in a result
def _messages(given: Any) -> Any:
    if isinstance(given, BaseMessage):
        if not isinstance(given, RemoveMessage):
            yield given
    elif isinstance(given, Command):
        yield from (one for message in _update(given) for one in _messages(message))
    elif isinstance(given, list):
        yield from (one for item in given for one in _messages(item))
    else:
        raise RequestError("adapter.result", f"a result of type `{type(given).__name__}` cannot be looked at")


def _update(command: Command[Any]) -> list[BaseMessage]:
    update = command.update
    if update is None:
        return []
    if not isinstance(update, Mapping):
        raise RequestError("adapter.result", "an update that is no object cannot be looked at")
    messages = update.get(MESSAGES) or []
    return convert_to_messages(messages if isinstance(messages, list | tuple) else [messages])


def _put(given: Any, messages: Any) -> Any:
    if isinstance(given, BaseMessage):
        return given if isinstance(given, RemoveMessage) else next(messages)
    if isinstance(given, list):
        return [_put(item, messages) for item in given]
    if not isinstance(given.update, Mapping) or not given.update.get(MESSAGES):
        return given
    return changed(given, update={**given.update, MESSAGES: [_put(one, messages) for one in _update(given)]})
