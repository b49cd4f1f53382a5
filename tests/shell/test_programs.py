"""How an argument list is read: the grammar of options and operands, and what is unknown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyengine.config.specs import compile_descriptions
from policyengine.config.yamlfile import read_text
from policyengine.effects import Cause, Taint, Where
from policyengine.shell.programs import Programs, Reading, Tail, filled, read_arguments
from policyengine.shell.programs.vocabulary import is_role
from policyengine.shell.values import Value

DESCRIPTIONS = r"""
tool:
  names: ["tool[0-9]*"]
  negatable: true
  numeric: true
  flags: [-v --verbose, -q, --version]
  values: [-n --number]
  options:
    -o --output: write
    -i --in-place: {role: data, value: optional, set: edit}
    -C: {role: chdir, first: true}
    "-0": {value: digits}
    --force --forget: {set: force}
    -m: {roles: [read, write]}
    -k:
      keys:
        run: shell
        file.*: read
        alias.*: bang-shell
        note: {effects: [{vcs.change: {system: x, action: $key, target: $value}}]}
    --list: {role: read, split: ","}
    -V: {role: mount, before: ":", effects: [{container.change: {action: run, mount: $value}}]}
    -c: {role: "code:python", stop: true, set: code}
  operands: read...
  when:
    - {if: edit, roles: {read: edit}}
    - {if: code, operands: data...}
lib:
  equals: true
  flags: [-v]
  options: {-o: write, -k: {role: mount, keys: {"*": data}}}
  operands: read...
cp: {flags: [-a], operands: [read..., write]}
grep: {options: {-e: {role: pattern, set: given}}, operands: [pattern, read...], when: [{if: given, operands: read...}]}
wrap: {style: posix, values: [-s], flags: [-f], operands: [data, command]}
env: {style: posix, flags: [-i], operands: [assign..., command]}
find:
  style: single
  ignore: ["(", ")"]
  values: [-name]
  flags: [-print]
  options: {-exec: {role: command, until: [";", "+"]}, -delete: {set: delete}}
  operands: stat...
dd: {style: keyvalue, options: {if: read, of: write}, values: [bs]}
echo: {style: none, operands: data...}
tar:
  bundled_first: true
  flags: [-z, -v]
  options: {-c: {set: create}, -x: {set: extract}, -f: {role: archive}, -C: chdir}
  operands: member...
  when:
    - {if: create, roles: {archive: write, member: read}}
    - {if: extract, roles: {archive: read, member: data}}
xargs: {style: posix, options: {-I: hole}, operands: command, input: arguments}
many: {style: posix, operands: {role: command, until: [":::"], hole: "{}"}, input: arguments}
ssh: {flags: [-t], values: [-p], operands: [host, {role: shell, where: remote, join: true}]}
sort: {plus: true, flags: [-r], operands: read...}
ed:
  operands: ["code:sed", edit...]
  when: [{match: {$1: [""]}, operands: [data, "code:sed", edit...]}, {match: {$1: [x]}, set: x}]
vcs:
  flags: [-p]
  subcommands:
    log: {flags: [-p, --oneline], operands: data...}
    push:
      options: {-f: {set: force}}
      effects: [{vcs.change: {system: vcs, action: push, target: $2}}]
      when: [{match: {$2: "+*"}, set: force}, {if: force, effects: [{vcs.change: {system: vcs, action: force-push}}]}]
    rm: {effects: [{vcs.change: {system: vcs, action: rm, target: $*}}]}
    stash: {when: [{if: bare, effects: [{vcs.change: {system: vcs, action: stash}}]}], subcommands: {list: {}}}
