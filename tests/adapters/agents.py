"""Agents of the real packages around a model that says what a test wrote, under a gate over a small world."""

from __future__ import annotations

import asyncio
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable  # noqa: TC002  LangChain reads the annotations
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command
from pydantic import PrivateAttr

from policyengine.adapters.langchain import CAPABILITIES, PolicyMiddleware
from policyengine.gate import Run
from policyengine.model import Context, Principal
from tests.gate.worlds import World

RUN = Run(principal=Principal(id="ada", roles=("dev",)), context=Context(scope_id="s", run_id="r"))
CONFIG: Any = {"configurable": {"thread_id": "t"}}
Agent = Any


class Model(BaseChatModel):
    """Says its lines one after the other, and remembers what it was shown."""

    lines: list[Any]
    _tools: list[list[str]] = PrivateAttr(default_factory=list)
    _shown: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        self._tools.append([tool["name"] if isinstance(tool, dict) else tool.name for tool in tools])
        return self.bind(**{key: value for key, value in kwargs.items() if key == "none"})

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self._shown.append(messages)
        line = self.lines.pop(0) if self.lines else AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=line)])

    @property
    def tools(self) -> list[list[str]]:
        """Names of the tools of each call of the model."""
        return self._tools

    @property
    def shown(self) -> list[list[BaseMessage]]:
        """Messages of each call of the model."""
        return self._shown


def says(*calls: tuple[str, dict[str, Any], str | None], text: str = "") -> AIMessage:
    """A reply with calls: name, arguments, id."""
    return AIMessage(text, tool_calls=[{"name": name, "args": args, "id": id} for name, args, id in calls])


class Tools:
    """Tools that only remember that they ran, and with what."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, dict[str, Any]]] = []

    def tool(self, name: str, act: Callable[..., Any] | None = None, **more: Any) -> StructuredTool:
        """A tool with one argument, `command`; `act` gives its result."""

        def run(command: str = "") -> Any:
            self.ran.append((name, {"command": command}))
            return f"{name} did {command}" if act is None else act(command)

        return StructuredTool.from_function(run, name=name, description=f"The tool {name}.", **more)

    def tools(self, *names: str) -> list[StructuredTool]:
        """Tools of these names."""
        return [self.tool(name) for name in names]

    @property
    def commands(self) -> list[str]:
        """With what tools ran, in order."""
        return [arguments["command"] for _, arguments in self.ran]


def world(*policies: Any, **changes: Any) -> World:
    """A world that knows what LangChain can do."""
    made = World(*policies, **{"capabilities": CAPABILITIES, **changes})
    made.gate = made.with_engine(control_flow=(GraphBubbleUp,))
    return made


def agent_of(
    made: World,
    model: Model,
    tools: Sequence[Any],
    *,
    before: Iterable[Any] = (),
    after: Iterable[Any] = (),
    deferred: Iterable[str] = (),
    **more: Any,
) -> Agent:
    """An agent under a policy; `before` stands further out, `after` further in."""
    more.setdefault("checkpointer", InMemorySaver())
    policy = PolicyMiddleware(made.gate, deferred=deferred)
    return create_agent(model, list(tools), middleware=[*before, policy, *after], **more)


Face = Callable[..., dict[str, Any]]


def sync(agent: Agent, given: Any, **more: Any) -> dict[str, Any]:
    """Run an agent in this thread."""
    result: dict[str, Any] = agent.invoke(given, CONFIG, **{"context": RUN, **more})
    return result


def coroutine(agent: Agent, given: Any, **more: Any) -> dict[str, Any]:
    """Run an agent in an event loop."""
    result: dict[str, Any] = asyncio.run(agent.ainvoke(given, CONFIG, **{"context": RUN, **more}))
    return result


FACES = (sync, coroutine)
GO: Any = {"messages": "go"}


def results(state: dict[str, Any]) -> dict[str, ToolMessage]:
    """Tool messages by the id of their call."""
    return {one.tool_call_id: one for one in state["messages"] if isinstance(one, ToolMessage)}


def codes(message: ToolMessage) -> list[str]:
    """Codes of a denial; empty for any other result."""
    mark = message.additional_kwargs.get("policyengine", {})
    return list(mark.get("codes", []))


def questions(state: dict[str, Any]) -> list[Any]:
    """What the person is asked now."""
    return [one.value for one in state.get("__interrupt__", ())]


def answer(state: dict[str, Any], kind: str, **more: Any) -> Command[Any]:
    """Answer all that is asked in one way."""
    given = {one.id: {**one.value["answers"][kind], **more} for one in state["__interrupt__"]}
    return Command(resume=given)


def union(items: Iterable[list[str]]) -> list[str]:
    """All of several lists."""
    return functools.reduce(operator.add, items, [])
