"""Annotations of the Model Context Protocol: a server's word about its own tools only tightens."""

from __future__ import annotations

from typing import Any

import pytest

from policyengine.effects import Connect, FileWrite
from policyengine.model import Outcome
from policyengine.policies.tool import STRICT, Settings, SideEffect, ToolPolicy, hint_of
from tests.policies.tool.tools import bound, judged, rules, said

ALL = Settings(deny=frozenset(SideEffect) - {SideEffect.READ_ONLY})


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, []),
        ({"title": "Nice", "idempotentHint": True}, []),
        ({"destructiveHint": True}, ["destructive"]),
        ({"destructive_hint": True}, ["destructive"]),
        ({"destructiveHint": False}, []),
        ({"openWorldHint": True}, ["network", "external_service"]),
        ({"openWorldHint": False}, []),
        ({"readOnlyHint": True}, []),
        ({"readOnlyHint": True, "destructiveHint": True}, []),  # then it means nothing, by the specification
        ({"readOnlyHint": False, "destructiveHint": True}, ["destructive"]),
        ({"destructiveHint": "false"}, ["destructive"]),
        ({"destructiveHint": 0}, ["destructive"]),
        ({"openWorldHint": []}, ["network", "external_service"]),
        ({"readOnlyHint": "true", "destructiveHint": True}, ["destructive"]),
        ({"readOnlyHint": 1, "destructiveHint": True}, ["destructive"]),
        ({"destructiveHint": None}, []),
        (None, []),
        ("nonsense", []),
        ({"destructiveHint": False, "destructive_hint": True}, ["destructive"]),
        ({"readOnlyHint": True, "read_only_hint": False, "destructiveHint": True}, ["destructive"]),
    ],
)
def test_a_hint_counts_against_a_tool(annotations: Any, expected: list[str]) -> None:
    policy = ToolPolicy({"x": said()}, ALL).hinted({"x": annotations})
    assert rules(bound(policy, "x")) == [f"tool.side-effect.{flag}" for flag in expected]


def test_a_server_that_calls_its_tool_read_only_does_not_classify_it() -> None:
    policy = ToolPolicy({}, STRICT).hinted({"x": {"readOnlyHint": True, "openWorldHint": False}})
    assert bound(policy, "x").outcome is Outcome.DENY
    assert "tool.undeclared" in rules(bound(policy, "x"))


def test_a_server_is_held_to_its_word() -> None:
    loud = said("writes_files", "network", "destructive")
    policy = ToolPolicy({"x": loud}).hinted({"x": {"readOnlyHint": True, "openWorldHint": False}})
    assert judged(policy, "x").outcome is Outcome.ALLOW
    assert rules(judged(policy, "x", FileWrite("/a"))) == ["tool.exceeds-side-effects.writes_files"]
    assert rules(judged(policy, "x", Connect("x.test"))) == ["tool.exceeds-side-effects.network"]


def test_a_missing_hint_is_the_worst_case_of_a_tool_that_nobody_declared() -> None:
    policy = ToolPolicy({}, ALL).hinted({"x": {}})
    assert len(bound(policy, "x").findings) == 6


def test_hints_of_several_add_up() -> None:
    policy = ToolPolicy({"x": said()}, ALL).hinted({"x": {"destructiveHint": True}}).hinted({"x": {}})
    assert rules(bound(policy, "x")) == ["tool.side-effect.destructive"]
    assert policy.digest != ToolPolicy({"x": said()}, ALL).digest


def test_a_hint_is_no_declaration() -> None:
    with pytest.raises((TypeError, AttributeError)):
        ToolPolicy({"x": hint_of({"readOnlyHint": True})}, STRICT)  # type: ignore[dict-item]
