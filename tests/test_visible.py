"""What a person is shown: nothing hidden, nothing reordered, nothing cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyengine.visible import is_unseen, pieces, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm -rf build", "rm -rf build"),
        ("naïve 日本 ✓", "naïve 日本 ✓"),
        ("e\u0301", "e\u0301"),
        ("\x1b[2Jls", "<U+001B>[2Jls"),
        ("a\nb\rc\td", "a<U+000A>b<U+000D>c<U+0009>d"),
        ("\x9b31m", "<U+009B>31m"),
        ("a\u202eb\u2066c", "a<U+202E>b<U+2066>c"),
        ("a\u200bb\ufeffc", "a<U+200B>b<U+FEFF>c"),
        ("\U000e0041", "<U+E0041>"),
        ("a\ufe0fb", "a<U+FE0F>b"),
        ("a\u3164b", "a<U+3164>b"),
        ("a\u00a0b", "a<U+00A0>b"),
        ("\udce9", "<U+DCE9>"),
        ("a" + " " * 16 + "b", "a" + " " * 16 + "b"),
        ("a" + " " * 300 + "; rm -rf /", "a<300 blanks>; rm -rf /"),
        ("e\u0301\u0301\u0301\u0301", "e\u0301\u0301<U+0301><U+0301>"),
    ],
)
def test_unseen_characters_are_shown_as_their_code_points(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(), max_size=60))
def test_what_is_shown_holds_no_unseen_character(text: str) -> None:
    assert not any(is_unseen(character) for character in visible(text))


@given(st.text(st.characters(), max_size=60))
def test_every_code_point_has_its_piece(text: str) -> None:
    assert len(pieces(text)) == len(text)


def test_a_long_text_keeps_its_tail() -> None:
    assert visible("x" * 100_000 + "; rm -rf ~").endswith("; rm -rf ~")
