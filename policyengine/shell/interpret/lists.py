"""What lists print (`a && b || c`): which of their items run depends on how the ones before them ended."""

from __future__ import annotations

from collections.abc import Callable

from policyengine.effects import HOLE
from policyengine.shell.interpret.streams import Sink, Written, joined, noted
from policyengine.shell.nodes import ArithmeticCommand, Condition, Pipeline, SimpleCommand, Statement

# Programs and builtins whose failing is one of two answers (POSIX: 1 is "no").
_ASKING = frozenset({
    "[", "test", "false", "grep", "egrep", "fgrep", "rg", "command", "type", "which", "hash", "diff", "cmp", "pgrep",
    "let", "read", "mountpoint", "getent", "id", "killall", "pkill", "kill", "expr",
})  # fmt: skip
# What they print they print at once, or they print nothing and fail.
_WHOLE = frozenset({
    "echo", "printf", "which", "command", "type", "hash", "dirname", "basename", "realpath", "readlink", "pwd",
    "mktemp", "uname", "whoami", "hostname", "nproc", "cat",
})  # fmt: skip


class Ended:
    """What has been written where a list goes on after success, and where it does after failure."""

    __slots__ = ("_bad", "_before", "_good", "_lost", "_sink")

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._good = sink.live
        self._bad: Written = []
        self._lost: Written = []  # after failures with which the list may well end: not of what prints its result
        self._before: Written = []  # before a silent command, which may fail and then nothing is said

    def run(self, operator: str, item: Statement, run: Callable[[], None]) -> None:
        """Run an item where the one before it ended as its operator says."""
        start = self._sink.live = self._good if operator == "&&" else self._bad
        run()
        after = self._sink.live
        bad = _failed(item, start, after)
        if operator == "&&" and self._before and _says(item):
            self._lost = joined(self._lost, noted(self._before))
        self._before = start if after is start and isinstance(item, SimpleCommand) and _name(item) != "true" else []
        lost = bad if after is start else []
        if operator == "&&":
            self._good, self._bad, self._lost = after, joined(self._bad, bad), joined(self._lost, lost)
        else:
            self._good, self._bad, self._lost = joined(self._good, after), bad, lost

    def close(self) -> None:
        """Go on from where the list ended, either way."""
        self._sink.live = joined(self._good, self._lost)


def _failed(item: Statement, start: Written, after: Written) -> Written:
    """What has been written if the item fails."""
    if after is start:
        return noted(start) if asks(item) else start
    if not after:  # it leads elsewhere
        return []
    whole = isinstance(item, SimpleCommand) and _name(item) in _WHOLE
    return start if whole or _is_unknown(after) else joined(start, after)


def asks(item: object) -> bool:
    """Whether something is run for its status, so that both are to be expected."""
    if isinstance(item, Pipeline):
        return item.negated or asks(item.commands[-1])
    return isinstance(item, Condition | ArithmeticCommand) or (
        isinstance(item, SimpleCommand) and _name(item) in _ASKING
    )


def _says(item: object) -> bool:
    """Whether a command says what stands there, which tells that the one before it went well."""
    return (
        isinstance(item, SimpleCommand)
        and _name(item) in ("echo", "printf")
        and all(word.static is not None for word in item.words)
    )


def _name(item: SimpleCommand) -> str | None:
    return item.words[0].static if item.words else None


def _is_unknown(written: Written) -> bool:
    return all(piece is not None and HOLE in piece.text for piece in written)
