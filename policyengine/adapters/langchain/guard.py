"""The last look before a tool runs, taken where LangChain starts it: in the callback with its final name and arguments.

Middleware further in may edit, rename or repeat a call after it was decided, and a tool may run others (deepagents'
`general-purpose` sub-agent comes without the host's middleware). Each of these starts is a call of its own: it is
released if it is what was decided, else decided anew, and then only an ALLOW lets it run.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langgraph.errors import GraphBubbleUp

from policyengine.errors import TokenError
from policyengine.gate import Call, Gate, SignedDecision
from policyengine.model import Obligation, ObligationKind, Outcome

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


class Refused(Exception):
    """A tool was about to start that may not run."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} [{code}]")
        self.code = code


class Guard(BaseCallbackHandler):
    """Stands before every tool that starts within one call."""

    raise_error = True  # what is refused must not run
    run_inline = True  # and nothing may run beside the refusal

    def __init__(self, gate: Gate, signed: SignedDecision) -> None:
        self.gate = gate
        self.signed = signed  # the latest decision about the call itself
        self.has_started = False
        self._lock = threading.Lock()

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        inputs: dict[str, Any] | None = None,
        tool_call_id: str | None = None,
        **_: Any,
    ) -> None:
        """Release what starts.

        Raises:
            Refused: it may not run.
        """
        name, given = serialized.get("name"), inputs if inputs is not None else {"input": input_str}
        self.release(Call(name if isinstance(name, str) else "", given, tool_call_id or self.signed.call.id))

    def release(self, call: Call) -> None:
        """Release a call, as decided or decided anew.

        Raises:
            Refused: it may not run.
        """
        with self._lock:
            try:
                self.gate.release(self.signed, call)
            except TokenError as error:
                self._decide_anew(call, error)
            except GraphBubbleUp:
                raise
            except Exception as error:
                raise Refused("adapter.failed", f"It cannot be released ({type(error).__name__}).") from error
            self.has_started = True

    def _decide_anew(self, call: Call, refused: TokenError) -> None:
        """Decide what is not the call that was decided, or runs once more: nobody can be asked any longer."""
        before = self.signed
        try:
            signed = self.gate.before_tool(call, before.run)
            if signed.outcome is not Outcome.ALLOW or signed.control is not None:
                raise Refused(refused.code, f"This is no longer the call that was decided. {signed.reason}")
            if not self._owed(signed) <= set(before.obligations):
                raise Refused("adapter.too-late", "What such a call owes cannot be seen to any longer.")
            self.gate.release(signed, call)
        except (Refused, GraphBubbleUp):
            raise
        except Exception as error:
            raise Refused("adapter.failed", f"It cannot be decided anew ({type(error).__name__}).") from error
        if not self.has_started:
            self.signed = signed

    def _owed(self, signed: SignedDecision) -> set[Obligation]:
        """Give what nobody can see to any longer: a limit of a time that runs already, another tool's result."""
        return {one for one in signed.obligations if self.has_started or one.kind is ObligationKind.TIMEOUT}


def stands_before(tool: BaseTool) -> bool:
    """Whether a tool starts in LangChain's own way; one that runs otherwise has to be released before that."""
    kind = type(tool)
    has_own = kind.ainvoke not in {BaseTool.ainvoke, StructuredTool.ainvoke, Tool.ainvoke}
    return not has_own and kind.invoke is BaseTool.invoke and kind.run is BaseTool.run and kind.arun is BaseTool.arun


def watch(config: RunnableConfig, guard: Guard) -> None:
    """Let a guard stand before a call and all that starts below it, in place of the one of the call above.

    The configuration is changed in place: it is the one with which the host is going to start the tool.
    """
    config["callbacks"] = _with(config.get("callbacks"), guard)


def _with(
    callbacks: list[BaseCallbackHandler] | BaseCallbackManager | None, guard: Guard
) -> list[BaseCallbackHandler] | BaseCallbackManager:
    if not isinstance(callbacks, BaseCallbackManager):
        return [*(one for one in callbacks or () if not _is_above(one, guard)), guard]
    manager = callbacks.copy()
    for one in tuple(manager.handlers):
        if _is_above(one, guard):
            manager.remove_handler(one)
    manager.add_handler(guard, inherit=True)
    return manager


def _is_above(handler: object, guard: Guard) -> bool:
    """Whether a handler is the guard of the call above, which another one of the same gate takes the place of."""
    return isinstance(handler, Guard) and handler.gate is guard.gate
