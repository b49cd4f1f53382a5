"""Tools of many kinds: those that run in a way of their own, that are swapped or added, or that the provider has."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from policyengine.model import Outcome, Verdict
from tests.adapters.agents import GO, Model, Tools, agent_of, coroutine, results, says, sync, world
from tests.gate.worlds import Says, Table

DENY, ALLOW = Outcome.DENY, Outcome.ALLOW


def _denied() -> Verdict:
    return Verdict(policy="says", outcome=DENY)


class Odd(BaseTool):
    """A tool that runs in a way of its own."""

    name: str = "odd"
    description: str = "Runs otherwise."

    def _run(self) -> str:
        raise AssertionError

    def invoke(self, input: Any, config: Any = None, **_: Any) -> Any:
        return ToolMessage("odd", tool_call_id=input["id"])


def test_a_tool_that_runs_in_a_way_of_its_own_is_released_before_it() -> None:
    model, made = Model(lines=[says(("odd", {}, "c1"))]), world()
    assert results(sync(agent_of(made, model, [Odd()]), GO))["c1"].content == "odd"
    assert made.log.last("result")["status"] == "ok"


@pytest.mark.parametrize("name", ["odd", "rm"])
def test_a_call_is_decided_for_the_tool_that_runs_whatever_it_is_called(name: str) -> None:
    tools = Tools()
    others = {"odd": Odd(), "rm": tools.tool("rm")}

    class Swaps(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(tool=others[name]))

    model, policy = Model(lines=[says(("ls", {}, "c1"))]), [Swaps()]
    made = world(Says(lambda one: _denied() if one.resource.id == name and one.arguments is not None else None))
    state = sync(agent_of(made, model, [*tools.tools("ls"), *others.values()], before=policy), GO)
    assert (tools.ran, results(state)["c1"].status) == ([], "error")


def test_a_tool_keeps_what_it_learns_from_one_call_to_the_next() -> None:
    class Counting(BaseTool):
        name: str = "count"
        description: str = "Counts."
        count: int = 0

        def _run(self) -> str:
            self.count += 1
            return str(self.count)

    model, tool = Model(lines=[says(("count", {}, "c1")), says(("count", {}, "c2"))]), Counting()
    state = sync(agent_of(world(), model, [tool]), GO)
    assert ([one.content for one in results(state).values()], tool.count) == (["1", "2"], 2)


def test_a_tool_with_a_coroutine_of_its_own_is_released_before_it() -> None:
    class Own(BaseTool):
        name: str = "ls"
        description: str = "Runs in its own way."

        def _run(self, command: str = "") -> str:
            return command

        async def ainvoke(self, input: Any, config: Any = None, **_: Any) -> Any:
            del config
            ran.append(spent())
            return ToolMessage("x", tool_call_id=input["id"], name="ls")

    def spent() -> bool:  # by the time it runs nothing of the decision is left to be released
        return not any(made.gate._held.memory._issued)

    ran: list[bool] = []
    made = world()
    coroutine(agent_of(made, Model(lines=[says(("ls", {}, "c1"))]), [Own()]), GO)
    assert ran == [True]


@pytest.mark.parametrize("setting", ["tools", "functions", "web_search_options", "mcp_servers"])
def test_settings_that_bind_tools_at_the_provider_are_left_out(setting: str) -> None:
    class Sets(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(model_settings={setting: [{"type": "web_search"}], "stop": ["x"]}))

    class Noting(Model):
        def bind_tools(self, tools: Any, **more: Any) -> Any:
            settings.append(sorted(more))
            return super().bind_tools(tools)

    settings: list[list[str]] = []
    sync(agent_of(world(), Noting(lines=[]), Tools().tools("ls"), before=[Sets()]), GO)
    assert [setting in one for one in settings] == [False]


class Adds(AgentMiddleware):
    """Has a tool that the agent was not made with."""

    def __init__(self, tool: BaseTool) -> None:
        super().__init__()
        self._tool = tool

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(tools=[*request.tools, self._tool]))

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(tool=self._tool) if request.tool_call["name"] == self._tool.name else request)


@pytest.mark.parametrize(("where", "outcome", "runs"), [("before", ALLOW, 1), ("before", DENY, 0), ("after", ALLOW, 0)])
def test_a_tool_that_is_added_on_the_way_is_decided_where_the_policy_sees_it(
    where: str, outcome: Outcome, runs: int
) -> None:
    tools, model = Tools(), Model(lines=[says(("extra", {"command": "x"}, "c1"))])
    added: dict[str, Any] = {where: [Adds(tools.tool("extra"))]}
    sync(agent_of(world(Table({"extra": outcome})), model, tools.tools("ls"), **added), GO)
    assert len(tools.ran) == runs
