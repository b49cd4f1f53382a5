"""The middleware: LangChain's hooks, each with both faces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware

from policyengine.adapters.langchain.faces import adone, done
from policyengine.adapters.langchain.hooks import Hooks
from policyengine.adapters.langchain.searching import Search
from policyengine.adapters.langchain.stepping import PolicyState
from policyengine.adapters.langchain.vouched import Vouched
from policyengine.errors import UsageError
from policyengine.gate import Gate

if TYPE_CHECKING:
    from langchain.agents.middleware import ModelRequest, ToolCallRequest

VOUCHED = Vouched()


class PolicyMiddleware(AgentMiddleware[PolicyState, Any, Any]):
    """Puts a gate between an agent and its tools; the package's docstring says how to use it.

    Args:
        gate: made with this package's `CAPABILITIES`. Sub-agents have to have the same.
        vouched: what the host alone can say; by default the run is in `runtime.context`.
        agent: name of the agent, where it is a sub-agent.
        only: tools that a sub-agent may have of those that its parent may; None for all of these.
        deferred: tools that the model is not shown before it has found them with `tool_search`, which is added then.

    Raises:
        UsageError: `only` or `deferred` is a single text.
    """

    state_schema = PolicyState

    def __init__(
        self,
        gate: Gate,
        vouched: Vouched = VOUCHED,
        *,
        agent: str = "sub-agent",
        only: Iterable[str] | None = None,
        deferred: Iterable[str] = (),
    ) -> None:
        super().__init__()
        if isinstance(only, str) or isinstance(deferred, str):
            raise UsageError("`only` and `deferred` have to be lists of names")
        waiting = frozenset(deferred)
        search = Search(gate, waiting) if waiting else None
        self.tools = [] if search is None else [search.tool]
        self._hooks = Hooks(gate, vouched, agent, None if only is None else frozenset(only), search)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Show the model what it may see."""
        return done(self._hooks.gate, self._hooks.model(request), handler)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Do as `wrap_model_call` without blocking the event loop."""
        return await adone(self._hooks.gate, self._hooks.model(request), handler)

    def after_model(self, state: PolicyState, runtime: Any) -> dict[str, Any] | None:
        """Judge the calls of a reply as a set."""
        return done(self._hooks.gate, self._hooks.reply(state, runtime))

    async def aafter_model(self, state: PolicyState, runtime: Any) -> dict[str, Any] | None:
        """Do as `after_model` without blocking the event loop."""
        return await adone(self._hooks.gate, self._hooks.reply(state, runtime))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Let a call run, ask a person, or tell the model why not."""
        return done(self._hooks.gate, self._hooks.tool(request), handler)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Do as `wrap_tool_call` without blocking the event loop."""
        return await adone(self._hooks.gate, self._hooks.tool(request), handler)
