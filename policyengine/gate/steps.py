"""Work that waits, written once: a generator asks for what takes time, and one of two drivers does it.

What a step raises is raised inside the generator. Cancellation and the host's own control flow pass through it, so that
whatever was not released by then never is.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeAlias, TypeVar

from policyengine.effects import Facts
from policyengine.engine import Engine
from policyengine.model import Grant, Request
from policyengine.records import NamedTuple
from policyengine.state import RunState

S = TypeVar("S")
T = TypeVar("T")


class Decide(NamedTuple):
    """Ask the engine (`Engine.decide`); gives the decision and the run's state after it."""

    engine: Engine
    request: Request
    state: RunState
    grants: tuple[Grant, ...] = ()
    known: Facts | None = None


class Do(NamedTuple):
    """Read or write a store or the log; gives what `act` gives. `waits` where an event loop should not wait for it."""

    act: Callable[[], Any]
    waits: bool = True


class Pause(NamedTuple):
    """Let somebody else go first."""

    seconds: float


Step: TypeAlias = Decide | Do | Pause
Steps: TypeAlias = Generator[Step, Any, T]


def guarded(
    steps: Steps[T], control_flow: tuple[type[Exception], ...], otherwise: Callable[[Exception], T]
) -> Steps[T]:
    """Do steps, and answer otherwise where one fails that nothing else has met: a fault must not look like no opinion.

    The exceptions by which a host interrupts a run pass.
    """
    try:
        return (yield from steps)
    except control_flow:
        raise
    except Exception as error:  # whatever it is
        return otherwise(error)


def driven(steps: Generator[S, Any, T], do: Callable[[S], Any]) -> T:
    """Do each step in this thread, and give what the generator gives."""
    try:
        step = next(steps)
        while True:
            try:
                given = do(step)
            except BaseException as error:  # also cancellation: it is the generator's to clean up
                step = steps.throw(error)
            else:
                step = steps.send(given)
    except StopIteration as end:
        value: T = end.value
        return value


async def adriven(steps: Generator[S, Any, T], do: Callable[[S], Awaitable[Any]]) -> T:
    """Do as `driven` with steps that the event loop waits for."""
    try:
        step = next(steps)
        while True:
            try:
                given = await do(step)
            except BaseException as error:  # also cancellation: it is the generator's to clean up
                step = steps.throw(error)
            else:
                step = steps.send(given)
    except StopIteration as end:
        value: T = end.value
        return value


def done(steps: Steps[T]) -> T:
    """Do the work in this thread."""
    return driven(steps, _do)


def _do(step: Step) -> Any:
    match step:
        case Do():
            return step.act()
        case Decide():
            return step.engine.decide(step.request, step.state, step.grants, known=step.known)
        case Pause():
            time.sleep(step.seconds)
            return None


async def adone(steps: Steps[T]) -> T:
    """Do the work without blocking the event loop."""
    return await adriven(steps, _ado)


async def _ado(step: Step) -> Any:
    import asyncio  # noqa: PLC0415  30 ms that only asynchronous hosts have already paid

    match step:
        case Decide():
            return await step.engine.adecide(step.request, step.state, step.grants, known=step.known)
        case Do(waits=True):
            return await asyncio.to_thread(step.act)
        case Do():
            return step.act()
        case Pause():
            return await asyncio.sleep(step.seconds)
