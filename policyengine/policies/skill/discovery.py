"""What a discovery tool may tell: only tools that are left. Whatever is not exactly a result is an error.

A result is two things that have to agree: the names that are promoted, and the JSON list of their schemas that the
model reads. Both are cut to permitted names; a schema is written anew from what was read, so that no second reading of
the same text can find another name in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

from policyengine.errors import RequestError
from policyengine.model import freeze
from policyengine.records import Record

MAX_TEXT = 4 * 1024 * 1024  # characters of the schemas
MALFORMED = "skill.discovery-malformed"
NOTHING_FOUND = "No tools that are allowed now match."


class Discovery(Record):
    """A result that may be shown.

    Attributes:
        names: what is promoted.
        schemas: the text with their schemas, for the model.
        removed: names that were taken out, for the audit log.
    """

    names: tuple[str, ...]
    schemas: str
    removed: tuple[str, ...] = ()


def discovered(names: object, schemas: object, permits: Callable[[str], bool]) -> Discovery:
    """Cut a discovery result to permitted names.

    Args:
        names: the list of promoted names, as the tool gave it.
        schemas: the text of the result. Where nothing is promoted it may be any text; then it is not shown.
        permits: whether a tool is left; asked once for each name.

    Raises:
        RequestError: the result is malformed (`skill.discovery-malformed`); nothing of it may be shown or promoted.
    """
    given = _names(names)
    if type(schemas) is not str or len(schemas) > MAX_TEXT:
        raise _malformed("its schemas are no text, or too long")
    if not given:
        return Discovery(names=(), schemas=NOTHING_FOUND)
    left = {name: permits(name) for name in dict.fromkeys(given)}
    shown = [schema for schema in _schemas(schemas) if left.get(_name(schema), False)]
    return Discovery(
        names=tuple(name for name in left if left[name]),
        schemas=json.dumps(shown) if shown else NOTHING_FOUND,
        removed=tuple(name for name in left if not left[name]),
    )


def _names(names: object) -> list[str]:
    if not isinstance(names, list | tuple) or not all(type(name) is str and name for name in names):
        raise _malformed("its names are no list of names")
    return list(names)


def _schemas(text: str) -> list[dict[str, Any]]:  # Any: JSON Schema, passed on as it is
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
        freeze(found)  # nothing nests without end
    except (ValueError, RecursionError) as error:
        raise _malformed("its schemas are no JSON") from error
    if type(found) is not list or not all(type(schema) is dict for schema in found):
        raise _malformed("its schemas are no list of objects")
    return found


def _name(schema: dict[str, Any]) -> str:
    """The one name of a schema, which stands in it or in its `function`."""
    inner = schema.get("function")
    names = [holder.get("name") for holder in (schema, inner) if isinstance(holder, dict) and "name" in holder]
    if len(names) != 1 or type(names[0]) is not str:
        raise _malformed("a schema has not exactly one name")
    return names[0]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _malformed(why: str) -> RequestError:
    return RequestError(MALFORMED, f"a discovery result that cannot be checked: {why}")
