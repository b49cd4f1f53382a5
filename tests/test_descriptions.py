"""Every shipped description: it loads, is complete enough for its own examples, and means what they say."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from policyengine.config.specs import Example, compile_descriptions, examples
from policyengine.config.yamlfile import Document, read_file
from policyengine.errors import LoadError
from policyengine.shell.programs import Programs, read_arguments
from policyengine.shell.values import Value

COMMANDS = Path(__file__).parents[1] / "rules" / "commands"
FILES = sorted(COMMANDS.glob("*.yaml"))
SHELL_CHARACTERS = frozenset("$`|&;<>(){}*?[]\n~")


def _loaded() -> tuple[Mapping[str, Any], list[Document], dict[str, LoadError]]:
    """What loads of all files, and the fault of each file that does not: one broken file must not hide the others."""
    documents: dict[str, Document] = {}
    faults: dict[str, LoadError] = {}
    for path in FILES:
        try:
            documents[str(path)] = read_file(path)
        except LoadError as error:
            faults[str(path)] = error
    while True:
        try:
            return compile_descriptions(documents.values()), list(documents.values()), faults
        except LoadError as error:
            faults[error.file] = error
            del documents[error.file]


COMPILED, DOCUMENTS, FAULTS = _loaded()
PROGRAMS = Programs(COMPILED)


EXAMPLES = [
    pytest.param(example, id=f"{Path(example.file).name}:{example.line}:{example.command}")
    for example in examples(DOCUMENTS)
]


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_every_file_loads(path: Path) -> None:
    fault = FAULTS.get(str(path))
    assert fault is None, str(fault)


@pytest.mark.parametrize("document", DOCUMENTS, ids=[Path(document.file).name for document in DOCUMENTS])
def test_every_program_has_a_summary_and_examples(document: Document) -> None:
    assert isinstance(document.value, dict)
    lacking = [
        name
        for name, description in document.value.items()
        if isinstance(description, dict) and not (description.get("summary") and description.get("examples"))
    ]
    assert not lacking


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_read_without_remainder(example: Example) -> None:
    words = _words(example.command)
    program = PROGRAMS.find(words[0].rpartition("/")[2]) if words else None
    if program is None:
        return
    reading = read_arguments(program, [Value(word) for word in words[1:]])
    expected = any(kind == "opaque" for kind, _ in example.effects)
    assert expected or not reading.opaque


def _words(command: str) -> list[str]:
    """The words of a command without expansions, or nothing."""
    if not SHELL_CHARACTERS.isdisjoint(command):
        return []
    return shlex.split(command)
