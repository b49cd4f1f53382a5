"""What the host alone can say about a run; nothing of it comes from a model or a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from langchain_core.messages import BaseMessage
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime

from policyengine.errors import RequestError
from policyengine.gate import Run
from policyengine.model import Context, Grant, Principal
from policyengine.records import Record

Host: TypeAlias = Runtime[Any] | ToolRuntime[Any, Any]
Identity: TypeAlias = Callable[[Host], Run]
Genuine: TypeAlias = Callable[[BaseMessage], bool]
KEY = "policy_run"  # where `of_context` looks in a context that is no `Run`


def of_context(runtime: Host) -> Run:
    """Take the run from `runtime.context`: a `Run`, or something that has one as `policy_run`.

    No text that a client or a model sends can become a `Run`, and LangGraph does not persist the context.

    Raises:
        RequestError: there is none (`adapter.no-identity`).
    """
    context: Any = runtime.context
    found = context.get(KEY) if isinstance(context, Mapping) else getattr(context, KEY, context)
    if not (isinstance(found, Run) and isinstance(found.principal, Principal) and isinstance(found.context, Context)):
        raise RequestError("adapter.no-identity", f"the host has to give a `Run` as `context.{KEY}`")
    return found  # pydantic makes of a client's JSON something that calls itself one, around what is none


def _no_genuine(message: BaseMessage) -> bool:
    del message
    return False


class Vouched(Record):
    """What the host alone can say.

    Attributes:
        identity: gives the run of a call; it must not look at messages, arguments, or what a client can set.
        approver: gives the person who answers, as the host authenticated them; None for the run's principal.
        keep: keeps what a person grants for good, for `Run.grants` of later runs; it may be told the same twice. None
            where that is not offered.
        is_genuine: whether the server knows that a person sent a message; it may then activate a skill.
    """

    identity: Identity = of_context
    approver: Callable[[Host], str] | None = None
    keep: Callable[[Host, tuple[Grant, ...]], None] | None = None
    is_genuine: Genuine = _no_genuine
