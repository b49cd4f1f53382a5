"""From a call and a run to a request."""

from __future__ import annotations

from policyengine.errors import RequestError
from policyengine.gate.terms import Call, Run
from policyengine.model import EMPTY, Attributes, Context, Request, Resource, ResourceKind, freeze_object
from policyengine.records import replace

INVOKE = "invoke"


def request_of(call: Call, run: Run, now: float) -> Request:
    """Make the request that a call states; its arguments are copied and frozen.

    Raises:
        RequestError: the run has no scope (`gate.no-scope`), or the call is none (`request.*`).
    """
    if not isinstance(call.name, str):
        raise RequestError("request.field", "a tool's name has to be a text")
    request = _request(call.name, freeze_object(call.arguments), run, circumstances(run, now, call.id))
    _ = request.arguments_digest  # what has none cannot be bound to a decision
    return request


def question_about(name: str, run: Run, context: Context) -> Request:
    """Make the request that asks whether a tool may be seen, whatever its arguments.

    Raises:
        RequestError: the name is none.
    """
    if not isinstance(name, str):
        raise RequestError("request.field", "a tool's name has to be a text")
    return _request(name, None, run, context)


def circumstances(run: Run, now: float, call_id: str = "") -> Context:
    """Give the context of a run at a time.

    Raises:
        RequestError: the run has no scope: what it does could not be told from what others do.
    """
    context = run.context
    if not context.scope_id:
        raise RequestError("gate.no-scope", "the host has to declare the scope of a run")
    return replace(context, now=now if context.now is None else context.now, call_id=call_id or context.call_id)


def _request(name: str, arguments: Attributes | None, run: Run, context: Context) -> Request:
    return Request(
        principal=run.principal,
        action=INVOKE,
        resource=Resource(ResourceKind.TOOL, name),
        arguments=arguments,
        context=context,
    )


def call_of(request: Request, id: str) -> Call:
    """Give the call that a request is about."""
    return Call(request.resource.id, EMPTY if request.arguments is None else request.arguments, id)
