"""Joining what alternatives leave behind, and running loops to a bounded fixed point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from policyengine.shell.interpret.arrays import (
    MAX_SEVERAL,
    any_number,
    any_of,
    elements,
    join_variables,
    joined_elements,
    with_element,
)
from policyengine.shell.interpret.machine import MAX_PASSES, Limit, Machine, Variable
from policyengine.shell.interpret.several import common
from policyengine.shell.interpret.streams import Sink, Stream, Written, joined, noted, repeated
from policyengine.shell.interpret.ways import in_loop, in_round
from policyengine.shell.paths import Place
from policyengine.shell.values import Value

MAX_CARRIED = 4  # rounds of a loop in which variables hand on what earlier ones left in them
MAX_ROUNDS = 32  # of a loop that are interpreted one by one while each takes its part of what is to be read or shifted


def branches(machine: Machine, runs: Sequence[Callable[[], None]]) -> None:
    """Run alternatives from the same state; afterwards the state is what any of them left."""
    machine.conditional += 1
    mark, positional, outputs = len(machine.trail), machine.positional, Outputs(machine)
    results: list[dict[str, Any]] = []
    ends = []
    for run in runs:
        machine.positional = positional
        run()
        ends.append(machine.positional)
        results.append(machine.changes(mark))
        machine.undo(mark)
        outputs.again()
    machine.conditional -= 1
    machine.positional = ends[-1] if len({_texts(end) for end in ends}) == 1 else _any_positional(ends)
    join(machine, results)
    outputs.join()


def one_of(machine: Machine, runs: Sequence[Callable[[], None]]) -> None:
    """Run one alternative of these, if there are any."""
    if len(runs) > 1:
        branches(machine, runs)
    for run in runs if len(runs) == 1 else ():
        run()


class Outputs:
    """What alternatives print from one place on."""

    __slots__ = ("_ends", "_machine", "_out", "_sinks", "_starts")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._out = sink = machine.out
        self._sinks: list[Sink] = []
        while sink is not None:
            self._sinks.append(sink)
            sink = sink.outer
        self._starts = [sink.live for sink in self._sinks]
        self._ends: list[list[Written]] = []

    def again(self) -> None:
        """An alternative has ended; the next one starts where it did."""
        self._machine.out = self._out
        if self._sinks:
            self._ends.append([sink.live for sink in self._sinks])
            self._set(self._starts)

    def join(self) -> None:
        """Go on from where any of the alternatives ended."""
        for sink, start, ends in zip(self._sinks, self._starts, zip(*self._ends, strict=True), strict=True):
            if any(end is not start for end in ends):
                sink.live = joined(*[end if end is not start else noted(start) for end in ends])

    def _set(self, lives: Sequence[Written]) -> None:
        for sink, live in zip(self._sinks, lives, strict=True):
            sink.live = live


def _texts(positional: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    """The same values from other places are the same parameters."""
    return positional and tuple(value._replace(span=None) for value in positional)


def _any_positional(ends: Sequence[tuple[Value, ...] | None]) -> tuple[Value, ...] | None:
    """Parameters of which it is not known which ones they are, these among them."""
    known = [value for end in ends for value in end or ()]
    return (any_number(known),) if known else None


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
    """Round by round while each takes a part of what is known to be read or shifted; else once, and if variables
    changed, once more from what any number of rounds may leave.
    """
    machine.scope(lambda: _looped(machine, lambda: a_round(machine, once)), in_loop)


def a_round(machine: Machine, once: Callable[[], None]) -> None:
    """Run the body of a loop, which `continue` leaves."""
    machine.scope(once, in_round)


def _looped(machine: Machine, once: Callable[[], None]) -> None:
    machine.conditional += 1
    out, ends = machine.out, []
    start = out.live if out is not None else []
    for at in range(MAX_ROUNDS):
        if at:
            _count_round(machine)
            machine.out = out
            if out is not None:
                out.live = start
        supply = _supply(machine)
        changed = _one_round(machine, once)
        ends.append(out.live if out is not None else [])
        left = _supply(machine)
        if not (0 < left < supply) and (at >= MAX_CARRIED or not changed):
            break
        if at == MAX_ROUNDS - 2 or is_long(machine):
            _any_left(machine)
    machine.out = out
    if out is not None:
        out.live = repeated(start, joined(*ends))
    machine.conditional -= 1


def is_long(machine: Machine) -> bool:
    """Whether so much has been interpreted that what is left to repeat had better be looked at as a whole."""
    return machine.passes > MAX_PASSES // 2 or machine.commands > machine.most_commands // 2


def _one_round(machine: Machine, once: Callable[[], None]) -> bool:
    """A round of a loop; whether anything may be different in the next one."""
    mark, positional = len(machine.trail), machine.positional
    once()
    changed = len(machine.trail) > mark and _widened(machine, mark)
    if machine.positional == positional:
        return changed
    left, known = machine.positional or (), positional or ()
    if len(left) >= len(known) or any(value.many for value in known):  # by `set`, not by `shift`
        machine.positional = _any_positional((positional, machine.positional))
    return True


def _count_round(machine: Machine) -> None:
    machine.passes += 1
    if machine.passes > MAX_PASSES:
        raise Limit(f"more than {MAX_PASSES} repeated loop bodies")


def _supply(machine: Machine) -> int:
    """How much there is to be read or shifted, as far as it is known: each round of a loop takes its part of it."""
    held = [stream.text for stream in machine.descriptors.values() if isinstance(stream, Stream)]
    return sum([len(text) for text in (machine.stdin.text, *held) if text is not None]) + len(machine.positional or ())


def _any_left(machine: Machine) -> None:
    """One more round is for all that is left: any line of it, and any parameter."""
    machine.stdin = _any_line(machine.stdin)
    machine.descriptors = {
        number: _any_line(held) if isinstance(held, Stream) else held for number, held in machine.descriptors.items()
    }
    machine.positional = _any_positional((machine.positional,))


def _any_line(stream: Stream) -> Stream:
    text = stream.text
    return stream if not text else stream._replace(text=None, rest=f"\n{text}"[:MAX_SEVERAL])


def _widened(machine: Machine, mark: int) -> bool:
    """Replace what a pass changed by what is common to all passes; whether there was anything."""
    found = False
    for key, old in before(machine, mark).items():
        new = machine.cells.get(key)
        if old == new:
            continue
        widest = _widest(old, new) if isinstance(new, Variable) else _joined(key, [old, new])
        found |= widest is not old
        machine.put(key, widest)
    return found


def _widest(old: Variable | None, new: Variable) -> Variable:
    if old is not None and len(old.choices) == 1 and all(_is_among(old.choices[0], value) for value in new.choices):
        return old
    if new.items is not None or (old is not None and old.items is not None):
        items = joined_elements(elements(old), elements(new))
        return Variable((), new.attributes, with_element(items, None, any_number([])))
    choices = (*(old.choices if old is not None else (Value(""),)), *new.choices)
    return Variable((any_of(choices),), new.attributes)


def _is_among(several: Value, value: Value) -> bool:
    """Whether it is known already that a value may be this one (`any_of`)."""
    return several.taint >= value.taint and value.template in several.rest.split("\n")
