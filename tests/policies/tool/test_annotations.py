"""Annotations of the Model Context Protocol: a server's word about its own tools only tightens."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from policyengine.effects import Connect, FileDelete, FileWrite
from policyengine.model import Outcome
from policyengine.policies.tool import STRICT, Metadata, Settings, SideEffect, ToolPolicy
from tests.policies.tool.tools import bound, judged, read_only, rules, said

ALL = Settings(deny=frozenset(SideEffect) - {SideEffect.READ_ONLY})
HINTS = ("readOnlyHint", "destructiveHint", "openWorldHint", "idempotentHint")


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
        ({"destructiveHint": False, "destructive_hint": True}, ["destructive"]),
        ({"readOnlyHint": True, "read_only_hint": False, "destructiveHint": True}, ["destructive"]),
    ],
)
def test_a_hint_counts_against_a_tool(annotations: dict[str, Any], expected: list[str]) -> None:
    policy = ToolPolicy({"x": said()}, ALL).hinted({"x": annotations})
    assert rules(bound(policy, "x")) == [f"tool.side-effect.{flag}" for flag in expected]


@pytest.mark.parametrize("values", list(itertools.product((None, False, True, "yes"), repeat=3)))
@pytest.mark.parametrize("declared", [None, Metadata(), read_only(), said("destructive")])
@pytest.mark.parametrize("settings", [Settings(), STRICT, ALL, Settings(require_approval=True, require_sandbox=True)])
def test_no_hint_loosens(values: tuple[Any, ...], declared: Metadata | None, settings: Settings) -> None:
    plain = ToolPolicy({} if declared is None else {"x": declared}, settings)
    hinted = plain.hinted({"x": dict(zip(HINTS, values, strict=False))})
    effects = (FileWrite("/a"), FileDelete("/b", recursive=True), Connect("x.test"))
    assert set(bound(plain, "x").findings) <= set(bound(hinted, "x").findings)
    assert set(judged(plain, "x", *effects).findings) <= set(judged(hinted, "x", *effects).findings)


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
