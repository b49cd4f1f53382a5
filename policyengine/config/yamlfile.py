"""Strict YAML: one document of plain strings, numbers, booleans, lists and mappings, with the line of every value.

YAML 1.1 turns `on` into true, `22:22` into 1342, `010` into 8 and a repeated key into its last value. Here only `true`
and `false` are booleans, only `null` and nothing are null (`~` is a home directory), only plain decimal numbers are
numbers, every other unquoted word stays text, and a *key* that some reader takes for a boolean is refused; every other
key is text. Anchors, aliases, merge keys and tags are refused, so that a small file cannot describe a huge or an
executable value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import yaml

from policyengine.errors import LoadError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Scalar: TypeAlias = "str | int | float | bool | None"
Plain: TypeAlias = "Scalar | list[Plain] | dict[str, Plain]"
Place: TypeAlias = "tuple[str | int, ...]"

MAX_BYTES = 4 * 1024 * 1024  # of one file
MAX_DEPTH = 64  # nesting of lists and mappings
WORDS: Mapping[str, Scalar] = {"true": True, "false": False, "null": None, "": None}
INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})\Z")
DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,17})\.[0-9]{1,17}\Z")
# Unquoted keys that some reader of YAML takes for a boolean or a null: refused, since nobody can tell what was meant.
DOUBTFUL_KEYS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "", "<<"})


@dataclass(frozen=True, slots=True)
class Document:
    """A file's contents as plain data; `lines` gives the 1-based line of the value at each place (a path of keys)."""

    value: Plain
    file: str
    lines: Mapping[Place, int]

    def line(self, place: Place) -> int | None:
        """Line of the value at `place`, or of the nearest value around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place)

    def error(self, message: str, place: Place = (), *, expected: str = "") -> LoadError:
        """Make a `LoadError` about the value at `place`, for the caller to raise."""
        name = ".".join(str(part) for part in place)
        return LoadError(message, file=self.file, line=self.line(place), field=name, expected=expected)


def read_file(path: Path) -> Document:
    """Read one YAML file.

    Raises:
        LoadError: it cannot be read, is no UTF-8, or `read_text` refuses it.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror}", file=str(path)) from error
    return read_bytes(data, str(path))


def read_bytes(data: bytes, file: str) -> Document:
    """Read the bytes of one YAML file that is called `file` in messages.

    Raises:
        LoadError: they are no UTF-8, or `read_text` refuses them.
    """
    try:
        return read_text(data.decode("utf-8"), file)
    except UnicodeDecodeError as error:
        raise LoadError("not UTF-8", file=file, line=data[: error.start].count(b"\n") + 1) from error


def read_text(text: str, file: str) -> Document:
    """Read one YAML document.

    Raises:
        LoadError: the text is over `MAX_BYTES`, is no YAML, nests deeper than `MAX_DEPTH`, repeats a key, or uses a
            part of YAML that is refused here.
    """
    if len(text) > MAX_BYTES:
        raise LoadError(f"longer than {MAX_BYTES} characters", file=file)
    reader = _Reader(file)
    try:
        reader.read(yaml.parse(text, Loader=yaml.CSafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        raise LoadError(error.problem or "not valid YAML", file=file, line=line) from error
    except yaml.YAMLError as error:
        raise LoadError("not valid YAML: a character that YAML does not allow", file=file) from error
    return Document(reader.value, file, reader.lines)


@dataclass(slots=True)
class _Reader:
    """Builds the value from parse events with a stack of its own, so that no depth of nesting meets Python's limit."""

    file: str
    value: Plain = None
    lines: dict[Place, int] = field(default_factory=dict)
    stack: list[_Open] = field(default_factory=list)
    documents: int = 0

    def read(self, events: Iterable[yaml.Event]) -> None:
        for event in events:
            match event:
                case yaml.DocumentStartEvent():
                    self._count_document(event)
                case yaml.AliasEvent():
                    raise self._refuse("aliases are not read", event, "the value written out")
                case yaml.ScalarEvent():
                    self._refuse_node(event)
                    self._add_scalar(event)
                case yaml.CollectionStartEvent():
                    self._refuse_node(event)
                    self._open(event)
                case yaml.CollectionEndEvent():
                    self.stack.pop()

    def _count_document(self, event: yaml.Event) -> None:
        self.documents += 1
        if self.documents > 1:
            raise self._refuse("a second document", event, "one document in a file")

    def _refuse_node(self, event: yaml.NodeEvent) -> None:
        if event.anchor is not None:
            raise self._refuse(f"the anchor `&{event.anchor}`", event, "the value written out where it is needed")
        if getattr(event, "tag", None) is not None:  # every node event but an alias has a tag; the stubs leave it out
            raise self._refuse("tags are not read", event, "a plain value")

    def _add_scalar(self, event: yaml.ScalarEvent) -> None:
        plain = event.style is None or event.style == ""
        if self.stack and self.stack[-1].wants_key:
            self._set_key(event.value, event, plain)
        else:
            self._add(_scalar(event.value) if plain else event.value, event)

    def _set_key(self, key: str, event: yaml.Event, plain: bool) -> None:
        if plain and key.lower() in DOUBTFUL_KEYS:
            raise self._refuse(f"the key `{key}` has several readings in YAML", event, f'the key in quotes: "{key}"')
        holder = self.stack[-1]
        if key in holder.keys:
            raise self._refuse(
                f"the key `{key}` a second time (first on line {holder.keys[key]})", event, "unique keys"
            )
        holder.keys[key] = _line(event)
        holder.key = key

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise self._refuse(f"nests deeper than {MAX_DEPTH}", event, "a flatter file")
        if self.stack and self.stack[-1].wants_key:
            raise self._refuse("a list or mapping as a key", event, "a text as a key")
        value: list[Plain] | dict[str, Plain] = {} if isinstance(event, yaml.MappingStartEvent) else []
        place = self._add(value, event)
        self.stack.append(_Open(value, place))

    def _add(self, value: Plain, event: yaml.Event) -> Place:
        place: Place = ()
        if self.stack:
            place = self.stack[-1].add(value)
        else:
            self.value = value
        holder = self.stack[-1] if self.stack else None
        key = place[-1] if place else None
        self.lines[place] = holder.keys[key] if holder and isinstance(key, str) else _line(event)
        return place

    def _refuse(self, message: str, event: yaml.Event, expected: str) -> LoadError:
        place = self.stack[-1].inner_place() if self.stack else ()
        name = ".".join(str(part) for part in place)
        return LoadError(message, file=self.file, line=_line(event), field=name, expected=expected)


@dataclass(slots=True)
class _Open:
    """A list or mapping that is still being filled."""

    value: list[Plain] | dict[str, Plain]
    place: Place
    keys: dict[str, int] = field(default_factory=dict)  # key → its line
    key: str | None = None

    @property
    def wants_key(self) -> bool:
        return self.key is None and isinstance(self.value, dict)

    def inner_place(self) -> Place:
        return self.place if self.key is None else (*self.place, self.key)

    def add(self, item: Plain) -> Place:
        if isinstance(self.value, list):
            self.value.append(item)
            return (*self.place, len(self.value) - 1)
        assert self.key is not None
        self.value[self.key] = item
        place, self.key = (*self.place, self.key), None
        return place


def _scalar(text: str) -> Scalar:
    if text in WORDS:
        return WORDS[text]
    if INTEGER.match(text):
        return int(text)
    return float(text) if DECIMAL.match(text) else text


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1
