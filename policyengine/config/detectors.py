"""The schema of content detectors (`rules/guardrail`), and their compilation to what `policies.guardrails` reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from re import _parser  # type: ignore[attr-defined]  # tells the longest text that an expression matches
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, StringConstraints, TypeAdapter

from policyengine.config.matchers import check_pattern
from policyengine.config.rules import SEVERITY_WORDS, RuleId, SeverityWord, Words
from policyengine.config.validated import Schema, validated
from policyengine.config.yamlfile import Document, Place
from policyengine.policies.guardrails.content.checks import CHECKS

LONGEST = 400  # characters that an expression may match; what grows or is a block may be longer
MOST_OF_A_BLOCK = 64 * 1024
REPEATED = re.compile(r"\{([^{}*]+)\*([0-9]{1,4})\}")

ActionWord: TypeAlias = Literal["ignore", "note", "redact", "neutralise", "ask", "deny"]
Actions: TypeAlias = dict[Literal["argument", "input", "remote", "local", "output"], ActionWord]
Texts: TypeAlias = Annotated[list[str], Field(min_length=1)]
TagName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*([_-][a-z0-9]+)*$", max_length=30)]


class ExamplesSpec(Schema):
    """Texts in which a detector finds something, and near-misses. `{text*N}` stands for the text N times."""

    match: Texts
    passing: Annotated[Texts, Field(alias="pass")]


class DetectorSpec(Schema):
    """One detector; `rules/guardrail/README.md` says what the keys mean."""

    id: RuleId
    title: Words
    find: str | None = None
    tags: list[TagName] = Field(default=[])
    hints: list[str] = Field(default=[])
    digits: int = Field(default=0, ge=0, le=100)
    check: str | None = None
    context: list[str] = Field(default=[])
    grows: bool = False
    until: str | None = None
    at_most: int = Field(default=0, ge=0, le=MOST_OF_A_BLOCK)
    folds: bool = False
    joins: bool = False
    severity: SeverityWord | None = None
    actions: Actions = Field(default={})
    why: Words | None = None
    instead: Words | None = None
    references: list[Words] = Field(default=[])
    examples: ExamplesSpec


class FileSpec(Schema):
    """A file: what its detectors have in common, and the detectors."""

    category: Literal["secret", "pii", "injection"]
    severity: SeverityWord
    actions: Actions
    why: Words
    instead: Words
    references: list[Words]
    detectors: Annotated[list[DetectorSpec], Field(min_length=1)]


_FILE: TypeAdapter[FileSpec] = TypeAdapter(FileSpec)


@dataclass(frozen=True, slots=True)
class ContentExample:
    """A text, and whether a detector has to find something in it."""

    detector: str
    text: str
    matches: bool
    file: str
    line: int | None


def compile_detectors(documents: Iterable[Document]) -> dict[str, dict[str, Any]]:
    """Check detectors and compile them: id → plain data.

    Raises:
        LoadError: a detector is wrong, or its id is taken.
    """
    compiled: dict[str, dict[str, Any]] = {}
    for document, file, spec, place in _specs(documents):
        if spec.id in compiled:
            raise document.error(f"the detector `{spec.id}` is described twice", place, expected="a new id")
        if not spec.id.startswith(f"{file.category}."):
            raise document.error("the id is of another category", (*place, "id"), expected=f"{file.category}.…")
        compiled[spec.id] = _compiled(document, file, spec, place)
    return compiled


def detector_examples(documents: Iterable[Document]) -> Iterator[ContentExample]:
    """Give the examples of every detector.

    Raises:
        LoadError: a file is wrong.
    """
    for document, _, spec, place in _specs(documents):
        for matches, texts in ((True, spec.examples.match), (False, spec.examples.passing)):
            for text in texts:
                yield ContentExample(spec.id, _expanded(text), matches, document.file, document.line(place))


def _specs(documents: Iterable[Document]) -> Iterator[tuple[Document, FileSpec, DetectorSpec, Place]]:
    for document in documents:
        file = validated(_FILE, document)
        for index, spec in enumerate(file.detectors):
            yield document, file, spec, ("detectors", index)


def _expanded(text: str) -> str:
    """Write repetitions out, so that no example looks like a secret of somebody."""
    return REPEATED.sub(lambda match: match[1] * int(match[2]), text)


def _compiled(document: Document, file: FileSpec, spec: DetectorSpec, place: Place) -> dict[str, Any]:
    find = _expression(document, spec, place)
    if spec.check is not None and spec.check not in CHECKS:
        raise document.error(f"there is no check `{spec.check}`", (*place, "check"), expected=", ".join(CHECKS))
    if spec.until is not None:
        check_pattern(spec.until, document, (*place, "until"))
    if (spec.until is None) is not (spec.at_most == 0):
        raise document.error("a block has an end and a length", place, expected="`until` and `at_most` together")
    severity = spec.severity or file.severity
    return {
        "message": f"{spec.title}. {spec.why or file.why}",
        "severity": int(SEVERITY_WORDS[severity]),
        "instead": spec.instead or file.instead,
        "references": spec.references or file.references,
        "find": find,
        "hints": [hint.lower() for hint in (["<"] if spec.tags else spec.hints)],
        "digits": spec.digits,
        "check": spec.check or "",
        "context": [word.lower() for word in spec.context],
        "grows": spec.grows,
        "until": spec.until or "",
        "at_most": spec.at_most,
        "folds": spec.folds or spec.joins or bool(spec.tags),
        "joins": spec.joins,
        "spaces": _holds_blanks(find),
        "longest": _longest(document, find, (*place, "find")),
        "actions": {**file.actions, **spec.actions},
    }


def _expression(document: Document, spec: DetectorSpec, place: Place) -> str:
    if (spec.find is None) is (not spec.tags):
        raise document.error("a detector looks for an expression or for tags", place, expected="`find` or `tags`")
    find = spec.find if spec.find is not None else _tags(spec.tags)
    check_pattern(find, document, (*place, "find"))
    return find


def _longest(document: Document, find: str, place: Place) -> int:
    try:
        longest = int(_parser.parse(find).getwidth()[1])
    except (re.error, RecursionError, OverflowError) as error:
        raise document.error(f"its length cannot be told: {error}", place, expected="plain syntax") from error
    if not 0 < longest <= LONGEST:
        raise document.error("it matches texts that are too long", place, expected=f"at most {LONGEST} characters")
    return longest


def _holds_blanks(find: str) -> bool:
    """Whether what an expression matches may hold a blank; true where that is not plain to see."""
    return _BLANKS.search(find) is not None


_BLANKS = re.compile(r" |\\[sWDtn]|\[\^|(?<!\\)\.")


# ---------------------------------------------------------------------------------------------------------------- tags
_UNSEEN = r"\x00{0,3}"
_OPEN = r"(<[\x00<]{0,6})"
_CLOSE = r"(?:[\x00\s/|]{0,4}(>{1,3})|[\s/|:=<>&\x22\x27]|$)"
_WIDE = r"[\x00/|]{0,3}\s[\x00\s/|]{0,5}"  # a tag with blanks behind its bracket has to be closed: `a < system` is none
_SEPARATOR = r"[-_\s\x00]{0,3}"


def _tags(names: Iterable[str]) -> str:
    """An expression for the opening of any of the tags in folded text, and its closing where that follows at once."""
    alternatives = "|".join(_tag(name) for name in sorted(names, key=len, reverse=True))
    named = rf"(?:[a-z]{{1,12}}:{_UNSEEN})?(?:{alternatives}){_UNSEEN}"
    return rf"(?i){_OPEN}(?:[\x00/|]{{0,6}}{named}{_CLOSE}|{_WIDE}{named}[\x00\s/|]{{0,6}}(>{{1,3}}))"


def _tag(name: str) -> str:
    parts = re.split("[_-]", name)
    return _SEPARATOR.join(_UNSEEN.join(part) for part in parts)
