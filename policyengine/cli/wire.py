"""The `decide` contract: a line of JSON in, a line of JSON out. Pure; reading and writing is `decide`'s.

What is no request raises `RequestError` (an error line). What is one but asks something impossible is decided: deny.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from policyengine.effects import Span, as_json
from policyengine.errors import RequestError
from policyengine.model import (
    ANONYMOUS,
    Context,
    Control,
    Decision,
    Finding,
    Obligation,
    Outcome,
    Principal,
    Request,
    Resource,
    ResourceKind,
    Severity,
    ShellKind,
    freeze_object,
)

Json = dict[str, Any]  # the edge: what json.loads gives, taken apart here and nowhere else

REQUEST_KEYS = frozenset({"id", "tool", "arguments", "principal", "context"})
SHELLS = {kind.value: kind for kind in ShellKind}
IMPOSSIBLE = frozenset({"request.too-deep", "request.not-finite"})  # of `freeze` and `digest`


# ---------------------------------------------------------------------------------------------------------- text
def loads(text: str | bytes) -> object:
    """Strict JSON (RFC 8259): no duplicate keys, no NaN or infinity, no numbers beyond a float, bounded nesting.

    Raises:
        RequestError: it is not that.
    """
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        return json.loads(decoded, object_pairs_hook=_unique, parse_constant=_refused, parse_float=_finite)
    except RequestError:
        raise
    except UnicodeDecodeError as error:
        raise RequestError("line.not-utf8", f"byte {error.start + 1} is not valid UTF-8") from error
    except json.JSONDecodeError as error:
        raise RequestError("line.not-json", f"not JSON at character {error.pos + 1}: {error.msg.lower()}") from error
    except ValueError as error:  # an integer beyond the interpreter's digit limit
        raise RequestError("line.number", "a number has too many digits") from error
    except RecursionError:
        raise RequestError("line.too-deep", "the JSON nests too deep") from None


def dumps(value: object) -> str:
    """One line of ASCII-only JSON."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RequestError("line.duplicate-key", "an object has the same key twice, which readers take differently")
    return found


