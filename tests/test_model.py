"""Freezing and digests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from policyengine.errors import RequestError
from policyengine.model import (
    ANONYMOUS,
    MAX_VALUE_DEPTH,
    Context,
    Decision,
    Outcome,
    Request,
    Resource,
    ResourceKind,
    digest_of,
    freeze,
    freeze_object,
)


def _nested(depth: int) -> object:
    value: object = []
    for _ in range(depth):
        value = [value]
    return value


def _request(arguments: dict[str, Any] | None = None, **context: Any) -> Request:
    return Request(
        principal=ANONYMOUS,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, "x"),
        arguments=freeze_object(arguments or {}),
        context=Context(**context),
    )


def test_freezing_copies_deeply() -> None:
    inner = {"a": [1, {"b": 2}]}
    frozen = freeze_object(inner)
    inner["a"].append(3)
    assert frozen == {"a": (1, MappingProxyType({"b": 2}))}
    with pytest.raises(TypeError):
        frozen["a"] = 1  # type: ignore[index]  # the point of the test


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (math.nan, "request.not-finite"),
        ([math.inf], "request.not-finite"),
        ({"a": -math.inf}, "request.not-finite"),
        ({1: 2}, "request.not-json"),
        ({"a": {1}}, "request.not-json"),
        (b"x", "request.not-json"),
        (_nested(MAX_VALUE_DEPTH + 1), "request.too-deep"),
        (_nested(100_000), "request.too-deep"),
    ],
)
def test_what_is_no_json_value_is_refused(value: object, code: str) -> None:
    with pytest.raises(RequestError) as caught:
        freeze(value)
    assert caught.value.code == code


def test_only_an_object_is_an_object() -> None:
    with pytest.raises(RequestError, match="expected an object"):
        freeze_object([])


class _Text(str):
    def encode(self, *_: object) -> bytes:
        return b"something else"


class _Number(int):
    pass


class _Real(float):
    pass


@pytest.mark.parametrize("value", [_Text("a"), _Number(1), _Real(1.5), [_Text("a")], {_Text("a"): _Text("b")}])
def test_only_plain_values_are_left_of_subclasses(value: object) -> None:
    """One that is read in another way later would not be what was decided."""
    frozen = freeze({"x": value})
    assert isinstance(frozen, Mapping)
    assert {type(one) for one in _leaves(frozen["x"])} <= {str, int, float}
    assert frozen == freeze({"x": value})


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _leaves(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


def test_whatever_can_be_frozen_has_a_digest() -> None:
    deep = freeze(_nested(MAX_VALUE_DEPTH))
    assert len(digest_of(deep)) == 64
    assert _request({"a": 10**5000}).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (0, False),
        (0.0, -0.0),
        ("1", 1),
        (None, "null"),
        ("", ()),
        ((), freeze({})),
        (("a", "b"), ("ab",)),
        ((("a",), "b"), (("a", "b"),)),
        (freeze({"a": "b"}), ("a", "b")),
        (freeze({"a": 1, "b": 2}), freeze({"a": 2, "b": 1})),
        ("a\x00", "a"),
        ("\udc80", "\x80"),
        (16, "10"),
    ],
)
def test_different_values_have_different_digests(one: Any, other: Any) -> None:
    assert digest_of(one) != digest_of(other)


def test_the_order_of_keys_does_not_count() -> None:
    assert _request({"a": 1, "b": 2}).digest == _request({"b": 2, "a": 1}).digest


def test_a_request_digest_covers_the_circumstances_but_not_the_time() -> None:
    assert _request(cwd="/a").digest != _request(cwd="/b").digest
    assert _request(scope_id="a").digest != _request(run_id="a").digest
    assert _request(now=1.0).digest == _request(now=2.0).digest
    assert _request(env={"A": "1"}).digest != _request(env=None).digest


def test_the_arguments_digest_is_that_of_tool_and_arguments() -> None:
    assert _request({"a": 1}, cwd="/a").arguments_digest == _request({"a": 1}, cwd="/b").arguments_digest
    assert _request({"a": 1}).arguments_digest != _request({"a": 2}).arguments_digest


def test_a_decision_names_itself_when_asked() -> None:
    asked = _request()
    decision = Decision(outcome=Outcome.ALLOW, findings=(), effects=(), request=asked)
    assert "digest" not in vars(asked)
    assert decision.id == Decision(outcome=Outcome.ALLOW, findings=(), effects=(), request=_request()).id
    assert decision.id != Decision(outcome=Outcome.DENY, findings=(), effects=(), request=asked).id
    assert decision.id != Decision(outcome=Outcome.ALLOW, findings=(), effects=(), request=asked, state_version=1).id
    assert decision.request_digest == asked.digest
