"""What a model says while it says it: cleaned before a client sees it, in every way that LangGraph streams."""

from __future__ import annotations

import asyncio
import functools
import operator
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain.chat_models import base
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableLambda

from policyengine.adapters.langchain.speaking import speaking
from policyengine.model import Outcome
from tests.adapters.agents import CONFIG, GO, RUN, Model, Tools, agent_of, results, says, sync, world
from tests.gate.worlds import Table
from tests.policies.guardrails.contents import content

KEY = "AKIA" + "Z7Q3" * 4
TEXT = f"the key is {KEY} and that is all that there is to say" + " and so on" * 200 + "."


def _cut(text: str, size: int = 3) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _chunk(piece: Any, **more: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=piece, **more))


class Streaming(Model):
    """Streams its lines, which are lists of pieces of content, or calls."""

    tells: bool = False  # whether it shows its deltas by itself, as some integrations do

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Iterator[Any]:
        self._shown.append(messages)
        line = self.lines.pop(0) if self.lines else ["done"]
        if isinstance(line, AIMessage):
            yield _chunk(
                line.content,
                tool_call_chunks=[
                    tool_call_chunk(name=one["name"], args='{"command": "x"}', id=one["id"], index=at)
                    for at, one in enumerate(line.tool_calls)
                ],
            )
            return
        for piece in line:
            chunk = _chunk(piece)
            if run_manager is not None and self.tells:
                run_manager.on_llm_new_token(str(piece), chunk=chunk)
            yield chunk


class AsyncStreaming(Streaming):
    """The same for event loops."""

    async def _astream(self, *messages: Any, **more: Any) -> AsyncIterator[Any]:
        for chunk in self._stream(*messages, **more):
            yield chunk


def _sync(agent: Any, **more: Any) -> list[Any]:
    return list(agent.stream(GO, CONFIG, context=RUN, **more))


def _async(agent: Any, **more: Any) -> list[Any]:
    async def collect() -> list[Any]:
        return [one async for one in agent.astream(GO, CONFIG, context=RUN, **more)]

    return asyncio.run(collect())


def _events(agent: Any) -> list[Any]:
    async def collect() -> list[Any]:
        return [one async for one in agent.astream_events(GO, CONFIG, context=RUN, version="v2")]

    return asyncio.run(collect())


STREAMS = pytest.mark.parametrize("stream", [_sync, _async])
KINDS = pytest.mark.parametrize("kind", [Streaming, AsyncStreaming])


def _agent(kind: type[Streaming], line: Any, *, cleans: bool = True, **more: Any) -> Any:
    made = world(Table({"rm": Outcome.DENY}), content=content() if cleans else None)
    return agent_of(made, kind(lines=[line], **more), Tools().tools("ls", "rm"))


@STREAMS
@KINDS
def test_a_secret_is_cleaned_out_of_deltas_that_each_hold_a_part_of_it(kind: type[Streaming], stream: Any) -> None:
    told = stream(_agent(kind, _cut(TEXT)), stream_mode="messages")
    pieces = [str(message.content) for message, _ in told if isinstance(message, AIMessageChunk)]
    shown = "".join(pieces)
    assert (KEY in shown, "AKIA" in shown) == (False, False)
    assert shown.startswith("the key is ")
    assert shown.endswith("and so on.")
    assert len([piece for piece in pieces if piece]) > 2  # it still is a stream


@STREAMS
@KINDS
def test_what_is_kept_is_what_was_shown(kind: type[Streaming], stream: Any) -> None:
    told = stream(_agent(kind, _cut(TEXT)), stream_mode=["messages", "values"])
    messages = [item[0] for mode, item in told if mode == "messages"]
    shown = "".join(str(message.content) for message in messages if isinstance(message, AIMessageChunk))
    assert [item for mode, item in told if mode == "values"][-1]["messages"][-1].content == shown


