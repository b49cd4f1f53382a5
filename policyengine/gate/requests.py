"""From a call and a run to a request."""

from __future__ import annotations

from policyengine.errors import RequestError
from policyengine.gate.parts import Parts
from policyengine.gate.terms import Call, Run
from policyengine.model import EMPTY, Attributes, Context, Request, Resource, ResourceKind, freeze_object
from policyengine.records import replace

INVOKE = "invoke"


def request_of(parts: Parts, call: Call, run: Run) -> Request:
    """Make the request that a call states; its arguments are copied and frozen.

    Raises:
        RequestError: the run has no scope (`gate.no-scope`), or the call is none (`request.*`).
    """
    if not (isinstance(call.name, str) and isinstance(call.id, str)):
        raise RequestError("request.field", "a call's name and id have to be texts")
    arguments, context = freeze_object(call.arguments), _circumstances(parts, run, call.id)
    request = _request(parts, call.name, arguments, run, context)
    _ = request.arguments_digest  # what has none cannot be bound to a decision
    return request


def catalogue_request(parts: Parts, run: Run) -> Request:
    """Make the request that asks which tools may be seen, whatever their arguments; of it the names do not count.

    Raises:
        RequestError: the run has no scope.
    """
    return _request(parts, "", None, run, _circumstances(parts, run))


def _circumstances(parts: Parts, run: Run, call_id: str = "") -> Context:
    context = run.context
    if not context.scope_id:
        raise RequestError("gate.no-scope", "the host has to declare the scope of a run")
    now = parts.now() if context.now is None else context.now
    return replace(context, now=now, call_id=call_id or context.call_id)


def _request(parts: Parts, name: str, arguments: Attributes | None, run: Run, context: Context) -> Request:
    principal = run.principal
    if parts.default_role and not principal.roles:
        principal = replace(principal, roles=(parts.default_role,))
    return Request(
        principal=principal,
        action=INVOKE,
        resource=Resource(ResourceKind.TOOL, name),
        arguments=arguments,
        context=context,
    )


def call_of(request: Request, id: str) -> Call:
    """Give the call that a request is about."""
    return Call(request.resource.id, EMPTY if request.arguments is None else request.arguments, id)