def _refused(literal: str) -> object:
    raise RequestError("line.not-json", f"`{literal}` is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise RequestError("line.number", "a number is beyond the range of a double")
    return number


# ------------------------------------------------------------------------------------------------------ requests
def id_of(value: object) -> str | None:
    """The id of what may be a request, where it has one."""
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def request_of(value: object) -> Request:
    """The request that a line's object states.

    Raises:
        RequestError: it is no request (`request.*`), or asks something impossible (the codes of `freeze`).
    """
    if not isinstance(value, dict):
        raise RequestError("request.not-object", "expected a JSON object with id, tool and arguments")
    _known(value, REQUEST_KEYS, "request")
    _text(value, "id")
    arguments = value.get("arguments")
    if not isinstance(arguments, dict):
        raise RequestError("request.field", "`arguments` has to be an object")
    return Request(
        principal=_principal(value.get("principal")),
        action="invoke",
        resource=Resource(ResourceKind.TOOL, _text(value, "tool")),
        arguments=freeze_object(arguments),
        context=_context(value.get("context")),
    )


def _principal(value: object) -> Principal:
    if value is None:
        return ANONYMOUS
    fields = _object(value, "principal")
    return Principal(**_fields(fields, _PRINCIPAL_FIELDS, "principal"))


def _context(value: object) -> Context:
    if value is None:
        return Context()
    fields = _object(value, "context")
    return Context(**_fields(fields, _CONTEXT_FIELDS, "context"))


def _fields(value: Json, readers: Mapping[str, Callable[[Json, str], Any]], place: str) -> Json:
    _known(value, readers.keys(), place)
    return {key: readers[key](value, key) for key in value}


def _known(value: Json, keys: Any, place: str) -> None:
    for key in value:
        if key not in keys:
            raise RequestError(
                "request.unknown-key", f"`{key[:80]}` is no key of a {place}; known are {', '.join(sorted(keys))}"
            )


def _object(value: object, key: str) -> Json:
    if not isinstance(value, dict):
        raise RequestError("request.field", f"`{key}` has to be an object")
    return value


def _text(value: Json, key: str) -> str:
    found = value.get(key)
    if not isinstance(found, str):
        raise RequestError("request.field", f"`{key}` has to be a string")
    return found


def _path(value: Json, key: str) -> str:
    found = _text(value, key)
    if not found.startswith("/") or "\0" in found:
        raise RequestError("request.field", f"`{key}` has to be an absolute path")
    return found


def _texts(value: Json, key: str) -> tuple[str, ...]:
    found = value.get(key)
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise RequestError("request.field", f"`{key}` has to be a list of strings")
    return tuple(found)


def _roots(value: Json, key: str) -> tuple[str, ...]:
    found = value.get(key)
    roots = _texts(value, key) if isinstance(found, list) else (_text(value, key),)
    return tuple(_path({key: root}, key) for root in roots)


def _environment(value: Json, key: str) -> Mapping[str, str] | None:
    found = value.get(key)
    if found is None:
        return None
    fields = _object(found, key)
    return {name: _text(fields, name) for name in fields}


def _truth(value: Json, key: str) -> bool:
    found = value.get(key)
    if not isinstance(found, bool):
        raise RequestError("request.field", f"`{key}` has to be true or false")
    return found


def _count(value: Json, key: str) -> int:
    found = value.get(key)
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise RequestError("request.field", f"`{key}` has to be a whole number from 0")
    return found


def _seconds(value: Json, key: str) -> float:
    found = value.get(key)
    if not isinstance(found, int | float) or isinstance(found, bool):
        raise RequestError("request.field", f"`{key}` has to be seconds since the epoch")
    return float(found)


def _shell(value: Json, key: str) -> ShellKind:
    found = _text(value, key)
    if found not in SHELLS:
        raise RequestError("request.field", f"`{key}` has to be one of {', '.join(SHELLS)}")
    return SHELLS[found]


_PRINCIPAL_FIELDS: dict[str, Callable[[Json, str], Any]] = {
    "id": _text,
    "roles": _texts,
    "attributes": lambda value, key: freeze_object(value[key]),
    "internal": _truth,
    "agent": _text,
    "delegation": _texts,
}
_CONTEXT_FIELDS: dict[str, Callable[[Json, str], Any]] = {
    "scope_id": _text,
    "run_id": _text,
    "parent_run_id": _text,
    "step_id": _text,
    "thread_id": _text,
    "call_id": _text,
    "now": _seconds,
    "cwd": _path,
    "home": _path,
    "workspace": _roots,
    "env": _environment,
    "shell": _shell,
    "platform": _text,
    "sandbox": _text,
    "depth": _count,
    "tags": lambda value, key: frozenset(_texts(value, key)),
    "active_skills": _texts,
    "model": _text,
}


# ----------------------------------------------------------------------------------------------------- decisions
def refusal(error: RequestError) -> Decision:
    """The decision about a request that asks something impossible."""
    finding = Finding(
        rule="request.impossible",
        code=error.code,
        message=error.message,
        outcome=Outcome.DENY,
        severity=Severity.HIGH,
        instead="Send arguments that the tool can take.",
    )
    return Decision(outcome=Outcome.DENY, findings=(finding,), effects=())


def decision_json(identity: str | None, decision: Decision, micros: float) -> Json:
    """The object of one output line; `micros` are microseconds."""
    return {
        "id": identity,
        "outcome": decision.outcome.word,
        "findings": [_finding_json(finding) for finding in decision.findings],
        "effects": [as_json(effect) for effect in decision.effects],
        "obligations": [_obligation_json(obligation) for obligation in decision.obligations],
        "control": _control_json(decision.control),
        "micros": round(micros, 1),
    }


def error_json(identity: str | None, error: RequestError, line: int) -> Json:
    """The object for a line that is no request; `line` counts from 1."""
    return {"id": identity, "error": {"code": error.code, "message": error.message, "line": line}}


def _finding_json(finding: Finding) -> Json:
    found: Json = {
        "rule": finding.rule,
        "code": finding.code,
        "severity": finding.severity.word,
        "outcome": finding.outcome.word,
        "message": finding.message,
        "instead": finding.instead,
        "span": _span_json(finding.span),
    }
    return found | {"shadow": True} if finding.shadow else found


def _span_json(span: Span | None) -> list[int] | None:
    return None if span is None else list(span)


def _obligation_json(obligation: Obligation) -> Json:
    return {"kind": obligation.kind.value, "limit": obligation.limit, "names": sorted(obligation.names)}


def _control_json(control: Control | None) -> Json | None:
    if control is None:
        return None
    return {"kind": control.kind.value, "text": control.text, "arguments": thaw(control.arguments)}


def thaw(value: object) -> object:
    """Frozen data as plain JSON data: mappings become dicts, tuples lists."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    return [thaw(item) for item in value] if isinstance(value, tuple) else value
