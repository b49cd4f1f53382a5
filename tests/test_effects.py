"""Effects: the closed union, its names, its equality and its JSON."""

from __future__ import annotations

import itertools
import typing

import pytest

from policyengine import effects
from policyengine.effects import EFFECTS, KINDS, Effect, FileDelete, FileRead, Taint, as_json, kind_of


def test_every_member_of_the_union_has_one_name_and_the_other_way_round() -> None:
    assert set(KINDS) == set(typing.get_args(Effect)) == set(EFFECTS.values())
    assert len(set(KINDS.values())) == len(KINDS)


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(KINDS, 2)))
def test_effects_of_different_kinds_differ_whatever_they_hold(one: type[Effect], other: type[Effect]) -> None:
    shared = min(len(one._fields), len(other._fields))
    values = ["x"] * shared
    first, second = one(*values), other(*values)  # type: ignore[arg-type]  # only equality is looked at
    assert first != second
    assert len({first, second}) == 2


def test_effects_of_one_kind_are_equal_by_value() -> None:
    assert FileRead("/a") == FileRead("/a")
    assert hash(FileRead("/a")) == hash(FileRead("/a"))
    assert FileRead("/a") != FileRead("/b")
    assert FileDelete("/a") != ("/a", False, False, False, effects.Where.HERE, None, "")


def test_json_names_the_kind_and_sorts_taints() -> None:
    effect = effects.FileWrite("/a", taint=frozenset({Taint.SECRET, Taint.FETCHED}), span=(1, 2), origin="tee")
    assert as_json(effect) == {
        "kind": "file.write", "path": "/a", "unknown": False, "glob": False, "append": False,
        "taint": ["fetched", "secret"], "recursive": False, "where": "here", "span": [1, 2], "origin": "tee",
        "tail": "",
    }  # fmt: skip
    assert kind_of(effect) == "file.write"
