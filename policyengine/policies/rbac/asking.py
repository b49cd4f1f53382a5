"""From a principal and a resource to the fields of a Casbin request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from operator import itemgetter

from policyengine.model import Resource, ResourceKind


class Source(Enum):
    """What a field of a request is filled with; the value is its place in what lines are asked with."""

    SUBJECT = 0
    DOMAIN = 1
    KIND = 2
    NAME = 3
    OBJECT = 4
    ACTION = 5


SUBJECT = Source.SUBJECT.value

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
    """Name a resource in one field: a tool by its name alone, everything else as `kind:name`.

    A tool whose name begins with a kind and a colon gets its own kind in front, so that no two resources share a name.
    """
    kind, name = resource.kind.value, resource.id
    if resource.kind is ResourceKind.TOOL and name.partition(":")[0] not in _KINDS:
        return name
    return f"{kind}:{name}"


def one_by_one(
    decide: Callable[[Sequence[str]], int], subjects: Sequence[str], asked: Sequence[Sequence[str]]
) -> list[int]:
    """Ask about each request under all these names: the line that denies one of them, else one that allows, else 0."""
    return [_under_all(decide, subjects, parts[SUBJECT + 1 :]) for parts in asked]


def _under_all(decide: Callable[[Sequence[str]], int], subjects: Sequence[str], rest: Sequence[str]) -> int:
    answer = 0
    for subject in subjects:
        found = decide((subject, *rest))
        if found < 0:
            return found
        answer = answer or found
    return answer
