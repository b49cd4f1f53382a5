"""Texts that templates put together: `${REFERENCE}` and `${REFERENCE|CHANGE}` amid other characters.

`${*}.gz` is each operand with an ending more, `${opt:-C}/${*|name}` their names in another directory. Changes,
separated by `|`, are `name` (the last component), `stem` (that without its last ending), `bare` (the path without its
last ending), `before` or `after` and a text: what stands before or behind it, `rest`: all but its
first character, `word`: what stands before a blank, or `less` and endings: without the first
of them that it has (`.tgz=.tar` puts another one in its place), else as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from policyengine.records import NamedTuple

_PART = re.compile(r"\$\{([^}|]+)(?:\|([^}]*))?\}")
_CHANGES = re.compile(r"name|stem|bare|rest|word|(?:before|after) [^ ]+|less(?: [^ =]+(?:=[^ =]*)?)+")


class Part(NamedTuple):
    """A reference as written after `$`, its change, and the plain characters before it."""

    before: str
    reference: str
    change: str


def is_text(value: str) -> bool:
    """Whether a template's value is put together."""
    return "${" in value


def parts_of(value: str) -> tuple[list[Part], str]:
    """The parts of a text, and the plain characters after the last one."""
    parts, at = [], 0
    for found in _PART.finditer(value):
        parts.append(Part(value[at : found.start()], found[1], found[2] or ""))
        at = found.end()
    return parts, value[at:]


def mistakes(value: str) -> Iterator[str]:
    """What is wrong with a text besides its references."""
    parts, rest = parts_of(value)
    if any("$" in plain for plain in (rest, *(part.before for part in parts))):
        yield f"`{value}` holds a `$` that begins no `${{…}}`"
    for part in parts:
        for change in filter(None, part.change.split("|")):
            if _CHANGES.fullmatch(change) is None:
                yield f"`{change}` changes nothing"


def changed(text: str, changes: str) -> str:
    """A referred text after its changes."""
    for change in changes.split("|"):
        text = _changed(text, change)
    return text


def _changed(text: str, change: str) -> str:
    if change == "name":
        return _name(text)
    if change == "stem":
        return _without_ending(_name(text))
    if change == "bare":
        folder, slash, name = text.rpartition("/")
        return folder + slash + _without_ending(name)
    if change in ("rest", "word"):
        return text[1:] if change == "rest" else text.partition(" ")[0]
    word, _, given = change.partition(" ")
    if word in ("before", "after"):
        before, _, after = text.partition(given)
        return before if word == "before" else after
    for word in given.split():
        ending, _, other = word.partition("=")
        if text.endswith(ending):
            return text.removesuffix(ending) + other
    return text


def _name(text: str) -> str:
    return text.rstrip("/").rpartition("/")[2]


def _without_ending(name: str) -> str:
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name
