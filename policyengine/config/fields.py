"""What rules may say about which field: the fields of effects and requests, and the matchers that fit their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import get_origin, get_type_hints

from policyengine.effects import EFFECTS, Effect, Taint
from policyengine.model import ResourceKind, ShellKind
from policyengine.policies.ruleset.matchers import HOSTS, PATHS
from policyengine.policies.ruleset.requests import REQUEST_FIELDS


class Shape(Enum):
    """What a field holds, as far as matchers care; the value is how messages call it."""

    TEXT = "text"
    PATH = "a path"
    HOST = "a host"
    TRUTH = "true or false"
    CHOICE = "one of a few words"
    TAINT = "taints"
    LIST = "a list"
    NUMBER = "a number"
    ANYTHING = "any value"  # an argument or attribute, whose type the tool or the host decides


@dataclass(frozen=True, slots=True)
class Field:
    """A field's shape and, where only a few words are possible, these."""

    shape: Shape
    words: tuple[str, ...] = ()


OPERATORS: Mapping[Shape, tuple[str, ...]] = {
    Shape.TEXT: ("equals", "in", "like", "matches", "not"),
    Shape.PATH: ("equals", "in", "like", "matches", "inside", "outside", "apart", "zone", "not"),
    Shape.HOST: ("equals", "in", "like", "matches", "zone", "not"),
    Shape.TRUTH: ("equals", "not"),
    Shape.CHOICE: ("equals", "in", "not"),
    Shape.TAINT: ("any", "not"),
    Shape.LIST: ("contains", "item", "not"),
    Shape.NUMBER: ("equals", "in", "over", "not"),
    Shape.ANYTHING: ("equals", "in", "like", "matches", "contains", "item", "over", "not"),
}


def effect_fields(kind: str) -> Mapping[str, Field]:
    """The fields of a kind of effect that rules may look at: all but `span`."""
    return {name: field for name, field in _EFFECT_FIELDS[kind].items() if field is not None}


def request_field(name: str) -> Field | None:
    """What a field of a request holds, or None where there is no such field."""
    if name.startswith(("argument.", "principal.attributes.")) and not name.endswith("."):
        return Field(Shape.ANYTHING)
    return _REQUEST_FIELDS.get(name)


def _shape(name: str, hint: object) -> Field | None:
    if name == "span":
        return None
    if name in PATHS or name in HOSTS:
        return Field(Shape.PATH if name in PATHS else Shape.HOST)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return Field(Shape.CHOICE, tuple(hint))
    if get_origin(hint) is frozenset:
        return Field(Shape.TAINT, tuple(Taint))
    if get_origin(hint) is tuple:
        return Field(Shape.LIST)
    return Field(Shape.TRUTH if hint is bool else Shape.TEXT)


def _fields_of(cls: type[Effect]) -> dict[str, Field | None]:
    return {name: _shape(name, hint) for name, hint in get_type_hints(cls).items()}


_EFFECT_FIELDS = {kind: _fields_of(cls) for kind, cls in EFFECTS.items()}
_LISTS = frozenset({"principal.roles", "principal.delegation", "context.tags", "context.skills"})
_REQUEST_FIELDS: Mapping[str, Field] = {
    **{name: Field(Shape.LIST if name in _LISTS else Shape.TEXT) for name in REQUEST_FIELDS},
    "kind": Field(Shape.CHOICE, tuple(ResourceKind)),
    "context.shell": Field(Shape.CHOICE, tuple(ShellKind)),
    "context.depth": Field(Shape.NUMBER),
    "principal.internal": Field(Shape.TRUTH),
}
