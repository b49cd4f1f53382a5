"""What a model says, cleaned while it says it.

No hook of a middleware sees deltas, and LangGraph shows them to clients from callbacks within the model. So where a
gate has content guardrails, the model is called as a copy that cleans its answers and deltas before anybody sees them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import cache
from typing import Any

from langchain.chat_models.base import _ConfigurableModel
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk as Chunk
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableBinding, RunnableWithFallbacks
from langchain_core.runnables.config import ensure_config

from policyengine.adapters.langchain.voices import EAR, Voice
from policyengine.errors import RequestError


def speaking(model: Any) -> Any:
    """Copy a model so that what it says is cleaned for whoever is in `EAR`, with all models that it is made of.

    Raises:
        RequestError: nobody can say what it is made of (`adapter.model`), so its deltas could not be cleaned.
    """
    if isinstance(model, BaseChatModel):
        copy = model.model_copy()
        object.__setattr__(copy, "__class__", _kind(type(model)))
        return copy
    if isinstance(model, _ConfigurableModel):  # of `init_chat_model`: what it is depends on the configuration
        return speaking(model._model(ensure_config()))
    if isinstance(model, RunnableBinding):
        return model.model_copy(update={"bound": speaking(model.bound)})
    if isinstance(model, RunnableWithFallbacks):
        others = [speaking(one) for one in model.fallbacks]
        return model.model_copy(update={"runnable": speaking(model.runnable), "fallbacks": others})
    raise RequestError("adapter.model", f"what a model of type `{type(model).__name__}` says cannot be cleaned")


def _answered(result: ChatResult) -> ChatResult:
    ear = EAR.get()
    if ear is not None:
        for one in result.generations:
            if isinstance(one.message, AIMessage):
                one.message = Voice(ear).whole(one.message)
                one.text = str(one.message.text)
    return result


# ------------------------------------------------------------------------------------------------------ kinds of models
@cache
def _kind(kind: type[BaseChatModel]) -> type[BaseChatModel]:
    """Make the subclass of a model's class whose answers and deltas are cleaned."""

    def _generate(self: Any, *messages: Any, **more: Any) -> ChatResult:
        return _answered(kind._generate(self, *messages, **more))

    async def _agenerate(self: Any, *messages: Any, **more: Any) -> ChatResult:
        return _answered(await kind._agenerate(self, *messages, **more))

    def _stream(self: Any, *messages: Any, run_manager: Any = None, **more: Any) -> Iterator[Chunk]:
        for chunk in _pieces(kind._stream(self, *messages, **more)):
            if run_manager is not None:  # a model that streams to itself shows its deltas by itself
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    async def _astream(self: Any, *messages: Any, run_manager: Any = None, **more: Any) -> AsyncIterator[Chunk]:
        async for chunk in _apieces(kind._astream(self, *messages, **more)):
            if run_manager is not None:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    body: dict[str, Any] = {"__module__": kind.__module__, "_generate": _generate, "_agenerate": _agenerate}
    own = {"_stream": _stream, "_astream": _astream}
    body |= {name: own[name] for name in own if getattr(kind, name) is not getattr(BaseChatModel, name)}
    made = type(kind.__name__, (kind,), body)
    for name in ("_stream_chat_model_events", "_astream_chat_model_events"):
        setattr(made, name, None)  # events of a model's own making are made of its deltas instead
    return made


def _pieces(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Clean deltas, each one late: only with the next it is known whether it is the last."""
    ear, held = EAR.get(), None
    voice = None if ear is None else Voice(ear)
    for chunk in chunks:
        if held is not None:
            yield _piece(voice, held, last=False)
        held = chunk
    if held is not None:
        yield _piece(voice, held, last=True)


async def _apieces(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """Do as `_pieces`."""
    ear, held = EAR.get(), None
    voice = None if ear is None else Voice(ear)
    async for chunk in chunks:
        if held is not None:
            yield _piece(voice, held, last=False)
        held = chunk
    if held is not None:
        yield _piece(voice, held, last=True)


def _piece(voice: Voice | None, chunk: Chunk, *, last: bool) -> Chunk:
    if voice is None or not isinstance(chunk.message, AIMessageChunk):
        return chunk
    message = voice.piece(chunk.message, last=last)
    return chunk if message is chunk.message else Chunk(message=message, generation_info=chunk.generation_info)
