"""Deferred tools: shown only once a search has found them, and found only where the policies leave them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware

from policyengine.adapters.langchain import PolicyMiddleware
from policyengine.errors import UsageError
from policyengine.model import Outcome
from tests.adapters.agents import (
    CONFIG,
    FACES,
    GO,
    RUN,
    Agent,
    Face,
    Model,
    Tools,
    agent_of,
    answer,
    codes,
    results,
    says,
    sync,
    world,
)
from tests.gate.worlds import Table, World

DENY, ASK = Outcome.DENY, Outcome.ASK
both = pytest.mark.parametrize("face", FACES)
WAITING = ("mail", "mail_admin", "maps")


def _search(query: str, id: str) -> Any:
    return ("tool_search", {"query": query}, id)


def _agent(made: World, model: Model, tools: Tools, *, deferred: tuple[str, ...] = WAITING, **more: Any) -> Agent:
    return agent_of(made, model, tools.tools("ls", *WAITING), deferred=deferred, **more)


@both
def test_a_deferred_tool_is_shown_from_the_reply_on_after_it_was_found(face: Face) -> None:
    tools, made = Tools(), world(Table({"mail_admin": DENY}))
    model = Model(lines=[says(_search("Mail", "s1")), says(("mail", {"command": "x"}, "c1"))])
    state = face(_agent(made, model, tools), GO)
    assert [sorted(one) for one in model.tools] == [["ls", "tool_search"], *[["ls", "mail", "tool_search"]] * 2]
    assert tools.commands == ["x"]
    (schema,) = json.loads(str(results(state)["s1"].content))
    assert (schema["name"], set(schema["parameters"]["properties"])) == ("mail", {"command"})
    assert made.log.last("promotion")["tools"] == ("mail",)


@both
def test_what_was_not_found_does_not_run(face: Face) -> None:
    tools = Tools()
    model = Model(
        lines=[says(("mail", {}, "c1")), says(_search("maps", "s1"), ("maps", {}, "c2")), says(("mail", {}, "c3"))]
    )
    state = face(_agent(world(), model, tools), GO)
    assert (tools.ran, [codes(results(state)[id]) for id in ("c1", "c2", "c3")]) == ([], [["exposure.hidden"]] * 3)


@both
@pytest.mark.parametrize("query", ["mail_admin", "calendar", "", "ls"])
def test_what_is_denied_is_not_there_shown_already_or_asked_for_by_no_word_is_not_found(face: Face, query: str) -> None:
    model = Model(lines=[says(_search(query, "s1"))])
    state = face(_agent(world(Table({"mail_admin": DENY})), model, Tools()), GO)
    assert (len(model.tools[-1]), "mail_admin" in str(results(state)["s1"].content)) == (2, False)


def test_what_may_not_be_found_takes_no_place_among_what_may() -> None:
    names = [f"mail{at}" for at in range(30)]
    made, tools = world(Table(dict.fromkeys(names[:-1], DENY))), Tools()
    model = Model(lines=[says(_search("mail", "s1"))])
    sync(agent_of(made, model, tools.tools(*names), deferred=names), GO)
    assert [sorted(one) for one in model.tools] == [["tool_search"], ["mail29", "tool_search"]]


def test_a_search_is_a_call_like_any_other() -> None:
    model = Model(lines=[says(_search("mail", "s1"))])
    state = sync(_agent(world(Table({"tool_search": DENY})), model, Tools()), GO)
    assert (model.tools[0], codes(results(state)["s1"])) == (["ls"], ["exposure.hidden"])


def test_a_tool_of_the_hosts_that_has_the_name_is_not_taken_for_the_search() -> None:
    made, tools = world(), Tools()
    model = Model(lines=[says(("tool_search", {"command": "x"}, "c1"))])
    sync(agent_of(made, model, tools.tools("tool_search", "mail")), GO)
    assert (model.tools[0], tools.commands) == (["tool_search", "mail"], ["x"])


@both
def test_what_was_deferred_stays_so_in_another_process(face: Face) -> None:
    """The reply asked, and by the time of the answer nobody remembers what its step had shown."""
    made, tools = world(Table({"ls": ASK})), Tools()
    model = Model(lines=[says(("ls", {}, "c1")), says(("mail", {}, "c2"))])
    agent = _agent(made, model, tools)
    state = face(agent, GO)
    made.gate = made.with_engine()
    again = _agent(made, model, tools, after=[Renames()], checkpointer=agent.checkpointer)
    state = face(again, answer(state, "approve"))
    assert (tools.ran, results(state)["c1"].status) == ([], "error")


class Renames(AgentMiddleware):
    """Further in: makes of every call one of a tool that was not shown."""

    def _renamed(self, request: Any) -> Any:
        tool = next(one for one in request.runtime.tools if one.name == "mail")
        return request.override(tool_call={**request.tool_call, "name": "mail"}, tool=tool)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(self._renamed(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(self._renamed(request))


def test_the_same_thread_goes_on_with_what_it_has_found() -> None:
    made, tools = world(), Tools()
    model = Model(lines=[says(_search("mail", "s1"))])
    agent = _agent(made, model, tools)
    agent.invoke(GO, CONFIG, context=RUN)
    agent.invoke(GO, CONFIG, context=RUN)
    assert "mail" in model.tools[-1]


def test_deferred_tools_are_a_list() -> None:
    with pytest.raises(UsageError):
        PolicyMiddleware(world().gate, deferred="mail")
