"""Both faces of a hook, written once: a generator asks the gate and runs the host's handler, a driver does it.

What a step raises is raised inside the generator, so that interrupts and cancellation pass through it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, TypeAlias, TypeVar

from policyengine.gate import Gate
from policyengine.gate.steps import adriven, driven
from policyengine.records import NamedTuple

T = TypeVar("T")
Handler: TypeAlias = Callable[[Any], Any]
AHandler: TypeAlias = Callable[[Any], Awaitable[Any]]


class Asked(NamedTuple):
    """Ask the gate: a question of its facade that has two faces, by the name of the synchronous one."""

    question: str
    about: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...] = ()


class Handled(NamedTuple):
    """Go on to what the middleware stands before; `seconds` bounds how long that may take."""

    request: Any
    seconds: float | None = None


Steps: TypeAlias = Generator[Asked | Handled, Any, T]


def asked(question: str, *about: Any, **named: Any) -> Steps[Any]:
    """Ask the gate, from within a generator."""
    return (yield Asked(question, about, tuple(named.items())))


# --------------------------------------------------------------------------------------------------------- synchronous
def done(gate: Gate, steps: Steps[T], handler: Handler | None = None) -> T:
    """Do the work in this thread."""
    return driven(steps, lambda step: _do(gate, step, handler))


def _do(gate: Gate, step: Asked | Handled, handler: Handler | None) -> Any:
    if isinstance(step, Asked):
        return getattr(gate, step.question)(*step.about, **dict(step.named))
    assert handler is not None  # only hooks that wrap something go on to it
    return handler(step.request) if step.seconds is None else _within(handler, step.request, step.seconds)


def _within(handler: Handler, request: Any, seconds: float) -> Any:
    """Wait for so long. Nothing can stop a thread: a tool that is late may go on, but nobody sees what it gives."""
    result: Future[Any] = Future()

    def work() -> None:
        try:
            result.set_result(handler(request))
        except BaseException as error:  # whatever it is, it is the caller's
            result.set_exception(error)

    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    return result.result(seconds)


# -------------------------------------------------------------------------------------------------------- asynchronous
async def adone(gate: Gate, steps: Steps[T], handler: AHandler | None = None) -> T:
    """Do the work without blocking the event loop."""
    return await adriven(steps, lambda step: _ado(gate, step, handler))


async def _ado(gate: Gate, step: Asked | Handled, handler: AHandler | None) -> Any:
    if isinstance(step, Asked):
        return await getattr(gate, f"a{step.question}")(*step.about, **dict(step.named))
    assert handler is not None  # only hooks that wrap something go on to it
    return await asyncio.wait_for(handler(step.request), step.seconds)
