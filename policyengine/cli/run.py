"""From words to a command's room, and from exceptions to exit statuses."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys

from policyengine.cli.arguments import parse
from policyengine.cli.status import Status
from policyengine.errors import AuditError, LoadError, PolicyEngineError, UsageError
from policyengine.visible import visible


def run(words: list[str]) -> int:
    """Run a command other than a hook; never raises."""
    try:
        status = _command(words)
        flush()
    except BaseException as error:
        status = _failed(error)
        _silence_stdout()
    return status


def flush() -> None:
    """Write out what is buffered.

    Raises:
        BrokenPipeError: standard output is closed.
        OSError: it cannot be written.
    """
    if sys.stdout is None:
        raise BrokenPipeError
    sys.stdout.flush()


def _command(words: list[str]) -> int:
    options = parse(words)
    if sys.stdout is None:  # the descriptor is closed: nobody could read an answer
        raise BrokenPipeError
    # A terminal that cannot show a character gets its escape, not a crash.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # always a TextIOWrapper outside of tests
    room = importlib.import_module(f"policyengine.cli.{options.command}")
    return int(room.run(options))


def _failed(error: BaseException) -> int:
    match error:
        case SystemExit():
            return int(error.code or 0)
        case KeyboardInterrupt():
            return Status.INTERRUPTED
        case BrokenPipeError():
            return Status.IO
        case UsageError():
            return _say(Status.USAGE, str(error))
        case LoadError():
            return _say(Status.RULES, str(error))
        case AuditError():
            return _say(Status.IO, f"{error.message} ({error.code})")
        case PolicyEngineError():
            return _say(Status.DATA, str(error))
        case OSError():
            return _say(Status.IO, f"cannot read or write: {error}")
        case _:
            return _say(Status.INTERNAL, f"internal error, please report it: {type(error).__name__}: {error}")


def _say(status: Status, message: str) -> Status:
    with contextlib.suppress(OSError, AttributeError, ValueError):  # nobody listens: the status has to do
        sys.stderr.write(f"policyengine: {visible(message)}\n")
        sys.stderr.flush()
    return status


def _silence_stdout() -> None:
    """Let the interpreter's own last flush go nowhere, so that it cannot complain about a closed output."""
    with contextlib.suppress(OSError, AttributeError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
