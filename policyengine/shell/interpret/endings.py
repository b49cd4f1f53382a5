"""What a call leaves for the next one, besides files: links, trees, and what a shell that goes on still knows."""

from __future__ import annotations

from collections.abc import Iterator

from policyengine.effects import Left
from policyengine.shell.interpret.arrivals import lasting
from policyengine.shell.interpret.machine import Definition, Machine, Variable
from policyengine.shell.interpret.syntax import tolerant
from policyengine.shell.nodes import Function

MAX_KEPT = 4096  # characters of one variable, alias or function
MAX_NAMES = 64  # of each, that one call leaves


def left_by(machine: Machine) -> Left | None:
    """What later calls have to know; None where that is nothing new."""
    if not (machine.trail or machine.links or machine.trees):
        return None
    before = machine.situation.left
    trees = lasting(machine.trees, tuple(before.trees), (*machine.situation.workspace, machine.situation.home))
    links = {path: target for path, target in machine.links.items() if before.links.get(path) != target}
    found = Left(trees, links, dict(_exports(machine)), dict(_functions(machine)), dict(_aliases(machine)))
    return found if any(found) else None


def _exports(machine: Machine) -> Iterator[tuple[str, str]]:
    for name in list(machine.exports)[:MAX_NAMES]:
        cell = machine.cells.get(name)
        if isinstance(cell, Variable) and "x" in cell.attributes and len(cell.choices) == 1:
            value = cell.choices[0]
            if (value.exact or value.text) and len(value.template) <= MAX_KEPT:
                yield name, value.template


def _functions(machine: Machine) -> Iterator[tuple[str, str]]:
    """Functions whose definition stands in the text of the call."""
    names = [key for key, value in machine.cells.items() if key.endswith("()") and value]
    for key in names[:MAX_NAMES]:
        for definition in machine.cells[key]:
            if definition is not None and definition.base is not None:
                node = definition.node
                text = machine.source[node.start + definition.base : node.end + definition.base]
                if text and len(text) <= MAX_KEPT:
                    yield key[:-2], text


def _aliases(machine: Machine) -> Iterator[tuple[str, str]]:
    names = [key for key, value in machine.cells.items() if key.endswith("=") and value]
    for key in names[:MAX_NAMES]:
        value = machine.cells[key]
        if value.exact and len(value.text) <= MAX_KEPT:
            yield key[:-1], value.text


def revived(machine: Machine, name: str) -> tuple[Definition | None, ...] | None:
    """A function that an earlier call defined: it is there, or the shell is another one and it is not."""
    body = tolerant(machine.situation.left.functions[name], machine.situation.dialect)[0].body
    node = body[0] if len(body) == 1 else None
    return (Definition(node, None, None), None) if isinstance(node, Function) and node.name == name else None
