"""Tildes (bash manual 3.5.2): at the start of a word, and behind the `=` and `:` of what looks like an assignment.

That any word may look like one (`dd of=~/x`, `env A=~ f`) is bash outside its POSIX mode; other shells do it for
declarations alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from policyengine.effects import HOLE
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.nodes import Literal, WordPart
from policyengine.shell.paths import tilde

_ASSIGNING = re.compile(r"[A-Za-z_]\w*+(?:\[[^\]]*+\])?\+?=").match
PREFIX = re.compile(r"~[^/:]*")


def home(machine: Machine, prefix: str) -> str | None:
    """What a tilde and what follows it up to a slash or colon stand for; None where that is not known."""
    known: str | None = machine.situation.home
    variable = machine.variable("HOME")
    if variable is not None:
        known = variable.choices[0].text if len(variable.choices) == 1 and variable.choices[0].exact else None
    return tilde(prefix, known, machine.cwd, machine.situation.platform)


def leading(machine: Machine, text: str) -> str:
    """A text with what a tilde at its start stands for, a `HOLE` where that is not known."""
    found = PREFIX.match(text)
    if found is None:
        return text
    known = home(machine, found[0])
    return f"{HOLE if known is None else known}{text[found.end() :]}"


def in_word(machine: Machine, text: str) -> str:
    """A word without quotes or expansions, with what its tildes stand for."""
    if text[:1] == "~":
        return leading(machine, text)
    assigning = _ASSIGNING(text)
    return text if assigning is None else assigning[0] + in_value(machine, text[assigning.end() :])


def in_value(machine: Machine, text: str, *, starts: bool = True, ends: bool = True) -> str:
    """What is written of an assignment's value: the whole of it, or a piece that need not start or end it.

    A prefix that goes on in quotes or in an expansion is inert.
    """
    items = text.split(":")
    last = len(items) - 1
    for at, item in enumerate(items):
        if item[:1] == "~" and (at or starts) and (ends or at < last or "/" in item):
            items[at] = leading(machine, item)
    return ":".join(items)


def is_assigning(parts: Sequence[WordPart]) -> bool:
    """Whether a word begins like an assignment: a name and an equals sign, neither of them quoted."""
    first = parts[0] if parts else None
    return type(first) is Literal and _ASSIGNING(first.text) is not None


def in_parts(machine: Machine, parts: Sequence[WordPart]) -> Sequence[WordPart]:
    """The parts of a word that begins like an assignment, with what the tildes in its value stand for."""
    first, last = parts[0], len(parts) - 1
    found = _ASSIGNING(first.text) if type(first) is Literal else None
    if found is None:
        return parts
    done: list[WordPart] = []
    for at, part in enumerate(parts):
        if type(part) is Literal and "~" in part.text:
            start = found.end() if at == 0 else 0
            value = in_value(machine, part.text[start:], starts=at == 0, ends=at == last)
            done.append(Literal(part.text[:start] + value, part.start, part.end))
        else:
            done.append(part)
    return done
