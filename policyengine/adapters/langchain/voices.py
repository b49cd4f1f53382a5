"""What may be shown of what a model says, and of what it says that it thinks: the whole of it, or piece by piece.

Providers put texts in different places: in blocks of content, in lists within these (summaries of its reasoning), or
beside the content. Calls are left as they are: they are decided, and a call with other arguments would be another one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.utils._merge import merge_dicts  # as pieces are put together

from policyengine.gate import Delta, Gate, Run
from policyengine.records import NamedTuple

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, AIMessageChunk

M = TypeVar("M", bound="AIMessage")
MAX_DEPTH = 16  # of a text within an answer; what lies deeper is not shown
# Where texts are in a block, and in `additional_kwargs`: in LangChain's own blocks, and in those of Anthropic, OpenAI,
# Bedrock, DeepSeek and OpenRouter.
_IN_BLOCKS = frozenset({"text", "reasoning", "thinking", "refusal", "reasoning_content", "summary"})
_BESIDE = ("reasoning_content", "reasoning", "reasoning_details", "refusal")
_FRAME = ("type", "index")  # what pieces of one block have in common


class Ear(NamedTuple):
    """Who listens to a model; `runtime` is that of its call."""

    gate: Gate
    run: Run
    runtime: object = None


EAR: ContextVar[Ear | None] = ContextVar("policyengine_ear", default=None)


class Place(NamedTuple):
    """Where a text is: its name within the answer, and what puts a piece of it there."""

    name: tuple[Any, ...]
    put: Callable[[Any], Any]

    def at(self, index: Any) -> Place:
        """Give a place in a list that is here."""
        return Place((*self.name, index), lambda inner: self.put([inner]))

    def under(self, key: str, block: Mapping[str, Any]) -> Place:
        """Give a place in an object that is here."""
        frame = {one: block[one] for one in _FRAME if one in block}
        return Place((*self.name, key), lambda inner: self.put({**frame, key: inner}))


_CONTENT = Place(("content",), lambda inner: inner)
_KWARGS = Place(("beside",), lambda inner: inner)


class Voice:
    """One answer, piece by piece; each of its texts is a stream of its own."""

    def __init__(self, ear: Ear) -> None:
        self._ear = ear
        self._name = secrets.token_hex(8)
        self._counts: dict[tuple[Any, ...], int] = {}
        self._places: dict[tuple[Any, ...], Place] = {}

    def piece(self, message: AIMessageChunk, *, last: bool) -> AIMessageChunk:
        """Give what may be shown by now; the last piece gives the rest."""
        blocks = _blocks(message)
        shown = [self._said(one, _place_of(one, 0), final=False) for one in blocks]
        beside = self._beside(message, final=False)
        for place in tuple(self._places.values()) if last else ():
            rest = self._fed(place, "", final=True)
            if rest and place.name[0] == "content":
                shown.append(place.put(rest))
            elif rest:
                beside = merge_dicts(beside, place.put(rest))
        return _with(message, shown, beside)

    def whole(self, message: AIMessage) -> AIMessage:
        """Give what may be shown of an answer that is complete."""
        shown = [self._said(one, Place((*_CONTENT.name, at), _CONTENT.put)) for at, one in enumerate(_blocks(message))]
        return _with(message, shown, self._beside(message))

    def _beside(self, message: AIMessage, *, final: bool = True) -> dict[str, Any]:
        kwargs = message.additional_kwargs
        said = {key: self._said(kwargs[key], _KWARGS.under(key, {}), final=final) for key in _BESIDE if key in kwargs}
        return {**kwargs, **said}

    def _said(self, value: Any, place: Place, *, final: bool = True) -> Any:
        if len(place.name) > MAX_DEPTH:
            return ""
        if isinstance(value, str):
            return self._fed(place, value, final=final)
        if isinstance(value, list):
            return [self._said(one, place.at(_index(one, at)), final=final) for at, one in enumerate(value)]
        if isinstance(value, dict):
            return {
                key: self._said(one, place.under(key, value), final=final) if key in _IN_BLOCKS else one
                for key, one in value.items()
            }
        return value

    def _fed(self, place: Place, text: str, *, final: bool) -> str:
        name = place.name
        self._places.setdefault(name, place)
        at = self._counts.get(name, 0)
        self._counts[name] = at + 1
        delta = Delta(text=text, index=at, stream=f"{self._name}:{name}", final=final)
        return self._ear.gate.on_delta(delta, self._ear.run)


def _place_of(block: Any, otherwise: int) -> Place:
    """Where a block of a piece belongs: pieces of texts that are no blocks all go to one."""
    return Place((*_CONTENT.name, None if isinstance(block, str) else _index(block, otherwise)), _CONTENT.put)


def _index(block: Any, otherwise: int) -> Any:
    return block.get("index", otherwise) if isinstance(block, dict) else otherwise


def _blocks(message: AIMessage) -> list[Any]:
    return [message.content] if isinstance(message.content, str) else list(message.content)


def _with(message: M, shown: list[Any], beside: dict[str, Any]) -> M:
    is_text = isinstance(message.content, str) and all(isinstance(one, str) for one in shown)
    content = "".join(shown) if is_text else [one for one in shown if one != ""]
    update: dict[str, Any] = {"content": content} if content != message.content else {}
    update |= {"additional_kwargs": beside} if beside != message.additional_kwargs else {}
    return message.model_copy(update=update) if update else message
