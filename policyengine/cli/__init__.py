"""The command line.

Each command has a room here; every failure becomes an exit status and one line that says what to do. Only small parts
of the standard library are imported here: a hook has to answer even where the rest of the package cannot be imported.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

__all__ = ["main"]

HOOK_SECONDS = 20  # below any timeout that a host uses, since a host runs the tool when a hook times out


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status (`policyengine.cli.status.Status`); a hook ends the process itself."""
    arguments = list(sys.argv[1:] if words is None else words)
    if _is_hook(arguments):
        _end_with_hook(arguments)
    from policyengine.cli.run import run  # noqa: PLC0415  a hook must be able to report that this fails

    return run(arguments)


def _is_hook(words: list[str]) -> bool:
    """Whether `hook` is asked for, also with misplaced options before it: a host runs the tool on any status but 2."""
    return words[:1] == ["hook"] or (words[:1] != [] and words[0].startswith("-") and "hook" in words)


def _end_with_hook(words: list[str]) -> None:
    """Answer the host and leave at once, so that nothing which runs at interpreter exit can change the status."""
    status = 2
    try:
        _fail_on_signals()
        from policyengine.cli.hook import answer  # noqa: PLC0415  its failure is an answer too

        status = answer(words)
    except SystemExit:  # help was asked for, and printed
        sys.stdout.flush()
        status = 0
    except BaseException as error:  # INVARIANT: whatever fails, the host sees status 2 and a reason
        message = " ".join(str(error).split())[:2000] or "no further detail"
        os.write(
            2,
            f"policyengine: the call is blocked: {type(error).__name__}: {message}\n".encode(
                "ascii", "backslashreplace"
            ),
        )
    finally:
        os._exit(status)


def _fail_on_signals() -> None:
    """Let what would end the process with another status be an exception instead, a deadline of our own included."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.default_int_handler)
    signal.alarm(HOOK_SECONDS)
