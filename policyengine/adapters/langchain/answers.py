"""What a person is asked through `interrupt()`, and whether what comes back answers that question.

LangGraph runs a node from the top after every resume and after a crash, and gives stored answers by their position
alone. So an answer has to name what it is about: the call (with its id, whose it is, and where) and the asks as they
were shown. One that does not is somebody else's, such as the answer to an `interrupt()` of the tool itself, and counts
for nothing here.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langgraph._internal._constants import CONFIG_KEY_SCRATCHPAD  # nothing public tells what was answered already

from policyengine.errors import RequestError
from policyengine.gate import Gate, SignedDecision
from policyengine.model import Attributes, Grant, digest_of, freeze, freeze_object
from policyengine.records import NamedTuple, Record, replace

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

KINDS = frozenset({"approve", "always", "reject", "edit"})
SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "One of the interrupt's `answers`; to edit, give `args` beside.",
    "required": ["type", "call"],
    "properties": {
        "type": {"enum": sorted(KINDS)},
        "call": {"type": "string"},
        "asks": {"type": "array", "items": {"type": "string"}},
        "question": {"type": "string"},
        "args": {"type": "object"},
        "message": {"type": "string"},
    },
}


class Asking(Record):
    """A question: `call` and `asks` name what is asked, `value` is what the person's client gets.

    `grants` are what an "always" gives beside the yes; none where that is no answer to this question.
    """

    call: str
    asks: frozenset[str]
    value: Mapping[str, Any]
    grants: tuple[Grant, ...] = ()


class Answer(NamedTuple):
    """An answer that names its question."""

    kind: str
    call: str
    asks: frozenset[str]
    question: str
    arguments: Attributes | None = None
    message: str = ""


def asking(gate: Gate, signed: SignedDecision, *, always: bool) -> Asking:
    """Put a decision as a question; its value is JSON data and holds no token. `always` is whether that can be kept."""
    question, call = gate.question(signed), named(signed)
    if not always:
        question = replace(question, always=(), grants=())
    kinds = KINDS if question.grants else KINDS - {"always"}
    asks = frozenset(digest_of((line, question.does)) for line in question.asks)
    about = {"call": call, "asks": sorted(asks), "question": secrets.token_hex(16)}
    value = {
        "type": "tool_approval",  # what LangChain's own per-call reviews are called
        "tool_call_id": signed.call.id,
        "name": signed.call.name,
        "args": thawed(freeze(signed.call.arguments)),
        "description": question.text(),
        "does": list(question.does),
        "asks": list(question.asks),
        "answers": {kind: {"type": kind, **about} for kind in sorted(kinds)},
    }
    return Asking(call=call, asks=asks, value=value, grants=question.grants)


def named(signed: SignedDecision) -> str:
    """Name the call that a decision is about, where it is made."""
    run, call = signed.run, signed.call
    principal, arguments = run.principal, freeze(call.arguments)
    who = (run.context.scope_id, run.context.thread_id, principal.id, principal.agent, principal.delegation)
    return digest_of((who, call.id, call.name, arguments))


def answer_of(given: object) -> Answer | None:
    """Read an answer; None where it is none of ours."""
    if not isinstance(given, Mapping):
        return None
    kind, asks, message = given.get("type"), given.get("asks"), given.get("message", "")
    texts = [kind, given.get("call"), given.get("question"), message]
    if not all(isinstance(one, str) for one in texts) or kind not in KINDS or not isinstance(asks, list):
        return None
    try:
        edited = freeze_object(given.get("args")) if kind == "edit" else None
    except RequestError:
        return None
    names = frozenset(one for one in asks if isinstance(one, str))
    return Answer(kind, given["call"], names, given["question"], edited, message)


def is_answered(call: str, config: RunnableConfig) -> bool:
    """Whether a person has answered about a call already, whatever is decided about it now."""
    scratchpad = config.get("configurable", {}).get(CONFIG_KEY_SCRATCHPAD)
    if scratchpad is None:  # outside a graph there are no interrupts
        return False
    stored = (*scratchpad.resume, scratchpad.get_null_resume(False))
    return any(answer is not None and answer.call == call for answer in map(answer_of, stored))


def thawed(value: Any) -> Any:
    """Give frozen data as JSON data: lists and objects that can be changed."""
    if isinstance(value, Mapping):
        return {key: thawed(item) for key, item in value.items()}
    return [thawed(item) for item in value] if isinstance(value, tuple | list) else value
