"""Types that are cheap to define behave as the standard library's."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle

import pytest

from policyengine.model import Context, Finding, Outcome, Severity
from policyengine.records import NamedTuple


class Point(NamedTuple):
    """A point."""

    x: int
    y: int = 0


def test_the_signature_is_known_before_the_first_instance() -> None:
    class Fresh(NamedTuple):
        a: int
        b: str = "x"

    parameters = inspect.signature(Fresh).parameters
    assert [(name, one.default is inspect.Parameter.empty) for name, one in parameters.items()] == [
        ("a", True),
        ("b", False),
    ]


def test_a_named_tuple_takes_defaults_and_refuses_what_it_does_not_know() -> None:
    assert Point(1) == Point(1, 0) == (1, 0)
    assert Point(1)._replace(y=2) == Point(1, 2)
    with pytest.raises(TypeError):
        Point(1, 2, 3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="unexpected"):
        Point(1)._replace(z=1)  # type: ignore[call-arg]


def test_named_tuples_and_records_are_copied_and_pickled() -> None:
    context = Context(cwd="/a")
    assert copy.deepcopy(context) == context == pickle.loads(pickle.dumps(context))
    assert pickle.loads(pickle.dumps(Point(1, 2))) == Point(1, 2)


def test_a_record_is_frozen_compared_by_value_and_replaced() -> None:
    finding = Finding(rule="r", code="c", message="m", outcome=Outcome.ASK, severity=Severity.LOW)
    assert finding == dataclasses.replace(finding)
    assert dataclasses.replace(finding, rule="s") != finding
    assert hash(finding) == hash(dataclasses.replace(finding))
    with pytest.raises(AttributeError):
        finding.rule = "s"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Finding(rule="r")  # type: ignore[call-arg]
