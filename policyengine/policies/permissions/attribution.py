"""Which of a call's commands an effect belongs to, and what stands around and within a command.

Effects carry the program that causes them (`origin`) and where they were read (`span`). Of the commands of that program
the narrowest that holds the place counts; where several are as narrow, or none holds it, all of them do, and a rule has
to cover each.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from policyengine.effects import Effect, EvaluateCode, Execute, Facts, FileWrite, Span
from policyengine.model import Request

# Programs that run another as it is, with its own arguments: when, how fast, or with which buffers.
HARMLESS_WRAPPERS = frozenset({"timeout", "gtimeout", "nice", "nohup", "stdbuf", "time", "command", "env"})
MAX_AROUND = 256  # commands that are looked at around a place; deeper nesting is told by none


class Commands:
    """The commands of a call, by program and by place."""

    def __init__(self, facts: Facts) -> None:
        self.all = [effect for effect in facts.effects if type(effect) is Execute]
        self.programs = frozenset(command.program for command in self.all)
        self._placed = sorted((command for command in self.all if command.span is not None), key=_start)
        self._starts = [_start(command) for command in self._placed]
        self._by_program: dict[str, list[Execute]] = {}
        for command in self._placed:
            self._by_program.setdefault(command.program, []).append(command)
        self._unplaced = frozenset(command.program for command in self.all if command.span is None)
        self._code = [effect for effect in facts.effects if type(effect) is EvaluateCode]

    def owners(self, effect: Effect) -> Sequence[Execute]:
        """The commands that may have caused an effect; empty where none can be named."""
        if type(effect) is Execute:
            return (effect,)
        own = self._by_program.get(effect.origin, []) if effect.origin else []
        if effect.origin in self._unplaced:
            return ()
        if len(own) < 2 or effect.span is None:
            return own if len(own) < 2 else ()
        holding = [command for command in _before(own, effect.span[0]) if _holds(command.span, effect.span)]
        if not holding:
            return own if len(own) <= MAX_AROUND else ()
        narrowest = min(_width(command.span) for command in holding)
        return [command for command in holding if _width(command.span) == narrowest]

    def around(self, inner: Execute) -> list[tuple[Execute, int]]:
        """The commands that start another, and the place of its program among their arguments."""
        if inner.span is None:
            return []
        found = [(outer, place_of(inner, outer)) for outer in _before(self._placed, inner.span[0])]
        return [(outer, place) for outer, place in found if place is not None]

    def within(self, command: Execute) -> list[Execute]:
        """The other commands that stand within a command: in its words, its redirections, its here-documents."""
        if command.span is None:
            return []
        start, end = command.span
        inside = self._placed[bisect_left(self._starts, start) : bisect_left(self._starts, end)]
        return [
            one for one in inside if one is not command and one.span != command.span and _holds(command.span, _of(one))
        ]

    def at(self, place: int) -> list[Execute]:
        """The commands that hold a place in the text."""
        return [one for one in _before(self._placed, place) if one.span is not None and place < one.span[1]]

    def carried(self, command: Execute) -> list[Execute]:
        """The commands that a command starts with words of its own: `git diff` in `timeout 5 git diff`."""
        return [inner for inner in self.within(command) if place_of(inner, command) is not None]

    def code_of(self, command: Execute) -> list[EvaluateCode]:
        """The code that a command runs itself."""
        return [code for code in self._code if code.origin == command.program and command in self.owners(code)]


def _start(command: Execute) -> int:
    return 0 if command.span is None else command.span[0]


def _of(command: Execute) -> Span:
    return command.span or (0, 0)


def _before(commands: Sequence[Execute], place: int) -> Sequence[Execute]:
    """Those that begin at a place or before it, the nearest so many."""
    end = bisect_right(commands, place, key=_start)
    return commands[max(end - MAX_AROUND, 0) : end]


def _holds(outer: Span | None, inner: Span) -> bool:
    return outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def _width(span: Span | None) -> int:
    return 0 if span is None else span[1] - span[0]


def place_of(inner: Execute, outer: Execute) -> int | None:
    """The place of a command's program among the arguments of the one that starts it; None where it does not."""
    place = len(outer.arguments) - len(inner.arguments) - 1
    if place < 0 or inner.span is None or not _holds(outer.span, inner.span) or outer.span == inner.span:
        return None
    if outer.arguments[place + 1 :] != inner.arguments:
        return None
    word = outer.arguments[place]
    return place if word is not None and word.rpartition("/")[2].startswith(inner.program) and inner.program else None


def is_redirection(effect: FileWrite, command: Execute, request: Request) -> bool:
    """Whether a file is written because the shell opened it for a command, or may be.

    The command's own words are its operands; a redirection's target stands behind an operator.
    """
    span = effect.span
    if span is None:
        return True
    texts = [value for value in (request.arguments or {}).values() if isinstance(value, str) and len(value) >= span[1]]
    if not texts:
        return True
    if span == command.span:  # the place is no single word: where a variable may hold an operator, it counts
        return any(not frozenset(">$`").isdisjoint(text[span[0] : span[1]]) for text in texts)
    return any(text[: span[0]].rstrip(" \t\\\n")[-1:] in (">", "|", "&") for text in texts)
