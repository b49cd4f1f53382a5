"""Functions that call themselves: which calls say something new, so that every interpretation ends."""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.records import NamedTuple
from policyengine.shell.interpret.machine import Definition, Machine
from policyengine.shell.values import Value

_AGAIN = "#"


class Entry(NamedTuple):
    """A call that runs: its key in `calling`, the function's, and how many arguments the call around it has."""

    key: str
    function: str
    outer: int


def key_of(name: str, definition: Definition) -> str:
    """A function by its definition: of the same name there may be several."""
    return f"{name}()#{id(definition.node)}"


def entered(machine: Machine, function: str, arguments: int) -> Entry:
    """Record that a function runs, perhaps within itself."""
    key = function
    while key in machine.calling:
        key += _AGAIN
    machine.calling[key] = machine.asynchronous
    outer, machine.given[function] = machine.given.get(function, 0), arguments
    return Entry(key, function, outer)


def left(machine: Machine, entry: Entry) -> None:
    """Record that it has ended."""
    del machine.calling[entry.key]
    machine.given[entry.function] = entry.outer


def repeats(machine: Machine, running: Sequence[str], arguments: Sequence[Value]) -> bool:
    """Whether a call from within says nothing new: the arguments are the same, or others have been tried.

    Where they become fewer with each call, every call says something new, and there is a last one.
    """
    if len(arguments) < machine.given[running[-1]] and all(value.exact and not value.glob for value in arguments):
        machine.step()
        return False
    outer = machine.positional or ()
    return any(key + _AGAIN in machine.calling for key in running) or _texts(arguments) == _texts(outer)


def _texts(values: Sequence[Value]) -> list[str | None]:
    return [value.text if value.exact else None for value in values]
