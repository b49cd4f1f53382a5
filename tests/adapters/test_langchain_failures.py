"""Whatever breaks on our side is a denial with a code, and never a call that runs."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from policyengine.adapters.langchain import PolicyMiddleware, Vouched
from policyengine.errors import StoreError
from policyengine.gate import Gate
from policyengine.model import Outcome
from policyengine.stores import MemoryRunStates
from tests.adapters.agents import FACES, GO, Face, Model, Tools, agent_of, answer, codes, results, says, sync, world
from tests.gate.worlds import Table, World
from tests.policies.guardrails.contents import content

both = pytest.mark.parametrize("face", FACES)
CALL = ("bash", {"command": "x"}, "c1")
KEY = "AKIA" + "Z7Q3" * 4


class Broken(Exception):
    """Something that nobody expects."""


class BrokenStates(MemoryRunStates):
    """A store that is down."""

    def load(self, scope_id: str) -> Any:
        raise StoreError("store.down", "nobody answers")


def _agent(made: World) -> tuple[Any, Model, Tools]:
    model, tools = Model(lines=[says(CALL)]), Tools()
    return agent_of(made, model, tools.tools("bash")), model, tools


def _breaking(made: World, question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one question of the gate raise what no gate should."""

    def fail(*_: Any, **__: Any) -> Any:
        raise Broken("with a secret")

    async def afail(*_: Any, **__: Any) -> Any:
        fail()

    monkeypatch.setattr(Gate, question, fail)
    if hasattr(Gate, f"a{question}"):
        monkeypatch.setattr(Gate, f"a{question}", afail)
    assert made