@STREAMS
def test_blocks_are_streams_of_their_own(stream: Any) -> None:
    line = [[{"type": "text", "text": piece, "index": at % 2}] for at, piece in enumerate(_cut(KEY + "  ") * 2)]
    told = stream(_agent(AsyncStreaming, line), stream_mode=["messages", "values"])
    last = [item for mode, item in told if mode == "values"][-1]["messages"][-1]
    assert KEY not in str(last.content)
    assert {block["index"] for block in last.content} == {0, 1}


@STREAMS
def test_a_stream_without_secrets_is_what_the_model_said(stream: Any) -> None:
    told = stream(_agent(AsyncStreaming, _cut("nothing to hide here")), stream_mode="messages")
    assert "".join(message.content for message, _ in told) == "nothing to hide here"


@STREAMS
@pytest.mark.parametrize("cleans", [False, True])
def test_calls_are_streamed_and_decided_as_ever(stream: Any, cleans: bool) -> None:
    agent = _agent(AsyncStreaming, says(("ls", {}, "c1"), ("rm", {}, "c2")), cleans=cleans)
    stream(agent, stream_mode="messages")
    found = results(agent.get_state(CONFIG).values)
    assert {id: one.status for id, one in found.items()} == {"c1": "success", "c2": "error"}


@KINDS
def test_events_of_the_model_are_cleaned_too(kind: type[Streaming]) -> None:
    told = [one["data"] for one in _events(_agent(kind, _cut(TEXT))) if one["event"].startswith("on_chat_model")]
    assert len(told) > 5
    assert KEY not in str(told)


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
def test_events_of_langgraphs_own_protocol_are_cleaned_too() -> None:
    run = _agent(Streaming, _cut(TEXT)).stream_events(GO, CONFIG, context=RUN, version="v3")
    told = [str(event) for event in run]
    assert any("the k" in one for one in told)
    assert not any("AKIA" in one for one in told)


def test_a_model_that_shows_its_deltas_by_itself_shows_cleaned_ones() -> None:
    class Selfish(Streaming):
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
            from langchain_core.language_models.chat_models import generate_from_stream

            return generate_from_stream(self._stream(messages, stop, run_manager=run_manager, **more))

    agent = _agent(Selfish, _cut(TEXT), tells=True, disable_streaming=True)
    told = _sync(agent, stream_mode="messages")
    assert "AKIA" not in "".join(str(message.content) for message, _ in told)


def test_a_model_that_does_not_stream_is_cleaned_as_a_whole() -> None:
    made = world(content=content())
    told = _sync(agent_of(made, Model(lines=[AIMessage(TEXT)]), Tools().tools("ls")), stream_mode="messages")
    assert (len(told), KEY in str(told)) == (1, False)


def test_without_content_guardrails_the_model_says_what_it_says() -> None:
    state = sync(agent_of(world(), Model(lines=[AIMessage(TEXT)]), Tools().tools("ls")), GO)
    assert state["messages"][-1].content == TEXT


def test_a_speaking_model_is_of_its_own_kind_and_shares_nothing_that_changes() -> None:
    model = Streaming(lines=[AIMessage(TEXT)])
    copy = speaking(model)
    assert isinstance(copy, Streaming)
    assert (type(copy).__name__, type(copy), type(model)) == ("Streaming", type(speaking(model)), Streaming)
    assert copy.invoke("x").content == TEXT  # nobody listens, nothing is cleaned
    assert copy.model_dump() == model.model_dump()


# ----------------------------------------------------------------------------------------------------------- reasoning
def _block(*path: str) -> Any:
    """Puts a text where some provider does: in an object, or in a list of objects."""

    def make(text: str) -> Any:
        *outer, inner = path
        made: Any = {"type": inner, inner: text, "index": 0}
        for key in reversed(outer):
            made = {"type": "reasoning", key: [made] if key == "summary" else made, "index": 0}
        return made

    return make


BLOCKS = [_block("reasoning"), _block("thinking"), _block("refusal"), _block("summary", "text")]
BLOCKS += [_block("reasoning_content", "text")]


