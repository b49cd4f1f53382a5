"""Values that are one of several: what reads them is interpreted once for each combination, up to a bound."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import prod

from policyengine.shell.interpret.joining import branches
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.several import MAX_CHOICES
from policyengine.shell.interpret.streams import Written
from policyengine.shell.values import Value

MAX_COMBINATIONS = 2 * MAX_CHOICES  # of values that are tried for one command


def picked(machine: Machine, key: str, size: int) -> int | None:
    """Which of several choices is looked at now; None where they are too many together to look at each."""
    picks, seen = machine.picks, machine.seen
    if picks is not None and picks.get(key, size) < size:
        return picks[key]
    if key not in seen:
        if size * prod(seen.values()) > machine.combinations:
            return None
        seen[key] = size
    return 0


def chosen(machine: Machine, key: str, choices: Sequence[Value], otherwise: Value) -> Value:
    """The choice that is looked at now, or what is known of all of them."""
    at = picked(machine, key, len(choices))
    return otherwise if at is None else choices[at]


def each(machine: Machine, run: Callable[..., None], *given: object, most: int = MAX_COMBINATIONS) -> None:
    """Run something, with what it is given, once for each combination of the values that it reads."""
    outer, bound = machine.seen, machine.combinations
    machine.seen, machine.combinations = {}, most
    mark, out = len(machine.trail), machine.out
    start = out.live if out is not None else []
    run(*given)
    if machine.seen:
        first, written = machine.changes(mark), out.live if out is not None else []
        machine.undo(mark)
        machine.out = out
        if out is not None:
            out.live = start
        _others(machine, lambda: run(*given), lambda: _again(machine, first, written))
    machine.seen, machine.combinations = outer, bound


def every(machine: Machine, expand: Callable[[], list[Value]]) -> list[Value]:
    """The values of an expansion under each combination of what it reads, without repetition."""
    values: dict[Value, None] = {}
    each(machine, lambda: values.update(dict.fromkeys(expand())))
    return list(values)


def _again(machine: Machine, changes: dict[str, object], written: Written) -> None:
    for key, value in changes.items():
        machine.put(key, value)
    if machine.out is not None:
        machine.out.live = written


def _others(machine: Machine, run: Callable[[], None], again: Callable[[], None]) -> None:
    names, sizes = list(machine.seen), list(machine.seen.values())
    outer, most = machine.picks, machine.combinations // prod(sizes)

    def attempt(picks: tuple[int, ...]) -> None:
        machine.step()
        machine.picks = {**(outer or {}), **dict(zip(names, picks, strict=True))}
        each(machine, run, most=most)

    others = list(itertools.product(*map(range, sizes)))[1:]
    branches(machine, [again, *[lambda picks=picks: attempt(picks) for picks in others]])
    machine.picks = outer
