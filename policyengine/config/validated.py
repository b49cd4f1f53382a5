"""From plain data to checked values: pydantic's first finding told as a `LoadError` with file, line and field."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from policyengine.config.yamlfile import Document, Place, Plain
    from policyengine.errors import LoadError

T = TypeVar("T")


class Schema(BaseModel):
    """Base of everything read from a file: frozen, strict types, no unknown key."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", populate_by_name=True)


def validated(schema: TypeAdapter[T], document: Document, place: Place = ()) -> T:
    """Check the value at `place` of a document against a schema.

    Raises:
        LoadError: it does not fit; the first fault is told, with its line.
    """
    try:
        return schema.validate_python(_at(document.value, place))
    except ValidationError as error:
        raise _told(error.errors(include_url=False)[0], document, place) from error


def _at(value: Plain, place: Place) -> Plain:
    for key in place:
        value = value[key]  # type: ignore[index]  # a place leads through this document's own containers
    return value


def _told(fault: ErrorDetails, document: Document, place: Place) -> LoadError:
    where = (*place, *fault["loc"])
    if fault["type"] == "extra_forbidden":
        return document.error(f"the key `{where[-1]}` is not known here", where, expected="one of the documented keys")
    message = fault["msg"].removeprefix("Value error, ")
    return document.error(message[:1].lower() + message[1:], where)
