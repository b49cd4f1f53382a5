"""The gate: what adapters call, and where decisions are narrowed, signed, recorded and released.

    gate = Gate(Parts(engine=…, keyring=…, approvals=…, states=…, log=…, capabilities=Capabilities(can_ask=True)))
    exposure = gate.before_model(messages, tools, run)          which tools this model call may see
    signed = gate.before_tool(call, run)                        may this call run
    ran = gate.release(signed, call)                            the call to run, the last thing before it runs
    result = gate.after_tool(Result(content=…), signed)         what the model may see of its result

A person makes an ALLOW of an ASK: `gate.question(signed)` says what they are shown, `gate.approve(signed, by=…)` gives
a token, and `gate.before_tool(call, replace(run, approvals=(token,)))` decides the same call once more.
"""

from policyengine.engine.exposure import Catalogue
from policyengine.gate.gate import Gate
from policyengine.gate.parts import Lifetimes, Parts
from policyengine.gate.terms import (
    Call,
    Capabilities,
    Delta,
    Duty,
    Message,
    Question,
    Result,
    Run,
    SignedDecision,
    SignedExposure,
)
from policyengine.policies.guardrails.content import Source

__all__ = [
    "Call",
    "Capabilities",
    "Catalogue",
    "Delta",
    "Duty",
    "Gate",
    "Lifetimes",
    "Message",
    "Parts",
    "Question",
    "Result",
    "Run",
    "SignedDecision",
    "SignedExposure",
    "Source",
]
