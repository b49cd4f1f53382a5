"""Globs without regular expressions."""

from __future__ import annotations

import fnmatch
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyengine.patterns import glob_test
from policyengine.policies.ruleset.globs import loosened, meets

TEXTS = ["".join(letters) for length in range(6) for letters in product("ab", repeat=length)]
GLOBS = st.text("ab*?", max_size=5)


@given(GLOBS, st.text("ab", max_size=7))
def test_a_glob_matches_what_fnmatch_matches(pattern: str, text: str) -> None:
    assert glob_test(pattern)(text) is fnmatch.fnmatchcase(text, pattern)


@pytest.mark.parametrize(
    ("segment", "loose"),
    [("a[bc]d", "a?d"), ("[!]x]*", "?*"), ("[abc", "*"), ("x@(a|b)c", "x*"), ("plain", "plain"), ("?[a-z]", "??")],
)
def test_loosening_names_at_least_as_much(segment: str, loose: str) -> None:
    assert loosened(segment) == loose


@given(st.text("ab*?", max_size=3), st.text("ab*?", max_size=2))
def test_two_globs_meet_exactly_where_some_text_matches_both(one: str, other: str) -> None:
    both = any(fnmatch.fnmatchcase(text, one) and fnmatch.fnmatchcase(text, other) for text in TEXTS)
    assert meets(one, other) is meets(other, one) is both


def test_globs_too_long_to_compare_may_meet() -> None:
    assert meets("*" + "a" * 1000 + "*", "*" + "b" * 1000 + "*")
    assert not meets("a" * 1000 + "*", "b" * 1000 + "*")


def test_a_pattern_of_many_stars_stays_fast() -> None:
    assert not glob_test("*a*a*a*a*a*a*a*b")("a" * 100_000)  # a backtracking matcher does not come back from this
