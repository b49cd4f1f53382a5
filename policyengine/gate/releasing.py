"""The last look before a tool runs: whether this is the call that was decided, here and now, and not yet released."""

from __future__ import annotations

from policyengine.errors import RequestError, TokenError
from policyengine.gate.denials import ends_run
from policyengine.gate.parts import Held
from policyengine.gate.recording import entry, recorded
from policyengine.gate.requests import call_of, request_of
from policyengine.gate.steps import Steps
from policyengine.gate.terms import Call, SignedDecision
from policyengine.gate.tokens import verified_decision
from policyengine.model import Outcome


def release(held: Held, signed: SignedDecision, call: Call) -> Steps[Call]:
    """Give the call to run (`Gate.release`).

    Raises:
        TokenError: none may.
    """
    try:
        return _released(held, signed, call)
    except TokenError as error:
        refused = error
    except held.parts.engine.control_flow:
        raise
    except Exception as error:  # whatever it is, nothing tells that this is the call that was decided
        refused = TokenError("release.failed", f"the call cannot be looked at ({type(error).__name__})")
    yield from recorded(
        held.parts, lambda: entry("refused", signed.run, jti=signed.id, call=call.id, code=refused.code)
    )  # the call is refused, recorded or not
    raise refused


def _released(held: Held, signed: SignedDecision, call: Call) -> Call:
    if signed.outcome is not Outcome.ALLOW or not signed.token:
        raise TokenError("release.not-allowed", "the answer was not that this call may run")
    if ends_run(signed.control):
        raise TokenError("release.run-ends", "the answer was to end or interrupt the run")
    try:
        request = request_of(held.parts, call, signed.run)
    except RequestError as error:
        raise TokenError(error.code, error.message) from error
    claims = verified_decision(held.parts, signed.token, request)
    if claims.outcome is not Outcome.ALLOW or claims.jti != signed.id:
        raise TokenError("release.not-allowed", "the token is another decision's")
    if not held.memory.take(claims.jti):
        raise TokenError("release.spent", "released already, or not decided by this gate")
    return call_of(request, call.id)
