"""What a tool gave, judged as the model would see it; what the host keeps beside it stays as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as changed
from typing import Any, TypeAlias

from langchain_core.messages import BaseMessage, RemoveMessage, ToolMessage, convert_to_messages
from langgraph.types import Command

from policyengine.adapters.langchain.answers import thawed
from policyengine.adapters.langchain.denials import MARK
from policyengine.adapters.langchain.faces import Steps, asked
from policyengine.adapters.langchain.stepping import STEP
from policyengine.errors import RequestError
from policyengine.gate import Result, SignedDecision
from policyengine.model import ObligationKind, freeze

Given: TypeAlias = "ToolMessage | Command[Any] | list[ToolMessage | Command[Any]]"
MESSAGES = "messages"
FAILED = "the tool failed"  # what it says about that is its content
WITHHELD = "[withheld: this result may not be shown]"
_CHANGING = frozenset({ObligationKind.TRUNCATE, ObligationKind.REDACT, ObligationKind.NEUTRALISE})


def judged(given: Any, signed: SignedDecision) -> Steps[Any]:
    """Judge all messages of a result together and put them back in their places.

    Raises:
        RequestError: it holds something that cannot be read for messages.
    """
    found = list(_messages(given))
    contents = [thawed(freeze(message.content)) for message in found]
    kept = [_plain(getattr(message, "artifact", None)) for message in found]
    one, beside = len(found) == 1, any(artifact is not None for artifact in kept)
    said = Result(
        contents[0] if one else contents,
        raw=(kept[0] if one else kept) if beside else None,
        error=FAILED if any(getattr(message, "status", "") == "error" for message in found) else "",
    )
    result: Result = yield from asked("after_tool", said, signed)
    shown, raws = (
        _each(value, found)
        for value in ([result.content] if one else result.content, [result.raw] if one else result.raw)
    )
    return _put(given, iter([_shown(*each, result, signed) for each in zip(found, shown, raws, strict=True)]))


def _each(value: Any, found: Sequence[BaseMessage]) -> list[Any]:
    """Give what is left for each message: of the last ones nothing where a limit was reached before them."""
    left = thawed(value)
    if not isinstance(left, list) or len(left) > len(found):
        return [WITHHELD if isinstance(left, str) else None] * len(found)
    return left + [None] * (len(found) - len(left))


def failure(error: BaseException) -> Result:
    """Say of a tool that raised no more than what kind of error it was."""
    return Result("", error=type(error).__name__)


def _shown(message: BaseMessage, content: Any, raw: Any, result: Result, signed: SignedDecision) -> BaseMessage:
    update: dict[str, Any] = {} if content == message.content else {"content": content or ""}
    if MARK in message.additional_kwargs:  # no tool says in our name what became of its call
        update["additional_kwargs"] = {key: one for key, one in message.additional_kwargs.items() if key != MARK}
    artifact = getattr(message, "artifact", None)
    if result.withheld:
        update |= {"additional_kwargs": {}, "artifact": None}
    elif (plain := _plain(artifact)) is not None:
        update |= {"artifact": raw} if raw != plain else {}
    elif any(one.kind in _CHANGING for one in signed.obligations):
        update["artifact"] = None  # it is no data that could be cut or cleaned
    if result.error not in {"", FAILED}:
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
    messages = update.get(MESSAGES) if isinstance(update, Mapping) else update
    if messages is None:
        return []
    if isinstance(update, Mapping):
        return convert_to_messages(messages if isinstance(messages, list | tuple) else [messages])
    if isinstance(messages, list | tuple) and all(isinstance(one, BaseMessage) for one in messages):
        return list(messages)
    raise RequestError("adapter.result", "an update without a list of messages cannot be looked at")


def _put(given: Any, messages: Any) -> Any:
    if isinstance(given, BaseMessage):
        return given if isinstance(given, RemoveMessage) else next(messages)
    if isinstance(given, list):
        return [_put(item, messages) for item in given]
    put = [_put(one, messages) for one in _update(given)]
    if not isinstance(given.update, Mapping):
        return changed(given, update=put) if put else given
    kept = {key: value for key, value in given.update.items() if key != STEP}  # no tool says which step it is in
    return changed(given, update={**kept, MESSAGES: put} if put else kept)
