"""Loops (bash manual 3.2.5.1): a round for each known word or line, and one for all that are left."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from policyengine.effects import Exhaust
from policyengine.shell.interpret.arithmetic import arithmetic
from policyengine.shell.interpret.arrays import any_of
from policyengine.shell.interpret.assignments import give
from policyengine.shell.interpret.choices import every
from policyengine.shell.interpret.joining import a_round, is_long, loop
from policyengine.shell.interpret.machine import MAX_PASSES, Machine, Variable
from policyengine.shell.interpret.redirects import in_redirects
from policyengine.shell.interpret.several import join_values
from policyengine.shell.interpret.ways import in_loop
from policyengine.shell.interpret.words import expand_all, expand_body
from policyengine.shell.nodes import ArithmeticFor, Background, For, Select, SimpleCommand, Statement, While, Word, walk
from policyengine.shell.values import UNKNOWN, Value

MAX_ITEMS = 32  # words of a `for` whose values are looked at one by one
_DIGITS = re.compile(r"\d+").sub
_ORDINARY = re.compile(r"[\w@+=:,-][\w@+=:,.-]*(?:/[\w@+=:,-][\w@+=:,.-]*)*\Z").match  # nothing hidden or outside
_ENDLESS = frozenset({":", "true"})


def while_loop(machine: Machine, node: While) -> None:
    """`while` and `until`: the condition runs before each round."""

    def once() -> None:
        machine.runner.body(machine, node.condition)
        machine.runner.body(machine, node.body)

    if not node.until and _endless(node.condition) and _starts_more(node.body):
        machine.effects.append(Exhaust("fork-bomb", machine.where, machine.span(node.start, node.end), ""))
    in_redirects(machine, node.redirects, lambda: loop(machine, once))


def _endless(condition: Sequence[Statement]) -> bool:
    last = condition[-1] if condition else None
    return isinstance(last, SimpleCommand) and bool(last.words) and last.words[0].static in _ENDLESS


def _starts_more(statements: Sequence[Statement]) -> bool:
    """Each pass starts something in the background and nothing waits."""
    if not any(map(_in_background, statements)):
        return False
    names = {name for node in statements if not _in_background(node) for name in _named(node)}
    return not names & {"sleep", "wait", "read", "break", "exit", "inotifywait", "return"}


def _in_background(node: object) -> bool:  # of `object`: mypy needs minutes to narrow the union in a comprehension
    return isinstance(node, Background)


def _named(node: Statement) -> Iterator[str | None]:
    for inner in walk(node):
        found: object = inner
        if isinstance(found, SimpleCommand) and found.words:
            yield found.words[0].static


def for_loop(machine: Machine, node: For) -> None:
    """`for`: a round for each word that is known, and one for all that are not looked at one by one."""

    def run() -> None:
        values = _items(machine, node.words)
        tried = values if len(values) <= MAX_ITEMS else _telling(values)[:MAX_ITEMS]
        if machine.passes + len(tried) > MAX_PASSES or any(value.many for value in values):
            tried = []
        machine.passes += max(len(tried) - 1, 0)
        if machine.scope(lambda: _passes(machine, node, tried), in_loop) < len(values):
            any_of_them = any_of(values)
            loop(machine, lambda: _pass(machine, node, any_of_them))

    in_redirects(machine, node.redirects, run)


def _telling(values: Sequence[Value]) -> list[Value]:
    """Of many values those of different kinds, each once: numbers differ in nothing; names of the project come last."""
    kinds = {_DIGITS("0", value.text): value for value in reversed(values) if value.exact}
    return sorted(reversed(kinds.values()), key=lambda value: _ORDINARY(value.text) is not None)


def _passes(machine: Machine, node: For, values: Sequence[Value]) -> int:
    """A round for each value, as far as there is room, then for some that tell more; how many were taken in order."""
    for at, value in enumerate(values):
        if at > 1 and is_long(machine):
            _passes(machine, node, [value for value in values[at:] if not _ORDINARY(value.text)][:2])
            return at
        a_round(machine, lambda value=value: _pass(machine, node, value))  # type: ignore[misc]
    return len(values)


def _pass(machine: Machine, node: For | Select, *values: Value) -> None:
    old = machine.variable(node.name)
    if old is not None and "n" in old.attributes and type(node) is For:
        machine.put(node.name, Variable(values, "n"))
    else:
        give(machine, node.name, values, machine.span(node.start, node.end))
    machine.runner.body(machine, node.body)


def _items(machine: Machine, words: tuple[Word, ...] | None) -> list[Value]:
    if words is not None:
        return every(machine, lambda: expand_all(machine, words))
    return list(machine.positional) if machine.positional is not None else [UNKNOWN._replace(many=True)]


def select_loop(machine: Machine, node: Select) -> None:
    """`select`: any of the words, or nothing."""

    def run() -> None:
        values = join_values((*_items(machine, node.words), Value("")))  # empty after an answer that is no number
        loop(machine, lambda: _pass(machine, node, *values))

    in_redirects(machine, node.redirects, run)


def arithmetic_loop(machine: Machine, node: ArithmeticFor) -> None:
    """`for ((…))`: its three expressions are evaluated, in whatever order."""

    def once() -> None:
        for part in node.parts:
            arithmetic(machine, expand_body(machine, part))
        machine.runner.body(machine, node.body)

    in_redirects(machine, node.redirects, lambda: loop(machine, once))
