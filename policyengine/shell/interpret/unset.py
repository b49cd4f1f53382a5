"""Command words whose variables the text never sets: how the command reads if they are unset, as they mostly are.

`$SUDO rm x` is `rm x` where `SUDO` is unset, and `r${nothing}m x` is too.
"""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.effects import HOLE
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.parameters import base_values
from policyengine.shell.nodes import DoubleQuoted, Escaped, Literal, Parameter, SingleQuoted, Word, WordPart
from policyengine.shell.values import Value

_SPECIAL = frozenset("@*#?-$!_")


def unset_reading(machine: Machine, nodes: Sequence[Word], values: Sequence[Value]) -> list[Value]:
    """The command (its name and arguments) if unknown variables in its name are empty; empty if there is none."""
    if len(nodes) != len(values):
        return []
    for at, node in enumerate(nodes):
        text = _text(machine, node.parts)
        if text is None:
            return []
        if text or any(type(part) is DoubleQuoted for part in node.parts):
            return [Value(text, span=values[at].span), *values[at + 1 :]] if text else []
    return []


def _text(machine: Machine, parts: Sequence[WordPart]) -> str | None:
    texts: list[str] = []
    for part in parts:
        if isinstance(part, Literal | Escaped | SingleQuoted):
            texts.append(part.text.replace(HOLE, ""))
        elif isinstance(part, DoubleQuoted):
            inner = _text(machine, part.parts)
            if inner is None:
                return None
            texts.append(inner)
        elif not (isinstance(part, Parameter) and _is_unset(machine, part)):
            return None
    return "".join(texts)


def _is_unset(machine: Machine, part: Parameter) -> bool:
    name = part.name
    if part.prefix or part.op or name in _SPECIAL:
        return False
    if name.isdigit():  # a parameter that may be empty, or one of any number
        return any(not value.exact and not value.text for value in base_values(machine, part))
    return machine.variable(name) is None
