"""Program descriptions: what is refused, with its line and field, and what `like` and names make of the rest."""

from __future__ import annotations

import json

import pytest

from policyengine.config.specs import compile_descriptions, examples
from policyengine.config.yamlfile import read_text
from policyengine.errors import LoadError
from policyengine.shell.programs import Programs, read_arguments
from policyengine.shell.values import Value

BAD = [
    ("rm:\n  opts: {}\n", 2, "rm.opts", "documented"),
    ("rm:\n  summary: 1\n", 2, "rm.summary", ""),
    ("rm:\n  style: bsd\n", 2, "rm.style", ""),
    ("rm:\n  operands: remove...\n", 2, "rm.operands.0", "role"),
    ("rm:\n  operands: [read..., write...]\n", 2, "rm.operands.1", "at most one"),
    ("rm:\n  options:\n    -f: frobnicate\n", 3, "rm.options.-f.role", "role"),
    ("rm:\n  options:\n    -f: {role: 'code:Sh!'}\n", 3, "rm.options.-f.role", "role"),
    ("rm:\n  options:\n    -f: {role: read, value: none}\n", 3, "rm.options.-f.value", "required"),
    ("rm:\n  options:\n    -f: {role: read, roles: [read]}\n", 3, "rm.options.-f.roles", "one of them"),
    ("rm:\n  options:\n    force: {set: x}\n", 3, "rm.options.force", "begins with"),
    ("rm:\n  flags: [-f]\n  options:\n    -f --force: {set: x}\n", 2, "rm.flags.0", "once"),
    ("rm:\n  values: [-f -f]\n", 2, "rm.values.0", "once"),
    ("rm:\n  flags: [0]\n", 2, "rm.flags", ""),
    ("rm:\n  when:\n    - {if: force}\n", 3, "rm.when.0.if", "flag"),
    ("rm:\n  when:\n    - {unless: [force]}\n", 3, "rm.when.0.unless", "flag"),
    ("rm:\n  when:\n    - {match: {one: x}}\n", 3, "rm.when.0.match.one", "$1"),
    ("rm:\n  when:\n    - {roles: {archive: wrote}}\n", 3, "rm.when.0.roles.archive", "role"),
    ("rm:\n  output: loud\n", 2, "rm.output", "listing"),
    ("rm:\n  input: quiet\n", 2, "rm.input", "arguments"),
    ("rm:\n  effects:\n    - {file.remove: {path: $1}}\n", 3, "rm.effects.0", "file.delete"),
    ("rm:\n  effects:\n    - {file.delete: {file: $1}}\n", 3, "rm.effects.0.file.delete", "path"),
    ("rm:\n  effects:\n    - {file.delete: {recursive: true}}\n", 3, "rm.effects.0.file.delete", "path"),
    ("rm:\n  effects:\n    - {file.delete: {path: $1, recursive: 'yes'}}\n", 3, "recursive", "true or false"),
    ("rm:\n  effects:\n    - {file.delete: {path: $1, where: moon}}\n", 3, "where", "remote"),
    ("rm:\n  effects:\n    - {file.delete: {path: $1, origin: x}}\n", 3, "origin", "path"),
    ("rm:\n  effects:\n    - {file.write: {path: $1, taint: fetched}}\n", 3, "taint", "fetched"),
    ("rm:\n  effects:\n    - {file.delete: {path: $x}}\n", 3, "path", "$1"),
    ("rm:\n  effects:\n    - {file.delete: {path: $opt:-f}}\n", 3, "path", "spelling"),
    ("rm:\n  effects:\n    - {vcs.change: {system: $*, action: $2*}}\n", 3, "vcs.change", "at most one"),
    ("rm:\n  effects:\n    - {opaque: {cause: mood}}\n", 3, "cause", "option"),
    ("rm:\n  like: del\n", 2, "rm.like", "described"),
    ("rm:\n  like: rm\n", 2, "rm.like", "described"),
    ("rm:\n  options:\n    -f: {like: -g}\n", 3, "rm.options.-f.like", "option"),
    ("rm:\n  names: [del]\ndel: {}\n", 2, "rm.names.0", "alone"),
    ("rm:\n  subcommands:\n    x:\n      operands: nothing\n", 4, "rm.subcommands.x.operands.0", "role"),
    ("rm:\n  examples:\n    rm x: [{file.erase: {}}]\n", 3, "rm.examples.rm x.0", "file.delete"),
]


@pytest.mark.parametrize(
    ("text", "line", "field", "expected"), BAD, ids=[row[0].split("\n")[-2].strip() for row in BAD]
)
def test_a_wrong_description_is_refused_at_its_place(text: str, line: int, field: str, expected: str) -> None:
    with pytest.raises(LoadError) as refused:
        compile_descriptions([read_text(text, "x.yaml")])
    error = refused.value
    assert (error.file, error.line) == ("x.yaml", line)
    assert field in error.field
    assert expected in error.expected or not expected


def test_a_program_is_described_once() -> None:
    documents = [read_text("rm: {}\n", "a.yaml"), read_text("\nrm: {}\n", "b.yaml")]
    with pytest.raises(LoadError, match="described twice") as refused:
        compile_descriptions(documents)
    assert (refused.value.file, refused.value.line) == ("b.yaml", 2)


BASE = """
base:
  flags: [-a, -b --bb]
  options: {-o: write}
  operands: read...
  subcommands:
    one: {flags: [-x], effects: [{vcs.change: {system: base, action: one}}]}
    two: {like: one, flags: [-y]}
own:
  like: base
  names: ["own[0-9]"]
  options: {-b: read}
  subcommands: {one: {flags: [-z]}}
part: {like: base two}
lent: {options: {-p: {like: base -o}}}
"""


@pytest.mark.parametrize(
    ("command", "uses", "opaque", "drafts"),
    [
        ("part -x -y", [], 0, 1),
        ("part -z", [], 1, 1),
        ("base one -x", [], 0, 1),
        ("own one -z", [], 0, 0),
        ("own one -x", [], 1, 0),
        ("own two -z -y", [], 0, 0),
        ("own -a -b f --bb two", [("read", "f")], 0, 0),
        ("own7 -o f two", [("write", "f")], 0, 0),
        ("lent -p f", [("write", "f")], 0, 0),
    ],
)
def test_like_starts_from_another_description(
    command: str, uses: list[tuple[str, str]], opaque: int, drafts: int
) -> None:
    programs = Programs(compile_descriptions([read_text(BASE, "x.yaml")]))
    name, *words = command.split()
    program = programs.find(name)
    assert program is not None
    reading = read_arguments(program, [Value(word) for word in words])
    assert [(use.role, use.value.text) for use in reading.uses] == uses
    assert (len(reading.opaque), len(reading.drafts)) == (opaque, drafts)


def test_what_is_compiled_is_plain_json() -> None:
    compiled = compile_descriptions([read_text(BASE, "x.yaml")])
    assert json.loads(json.dumps(compiled)) == compiled
    assert compiled["own[0-9]"] == {"=": "own"}


def test_examples_carry_their_place() -> None:
    text = "rm:\n  examples:\n    rm x: [{file.delete: {path: /workspace/x}}]\n"
    (example,) = examples([read_text(text, "x.yaml")])
    assert (example.program, example.command, example.line) == ("rm", "rm x", 3)
    assert example.effects == (("file.delete", {"path": "/workspace/x"}),)
