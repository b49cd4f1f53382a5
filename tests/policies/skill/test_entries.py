"""Entries of `allowed-tools`, and what two lists of them have in common."""

from __future__ import annotations

import pytest

from policyengine.effects import Execute, Facts
from policyengine.policies.skill.entries import Admission, Reading, clause_of, joined, narrowed
from policyengine.records import replace
from policyengine.state import Entries
from policyengine.state.skills import MAX_ENTRIES
from tests.policies.skill.worlds import call


@pytest.mark.parametrize(
    ("entry", "named", "others"),
    [
        ("Read", ("Read",), ("read", "Rea", "Reader", "Read ", "")),
        ("Bash(git:*)", ("Bash",), ("bash", "Bash(git:*)")),
        ("mcp__a", ("mcp__a", "mcp__a__x"), ("mcp__ab", "mcp__ab__x", "mcp__b__x")),
        ("mcp__a__*", ("mcp__a__x", "mcp__a__"), ("mcp__a", "mcp__ab__x")),
        ("context7/*", ("context7/get",), ("context7", "context70/get")),
        ("azure/search", ("azure/search",), ("azure/search2",)),
    ],
)
def test_an_entry_names_tools(entry: str, named: tuple[str, ...], others: tuple[str, ...]) -> None:
    reading = Reading()
    for tool in (*named, *others):
        bound = reading.admits((entry,), replace(call(tool), arguments=None), Facts())
        assert (bound is Admission.YES) is (tool in named), tool


def test_what_cannot_be_read_names_nothing() -> None:
    assert clause_of(["", "(x)", "Bash(git", "\u0420ead"]) == ()


def test_specifiers_of_several_entries_are_judged_together() -> None:
    seen: list[set[str | None]] = []

    def covers(clause: object, request: object, facts: object) -> bool:
        seen.append({pattern.specifier for pattern in clause})  # type: ignore[attr-defined]
        return True

    clause = ("Bash(git:*)", "Bash(npm:*)", "Read")
    assert Reading(covers).admits(clause, call("Bash"), Facts((Execute("git"),))) is Admission.YES
    assert seen == [{"git:*", "npm:*", None}]
    assert Reading(covers).admits(clause, call("Bash"), Facts()) is Admission.UNCOVERED
    assert Reading(covers).admits(clause, call("Write"), Facts((Execute("git"),))) is Admission.NO
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        (None, None, None),
        (None, ("a",), ("a",)),
        (("a", "b"), ("b", "c"), ("b",)),
        ((), ("a",), ()),
        (("Bash",), ("Bash(git:*)",), ("Bash(git:*)",)),
        (("Bash(git:*)",), ("Bash(npm:*)",), ()),
        (("Bash(git:*)",), ("Bash(git diff:*)",), ()),  # less than they have in common, never more
        (("mcp__a",), ("mcp__a__x", "mcp__b__x"), ("mcp__a__x",)),
        (("mcp__a__*",), ("mcp__a",), ("mcp__a__*",)),
        (("mcp__a__*",), ("mcp__a__x*",), ("mcp__a__x*",)),
        (("x/a*c",), ("x/a*",), ("x/a*c",)),
        (("x/*c",), ("x/a*",), ()),
        (("x/*(1)",), ("x/a",), ()),
    ],
)
def test_what_two_lists_have_in_common(one: Entries, other: Entries, common: Entries) -> None:
    assert narrowed(one, other) == common
    assert narrowed(other, one) == common


def test_lists_stay_bounded() -> None:
    many = tuple(f"t{number}" for number in range(MAX_ENTRIES))
    assert joined(many, ("more",)) == many
    assert joined(("a",), ("a", "b")) == ("a", "b")
    left = narrowed((*many, *(f"x/{number}" for number in range(9))), ("x/*", *many))
    assert left is not None
    assert len(left) == MAX_ENTRIES
