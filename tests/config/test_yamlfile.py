"""Strict YAML."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyengine.config.yamlfile import MAX_DEPTH, Plain, read_bytes, read_file, read_text
from policyengine.errors import LoadError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: on", {"a": "on"}),
        ("a: yes", {"a": "yes"}),
        ("a: Off", {"a": "Off"}),
        ("a: True", {"a": "True"}),
        ("a: true", {"a": True}),
        ("a: false", {"a": False}),
        ("a: 'true'", {"a": "true"}),
        ("a: 22:22", {"a": "22:22"}),
        ("a: 010", {"a": "010"}),
        ("a: 0x1f", {"a": "0x1f"}),
        ("a: 1_000", {"a": "1_000"}),
        ("a: 1e3", {"a": "1e3"}),
        ("a: .inf", {"a": ".inf"}),
        ("a: 2020-01-01", {"a": "2020-01-01"}),
        ("a: -12", {"a": -12}),
        ("a: 1.50", {"a": 1.5}),
        ("a: ~", {"a": "~"}),
        ("a: ~/x", {"a": "~/x"}),
        ("a: null", {"a": None}),
        ("a:", {"a": None}),
        ("a: ''", {"a": ""}),
        ("1: 2", {"1": 2}),
        ("-r -R: x", {"-r -R": "x"}),
        ('"on": 1', {"on": 1}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("[1, {b: [c]}]", [1, {"b": ["c"]}]),
        ("", None),
        ("# only a comment\n", None),
    ],
)
def test_a_value_is_read_as_it_looks(text: str, value: Plain) -> None:
    assert read_text(text, "f").value == value


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: 2\na: 3", 3, "the key `a` a second time (first on line 1)"),
        ("a:\n  b: 1\n  b: 2", 3, "the key `b` a second time (first on line 2)"),
        ("x: 1\non: 1", 2, "the key `on` has several readings in YAML"),
        ("y: 1", 1, "the key `y` has several readings in YAML"),
        ("True: 1", 1, "the key `True` has several readings in YAML"),
        ("~: 1", 1, "the key `~` has several readings in YAML"),
        ("<<: {a: 1}", 1, "the key `<<` has several readings in YAML"),
        ("a: &x 1", 1, "the anchor `&x`"),
        ("a: *x", 1, "aliases are not read"),
        ("a: !!python/object:os.system x", 1, "tags are not read"),
        ("a: !x [1]", 1, "tags are not read"),
        ("? [a]\n: 1", 1, "a list or mapping as a key"),
        ("a: 1\n---\nb: 1", 2, "a second document"),
        ("a: [1", 2, "did not find expected"),
        ("a: 'x", 1, "found unexpected end of stream"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), 1, f"nests deeper than {MAX_DEPTH}"),
        ("[" * 100_000, 1, ""),
        ("\tx: 1", 1, ""),
    ],
)
def test_what_can_be_read_two_ways_is_refused(text: str, line: int, message: str) -> None:
    with pytest.raises(LoadError) as caught:
        read_text(text, "f.yaml")
    assert (caught.value.file, caught.value.line) == ("f.yaml", line)
    assert caught.value.message.startswith(message)


def test_every_value_has_its_line() -> None:
    document = read_text("a: 1\nb:\n  - x\n  - k: 2\n    z:\n      w\n", "f")
    assert [document.line(place) for place in [("a",), ("b",), ("b", 0), ("b", 1, "k"), ("b", 1, "z")]] == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert document.line(("b", 1, "k", "beyond")) == 4


def test_an_error_tells_its_place() -> None:
    error = read_text("a:\n  - b: 1\n", "f.yaml").error("wrong", ("a", 0, "b"), expected="right")
    assert str(error) == "f.yaml:2: `a.0.b`: wrong (expected right)"


def test_bytes_that_are_no_utf8_are_refused_with_their_line() -> None:
    with pytest.raises(LoadError, match="not UTF-8") as caught:
        read_bytes(b"a: 1\nb: \xff", "f")
    assert caught.value.line == 2


def test_a_missing_file_is_a_load_error(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot be read"):
        read_file(tmp_path / "none.yaml")


def test_control_characters_are_a_load_error() -> None:
    with pytest.raises(LoadError, match="not valid YAML"):
        read_text("a: \x00", "f")
