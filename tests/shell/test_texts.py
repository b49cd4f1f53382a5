"""Texts that templates put together (`policyengine.shell.programs.texts`)."""

from __future__ import annotations

import pytest

from policyengine.shell.programs.texts import changed, mistakes, parts_of


@pytest.mark.parametrize(
    ("text", "changes", "result"),
    [
        ("src/a.tar.gz", "name", "a.tar.gz"),
        ("src/a/", "name", "a"),
        ("src/a.c", "stem", "a"),
        ("src/.rc", "stem", ".rc"),
        ("s.d/a.c", "bare", "s.d/a"),
        ("s.d/a", "bare", "s.d/a"),
        ("a.tgz", "less .gz .tgz=.tar", "a.tar"),
        ("a.txt", "less .gz .tgz=.tar", "a.txt"),
        ("https://h.test/x/b.git", "name|less .git", "b"),
        ("TCP:h.test:80,fork", "after :|before :", "h.test"),
        ("TCP:h.test:80,fork", "after :|after :|before ,", "80"),
    ],
)
def test_a_reference_is_changed(text: str, changes: str, result: str) -> None:
    assert changed(text, changes) == result


def test_a_text_is_taken_apart_and_what_is_wrong_with_it_is_said() -> None:
    parts, rest = parts_of("${opt:-C}/${*|name}.o")
    assert [tuple(part) for part in parts] == [("", "opt:-C", ""), ("/", "*", "name")]
    assert rest == ".o"
    assert not list(mistakes("${*|less .a .b=.c}x"))
    assert list(mistakes("${*|bigger}")) == ["`bigger` changes nothing"]
    assert list(mistakes("$1${2}"))
