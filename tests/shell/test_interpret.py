"""What a command does: the table of effects, and the bounds that hold for every text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from policyengine.config.specs import compile_descriptions
from policyengine.config.yamlfile import read_file
from policyengine.effects import Cause, Effect, Facts, FileDelete, Opaque, Taint, WrittenFile, as_json, kind_of
from policyengine.shell.interpret import MAX_BYTES, Situation, interpret
from policyengine.shell.programs import Programs

HERE = Path(__file__).parent
PROGRAMS = Programs(compile_descriptions([read_file(HERE / "programs.yaml")]))
CASES: list[dict[str, Any]] = [
    case
    for table in sorted((HERE.parent / "cases").glob("effects*.yaml"))
    for case in yaml.safe_load(table.read_text(encoding="utf-8"))
]


def facts_of(text: str, **situation: Any) -> Facts:
    return interpret(text, Situation(**situation), PROGRAMS)


def fits(effect: Effect, kind: str, fields: Mapping[str, object]) -> bool:
    found = as_json(effect)
    return kind_of(effect) == kind and all(
        set(value) <= set(found[name]) if isinstance(value, list) else found[name] == value  # type: ignore[call-overload]
        for name, value in fields.items()
    )


def some(facts: Facts, wanted: str | Mapping[str, Mapping[str, object]]) -> bool:
    kind, fields = (wanted, {}) if isinstance(wanted, str) else next(iter(wanted.items()))
    return any(fits(effect, kind, fields) for effect in facts.effects)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_command_has_the_effects_of_its_row(case: dict[str, Any]) -> None:
    facts = facts_of(case["command"])
    missing = [wanted for wanted in case.get("has", ()) if not some(facts, wanted)]
    surplus = [unwanted for unwanted in case.get("lacks", ()) if some(facts, unwanted)]
    assert (missing, surplus) == ([], []), facts.effects


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_spans_lie_inside_the_text(case: dict[str, Any]) -> None:
    size = len(case["command"])
    spans = [effect.span for effect in facts_of(case["command"]).effects if effect.span is not None]
    assert all(0 <= start <= end <= size for start, end in spans)


WRAPPERS = [
    "sudo {}",
    "env A=1 {}",
    "({})",
    "{{ {}; }}",
    "{}; true",
    "true && {}",
    "$({})",
    "{} | cat",
    "if true; then {}; fi",
    "f() {{ {}; }}; f",
    "eval '{}'",
    "bash <<< '{}'",
    "sh -c '{}'",
    "echo '{}' | sh",
    "while x; do {}; done",
    "{} &",
    "! {}",
    "x=$({})",
    'echo "$({})"',
    "cat <(  {})",
    "cat <<E\n$({})\nE",
    "[[ $({}) ]]",
    "(( $({}) ))",
    "a[$({})]=1",
    "case x in x) {};; esac",
    "command {}",
    "find . -exec {} \\;",
]


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrapping_hides_nothing(wrapper: str) -> None:
    effects = facts_of(wrapper.format("rm -r /a")).effects
    assert any(isinstance(effect, FileDelete) and effect.path == "/a" and effect.recursive for effect in effects)


def test_a_span_of_nested_code_points_into_the_outer_text() -> None:
    text = "true; sh -c 'ls; rm /a'"
    effect = next(effect for effect in facts_of(text).effects if isinstance(effect, FileDelete))
    assert effect.span is not None
    assert text[slice(*effect.span)] == "/a"


def test_a_script_that_an_earlier_call_wrote_is_read() -> None:
    written = {"/workspace/s.sh": WrittenFile("/workspace/s.sh", "rm /a")}
    assert some(facts_of("sh s.sh", written=written), {"file.delete": {"path": "/a"}})


def test_a_file_that_an_earlier_call_fetched_is_tainted() -> None:
    written = {"/workspace/s.sh": WrittenFile("/workspace/s.sh", None, frozenset({Taint.FETCHED}))}
    assert some(facts_of("./s.sh", written=written), {"process.execute": {"taint": ["fetched"]}})


def test_the_directory_of_a_persistent_shell_is_handed_on() -> None:
    assert facts_of("cd src; ls").cwd == "/workspace/src"
    assert facts_of("(cd src); ls").cwd is None


def test_what_was_written_is_handed_on_with_its_text() -> None:
    assert facts_of("echo hi > f").written == (WrittenFile("/workspace/f", "hi\n"),)


def test_a_known_environment_decides_what_is_unset() -> None:
    assert some(facts_of("rm /$X", env={}), {"file.delete": {"path": "/", "unknown": False}})
    assert some(facts_of("rm /$X", env={"X": "b"}), {"file.delete": {"path": "/b"}})
    assert some(facts_of("rm /$X"), {"file.delete": {"unknown": True}})


HOSTILE = {
    "commands": "a;" * 5000,
    "nested substitutions": "$(" * 5000,
    "nested and closed": "$(" * 2000 + "a" + ")" * 2000,
    "loops in loops": "for i in 1 2; do " * 200 + "a; " + "done; " * 200,
    "functions that call each other twice": "".join(f"f{i}() {{ f{i + 1}; f{i + 1}; }}; " for i in range(200)) + "f0",
    "text that doubles": "x=a; " + "x=$x$x; " * 1000 + "$x",
    "braces": "echo " + "{a,b}" * 2000,
    "many choices": "".join(f"if a; then x{i}=1; else x{i}=2; fi; " for i in range(200))
    + "b "
    + "$x1 $x2 $x3 $x4 $x5 ",
    "eval of eval": "eval " * 2000 + "a",
    "split of a long text": "x='" + "a " * 1500 + "'; " + "b $x; " * 2000,
    "python brackets": "python3 -c '" + "[" * 10_000 + "'",
    "a script that runs itself": "echo 'sh s; sh s' > s; sh s",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_ends_and_is_bounded(text: str) -> None:
    assert len(facts_of(text).effects) < 40_000


@pytest.mark.parametrize(
    "name", ["commands", "nested substitutions", "functions that call each other twice", "eval of eval"]
)
def test_what_exceeds_a_limit_is_opaque(name: str) -> None:
    causes = {effect.cause for effect in facts_of(HOSTILE[name]).effects if isinstance(effect, Opaque)}
    assert Cause.LIMIT in causes


def test_what_was_read_before_a_limit_counts() -> None:
    assert some(facts_of("rm /a; " + "b;" * 10_000), {"file.delete": {"path": "/a"}})


def test_text_over_the_size_limit_is_not_read() -> None:
    assert [type(effect) for effect in facts_of("a" * (MAX_BYTES + 1)).effects] == [Opaque]


PIECES = [
    *(
        "rm",
        "/a",
        ";",
        "|",
        "&",
        "&&",
        "||",
        "(",
        ")",
        "{",
        "}",
        "$(",
        "`",
        '"',
        "'",
        "\\",
        "\n",
        "$x",
        "${x",
        "${x:-",
        "${!x}",
    ),
    *(
        "${x//",
        "$@",
        '"$@"',
        "x=1",
        "x+=a",
        "a=(1 2)",
        "a[1]=",
        "declare -n",
        "unset",
        "x",
        "y",
        "<<E",
        "<<<",
        "<",
        ">",
        ">&",
    ),
    *(
        "2>&1",
        "/dev/tcp/h/1",
        "<(",
        ">(",
        "[[",
        "]]",
        "((",
        "))",
        "if",
        "then",
        "else",
        "fi",
        "for",
        "in",
        "do",
        "done",
    ),
    *(
        "while",
        "case",
        "esac",
        "f()",
        "f",
        "eval",
        "sh -c",
        "local",
        "shift",
        "set --",
        "read",
        "printf -v",
        "trap",
        "alias",
    ),
    *(
        "cd ..",
        "pushd",
        "popd",
        "*",
        "?",
        "[",
        "~",
        "{a,b}",
        "{1..3}",
        "export",
        "IFS=",
        "$#",
        "$1",
        "exec",
        ".",
        "xargs",
    ),
]


@given(st.lists(st.sampled_from(PIECES), max_size=25), st.sampled_from([" ", ""]))
@settings(max_examples=300, deadline=None)
def test_no_text_makes_it_raise(pieces: list[str], between: str) -> None:
    """For every text there are facts, and their spans lie inside it."""
    text = between.join(pieces)
    spans = [effect.span for effect in facts_of(text).effects if effect.span is not None]
    assert all(0 <= start <= end <= len(text) for start, end in spans)
