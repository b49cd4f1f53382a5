"""What the model is told in place of a result."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from policyengine.errors import PolicyEngineError
from policyengine.gate import SignedDecision
from policyengine.model import Control, ControlKind, Outcome
from policyengine.visible import visible

MARK = "policyengine"  # in a message's `additional_kwargs`: what became of the call, for the host and not for the model


def refusal(name: str, call_id: str, code: str, message: str, stop: str = "") -> ToolMessage:
    """Tell the model that a call may not run, with the reason's code."""
    mark = {"outcome": Outcome.DENY.word, "codes": [code], **({"stop": stop} if stop else {})}
    lines = [visible(line) for line in message.splitlines()] + ([] if f"[{code}]" in message else [f"[{code}]"])
    return ToolMessage(
        "\n".join(("policyengine: deny", *lines)),
        name=name,
        tool_call_id=call_id,
        status="error",
        additional_kwargs={MARK: mark},
    )


def denial(signed: SignedDecision) -> ToolMessage:
    """Tell the model why a call may not run; a decision that ends the run says with which text."""
    control = signed.control
    stop = control.text or "The run was ended." if control is not None and control.kind is ControlKind.STOP else ""
    code = next((one.code for one in signed.findings if one.outcome is signed.outcome), "gate.run-ends")
    return refusal(signed.call.name, signed.call.id, code, _why(signed, control), stop)


def _why(signed: SignedDecision, control: Control | None) -> str:
    if signed.outcome is Outcome.ALLOW and control is not None:
        return control.text or f"The answer was to {control.kind.value} the run."
    return signed.reason


def stopped(messages: Sequence[BaseMessage]) -> str:
    """Give the text that the latest calls' decisions end the run with; empty where they do not."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return ""
        mark = message.additional_kwargs.get(MARK) if isinstance(message, ToolMessage) else None
        if isinstance(mark, dict) and isinstance(mark.get("stop"), str):
            return str(mark["stop"])
    return ""


# ------------------------------------------------------------------------------------------------------------ failures
def code_of(error: Exception) -> str:
    """Give the code of an error of ours, or the one for whatever else went wrong on our side."""
    return str(getattr(error, "code", "adapter.failed")) if isinstance(error, PolicyEngineError) else "adapter.failed"


def told(error: Exception) -> str:
    """Say what went wrong; of others' errors no more than their kind."""
    said = str(error) if isinstance(error, PolicyEngineError) else f"It failed on the way ({type(error).__name__})."
    return f"{said} [{code_of(error)}]"
