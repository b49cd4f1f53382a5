"""Policy lines, from Casbin's CSV or any pycasbin adapter, some thousands at a time.

Casbin's CSV knows no quotes, and no comments behind a value. A line's place in the text is its number.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, count, repeat
from typing import Protocol, TypeAlias

from policyengine.errors import LoadError
from policyengine.records import NamedTuple

Row: TypeAlias = "tuple[int, str, Sequence[str]]"  # number from 1, type (`p`, `g`, `g2` …), fields
PART = 1 << 18  # characters of a text that are read at once
BLOCK = 5_000  # rows of an adapter that are
_MARKS = re.compile(r"[,\[\]()]")
_OTHER_SPACES = "\t\v\f\r\x1c\x1d\x1e\x1f"  # what `str.strip` takes away of ASCII, but for blanks and ends of lines


class Columns(NamedTuple):
    """Rows of one type: their numbers, and all their first fields, all their second fields, and so on."""

    kind: str
    numbers: Sequence[int]
    fields: Sequence[Sequence[str]]


class Block(Protocol):
    """Some rows."""

    def rows(self) -> Sequence[Row]:
        """Give them one by one.

        Raises:
            LoadError: one cannot be read.
        """

    def columns(self, sizes: Mapping[str, int]) -> list[Columns] | None:
        """Give them by type; None where one is of another type, or does not have the number of fields of its type.

        Raises:
            LoadError: one cannot be read.
        """


class Source(Protocol):
    """Where policy lines come from. It can be gone through more than once, and gives the same each time."""

    file: str

    def blocks(self) -> Iterator[Block]:
        """Go through the rows."""

    def digest(self) -> str:
        """SHA-256, hex, of the rows as they are written."""


# ---------------------------------------------------------------------------------------------------------------- rows
class RowsBlock(NamedTuple):
    """Rows that have been read."""

    of: Sequence[Row]

    def rows(self) -> Sequence[Row]:
        """Give them one by one."""
        return self.of

    def columns(self, sizes: Mapping[str, int]) -> list[Columns] | None:
        """Give them by type, as `Block` says."""
        if any(sizes.get(kind) != len(fields) for _, kind, fields in self.of):
            return None
        of_kinds = {kind: [row for row in self.of if row[1] == kind] for kind in sizes}
        return [
            Columns(kind, [row[0] for row in rows], tuple(zip(*(row[2] for row in rows), strict=True)))
            for kind, rows in of_kinds.items()
            if rows
        ]


class RowLines:
    """Rows that somebody else has read; the number of a row is its place among them."""

    __slots__ = ("_rows", "file")

    def __init__(self, rows: Iterable[tuple[str, Sequence[str]]], file: str) -> None:
        self._rows = tuple((kind, tuple(fields)) for kind, fields in rows)
        self.file = file

    def blocks(self) -> Iterator[RowsBlock]:
        """Go through the rows."""
        for start in range(0, len(self._rows), BLOCK):
            rows = enumerate(self._rows[start : start + BLOCK], start + 1)
            yield RowsBlock([(number, kind, fields) for number, (kind, fields) in rows])

    def digest(self) -> str:
        """SHA-256, hex, of the rows."""
        digest = hashlib.sha256()
        for kind, fields in self._rows:
            for part in (kind, *fields):
                data = part.encode("utf-8", "surrogatepass")
                digest.update(len(data).to_bytes(8, "big") + data)
            digest.update(b"\xff" * 8)
        return digest.hexdigest()


# ---------------------------------------------------------------------------------------------------------------- texts
class CsvLines:
    """The lines of a text in Casbin's CSV."""

    __slots__ = ("_text", "file")

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self.file = file

    def blocks(self) -> Iterator[TextBlock]:
        """Go through the lines, those of some hundred thousand characters at a time."""
        start, number = 0, 1
        while (end := self._text.find("\n", start + PART)) >= 0:
            part = self._text[start:end]
            yield TextBlock(part, number, self.file)
            start, number = end + 1, number + part.count("\n") + 1
        yield TextBlock(self._text[start:], number, self.file)

    def digest(self) -> str:
        """SHA-256, hex, of the text."""
        return hashlib.sha256(self._text.encode("utf-8", "surrogatepass")).hexdigest()


class TextBlock(NamedTuple):
    """Lines of a text; `first` is the number of the first."""

    text: str
    first: int
    file: str

    def rows(self) -> Sequence[Row]:
        """Read line by line."""
        strip, rows = str.strip, []
        for number, raw in enumerate(self.text.split("\n"), self.first):
            line = strip(raw)
            if line and line[0] != "#":
                fields = list(map(strip, line.split(","))) if _is_flat(line) else self._nested(line, number)
                rows.append((number, fields[0], fields[1:]))
        return rows

    def columns(self, sizes: Mapping[str, int]) -> list[Columns] | None:
        """Read all lines at once where blanks stand only after commas, and nothing else that has to be looked at."""
        quickly = self._columns(sizes) if self.text.isascii() and _is_flat(self.text) else None
        return RowsBlock(self.rows()).columns(sizes) if quickly is None else quickly

    def _columns(self, sizes: Mapping[str, int]) -> list[Columns] | None:
        if any(space in self.text for space in _OTHER_SPACES):
            return None
        lines = self.text.replace(", ", ",").split("\n")
        columns = [_of_kind(kind, size, lines, self.first) for kind, size in sizes.items()]
        found = [one for one in columns if one is not None and one.numbers]
        if len(lines) > sum(len(one.numbers) for one in found):
            kinds = tuple(f"{kind}," for kind in sizes)
            if None in columns or any(line and line[0] != "#" and not line.startswith(kinds) for line in lines):
                return None
        return found

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


def _of_kind(kind: str, size: int, lines: Sequence[str], first: int) -> Columns | None:
    """The lines of a type; None where one has another number of fields, or a blank."""
    are_of_kind = list(map(str.startswith, lines, repeat(f"{kind},")))
    chosen = list(compress(lines, are_of_kind))
    text = ",".join(chosen)
    if " " in text or any(map(size.__ne__, map(str.count, chosen, repeat(",")))):
        return None
    fields, step = text.split(","), size + 1
    return Columns(kind, list(compress(count(first), are_of_kind)), [fields[at::step] for at in range(1, step)])
