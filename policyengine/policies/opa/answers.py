"""From what an OPA server answered to a verdict. Only a plain `true` allows.

| code | what happened |
|---|---|
| `opa.denied` | the rule is `false` |
| `opa.undefined` | the rule has no value: the path is wrong, or no `default` is given |
| `opa.warning` | the server did not take the query as it was meant |
| `opa.not-boolean` | the rule has a value that is neither `true` nor `false` |
| `opa.malformed` | no HTTP/1.1, no JSON, or not an object with each key once |
| `opa.builtin-error` | a built-in function of the policy failed |
| `opa.http-error` | another status than 200 |
| `opa.timeout` | no whole answer in time |
| `opa.refused` | nobody listens there |
| `opa.unreachable` | no connection for another reason |
| `opa.closed` | the connection ended before the answer was complete |
| `opa.answer-too-large` | head or body over their limits |
| `opa.input-too-large` | the input document is over its limit, and nothing was sent |
| `opa.input-not-text` | the call holds text that JSON cannot carry, and nothing was sent |
"""

from __future__ import annotations

import json
import re
from typing import Any

from policyengine.model import Finding, Outcome, Severity, Verdict
from policyengine.policies.opa.exchange import Failure, Reply

_DECISION_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_INSTEAD = "Choose another way, or ask the person to talk to whoever keeps the organisation's policy."
_FAULT = "This is a fault between the engine and its policy server: tell the person; another call will not help."


def verdict(name: str, answer: Reply | Failure) -> Verdict:
    """Give the verdict for an answer."""
    failure = judged(answer) if isinstance(answer, Reply) else answer
    if failure is None:
        return Verdict(policy=name, outcome=Outcome.ALLOW)
    finding = Finding(
        rule=failure.code,
        code=failure.code,
        message=f"The policy {name} denies this call. {failure.message}",
        outcome=Outcome.DENY,
        severity=Severity.MEDIUM if failure.code == "opa.denied" else Severity.HIGH,
        instead=_INSTEAD if failure.code == "opa.denied" else _FAULT,
    )
    return Verdict(policy=name, outcome=Outcome.DENY, findings=(finding,))


def judged(reply: Reply) -> Failure | None:
    """Say why an answer does not allow; None where it does."""
    if reply.status != 200:
        return _http_error(reply)
    answer = _object(reply.body)
    if answer is None:
        return Failure("opa.malformed", "The answer is no JSON object with each key once.")
    if "warning" in answer:
        return Failure("opa.warning", "The server warns that it did not take the query as it was meant.")
    if "result" not in answer:
        return Failure("opa.undefined", "The rule has no value for it.")
    result = answer["result"]
    if type(result) is not bool:
        return Failure("opa.not-boolean", "The rule has a value that is neither true nor false.")
    return None if result else Failure("opa.denied", "The organisation's policy says no." + _reference(answer))


def _reference(answer: dict[str, Any]) -> str:
    """Where OPA's own decision log has it; nothing else of what the server wrote is repeated."""
    found = answer.get("decision_id")
    return f" (OPA decision {found})" if isinstance(found, str) and _DECISION_ID.fullmatch(found) else ""


def _http_error(reply: Reply) -> Failure:
    answer = _object(reply.body) or {}
    errors = answer.get("errors")
    codes = [error.get("code") for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []
    if "eval_builtin_error" in codes:
        return Failure("opa.builtin-error", "A built-in function of the policy failed.")
    return Failure("opa.http-error", f"The server answered with status {reply.status}.")


class _Twice(ValueError):
    """A key stands twice in an object."""


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Twice
    return made
