"""Every shipped description: it loads, is complete enough for its own examples, and means what they say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from policyengine.config.specs import Example, compile_descriptions, examples
from policyengine.config.yamlfile import Document, read_file
from policyengine.effects import Effect, Execute, as_json
from policyengine.errors import LoadError
from policyengine.shell.interpret import Situation, interpret
from policyengine.shell.programs import Programs

COMMANDS = Path(__file__).parents[1] / "rules" / "commands"
FILES = sorted(COMMANDS.glob("*.yaml"))


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
def test_an_example_has_exactly_the_effects_it_states(example: Example) -> None:
    found = _effects(example.command)
    missing = [stated for stated in example.effects if not _take(found, *stated)]
    assert not missing, f"lacks {missing}; has besides {found}"
    assert not found, f"has besides {found}"


def _effects(command: str) -> list[Effect]:
    facts = interpret(command, Situation(), PROGRAMS)
    return [effect for effect in dict.fromkeys(facts.effects) if not isinstance(effect, Execute)]


def _take(found: list[Effect], kind: str, fields: Mapping[str, object]) -> bool:
    """Remove the first effect that is what was stated."""
    for effect in found:
        values = as_json(effect)
        if values["kind"] == kind and all(values[name] == value for name, value in fields.items()):
            found.remove(effect)
            return True
    return False
