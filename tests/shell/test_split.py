"""The splitter on its own."""

from __future__ import annotations

import pytest

from policyengine.shell import split_commands


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a; b && c || d & e\nf", ["a", "b", "c", "d", "e", "f"]),
        ("a | b |& c", ["a", "b", "c"]),
        ("(a; b)", ["(a", "b)"]),
        ("{ a; b; }", ["{ a", "b", "}"]),
        ("if a; then b; fi", ["if a", "then b", "fi"]),
        ("a 2>&1 &> b >| c", ["a 2>&1 &> b >| c"]),
        ("a 'b; c' \"d & e\" f\\;g", ["a 'b; c' \"d & e\" f\\;g"]),
        ("a $(b; c) `d; e` <(f; g)", ["a $(b; c) `d; e` <(f; g)"]),
        ("a # b; c\nd", ["a", "d"]),
        ("a <<E; b\nc; d\nE\ne", ["a <<E", "b\nc; d\nE", "e"]),
        ("a <<E\nb; c", ["a <<E\nb; c"]),
        ("a <<<E; b", ["a <<<E", "b"]),
        ("for ((i=0; i<3; i++)); do a; done", ["for ((i=0; i<3; i++))", "do a", "done"]),
        ("((1 << 2)); a", ["((1 << 2))", "a"]),
        ("((a); (b))", ["((a)", "(b))"]),
        ("a=(b\nc) d", ["a=(b\nc) d"]),
        ("a[1<<2]=b c &&\nd", ["a[1<<2]=b c", "d"]),
        ("x) a[1<<2]=b c\nd", ["x) a[1<<2]=b c", "d"]),
        ("a b[1<<2 c\nd\n2\ne", ["a b[1<<2 c\nd\n2", "e"]),
        ("a >&-b; c", ["a >&-b", "c"]),
        ("time -p -- a[1<<2]=b c |\nd", ["time -p -- a[1<<2]=b c", "d"]),
        ("function a { b= c[1<<2]=d e |\nf; }", ["function a { b= c[1<<2]=d e", "f", "}"]),
        (">a b[1<<2]=c d\ne", [">a b[1<<2]=c d", "e"]),
        ("a | time b[1<<2]\nc\n2]\nd", ["a", "time b[1<<2]\nc\n2]", "d"]),
        ("a || time b[1<<2]=c d\ne", ["a", "time b[1<<2]=c d", "e"]),
        ("for a[ in b; do c; done", ["for a[ in b", "do c", "done"]),
        ("while (a) do b; done", ["while (a)", "do b", "done"]),
        ("a $(b) do c; (d) >do", ["a $(b) do c", "(d) >do"]),
        ("[[ a || b ]] || c", ["[[ a || b ]]", "c"]),
        ("[[ a = *(#) ]] & b", ["[[ a = *(#) ]]", "b"]),
        ("", []),
    ],
)
def test_a_valid_text_is_cut_here(text: str, parts: list[str]) -> None:
    split = split_commands(text)
    assert ([part.text for part in split.parts], split.valid) == (parts, True)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a 'b; c\nd; e", ["a 'b; c", "d", "e"]),
        ("a $(b; c", ["a $(b", "c"]),
        ("((1 << E\na\nE\nb", ["((1 << E", "a", "E", "b"]),
    ],
)
def test_what_is_not_closed_hides_no_command(text: str, parts: list[str]) -> None:
    split = split_commands(text)
    assert ([part.text for part in split.parts], split.valid) == (parts, False)


def test_extended_globs_are_words_where_they_are_on() -> None:
    split = split_commands("a !(b|c); d", extglob=True)
    assert ([part.text for part in split.parts], split.valid) == (["a !(b|c)", "d"], True)
    assert len(split_commands("a !(b|c); d").parts) == 3


def test_pipes_stay_whole_on_request() -> None:
    assert [part.text for part in split_commands("a | b; c |& d", pipes=False).parts] == ["a | b", "c |& d"]


@pytest.mark.parametrize("text", ["a\0;b", "\\", "'", "<<", "a <<'", "((", "$", "`", "a[", "${", ")", "a=(", "[["])
def test_no_text_is_refused_and_parts_are_slices(text: str) -> None:
    assert all(part.text == text[part.start : part.end] for part in split_commands(text).parts)