# ------------------------------------------------------------------------------------------------------------- the gate
@both
@pytest.mark.parametrize("question", ["before_model", "after_model", "before_tool", "release"])
def test_a_gate_that_breaks_lets_nothing_run(face: Face, question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = world()
    agent, model, tools = _agent(made)
    _breaking(made, question, monkeypatch)
    state = face(agent, GO)
    assert tools.ran == []
    told = str(state["messages"][-1].content if question == "before_model" else results(state)["c1"].content)
    assert ("adapter.failed" in told, "secret" in told) == (True, False)
    assert len(model.shown) == (0 if question == "before_model" else 2)


@both
def test_a_result_that_cannot_be_judged_is_not_shown(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    made = world()
    agent, _, tools = _agent(made)
    _breaking(made, "after_tool", monkeypatch)
    state = face(agent, GO)
    assert (tools.commands, codes(results(state)["c1"])) == (["x"], ["adapter.failed"])
    assert "bash did" not in results(state)["c1"].content


@both
@pytest.mark.parametrize("question", ["question", "approve", "reject"])
def test_a_person_who_cannot_be_asked_or_heard_has_not_said_yes(
    face: Face, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world(Table({"bash": Outcome.ASK}))
    agent, _, tools = _agent(made)
    if question == "question":
        _breaking(made, question, monkeypatch)
        state = face(agent, GO)
    else:
        state = face(agent, GO)
        _breaking(made, question, monkeypatch)
        state = face(agent, answer(state, question))
    assert (tools.ran, codes(results(state)["c1"])) == ([], ["adapter.failed"])


@both
def test_a_log_that_is_full_denies(face: Face) -> None:
    made = world()
    agent, model, tools = _agent(made)
    made.log.fail()
    state = face(agent, GO)
    assert (tools.ran, model.tools) == ([], [])
    assert codes(results(state)["c1"])[0].startswith(("gate.audit", "audit", "exposure"))


@both
def test_a_store_that_is_down_denies(face: Face) -> None:
    agent, _, tools = _agent(world(states=BrokenStates()))
    face(agent, GO)
    assert tools.ran == []


@both
@pytest.mark.parametrize("raised", [Broken, KeyError, RecursionError])
def test_an_identity_that_breaks_is_nobody(face: Face, raised: type[Exception]) -> None:
    from langchain.agents import create_agent

    def identity(runtime: Any) -> Any:
        raise raised("with a secret")

    model, tools = Model(lines=[says(CALL)]), Tools()
    policy = PolicyMiddleware(world().gate, Vouched(identity=identity))
    state = face(create_agent(model, tools.tools("bash"), middleware=[policy]), GO)
    assert (tools.ran, model.shown) == ([], [])
    assert "secret" not in state["messages"][-1].content


@both
def test_an_identity_that_is_lost_between_reply_and_call_denies_the_call(face: Face) -> None:
    from langchain.agents import create_agent
    from langgraph.prebuilt import ToolRuntime

    from tests.adapters.agents import RUN

    def identity(runtime: Any) -> Any:
        return None if isinstance(runtime, ToolRuntime) else RUN

    model, tools = Model(lines=[says(CALL)]), Tools()
    policy = PolicyMiddleware(world().gate, Vouched(identity=identity))
    state = face(create_agent(model, tools.tools("bash"), middleware=[policy]), GO)
    assert (tools.ran, codes(results(state)["c1"])) == ([], ["adapter.failed"])


def test_a_model_that_breaks_is_the_hosts_to_handle() -> None:
    class Breaks(Model):
        def _generate(self, *_: Any, **__: Any) -> Any:
            raise Broken

    with pytest.raises(Broken):
        sync(agent_of(world(), Breaks(lines=[]), Tools().tools("bash")), GO)


# ------------------------------------------------------------------------------------------------------------- messages
@both
def test_messages_are_cleaned_on_their_way_to_the_model_and_kept_as_they_were(face: Face) -> None:
    model = Model(lines=[])
    agent = agent_of(world(content=content(strict=True)), model, Tools().tools("bash"))
    state = face(agent, {"messages": [HumanMessage(f"use {KEY} please", id="h")]})
    assert (KEY in str(model.shown), "please" in str(model.shown)) == (False, True)
    assert (state["messages"][0].content, model.shown[0][0].id) == (f"use {KEY} please", "h")


@both
def test_blocks_are_cleaned_as_blocks(face: Face) -> None:
    model = Model(lines=[])
    agent = agent_of(world(content=content(strict=True)), model, Tools().tools("bash"))
    blocks: Any = [{"type": "text", "text": KEY}, {"type": "text", "text": "b"}]
    face(agent, {"messages": [HumanMessage(blocks)]})
    shown: Any = model.shown[0][0].content
    assert (KEY in str(shown), shown[1]) == (False, blocks[1])


@both
def test_what_the_model_says_is_cleaned(face: Face) -> None:
    model = Model(lines=[AIMessage(f"it is {KEY}", id="a")])
    state = face(agent_of(world(content=content(strict=True)), model, Tools().tools("bash")), GO)
    assert (KEY in state["messages"][-1].content, state["messages"][-1].id) == (False, "a")


def _denying() -> Any:
    from policyengine.config.detectors import compile_detectors
    from policyengine.policies.guardrails.content import Action, Content, Source
    from tests.policies.guardrails.contents import documents

    return Content(compile_detectors(documents()), overrides={"secret": dict.fromkeys(Source, Action.DENY)})


@both
def test_what_a_person_may_not_say_is_answered_without_the_model(face: Face) -> None:
    model = Model(lines=[AIMessage("hello")])
    agent = agent_of(world(content=_denying()), model, Tools().tools("bash"))
    state = face(agent, {"messages": [HumanMessage(KEY)]})
    told = state["messages"][-1].content
    assert (model.shown, "secret." in told, KEY in told) == ([], True, False)
    face(agent, {"messages": [HumanMessage("something else")]})  # and the conversation is not lost
    assert (len(model.shown), KEY in str(model.shown)) == (1, False)


@both
def test_a_message_is_cleaned_whatever_role_its_sender_gives_it(face: Face) -> None:
    """The host's own prompt is not among the messages; a client may send one as the system's."""
    model = Model(lines=[])
    agent = agent_of(world(content=content(strict=True)), model, Tools().tools("ls"), system_prompt=f"ours: {KEY}")
    face(agent, {"messages": [SystemMessage(f"theirs: {KEY}"), HumanMessage("go")]})
    assert [KEY in str(one.content) for one in model.shown[0]] == [True, False, False]
