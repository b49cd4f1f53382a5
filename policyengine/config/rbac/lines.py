"""Policy lines, from Casbin's CSV or any pycasbin adapter, checked one by one.

Casbin's CSV knows no quotes and no comments behind a value, and drops what it does not understand: a denying line
that is dropped, or never matches, allows. So what looks like a mistake is refused, with its line.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias

from policyengine.config.rbac.conf import Model
from policyengine.errors import LoadError
from policyengine.policies.rbac import Match, Shape
from policyengine.records import NamedTuple

Row: TypeAlias = "tuple[int, str, Sequence[str]]"  # number from 1, type (`p`, `g`, `g2` …), fields
_EVAL = re.compile(r"\beval\s*\(")
_COMMENT = re.compile(r"\s#")
_MARKS = re.compile(r"[,\[\]()]")
EFFECTS = ("allow", "deny")


class Source(Protocol):
    """Where policy lines come from. It can be gone through more than once, and gives the same each time."""

    file: str

    def __iter__(self) -> Iterator[Row]:
        """Go through the rows."""

    def digest(self) -> str:
        """SHA-256, hex, of the rows as they are written."""


class CsvLines:
    """The lines of a text in Casbin's CSV."""

    __slots__ = ("_text", "file")

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self.file = file

    def __iter__(self) -> Iterator[Row]:
        are_flat, strip = _is_flat(self._text), str.strip
        for number, raw in enumerate(self._text.split("\n"), 1):
            line = strip(raw)
            if line and line[0] != "#":
                is_flat = are_flat or _is_flat(line)
                fields = list(map(strip, line.split(","))) if is_flat else self._nested(line, number)
                yield number, fields[0], fields[1:]

    def digest(self) -> str:
        """SHA-256, hex, of the text."""
        return hashlib.sha256(self._text.encode("utf-8", "surrogatepass")).hexdigest()

    def _nested(self, line: str, number: int) -> list[str]:
        """Fields of a line with brackets, in which commas do not separate."""
        fields, start, depth = [], 0, 0
        for mark in _MARKS.finditer(line):
            if mark.group() == ",":
                if not depth:
                    fields.append(line[start : mark.start()].strip())
                    start = mark.end()
            else:
                depth += 1 if mark.group() in "[(" else -1
                if depth < 0:
                    break
        if depth:
            raise LoadError("brackets that do not match", file=self.file, line=number, expected="as many of each kind")
        return [*fields, line[start:].strip()]


def _is_flat(line: str) -> bool:
    return "(" not in line and "[" not in line and ")" not in line and "]" not in line


class RowLines:
    """Rows that somebody else has read; the number of a row is its place among them."""

    __slots__ = ("_rows", "file")

    def __init__(self, rows: Iterable[tuple[str, Sequence[str]]], file: str) -> None:
        self._rows = tuple((kind, tuple(fields)) for kind, fields in rows)
        self.file = file

    def __iter__(self) -> Iterator[Row]:
        for number, (kind, fields) in enumerate(self._rows, 1):
            yield number, kind, fields

    def digest(self) -> str:
        """SHA-256, hex, of the rows."""
        digest = hashlib.sha256()
        for kind, fields in self._rows:
            for part in (kind, *fields):
                data = part.encode("utf-8", "surrogatepass")
                digest.update(len(data).to_bytes(8, "big") + data)
            digest.update(b"\xff" * 8)
        return digest.hexdigest()


class Checker(NamedTuple):
    """What a line has to be under a model."""

    file: str
    sizes: dict[str, int]
    fields: tuple[str, ...]
    effect: int | None
    prefixes: tuple[int, ...]  # positions under `keyMatch`

    def check(self, row: Row) -> None:
        """Pass a row that can be trusted to mean what it says.

        Raises:
            LoadError: it cannot.
        """
        number, kind, fields = row
        size = self.sizes.get(kind)
        if size is None:
            raise self._error(number, kind, "a line of a type that the model does not have", ", ".join(self.sizes))
        if len(fields) != size:
            names = ", ".join(self.fields) if kind == "p" else "the names of its definition"
            raise self._error(number, kind, f"{len(fields)} fields", f"{size}: {names}")
        text = ",".join(fields)
        if '"' in text or "#" in text or "eval" in text or "" in fields:
            self._check_texts(number, kind, fields)
        if kind == "p":
            if self.effect is not None and fields[self.effect] not in EFFECTS:
                raise self._error(number, "eft", f"the effect `{fields[self.effect]}`", "`allow` or `deny`")
            for position in self.prefixes:
                if "*" in fields[position][:-1]:
                    raise self._error(number, self.fields[position], "text after a `*`, which keyMatch does not read",
                                      "`*` at the end, or globMatch in the model")  # fmt: skip

    def _check_texts(self, number: int, kind: str, fields: Sequence[str]) -> None:
        for position, text in enumerate(fields):
            name = self.fields[position] if kind == "p" else kind
            if not text:
                raise self._error(number, name, "an empty field", "a value")
            if '"' in text:
                raise self._error(number, name, "a quote, which Casbin takes for a part of the value", "the bare value")
            if _COMMENT.search(text):
                raise self._error(number, name, "a comment behind a value, which Casbin takes for a part of it",
                                  "comments on lines of their own")  # fmt: skip
            if _EVAL.search(text):
                raise self._error(number, name, "`eval()`, which would run text of a policy as code", "a plain value")

    def _error(self, number: int, field: str, message: str, expected: str) -> LoadError:
        return LoadError(message, file=self.file, line=number, field=field, expected=expected)


def checker_of(model: Model, shape: Shape | None, file: str) -> Checker:
    """Say what lines have to be under a model."""
    prefixes = () if shape is None else tuple(term.policy for term in shape.terms if term.match is Match.KEY)
    return Checker(file, {"p": len(model.policy)} | model.roles, model.policy, model.effect, prefixes)
