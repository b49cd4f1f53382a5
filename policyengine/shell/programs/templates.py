"""Replacing the references of effect templates by the values of a call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from policyengine.shell.programs.parts import Reference, Template
from policyengine.shell.programs.reading import Draft, Field, Use
from policyengine.shell.programs.texts import changed
from policyengine.shell.programs.vocabulary import URL_FILE
from policyengine.shell.urls import split_host, split_url
from policyengine.shell.values import Value


class Found(Protocol):
    """What references look at."""

    operands: list[Value]
    given: dict[str, list[Value]]
    uses: list[Use]


def drafts_of(
    templates: Iterable[Template], found: Found, value: Value | None = None, key: Value | None = None
) -> list[Draft]:
    """One draft for each template, or for each value where it refers to many."""
    drafts: list[Draft] = []
    for template in templates:
        if template.many is not None or template.single:
            drafts += _drafts(template, found, value, key)
        else:
            drafts.append(Draft(template.kind, template.constants))
    return drafts


def values_of(reference: Reference, found: Found) -> list[Value]:
    """Every value that a reference to operands, an option or a role stands for."""
    match reference.kind:
        case "operands":
            return found.operands[reference.number :]
        case "operand":
            return found.operands[reference.number : reference.number + 1]
        case "option":
            return found.given.get(reference.name, [])
        case "text":
            return _texts(reference, found)
        case _:
            return _in_role(reference.name, found)


def _texts(reference: Reference, found: Found) -> list[Value]:
    """The texts that a `${…}` stands for: one, or one for each of the many values that a part refers to."""
    many = next((part.reference for part in reference.parts if part.reference.plural), None)
    if many is None:
        return [_text(reference, found, None)]
    return [_text(reference, found, value) for value in values_of(many, found)]


def _text(reference: Reference, found: Found, one: Value | None) -> Value:
    """Put a text together. What is not known ends it; an absent value at its beginning takes a slash along."""
    text, absent, last = "", False, Value("")
    for part in reference.parts:
        text += part.before.removeprefix("/") if absent and not text else part.before
        values = [one] if part.reference.plural and one is not None else values_of(part.reference, found)
        absent = not values
        if absent:
            continue
        last = values[-1]
        if not last.exact:
            return last._replace(text=text + ("" if part.change else last.text))
        text += changed(last.text, part.change) if part.change else last.text
    glob = last.glob or (one is not None and one.glob)
    rest = reference.name.removeprefix("/") if absent and not text else reference.name
    return last._replace(text=text + rest, glob=glob)


def _in_role(role: str, found: Found) -> list[Value]:
    """Values in a role; of a host (`user@host:port` or a URL) the name alone."""
    if role == URL_FILE:
        return [_kept_as(use.value) for use in found.uses if use.role == "url"]
    values = [use.value for use in found.uses if use.role == role]
    if role not in ("host", "peer"):
        return values
    urls = [use.value for use in found.uses if use.role == "url"] if role == "host" else []
    names = [value._replace(text=split_host(value.text)[0]) for value in values]
    return names + [value._replace(text=split_url(value.text).host) for value in urls]


def _kept_as(url: Value) -> Value:
    """The file in the working directory that a download of this URL becomes (wget(1), curl(1) `-O`)."""
    name = split_url(url.text).path.partition("?")[0].partition("#")[0].rpartition("/")[2]
    return url._replace(text=name or "index.html") if url.exact else url._replace(text="")


def _drafts(template: Template, found: Found, value: Value | None, key: Value | None) -> list[Draft]:
    fields = dict(template.constants)
    for field, reference in template.single:
        fields[field] = _single(reference, found, value, key)
    if template.many is None:
        return [Draft(template.kind, fields)]
    return [
        Draft(template.kind, {**fields, **dict.fromkeys(template.plural, one)})
        for one in values_of(template.many, found)
    ]


def _single(reference: Reference, found: Found, value: Value | None, key: Value | None) -> Field:
    if reference.kind == "value":
        return "" if value is None else value
    if reference.kind == "key":
        return "" if key is None else key
    values = values_of(reference, found)
    return values[-1] if values else ""
