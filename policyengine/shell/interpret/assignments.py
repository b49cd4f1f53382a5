"""Assignments: `name=value`, `name+=value`, array elements, and what exporting a variable means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policyengine.effects import SetVariable, Span
from policyengine.shell.interpret.arrays import (
    any_of,
    candidates,
    elements,
    following,
    key_of,
    ways_of,
    with_element,
)
from policyengine.shell.interpret.customs import IN_SHELL, put_in_table
from policyengine.shell.interpret.held import holds, run_held
from policyengine.shell.interpret.latent import evaluated
from policyengine.shell.interpret.machine import Machine, Variable
from policyengine.shell.interpret.parameters import referred, variable_values
from policyengine.shell.interpret.streams import MAX_TEXT
from policyengine.shell.interpret.words import expand, expand_one
from policyengine.shell.nodes import Assignment
from policyengine.shell.values import UNKNOWN, Value, from_template

_CASES = {"l": str.lower, "u": str.upper}

# Variables by which a shell runs something, searches programs or loads code; setting them is an effect even unexported.
ACTIVE = frozenset({
    "PROMPT_COMMAND", "BASH_ENV", "ENV", "PATH", "PS0", "PS1", "PS4", "IFS", "SHELLOPTS", "BASHOPTS", "HISTFILE",
    "HISTSIZE", "HISTFILESIZE", "HISTCONTROL", "HISTIGNORE",
})  # fmt: skip

# Special variables that the shell evaluates whatever is assigned to them, as if they had the attribute `integer`.
_NUMBERS = frozenset({"RANDOM", "SRANDOM", "HISTCMD", "OPTIND"})


def assign(machine: Machine, node: Assignment, *, exported: bool = False, attributes: str = "") -> None:
    """Interpret one assignment; `exported` for those in front of a command."""
    old = machine.variable(node.name)
    attributes = "".join({*attributes, *(old.attributes if old is not None else ""), *("x" if exported else "")})
    if node.elements is not None:
        _set_array(machine, node, old, attributes)
        return
    value = expand_one(machine, node.value, assignment=True)
    if node.subscript is not None:
        set_element(machine, node.name, expand_one(machine, node.subscript), value, append=node.append)
        return
    if node.append:
        value = _appended(machine, node.name, value)
    set_variable(machine, node.name, value, attributes, machine.span(node.start, node.end))


def set_variable(machine: Machine, name: str, value: Value, attributes: str, span: Span | None) -> None:
    """Give a variable a value; an effect where programs or the shell itself act on it."""
    target = referred(machine, name) if "n" in attributes else name
    array, bracket, subscript = target.partition("[")
    if bracket:
        set_element(machine, array, Value(subscript.rpartition("]")[0]), value)
        return
    if target != name:
        set_variable(machine, target, value, "", span)
        return
    if "i" in attributes or name in _NUMBERS:
        evaluated(machine, value)
    for letter, change in _CASES.items():
        if letter in attributes:
            value = value._replace(text=change(value.text))
    value = Value(value.text, value.exact and not value.many, False, value.glob, value.taint, None, value.rest)
    attributes += "x" * ((machine.exporting or name in machine.exports) and "x" not in attributes)
    old = machine.variable(name)
    if old is not None and old.items is not None:
        machine.put(name, old._replace(items=with_element(elements(old), "0", value)))
    else:
        machine.put(name, Variable((value,), attributes))
    if "x" in attributes:
        machine.exports[name] = None
    if "x" in attributes or name in ACTIVE:
        machine.effects.append(SetVariable(name, value.text, not value.exact, machine.where, span, ""))
        if holds(name):
            run_held(machine, name, value._replace(span=span))


def give(machine: Machine, name: str, values: tuple[Value, ...], span: Span | None = None) -> None:
    """Let a variable hold what a loop, a builtin or an expansion finds for it: one of these values.

    That is as good as an assignment; only a loop over a reference makes that refer elsewhere (bash manual 3.7.1).
    """
    target = referred(machine, name)
    old = machine.variable(target)
    attributes = old.attributes if old is not None else ""
    if old is None and machine.exporting:
        attributes, machine.exports[target] = "x", None
    if "i" in attributes or target in _NUMBERS:
        for value in values:
            evaluated(machine, value)
    machine.put(target, Variable(values, attributes.replace("n", "")))
    if "x" in attributes or target in ACTIVE or target in machine.exports:
        for value in values:
            machine.effects.append(SetVariable(target, value.text, not value.exact, machine.where, span, ""))
            if holds(target):
                run_held(machine, target, value._replace(span=value.span or span))


def restore(machine: Machine, before: Mapping[str, Variable | None]) -> None:
    """Put back what assignments in front of a command covered."""
    for name, variable in before.items():
        machine.put(name, variable)


def _appended(machine: Machine, name: str, value: Value) -> Value:
    old = variable_values(machine, name)
    if not old:
        return value
    if len(old[0].text) + len(old[0].rest) + len(value.text) > MAX_TEXT:
        return UNKNOWN
    if not old[0].exact:
        return old[0]._replace(taint=old[0].taint | value.taint, rest=old[0].rest + value.template)
    return value._replace(text=old[0].text + value.text, taint=old[0].taint | value.taint)


def _set_array(machine: Machine, node: Assignment, old: Variable | None, attributes: str) -> None:
    starts = ways_of(old) if node.append else ({},)
    if len(starts) > 1 and all(element.subscript is None for element in node.elements or ()):
        added = [value for element in node.elements or () for value in expand(machine, element.value)]
        ways = tuple([_with_more(way, added) for way in starts])
        _fill(machine, node.name, attributes, _with_more(elements(old), added), ways)
        return
    items = elements(old) if node.append else {}
    array = Variable((), attributes, items)
    at = following(items)
    for element in node.elements or ():
        if element.subscript is not None:
            key = key_of(machine, array, expand_one(machine, element.subscript))
            value = expand_one(machine, element.value, assignment=True)
            items = with_element(items, key, _behind(items, key, value) if element.append else value)
            at = int(key) + 1 if key is not None and key.isdecimal() else at
            continue
        for value in expand(machine, element.value):
            items = with_element(items, str(at), value)
            at += 1
    _fill(machine, node.name, attributes, items)


def _with_more(items: Mapping[str, Value], added: Sequence[Value]) -> dict[str, Value]:
    """The elements with further ones behind them."""
    grown = dict(items)
    for at, value in enumerate(added, following(items)):
        grown = with_element(grown, str(at), value)
    return grown


def give_array(machine: Machine, name: str, items: Mapping[str, Value]) -> None:
    """Let an array hold what a builtin finds for it."""
    name = referred(machine, name)
    old = machine.variable(name)
    _fill(machine, name, old.attributes if old is not None else "", items)


def _fill(
    machine: Machine,
    name: str,
    attributes: str,
    items: Mapping[str, Value],
    ways: tuple[Mapping[str, Value], ...] = (),
) -> None:
    if "i" in attributes:
        for value in items.values():
            evaluated(machine, value)
    machine.put(name, Variable((), attributes, items, ways))


def set_element(machine: Machine, name: str, subscript: Value, value: Value, *, append: bool = False) -> None:
    """Give one element of an array a value."""
    name = referred(machine, name)
    old = machine.variable(name)
    attributes = old.attributes if old is not None else ""
    if "i" in attributes:
        evaluated(machine, value)
    items, key = elements(old), key_of(machine, old, subscript)
    if append:
        value = _behind(items, key, value)
    machine.put(name, Variable((), attributes, with_element(items, key, value)))
    if machine.shell in IN_SHELL:
        put_in_table(machine, name, subscript.text if subscript.exact else None, value)


def _behind(items: Mapping[str, Value], key: str | None, value: Value) -> Value:
    """A text behind the one that an element had."""
    found = candidates(items, key)
    if not found:
        return value
    old = any_of(found)
    together = from_template((old.template + value.template)[:MAX_TEXT], old.taint | value.taint)
    return together if found == (old,) else any_of([value, together])