"""
COMPILED = compile_descriptions([read_text(DESCRIPTIONS, "test.yaml")])
PROGRAMS = Programs(COMPILED)


def _read(name: str, *arguments: str | Value) -> Reading:
    program = PROGRAMS.find(name)
    assert program is not None
    return read_arguments(program, [Value(one) if isinstance(one, str) else one for one in arguments])


def _uses(reading: Reading) -> list[tuple[str, str]]:
    return [(use.role, use.value.text) for use in reading.uses]


UNKNOWN = Value("", exact=False)
MANY = Value("", exact=False, many=True)
GLOB = Value("*.txt", glob=True)


@pytest.mark.parametrize(
    ("name", "arguments", "uses"),
    [
        ("tool", ["a", "b"], [("read", "a"), ("read", "b")]),
        ("tool", ["-vq", "a"], [("read", "a")]),
        ("tool", ["-ofile"], [("write", "file")]),
        ("tool", ["-vofile"], [("write", "file")]),
        ("tool", ["-vo", "file"], [("write", "file")]),
        ("tool", ["-o=x"], [("write", "=x")]),
        ("tool", ["--output=x"], [("write", "x")]),
        ("tool", ["--output", "x"], [("write", "x")]),
        ("tool", ["--out", "x"], [("write", "x")]),
        ("tool", ["--output="], [("write", "")]),
        ("tool", ["a", "-o", "x"], [("read", "a"), ("write", "x")]),
        ("tool", ["--", "-o", "x"], [("read", "-o"), ("read", "x")]),
        ("tool", ["-", "x"], [("read", "-"), ("read", "x")]),
        ("tool", ["-n", "-o", "x"], [("read", "x")]),
        ("tool", ["-5", "-20", "x"], [("read", "x")]),
        ("tool", ["-5o", "x"], [("write", "x")]),
        ("tool", ["-0777vo", "x"], [("write", "x")]),
        ("tool", ["--no-verbose", "x"], [("read", "x")]),
        ("tool", ["x", "-C", "d"], [("chdir", "d"), ("read", "x")]),
        ("tool", ["-i", "x"], [("edit", "x")]),
        ("tool", ["-i.bak", "x"], [("edit", "x")]),
        ("tool", ["-m", "a", "b", "c"], [("read", "a"), ("write", "b"), ("read", "c")]),
        ("tool", ["-k", "run=a b"], [("shell", "a b")]),
        ("tool", ["-kRUN a"], [("shell", "a")]),
        ("tool", ["-k", "File.x=y"], [("read", "y")]),
        ("tool", ["-k", "alias.x=!rm"], [("shell", "rm")]),
        ("tool", ["-k", "alias.x=log"], []),
        ("tool", ["--list=a,b"], [("read", "a"), ("read", "b")]),
        ("tool", ["-V", "a:b"], [("mount", "a:b")]),
        ("tool", ["-V", "a"], [("mount", "a")]),
        ("lib", ["-o=x"], [("write", "x")]),
        ("lib", ["-vo=x", "a"], [("write", "x"), ("read", "a")]),
        ("lib", ["-v=no", "a"], [("read", "a")]),
        ("lib", ["-o", "=x"], [("write", "=x")]),
        ("lib", ["sub", "-o=x"], [("read", "sub"), ("write", "x")]),
        ("lib", ["-k=a=b"], [("mount", "a=b")]),
        ("tool", ["-c", "code", "-o", "x"], [("code:python", "code")]),
        ("cp", ["a", "b", "c"], [("read", "a"), ("read", "b"), ("write", "c")]),
        ("cp", ["a"], [("write", "a")]),
        ("grep", ["p", "f", "g"], [("read", "f"), ("read", "g")]),
        ("grep", ["-e", "p", "f"], [("read", "f")]),
        ("find", ["d", "(", "-name", "-print", ")"], [("stat", "d")]),
        ("find", ["d", "-name=x"], [("stat", "d")]),
        ("dd", ["if=a", "bs=1", "of=b=c"], [("read", "a"), ("write", "b=c")]),
        ("echo", ["-o", "--", "x"], []),
        ("tar", ["czf", "a.tgz", "src"], [("write", "a.tgz"), ("read", "src")]),
        ("tar", ["cfC", "a.tar", "d", "src"], [("write", "a.tar"), ("chdir", "d"), ("read", "src")]),
        ("tar", ["-xzf", "a.tgz", "member"], [("read", "a.tgz")]),
        ("ssh", ["h", "-t", "-p", "1", "ls", "-l"], [("host", "h"), ("shell", "ls -l")]),
        ("sort", ["+1", "-r", "f"], [("read", "f")]),
        ("ed", ["s", "f"], [("code:sed", "s"), ("edit", "f")]),
        ("ed", ["", "s", "f"], [("code:sed", "s"), ("edit", "f")]),
    ],
)
def test_options_and_operands_get_their_roles(name: str, arguments: list[str], uses: list[tuple[str, str]]) -> None:
    reading = _read(name, *arguments)
    assert _uses(reading) == uses
    assert not reading.opaque


@pytest.mark.parametrize(
    ("name", "arguments", "detail"),
    [
        ("tool", ["--frobnicate", "x"], "--frobnicate"),
        ("tool", ["--frobnicate=secret"], "--frobnicate"),
        ("tool", ["-vX"], "-X"),
        ("tool", ["--no-frobnicate"], "--no-frobnicate"),
        ("tool", ["-k", "other=1"], "-k other"),
        ("wrap", ["--frobnicate", "1", "ls"], "--frobnicate"),
        ("find", ["-frobnicate"], "-frobnicate"),
        ("dd", ["frob=1"], "frob"),
        ("dd", ["--help"], "--help"),
        ("tar", ["-f", "a"], "archive without a mode"),
        ("vcs", ["frobnicate"], "vcs frobnicate"),
        ("vcs", ["-p", "push", "-p"], "-p"),
    ],
)
def test_what_is_not_described_is_opaque(name: str, arguments: list[str], detail: str) -> None:
    assert _read(name, *arguments).opaque == ((Cause.OPTION, detail, None),)


def test_an_abbreviation_is_read_where_only_one_option_has_it() -> None:
    assert _read("tool", "--forc").flags == {"force"}
    assert _read("tool", "--ver").opaque == ((Cause.OPTION, "--ver", None),)


@pytest.mark.parametrize(
    ("name", "arguments", "uses", "opaque"),
    [
        ("tool", [UNKNOWN], [("read", "")], False),
        ("tool", [Value("-", exact=False)], [], True),
        ("tool", [Value("--", exact=False)], [], True),
        ("tool", [Value("--out", exact=False)], [], True),
        ("tool", [Value("-v", exact=False)], [], True),
        ("tool", [Value("-o", exact=False)], [("write", "")], False),
        ("tool", [Value("-vopre", exact=False)], [("write", "pre")], False),
        ("tool", [Value("--output=pre", exact=False)], [("write", "pre")], False),
        ("tool", ["-o", UNKNOWN], [("write", "")], False),
        ("tool", ["--", Value("-x", exact=False)], [("read", "-x")], False),
        ("tool", [MANY], [("read", "")], False),
        ("tool", [GLOB], [("read", "*.txt")], False),
        ("tool", [Value("-*", glob=True, exact=False)], [], True),
        ("cp", [MANY, "dst"], [("read", ""), ("write", "dst")], False),
        ("cp", ["src", MANY], [("read", "src"), ("read", ""), ("write", "")], False),
        ("cp", ["src", GLOB], [("read", "src"), ("write", "*.txt"), ("read", "*.txt")], False),
        ("cp", [UNKNOWN, "dst"], [("read", ""), ("write", "dst")], False),
        ("vcs", [UNKNOWN], [], True),
        ("vcs", ["push", "-f", MANY], [], False),
    ],
)
def test_unknown_words_are_operands_unless_they_begin_with_a_dash(
    name: str, arguments: list[str | Value], uses: list[tuple[str, str]], opaque: bool
) -> None:
    reading = _read(name, *arguments)
    assert sorted(_uses(reading)) == sorted(uses)
    assert bool(reading.opaque) == opaque


def test_an_uncertain_match_adds_but_changes_no_roles() -> None:
    reading = _read("ed", UNKNOWN, "f")
    assert (_uses(reading), reading.flags) == ([("code:sed", ""), ("edit", "f")], frozenset({"x"}))
    assert _read("ed", Value("s/", exact=False), "f").flags == frozenset()


def test_a_part_of_a_value_keeps_what_is_known_of_it() -> None:
    given = Value("--output=a", exact=False, taint=frozenset({Taint.FETCHED}), span=(3, 9))
    assert _read("tool", given).uses[0].value == Value("a", False, False, False, frozenset({Taint.FETCHED}), (3, 9))


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("wrap", ["-f", "5", "rm", "-f", "x"], [["rm", "-f", "x"]]),
        ("wrap", ["5", "--", "rm", "-x"], [["rm", "-x"]]),
        ("wrap", ["-s", "-f", "5", "rm"], [["rm"]]),
        ("wrap", ["5"], []),
        ("wrap", [MANY, "5", "rm", "x"], [["", "5", "rm", "x"], ["5", "rm", "x"], ["rm", "x"]]),
        ("env", ["A=1", "-i", "B=2", "rm", "C=3"], [["rm", "C=3"]]),
        ("env", ["A=1"], []),
        ("env", [UNKNOWN, "rm"], [["", "rm"], ["rm"]]),
        ("find", [".", "-exec", "rm", "{}", ";", "-print"], [["rm", "{}"]]),
        ("find", [".", "-exec", "rm", "+", "{}", "+", "-print"], [["rm", "+", "{}"]]),
        ("find", [".", "-exec", "rm", "{}"], [["rm", "{}"]]),
        ("many", ["rm", "-f", ":::", "a", "b"], [["rm", "-f", "a"], ["rm", "-f", "b"]]),
        ("many", ["rm {}.x", ":::", "a"], [["rm", "a.x"]]),
        ("xargs", [], []),
    ],
)
def test_the_words_of_a_further_command_are_found(name: str, arguments: list[Any], words: list[list[str]]) -> None:
    tails = _read(name, *arguments).tails
    assert sorted([value.text for value in tail.words] for tail in tails) == sorted(words)


def test_xargs_tells_what_it_adds_and_where() -> None:
    assert _read("xargs", "rm", "-f").tails[0].appended == "stdin"
    assert _read("xargs", "-I%", "rm", "%").tails[0].hole == "%"
    assert _read("find", ".", "-exec", "rm", "{}", ";").tails[0].appended == "paths"


@pytest.mark.parametrize(
    ("tail", "value", "words"),
    [
        (Tail((Value("rm"),), appended="stdin"), Value("a"), (Value("rm"), Value("a"))),
        (Tail((Value("rm"), Value("%")), appended="stdin", hole="%"), Value("a"), (Value("rm"), Value("a"))),
        (Tail((Value("x%y"),), appended="stdin", hole="%"), Value("a"), (Value("xay"),)),
        (
            Tail((Value("x%y"),), appended="stdin", hole="%"),
            Value("a", exact=False),
            (Value("xa", exact=False, rest="y"),),
        ),
        (Tail((Value("rm"),)), Value("a"), (Value("rm"),)),
    ],
)
def test_a_tail_is_filled_at_its_hole_or_its_end(tail: Tail, value: Value, words: tuple[Value, ...]) -> None:
    assert filled(tail, value) == words


def test_words_that_a_shell_elsewhere_reads_are_joined() -> None:
    use = _read("ssh", "h", "rm", Value("-", exact=False), "x").uses[1]
    assert (use.role, use.where, use.value.text, use.value.exact) == ("shell", Where.REMOTE, "rm -", False)


@pytest.mark.parametrize(
    ("arguments", "drafts"),
    [
        (["push", "origin", "main"], [("push", "main")]),
        (["push", "origin"], [("push", "")]),
        (["push", "origin", "+main"], [("push", "+main"), ("force-push", None)]),
        (["push", "origin", UNKNOWN], [("push", ""), ("force-push", None)]),
        (["push", "-f"], [("push", ""), ("force-push", None)]),
        (["rm", "a", "b"], [("rm", "a"), ("rm", "b")]),
        (["rm"], []),
        (["stash"], [("stash", None)]),
        (["stash", "list"], []),
        (["log", "-p"], []),
    ],
)
def test_templates_become_drafts(arguments: list[str | Value], drafts: list[tuple[str, str | None]]) -> None:
    found = [(draft.fields["action"], draft.fields.get("target")) for draft in _read("vcs", *arguments).drafts]
    assert [(action, target.text if isinstance(target, Value) else target) for action, target in found] == drafts


def test_a_key_and_its_value_can_be_referred_to() -> None:
    draft = _read("tool", "-k", "note=x").drafts[0]
    assert {name: getattr(value, "text", value) for name, value in draft.fields.items()} == {
        "system": "x",
        "action": "note",
        "target": "x",
    }


def test_programs_are_found_by_exact_name_then_by_glob() -> None:
    assert PROGRAMS.find("tool") is PROGRAMS.find("tool3.1")
    assert PROGRAMS.find("toolx") is None
    assert PROGRAMS.find("frobnicate") is None


_TEXTS = "- -- = --= -v -o --output=x -k run=a ; {} ::: A=1 a +1 -5v push stash"
WORDS = st.sampled_from(["", *_TEXTS.split()])
VALUES = st.builds(Value, WORDS, st.booleans(), st.booleans(), st.booleans())


@given(st.sampled_from(sorted(COMPILED)), st.lists(VALUES, max_size=8))
@settings(deadline=None)
def test_reading_is_total(name: str, arguments: list[Value]) -> None:
    """Every argument list has a reading, each tail a command word, each use a role that the README knows."""
    reading = _read(name, *arguments)
    assert all(tail.words for tail in reading.tails)
    assert all(is_role(use.role) for use in reading.uses)
