"""What `exit`, `return`, `break` and `continue` leave: scopes by number, each kind a function that opens one."""

from __future__ import annotations

from policyengine.records import NamedTuple


class Ways(NamedTuple):
    """What each of them leaves at present, by number; None or empty: nothing."""

    exit: int | None = None
    function: int | None = None
    loops: tuple[int, ...] = ()
    rounds: tuple[int, ...] = ()


NO_WAYS = Ways()


def in_program(number: int, _: Ways) -> Ways:
    """Open a program of its own: of what is around it nothing is seen."""
    return Ways(number)


def in_subshell(number: int, outer: Ways) -> Ways:
    """Open a subshell: it ends where what is around it would be left (bash manual 3.2.5.3)."""
    _, function, loops, _ = outer
    if function is None and not loops:
        return Ways(number)
    inside = (number,) * len(loops)
    return Ways(number, None if function is None else number, inside, inside)


def in_function(number: int, outer: Ways) -> Ways:
    """Open a function: loops around the call are not seen from there."""
    return Ways(outer.exit, number)


def in_source(number: int, outer: Ways) -> Ways:
    """Open a file that is read by `source`, which `return` ends (bash manual 4.1)."""
    return outer._replace(function=number)


def in_loop(number: int, outer: Ways) -> Ways:
    """Open a loop."""
    return outer._replace(loops=(*outer.loops, number))


def in_round(number: int, outer: Ways) -> Ways:
    """Open one round of a loop."""
    return outer._replace(rounds=(*outer.rounds, number))
