"""From a principal and a resource to the fields of a Casbin request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from operator import itemgetter

from policyengine.model import Resource, ResourceKind
from policyengine.records import NamedTuple


class Source(Enum):
    """What a field of a request is filled with; the value is its place in what lines are asked with."""

    SUBJECT = 0
    DOMAIN = 1
    KIND = 2
    NAME = 3
    OBJECT = 4
    ACTION = 5


SUBJECT, NAME, OBJECT = Source.SUBJECT.value, Source.NAME.value, Source.OBJECT.value


class Many(NamedTuple):
    """Requests that differ in what they are about and in nothing else.

    Attributes:
        parts: what they have in common; subject, name and object are empty.
        names: of the resources.
        things: the same, each in one field (`object_of`); empty texts where no line has both in one.
    """

    parts: tuple[str, str, str, str, str, str]
    names: Sequence[str]
    things: Sequence[str]

    def requests(self, subject: str = "") -> Iterator[tuple[str, ...]]:
        """Go through the requests."""
        _, domain, kind, _, _, action = self.parts
        both = zip(self.names, self.things, strict=True)
        return ((subject, domain, kind, name, thing, action) for name, thing in both)


# What a field of `request_definition` may be called.
SOURCES: dict[str, Source] = {
    "sub": Source.SUBJECT, "subject": Source.SUBJECT, "user": Source.SUBJECT, "role": Source.SUBJECT,
    "dom": Source.DOMAIN, "domain": Source.DOMAIN, "tenant": Source.DOMAIN, "org": Source.DOMAIN,
    "kind": Source.KIND, "type": Source.KIND,
    "name": Source.NAME, "id": Source.NAME,
    "obj": Source.OBJECT, "object": Source.OBJECT, "resource": Source.OBJECT, "thing": Source.OBJECT,
    "act": Source.ACTION, "action": Source.ACTION,
}  # fmt: skip

_KINDS = frozenset(kind.value for kind in ResourceKind)


def picker(sources: Sequence[Source]) -> Callable[[Sequence[str]], Sequence[str]]:
    """Give a function that picks a request's fields from subject, domain, kind, name, object and action."""
    places = [source.value for source in sources]
    if len(places) == 1:
        return lambda parts: (parts[places[0]],)
    return itemgetter(*places)


def object_of(resource: Resource) -> str:
    """Name a resource in one field (`name_in_one_field`)."""
    return name_in_one_field(resource.kind, resource.id)


def name_in_one_field(kind: ResourceKind, name: str) -> str:
    """Give a tool's name alone, and of everything else `kind:name`.

    A tool whose name begins with a kind and a colon gets its own kind in front, so that no two resources share a name.
    """
    if kind is ResourceKind.TOOL and name.partition(":")[0] not in _KINDS:
        return name
    return f"{kind.value}:{name}"


def one_by_one(decide: Callable[[Sequence[str]], int], subjects: Sequence[str], asked: Many) -> list[int]:
    """Ask about each request under all these names: the line that denies one of them, else one that allows, else 0."""
    columns = [list(map(decide, asked.requests(subject))) for subject in subjects]
    return [_strictest(found) for found in zip(*columns, strict=True)] if columns else [0] * len(asked.names)


def _strictest(found: Sequence[int]) -> int:
    return next((number for number in found if number < 0), next(filter(None, found), 0))
