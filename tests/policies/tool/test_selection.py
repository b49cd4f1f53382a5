"""Lists of tools in their circumstances: they hide and refuse alike, and sub-agents only lose."""

from __future__ import annotations

from typing import Any

import pytest

from policyengine.engine.exposure import Catalogue, exposed
from policyengine.errors import UsageError
from policyengine.model import Context, Outcome
from policyengine.policies.tool import Layer, Selection, When, inheriting
from policyengine.state import START
from tests.policies.tool.tools import bound, engine, judged, only, request, rules

ABCD = Catalogue(names=("a", "b", "c", "d"))
TOP = Context()


def _layer(source: str = "x", allow: str | None = None, deny: str = "", **when: Any) -> Layer:
    allowed = None if allow is None else tuple(allow.split())
    return Layer(source=source, allow=allowed, deny=tuple(deny.split()), when=When(**when))


def _left(selection: Selection, names: str = "a b c d", **context: Any) -> str:
    """Which names are left, and that calls of them agree."""
    listed = names.split()
    seen = exposed(engine(selection), request("", **context), Catalogue(names=tuple(listed))).visible
    for name in listed:
        assert (judged(selection, name, **context).outcome is Outcome.ALLOW) is (name in seen)
    return " ".join(seen)


@pytest.mark.parametrize(
    ("layers", "left"),
    [
        ([], "a b c d"),
        ([_layer()], "a b c d"),
        ([_layer(allow="b d")], "b d"),
        ([_layer(allow="")], ""),
        ([_layer(deny="b")], "a c d"),
        ([_layer(allow="a b", deny="b")], "a"),
        ([_layer(allow="*", deny="?")], ""),
        ([_layer(allow="A")], ""),
        ([_layer("one", allow="a b"), _layer("two", allow="c d")], ""),
    ],
)
def test_lists_leave(layers: list[Layer], left: str) -> None:
    assert _left(Selection(layers)) == left


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("mcp__github__*", "mcp__github__create_issue", True),
        ("mcp__github__*", "mcp__github__", True),
        ("mcp__github__*", "mcp__gitlab__create_issue", False),
        ("mcp__*__delete_*", "mcp__x__delete_all", True),
        ("mcp__*__delete_*", "mcp__x__read", False),
        ("tool?", "tool1", True),
        ("tool?", "tool", False),
        ("a*", "A1", False),
        ("[ab]", "a", False),
        ("[ab]", "[ab]", True),
        ("a*", "a*", True),
    ],
)
def test_names_may_be_globs(pattern: str, name: str, matches: bool) -> None:
    assert (bound(Selection([_layer(deny=pattern)]), name).outcome is Outcome.DENY) is matches
    assert (bound(Selection([_layer(allow=pattern)]), name).outcome is Outcome.ALLOW) is matches


@pytest.mark.parametrize(
    ("when", "context", "holds"),
    [
        ({}, {}, True),
        ({"least_depth": 1}, {}, False),
        ({"least_depth": 1}, {"depth": 1}, True),
        ({"least_depth": 1}, {"depth": 2}, True),
        ({"tags": frozenset({"t", "u"})}, {}, False),
        ({"tags": frozenset({"t", "u"})}, {"tags": frozenset({"u", "v"})}, True),
        ({"models": ("small*",)}, {"model": "small-1"}, True),
        ({"models": ("small*",)}, {"model": "large"}, False),
        ({"models": ("small*",)}, {}, True),  # which model it is, is not known
        ({"least_depth": 1, "tags": frozenset({"t"})}, {"depth": 1}, False),
    ],
)
def test_a_layer_holds_in_its_circumstances(when: dict[str, Any], context: dict[str, Any], holds: bool) -> None:
    assert _left(Selection([_layer(deny="a", **when)]), "a b", **context) == ("b" if holds else "a b")


def test_every_layer_that_objects_is_told() -> None:
    selection = Selection([_layer("one", deny="a"), _layer("two", allow="b"), _layer("three", allow="a")])
    verdict = bound(selection, "a")
    assert rules(verdict) == ["selection.one", "selection.two"]
    assert [finding.code for finding in verdict.findings] == ["selection.denied", "selection.not-allowed"]
    assert "(one)" in verdict.findings[0].message


def test_what_is_denied_is_not_also_left_out() -> None:
    assert only(bound(Selection([_layer(allow="b", deny="a")]), "a")).code == "selection.denied"


def test_a_child_only_narrows() -> None:
    """TinyAgents' own example: a, b, c without c; the child wants b, c, d; only b is left."""
    parent = Selection([_layer("parent", allow="a b c", deny="c")])
    assert _left(inheriting(parent, TOP, Selection([_layer("child", allow="b c d")]))) == "b"


@pytest.mark.parametrize(
    ("parent", "child", "left"),
    [
        (_layer("p"), _layer("c"), "a b c d"),
        (_layer("p", allow="a b"), _layer("c"), "a b"),
        (_layer("p"), _layer("c", allow="a b"), "a b"),
        (_layer("p", allow="a b"), _layer("c", allow="c d"), ""),
        (_layer("p", deny="a"), _layer("c", deny="b"), "c d"),
        (_layer("p", deny="a"), _layer("c", allow="a b"), "b"),
    ],
)
def test_denials_add_and_allowances_intersect(parent: Layer, child: Layer, left: str) -> None:
    assert _left(inheriting(Selection([parent]), TOP, Selection([child]))) == left


def test_what_holds_for_a_parent_holds_for_a_child_with_another_model_and_without_its_tags() -> None:
    parent = Selection(
        [_layer("small", deny="a", models=("small",)), _layer("tagged", deny="b", tags=frozenset({"t"}))]
    )
    context = Context(model="small", tags=frozenset({"t"}))
    handed_down = inheriting(parent, context, Selection([]))
    assert _left(parent, model="large") == "a b c d"
    assert _left(handed_down, model="large", depth=1) == "c d"


def test_what_does_not_hold_for_a_parent_may_come_to_hold() -> None:
    parent = Selection([_layer("deep", deny="a", least_depth=2)])
    child = inheriting(parent, Context(depth=0), Selection([]))
    assert _left(child, depth=1) == "a b c d"
    assert _left(child, depth=2) == "b c d"


@pytest.mark.parametrize("wrong", [{"allow": "abc"}, {"deny": "abc"}, {"allow": ("a", "")}, {"deny": (1,)}])
def test_a_list_has_to_be_a_list_of_names(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Layer(source="x", **wrong)


def test_selections_are_named_by_their_layers() -> None:
    selections = [
        Selection([]),
        Selection([_layer()]),
        Selection([_layer(allow="")]),
        Selection([_layer(deny="a")]),
        Selection([_layer(deny="a", least_depth=1)]),
        Selection([_layer(), _layer()]),
    ]
    assert len({selection.digest for selection in selections}) == len(selections)


def test_answers_are_kept_up_to_a_bound() -> None:
    layers = [_layer(f"l{at}", deny=f"*{at:02}*") for at in range(12)]
    selection = Selection(layers)
    for number in range(3000):
        name = "".join(f"{at:02}" for at in range(12) if number >> at & 1)
        assert (selection.bounds(request(""), (name,), START)[0].outcome is Outcome.DENY) is bool(name)
    assert len(selection._verdicts) <= 1024
