"""Joining what alternatives leave behind, and running loops to a bounded fixed point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from policyengine.shell.interpret.machine import MAX_PASSES, Limit, Machine, Variable, common, join_variables
from policyengine.shell.paths import Place
from policyengine.shell.values import Value


def branches(machine: Machine, runs: Sequence[Callable[[], None]]) -> None:
    """Run alternatives from the same state; afterwards the state is what any of them left."""
    machine.conditional += 1
    mark, positional = len(machine.trail), machine.positional
    results: list[dict[str, Any]] = []
    ends = []
    for run in runs:
        machine.positional = positional
        run()
        ends.append(machine.positional)
        results.append(machine.changes(mark))
        machine.undo(mark)
    machine.conditional -= 1
    machine.positional = ends[-1] if len({_texts(end) for end in ends}) == 1 else None
    join(machine, results)


def _texts(positional: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    """The same values from other places are the same parameters."""
    return positional and tuple(value._replace(span=None) for value in positional)


def nothing() -> None:
    """The branch that is not taken."""


def join(machine: Machine, results: Sequence[dict[str, Any]], keep: Sequence[str] = ()) -> None:
    """Set every cell that a result changed to what it may hold; for those in `keep` the last result counts."""
    for key in {key: None for result in results for key in result}:
        present = machine.cells.get(key)
        values = [result.get(key, present) for result in results]
        if key in keep or all(value == values[0] for value in values):
            machine.put(key, values[-1])
        else:
            machine.put(key, _joined(key, values))


def _joined(key: str, values: Sequence[Any]) -> object:
    if key == "/cwd":
        return Place(common([Value(place.path) for place in values]).text, exact=False)
    if key.endswith("()"):  # several definitions; None among them: perhaps no function at all
        return tuple({id(item): item for value in values for item in (value or (None,))}.values())
    if key[:1] == "/" or key.endswith("="):
        return values[-1]
    joined = values[0]
    for value in values[1:]:
        joined = join_variables(joined, value)
    return joined


def before(machine: Machine, mark: int) -> dict[str, Any]:
    """What the cells changed since then held at that point."""
    found: dict[str, Any] = {}
    for key, old in machine.trail[mark:]:
        found.setdefault(key, old)
    return found


def loop(machine: Machine, once: Callable[[], None]) -> None:
    """Once from the present state; then, if variables changed, once more from what any number of passes may leave."""
    machine.conditional += 1
    mark, positional = len(machine.trail), machine.positional
    once()
    if machine.positional != positional:  # by `set` or `shift`
        machine.positional = None
    if (len(machine.trail) > mark and _widened(machine, mark)) or machine.positional != positional:
        machine.passes += 1
        if machine.passes > MAX_PASSES:
            raise Limit(f"more than {MAX_PASSES} repeated loop bodies")
        once()
        _widened(machine, mark)
    machine.conditional -= 1


def _widened(machine: Machine, mark: int) -> bool:
    """Replace what a pass changed by what is common to all passes; whether there was anything."""
    found = False
    for key, old in before(machine, mark).items():
        new = machine.cells.get(key)
        if old == new:
            continue
        found = True
        machine.put(key, _widest(old, new) if isinstance(new, Variable) else _joined(key, [old, new]))
    return found


def _widest(old: Variable | None, new: Variable) -> Variable:
    choices = (*(old.choices if old is not None else (Value(""),)), *new.choices)
    value = common(choices)
    items = {"@": value._replace(text="")} if new.items is not None else None
    return Variable((value,), new.attributes, items)
