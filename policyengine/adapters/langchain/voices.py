"""What may be shown of what a model says: the whole of it, or piece by piece."""

from __future__ import annotations

import secrets
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from policyengine.gate import Delta, Gate, Run
from policyengine.records import NamedTuple

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, AIMessageChunk

M = TypeVar("M", bound="AIMessage")


class Ear(NamedTuple):
    """Who listens to a model."""

    gate: Gate
    run: Run


EAR: ContextVar[Ear | None] = ContextVar("policyengine_ear", default=None)


class Voice:
    """One answer, piece by piece; the texts of its blocks are streams of their own."""

    def __init__(self, ear: Ear) -> None:
        self._ear = ear
        self._name = secrets.token_hex(8)
        self._counts: dict[Any, int] = {}

    def piece(self, message: AIMessageChunk, *, last: bool) -> AIMessageChunk:
        """Give what may be shown by now; the last piece gives the rest."""
        blocks = _blocks(message)
        shown = [self._block(block, block.get("index", 0) if isinstance(block, dict) else None) for block in blocks]
        if last:
            rest = [(key, self._fed(key, "", final=True)) for key in tuple(self._counts)]
            shown += [
                text if key is None else {"type": "text", "text": text, "index": key} for key, text in rest if text
            ]
        return _with(message, shown)

    def whole(self, message: AIMessage) -> AIMessage:
        """Give what may be shown of an answer that is complete."""
        return _with(message, [self._block(block, at, final=True) for at, block in enumerate(_blocks(message))])

    def _block(self, block: Any, key: Any, *, final: bool = False) -> Any:
        if isinstance(block, str):
            return self._fed(key, block, final=final)
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            return {**block, "text": self._fed(key, block["text"], final=final)}
        return block

    def _fed(self, key: Any, text: str, *, final: bool) -> str:
        at = self._counts.get(key, 0)
        self._counts[key] = at + 1
        delta = Delta(text=text, index=at, stream=f"{self._name}:{key}", final=final)
        return self._ear.gate.on_delta(delta, self._ear.run)


def _blocks(message: AIMessage) -> list[Any]:
    return [message.content] if isinstance(message.content, str) else list(message.content)


def _with(message: M, shown: list[Any]) -> M:
    is_text = isinstance(message.content, str) and all(isinstance(one, str) for one in shown)
    content = "".join(shown) if is_text else [one for one in shown if one != ""]
    return message if content == message.content else message.model_copy(update={"content": content})