@pytest.mark.parametrize("block", BLOCKS)
@STREAMS
def test_what_a_model_says_that_it_thinks_is_cleaned_too(block: Any, stream: Any) -> None:
    line = [*([block(piece)] for piece in _cut(TEXT)), [{"type": "text", "text": "so", "index": 1}]]
    told = stream(_agent(Streaming, line), stream_mode="messages")
    whole = functools.reduce(operator.add, [one for one, _ in told if isinstance(one, AIMessageChunk)])
    assert (KEY in str(whole.content), "all that there is to say" in str(whole.content)) == (False, True)
    assert [one["index"] for one in whole.content if isinstance(one, dict)] == [0, 1]


BESIDE = [
    lambda text: {"reasoning_content": text},
    lambda text: {"reasoning": {"summary": [{"text": text, "index": 0}]}},
]


@pytest.mark.parametrize("put", BESIDE)
@STREAMS
def test_and_where_it_lies_beside_the_content(put: Any, stream: Any) -> None:
    class Thinking(Streaming):
        def _stream(self, *_: Any, **__: Any) -> Iterator[Any]:
            for piece in _cut(TEXT, 200):
                yield _chunk("", additional_kwargs=put(piece))
            yield _chunk("so")

    told = stream(_agent(Thinking, None), stream_mode="messages")
    whole = functools.reduce(operator.add, [one for one, _ in told if isinstance(one, AIMessageChunk)])
    said = str(whole.additional_kwargs)
    assert (whole.content, KEY in said, "all that there is to say" in said) == ("so", False, True)


@pytest.mark.parametrize("block", BLOCKS)
def test_a_thought_that_is_not_streamed_is_cleaned_as_well(block: Any) -> None:
    line = AIMessage([block(TEXT), {"type": "tool_use", "id": "c1", "name": "ls", "input": {"command": KEY}}])
    line.additional_kwargs = {"reasoning_content": TEXT, "other": TEXT}
    state = sync(agent_of(world(content=content()), Model(lines=[line]), Tools().tools("ls")), GO)
    kept = state["messages"][1]
    assert (KEY in str(kept.content[0]), KEY in str(kept.additional_kwargs["reasoning_content"])) == (False, False)
    assert (kept.content[1]["input"], kept.additional_kwargs["other"]) == ({"command": KEY}, TEXT)


def test_a_text_that_lies_too_deep_is_not_shown() -> None:
    made: Any = TEXT
    for _ in range(5000):
        made = {"reasoning": made}
    state = sync(agent_of(world(content=content()), Model(lines=[AIMessage([made])]), []), GO)
    assert KEY not in repr(state["messages"][1].content)[:400]


# -------------------------------------------------------------------------------------------- models made of others
def _configurable(model: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(base, "_init_chat_model_helper", lambda **_: model)
    return base._ConfigurableModel(default_config={"model": "x"}, configurable_fields="any")


MADE = [
    _configurable,
    lambda model, _: model.with_fallbacks([Streaming(lines=[])]),
    lambda model, _: Failing(lines=[]).with_fallbacks([model]),
]


class Failing(Streaming):
    """Is never there."""

    def _stream(self, *_: Any, **__: Any) -> Iterator[Any]:
        raise OSError("away")
        yield


@pytest.mark.parametrize("make", MADE)
def test_a_model_that_is_made_of_others_is_cleaned(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make(Streaming(lines=[_cut(TEXT)]), monkeypatch)
    told = _sync(agent_of(world(content=content()), model, Tools().tools("ls")), stream_mode="messages")
    shown = "".join(str(message.content) for message, _ in told)
    assert (KEY in shown, "all that there is to say" in shown) == (False, True)


def test_a_model_of_which_nobody_can_say_what_it_is_made_of_is_not_called() -> None:
    class Other(RunnableLambda[Any, Any]):
        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

    called: list[Any] = []
    model = Other(called.append)
    state = sync(agent_of(world(content=content()), model, Tools().tools("ls")), GO)  # type: ignore[arg-type]
    assert (called, "adapter.model" in state["messages"][-1].content) == ([], True)
