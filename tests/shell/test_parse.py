"""The reader against tables of spellings, each confirmed by real bash (syntax only, nothing is run)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from policyengine.errors import ParseError, UsageError
from policyengine.shell import MAX_DEPTH, parse, read
from policyengine.shell.nodes import CommandSubstitution, Heredoc, SimpleCommand, Unread, walk

CASES = Path(__file__).parent.parent / "cases"
VALID = yaml.safe_load((CASES / "parse_valid.yaml").read_text(encoding="utf-8"))
INVALID = yaml.safe_load((CASES / "parse_invalid.yaml").read_text(encoding="utf-8"))
FAULTY = yaml.safe_load((CASES / "parse_faulty.yaml").read_text(encoding="utf-8"))
ZSH = yaml.safe_load((CASES / "parse_zsh.yaml").read_text(encoding="utf-8"))
BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="bash is not installed")


def rows(table: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(row, id=row["id"]) for row in table]


def nodes_in(text: str, *kinds: type) -> list[Any]:
    nodes: list[Any] = list(walk(parse(text)))
    return [node for node in nodes if not kinds or isinstance(node, kinds)]


def bash_accepts(text: str, path: Path) -> bool:
    path.write_bytes(text.encode())
    assert BASH is not None
    return subprocess.run([BASH, "--norc", "-n", str(path)], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("row", rows(VALID))
def test_a_valid_text_has_these_commands(row: dict[str, Any]) -> None:
    commands = parse(row["text"]).commands()
    assert [[word.static for word in command.words] for command in commands] == row["words"]


@pytest.mark.parametrize("row", rows(INVALID))
def test_an_invalid_text_is_refused_where_the_fault_is(row: dict[str, Any]) -> None:
    with pytest.raises(ParseError) as caught:
        parse(row["text"])
    assert (caught.value.position, caught.value.message.startswith(row["message"])) == (row["at"], True)


@needs_bash
@pytest.mark.parametrize("row", rows(VALID))
def test_bash_accepts_the_valid_texts(row: dict[str, Any], tmp_path: Path) -> None:
    assert bash_accepts(row["text"], tmp_path / "text")


@needs_bash
@pytest.mark.parametrize("row", rows(INVALID))
def test_bash_refuses_the_invalid_texts(row: dict[str, Any], tmp_path: Path) -> None:
    assert not bash_accepts(row["text"], tmp_path / "text")


@pytest.mark.parametrize("row", rows(FAULTY))
def test_a_fault_that_bash_exits_with_0_for_is_told_by_read(row: dict[str, Any]) -> None:
    reading = read(row["text"])
    assert parse(row["text"]) == reading.script
    assert reading.fault is not None
    assert (reading.fault.position, reading.fault.message.startswith(row["message"])) == (row["at"], True)


@needs_bash
@pytest.mark.parametrize("row", rows(FAULTY))
def test_bash_exits_with_0_for_the_faulty_texts_and_yet_fails_to_evaluate_them(
    row: dict[str, Any], tmp_path: Path
) -> None:
    evaluation = [str(BASH), "--norc", "-c", 'eval "set -n\n$1"', "-", row["text"]]
    assert bash_accepts(row["text"], tmp_path / "text")
    assert subprocess.run(evaluation, capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize("row", rows(VALID))
def test_spans_lie_inside_the_text(row: dict[str, Any]) -> None:
    nodes = nodes_in(row["text"])
    assert all(0 <= node.start <= node.end <= len(row["text"]) for node in nodes)


@pytest.mark.parametrize("row", rows(VALID + INVALID + FAULTY))
def test_every_beginning_of_a_text_is_read_without_an_exception(row: dict[str, Any]) -> None:
    readings = [read(row["text"][:length]) for length in range(len(row["text"]))]
    assert all(not reading.limited for reading in readings)


@needs_bash
@pytest.mark.parametrize(
    ("text", "words"),
    [("a | \\", [["a"], ["\\"]]), ("a; fi\\", [["a"], ["fi\\"]]), ("}\\", [["}\\"]]), ("a >\\", [["a"]])],
)
def test_a_backslash_at_the_end_is_a_character_as_in_a_string_that_bash_runs(text: str, words: list[list[str]]) -> None:
    assert subprocess.run([str(BASH), "--norc", "-nc", text], check=False).returncode == 0
    assert [[word.static for word in command.words] for command in parse(text).commands()] == words
    assert read(text).fault is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a; b 'c", ["a", "b"]),
        ("a; if b; then c", ["a", "b", "c"]),
        ("a $(b; c", ["a", "b", "c"]),
        ("{ a; f() { b", ["a", "b"]),
        ("a; ;; b", ["a"]),
        ('a "${x:-$(b', ["a", "b"]),
        ("a\0b", ["a"]),
    ],
)
def test_a_tolerant_reading_keeps_what_stands_before_the_fault(text: str, words: list[str]) -> None:
    reading = read(text)
    assert reading.fault is not None
    assert [command.words[0].static for command in reading.script.commands() if command.words] == words


@pytest.mark.parametrize(
    "text",
    ["(($(a\n# `\nb\"${c:$'1\\x60\\'", "a=$(((${ b `c`''s ) } # 'd\n(( e'f \"g $(h 'i", "(($(((a) ) '((' (b) ) '"],
)
def test_what_is_read_again_in_other_quotes_ends_where_its_text_ends(text: str) -> None:
    assert read(text).fault is not None


def test_a_tolerant_reading_of_a_valid_text_is_the_strict_one() -> None:
    reading = read("a | b; c <<E\n$x\nE")
    assert (reading.script, reading.fault, reading.limited) == (parse("a | b; c <<E\n$x\nE"), None, False)


def test_a_reading_stops_at_its_depth_and_keeps_what_it_has() -> None:
    reading = read("a; (b; (c; (d)))", max_depth=2)
    assert reading.limited
    assert [command.words[0].static for command in reading.script.commands() if command.words] == ["a", "b", "c"]


def test_a_reading_stops_at_its_number_of_nodes() -> None:
    reading = read("a; b; c; d; e", max_nodes=4)
    assert reading.limited
    assert len(list(reading.script.commands())) < 5


@pytest.mark.parametrize(
    "opener", ["(", "( ", "$(", "${ ", "{ ", "if ", "${a:-", "case a in a) ", "<(", "$((", '"$(', "a=("]
)
@pytest.mark.parametrize("times", [300, 50_000])
def test_no_depth_exhausts_the_stack(opener: str, times: int) -> None:
    with pytest.raises(ParseError):
        parse(opener * times)


def test_two_hundred_levels_are_read() -> None:
    assert MAX_DEPTH >= 200
    assert len(list(parse("( " * 200 + "a" + ")" * 200).commands())) == 1
    assert len(list(parse("a $(" * 200 + "a" + ")" * 200).commands())) == 201


def test_a_fault_that_bash_defers_is_unread() -> None:
    found = nodes_in("a `if` <<E\n$(fi)\nE", CommandSubstitution)
    assert all(isinstance(node.body, Unread) for node in found)
    assert len(found) == 2


def test_nodes_in_backticks_have_outer_offsets() -> None:
    text = "a `b \\`c\\``"
    inner = [command for command in parse(text).commands() if command.words[0].static == "c"]
    assert text[inner[0].start] == "c"


def test_a_quoted_body_is_static_and_an_expanding_one_is_not() -> None:
    bodies = nodes_in("a <<'E' <<F\n$x *\nE\n$x\nF\n", Heredoc)
    assert [body.body.static for body in bodies] == ["$x *\n", None]


@pytest.mark.parametrize(
    ("text", "dialect", "count"),
    [
        ("a &> b", "bash", 1),
        ("a &> b", "sh", 2),
        ("[[ a ]]", "bash", 0),
        ("[[ a ]]", "sh", 1),
        ("((a))", "bash", 0),
        ("((a))", "sh", 1),
        ("time a", "sh", 1),
    ],
)
def test_dialects_differ(text: str, dialect: str, count: int) -> None:
    assert len(list(parse(text, dialect).commands())) == count


@pytest.mark.parametrize("row", rows(ZSH))
def test_zsh_refuses_what_no_node_says(row: dict[str, Any]) -> None:
    parse(row["text"])
    assert (read(row["text"], "zsh").fault is not None) == row["refused"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.parametrize("row", rows(ZSH))
def test_zsh_accepts_what_is_refused_for_it(row: dict[str, Any]) -> None:
    zsh = [str(shutil.which("zsh")), "-fn"]
    assert subprocess.run(zsh, input=row["text"].encode(), capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    "text", ["a *(e:b:)", "a *(+b)", "a=(*(e:b:))", "a =(b)", "a () { b }", "() { a }", "if (a) b"]
)
def test_what_only_zsh_reads_is_a_fault_in_every_dialect(text: str) -> None:
    readings = [read(text, dialect, extglob=dialect == "zsh") for dialect in ("bash", "sh", "zsh")]
    assert all(reading.fault is not None for reading in readings)


@pytest.mark.parametrize(("dialect", "names"), [("bash", ["a"]), ("sh", ["a", "c"]), ("zsh", ["a", "c"])])
def test_single_quotes_in_a_quoted_operand_hide_something_in_bash_alone(dialect: str, names: list[str]) -> None:
    script = parse('a "${b:-\'}"; c #\'}"', dialect)
    assert [command.words[0].static for command in script.commands()] == names
    assert any(isinstance(node, Unread) for node in walk(script)) == (dialect == "bash")


def test_an_unknown_dialect_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        parse("a", "fish")


def test_extended_globs_are_read_where_they_are_on() -> None:
    words = [command.words for command in parse("a !(b|$(c)) d", extglob=True).commands()]
    assert [[word.static for word in found] for found in words] == [["a", None, "d"], ["c"]]


def test_the_mark_of_an_extended_glob_may_belong_to_a_parameter() -> None:
    words = [command.words for command in parse("a $?(b|$(c)) d$@(e)", extglob=True).commands()]
    assert [[word.static for word in found] for found in words] == [["a", None, None], ["c"]]
    assert read("a \\?(b)", extglob=True).fault is not None


def test_a_command_has_a_span() -> None:
    assert [command.span for command in parse(" a b ; c").commands()] == [(1, 4), (7, 8)]


def test_every_simple_command_is_found_by_walking() -> None:
    text = "a | (b; $(c)) && d"
    starts = {node.start for node in nodes_in(text, SimpleCommand)}
    assert {command.start for command in parse(text).commands()} == starts


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("((a <<E\nb\nE\n) | c)\n", True),
        ("(( a # it's )\nb <<E ))\nc # it's )\n", True),
        ("f() ((a <<E\nb\nE\n) )\n", True),
        ("((a <<E; b) | c)\nd\nE\n", False),
        ("((a\nb); c <<E)\nd\nE\n", False),
        ("( (a <<E\nb\nE\n) | c)\n", False),
        ("((a <<<b\nc) | d)\n", False),
    ],
)
def test_a_here_document_that_bash_looks_for_elsewhere_is_refused(text: str, refused: bool) -> None:
    """Bash reads `((` as arithmetic first, then looks for the body behind these lines, and runs what stands in them."""
    fault = read(text).fault
    assert (fault is not None and "arithmetic first" in str(fault)) is refused
