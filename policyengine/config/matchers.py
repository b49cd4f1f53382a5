"""From matchers as written to the compiled form of `policies.ruleset.matchers`, checked against the field's type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import re2

from policyengine.config.fields import OPERATORS, Field, Shape
from policyengine.config.yamlfile import Document, Place, Plain
from policyengine.policies.ruleset.matchers import PLACE_OPERATORS

MAX_PATTERN_MEMORY = 1 << 20  # bytes that RE2 may use for one compiled pattern
MAX_ITEM = 1000  # position in a list

Compiled: TypeAlias = "list[list[Any]]"  # plain data of several shapes; `policies.ruleset.matchers` lists them


@dataclass(frozen=True, slots=True)
class ZoneNames:
    """The zones that rules may name: of paths and of hosts."""

    paths: frozenset[str]
    hosts: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reader:
    """What compiling a matcher needs beside it."""

    document: Document
    zones: ZoneNames

    def matcher(self, value: Plain, field: Field, place: Place) -> Compiled:
        """Compile a matcher: a value alone (equality), or a mapping of operators that must all hold.

        Raises:
            LoadError: an operator does not fit the field, or its argument does not fit the operator.
        """
        if isinstance(value, list):
            raise self.document.error("a list alone is no matcher", place, expected="`in: [...]`")
        if not isinstance(value, dict):
            return [["in", [self._scalar(value, field, place)]]]
        if not value:
            raise self.document.error("an empty matcher", place, expected=_one_of(OPERATORS[field.shape]))
        return [self._operator(name, argument, field, (*place, name)) for name, argument in value.items()]

    def _operator(self, name: str, argument: Plain, field: Field, place: Place) -> list[Any]:
        if name not in OPERATORS[field.shape]:
            message = f"`{name}` cannot be used on {field.shape.value}"
            raise self.document.error(message, place, expected=_one_of(OPERATORS[field.shape]))
        return _COMPILERS[name](self, argument, field, place)

    def _scalar(self, value: Plain, field: Field, place: Place) -> Plain:
        if not isinstance(value, _TYPES[field.shape]) or (isinstance(value, bool) and field.shape in _NOT_BOOLEAN):
            raise self.document.error(f"`{value}` does not fit", place, expected=field.shape.value)
        if field.words and value not in field.words:
            raise self.document.error(f"`{value}` is not known", place, expected=_one_of(field.words))
        return value

    def _texts(self, value: Plain, place: Place) -> list[str]:
        items = value if isinstance(value, list) else [value]
        if not items or not all(isinstance(item, str) and item for item in items):
            raise self.document.error("not a text or a list of texts", place, expected="texts")
        return [str(item) for item in items]

    # ----------------------------------------------------------------------------------------- one for each operator
    def _equals(self, argument: Plain, field: Field, place: Place) -> list[Any]:
        return ["in", [self._scalar(argument, field, place)]]

    def _is_in(self, argument: Plain, field: Field, place: Place) -> list[Any]:
        if not isinstance(argument, list) or not argument:
            raise self.document.error("not a list of values", place, expected="a list that is not empty")
        return ["in", [self._scalar(item, field, (*place, index)) for index, item in enumerate(argument)]]

    def _like(self, argument: Plain, field: Field, place: Place) -> list[Any]:
        return ["like", self._texts(argument, place)]

    def _matches(self, argument: Plain, field: Field, place: Place) -> list[Any]:
        (pattern,) = self._texts([argument], place)
        check_pattern(pattern, self.document, place)
        return ["matches", pattern]

    def _has_any(self, argument: Plain, field: Field, place: Place) -> list[Any]:
        taints = self._texts(argument, place)
        for taint in taints:
            if taint not in field.words:
                raise self.document.error(f"`{taint}` is no taint", place, expected=_one_of(field.words))
        return ["any", taints]

    def _places(self, argument: Plain, field: Field, place: Place) -> list[Any]:
        names = self._texts(argument, place)
        known = self.zones.hosts if field.shape is Shape.HOST else self.zones.paths
        for name in names:
            if name not in known:
                raise self.document.error(f"there is no zone `{name}` here", place, expected=_one_of(sorted(known)))
        return [str(place[-1]), names]

    def _contains(self, argument: Plain, field: Field, place: Place) -> list[Any]:
        return ["contains", self._scalar(argument, Field(Shape.ANYTHING), place)]

    def _item(self, argument: Plain, field: Field, place: Place) -> list[Any]:
        if not isinstance(argument, dict):
            return ["item", [None, self.matcher(argument, Field(Shape.ANYTHING), place)]]
        at = argument.get("at")
        if at is not None and (isinstance(at, bool) or not isinstance(at, int) or abs(at) > MAX_ITEM):
            raise self.document.error(f"`{at}` is no position", (*place, "at"), expected="a whole number")
        rest = {name: value for name, value in argument.items() if name != "at"}
        return ["item", [at, self.matcher(rest, Field(Shape.ANYTHING), place)]]

    def _over(self, argument: Plain, field: Field, place: Place) -> list[Any]:
        return ["over", self._scalar(argument, Field(Shape.NUMBER), place)]

    def _negated(self, argument: Plain, field: Field, place: Place) -> list[Any]:
        inner = self.matcher(argument, field, place)
        if any(operator == "not" for operator, _ in inner):
            raise self.document.error("a `not` in a `not`", place, expected="the matcher itself")
        return ["not", inner]


_TYPES: Mapping[Shape, type | tuple[type, ...]] = {
    Shape.TEXT: str,
    Shape.PATH: str,
    Shape.HOST: str,
    Shape.CHOICE: str,
    Shape.TRUTH: bool,
    Shape.NUMBER: (int, float),
    Shape.ANYTHING: (str, bool, int, float, type(None)),
    Shape.TAINT: (),
    Shape.LIST: (),
}
_NOT_BOOLEAN = frozenset({Shape.NUMBER})
_COMPILERS: Mapping[str, Callable[[Reader, Plain, Field, Place], list[Any]]] = {
    "equals": Reader._equals,
    "in": Reader._is_in,
    "like": Reader._like,
    "matches": Reader._matches,
    "any": Reader._has_any,
    **dict.fromkeys(PLACE_OPERATORS, Reader._places),
    "contains": Reader._contains,
    "item": Reader._item,
    "over": Reader._over,
    "not": Reader._negated,
}


def check_pattern(pattern: str, document: Document, place: Place) -> None:
    """Compile a regular expression with RE2, whose matching time is linear in the text.

    Raises:
        LoadError: RE2 refuses it (look-around and back-references have no linear match).
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_PATTERN_MEMORY
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        detail = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise document.error(f"not an RE2 expression: {detail}", place, expected="RE2 syntax") from error


def _one_of(words: tuple[str, ...] | list[str]) -> str:
    return ", ".join(words)
