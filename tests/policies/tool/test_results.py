"""Results kept within a bound of bytes: cut at characters, flagged, and raw data bounded as well."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from policyengine.model import Frozen, freeze
from policyengine.policies.tool import bounded, flagged, truncated


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("12345678", 4, "1234"),
        ("1234", 4, "1234"),
        ("1234", 3, "123"),
        ("", 0, ""),
        ("a", 0, ""),
        ("a", -1, ""),
        ("ää", 3, "ä"),
        ("ää", 4, "ää"),
        ("€", 2, ""),
        ("a€", 3, "a"),
        ("😀😀", 7, "😀"),
        ("😀", 3, ""),
        ("e\u0301x", 2, "e"),  # between a letter and its mark is between two characters
        ("\ud800x", 3, "\ud800"),  # half of a pair stays what it is
        ("a\ud800", 2, "a"),
    ],
)
def test_a_text_is_cut_at_a_character(text: str, limit: int, expected: str) -> None:
    assert truncated(text, limit) == (expected, expected != text)


def test_a_long_text_is_cut_in_one_step() -> None:
    assert truncated("€" * 1_000_000, 1_000_000) == ("€" * 333_333, True)


@pytest.mark.parametrize(
    ("value", "limit", "expected"),
    [
        ("12345678", 4, "1234"),
        ({"a": 1}, 7, {"a": 1}),
        ({"a": 1}, 6, {}),
        ({"a": "12345678"}, 12, {"a": "1234"}),
        ({"abc": 1, "d": 2}, 9, {"abc": 1}),
        ({"abc": 1, "d": 2}, 14, {"abc": 1}),
        ({"abc": 1, "d": 2}, 15, {"abc": 1, "d": 2}),
        ([1, 2, 3], 7, [1, 2, 3]),
        ([1, 2, 3], 5, [1, 2]),
        ([[]] * 1000, 8, [[], []]),
        ([["abc"]], 7, [["a"]]),  # what holds no text takes room as well
        ([None] * 1000, 6, [None]),
        ([True], 5, []),
        ([True], 6, [True]),
        ([], 2, []),
        ({}, 1, None),
        (None, 4, None),
        (12345, 4, None),
        (1.5, 3, 1.5),
    ],
)
def test_data_is_cut_at_its_end(value: Any, limit: int, expected: Any) -> None:
    kept, cut = bounded(freeze(value), limit)
    assert kept == freeze(expected)
    assert cut is (kept != freeze(value))


@pytest.mark.parametrize("limit", range(60))
def test_what_is_left_is_within_the_bound(limit: int) -> None:
    value = freeze({"text": "ä€😀", "list": [1, 2.5, None, True, {"deep": ["x", []]}], "": "é" * 5})
    kept, cut = bounded(value, limit)
    size = len(json.dumps(_plain(kept), ensure_ascii=False, separators=(",", ":")).encode())
    assert size <= max(limit, len("null")), kept
    assert cut is (kept != value)


def _plain(value: Frozen) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def test_a_cut_result_counts_as_an_error() -> None:
    assert flagged("", 4) == "tool result exceeded max_result_bytes (4); truncated"
    assert flagged("failed", 4) == "failed; tool result exceeded max_result_bytes (4); truncated"
