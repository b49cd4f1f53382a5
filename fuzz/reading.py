"""What a reader says of a text, reduced to what the oracles compare; and our reader put in those terms."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

from policyengine.shell import parse
from policyengine.shell import read as tolerant
from policyengine.shell.nodes import SimpleCommand


class Reported(NamedTuple):
    """One reported simple command: its words (None where not static), span, and the span of its command word."""

    words: tuple[str | None, ...]
    start: int
    end: int
    name_start: int
    name_end: int


class Reading(NamedTuple):
    """The reported commands; of rejected text (`error`) those that a tolerant reading finds before the fault.

    `crashed` names an exception that is no ParseError.
    """

    commands: tuple[Reported, ...] = ()
    error: str = ""
    crashed: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the text was read."""
        return not self.error and not self.crashed


READ_SECONDS = 5.0  # a text of a kilobyte that takes longer is a finding
Reader = Callable[[str, bool], Reading]


def read(text: str, extglob: bool) -> Reading:
    """Our reader's view, in the bash dialect."""
    try:
        with time_limit():
            return _read(text, extglob)
    except Exception as error:  # any other exception is a finding, whatever it is
        return Reading(crashed=f"{type(error).__name__}: {error}"[:200])


def _read(text: str, extglob: bool) -> Reading:
    """What the tolerant reading says; the strict one accepts what has no fault and what `bash -n` exits with 0 for."""
    reading = tolerant(text, extglob=extglob)
    script, fault = reading.script, "" if reading.fault is None else str(reading.fault)
    if not fault:
        script = parse(text, extglob=extglob)
    return Reading(tuple(_reported(command) for command in script.commands()), fault)


@contextmanager
def time_limit() -> Iterator[None]:
    """Raise TimeoutError in the body after `READ_SECONDS`; main thread only."""

    def expire(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"no answer in {READ_SECONDS} s")

    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, READ_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _reported(command: SimpleCommand) -> Reported:
    words = tuple(word.static for word in command.words)
    first = command.words[0] if command.words else command
    return Reported(words, command.start, command.end, first.start, first.end)
