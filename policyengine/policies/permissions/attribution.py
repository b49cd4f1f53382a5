"""Which of a call's commands an effect belongs to, and what stands around it.

Effects carry the program that causes them (`origin`) and where they were read (`span`). Of the commands of that program
the narrowest that holds the place counts; where several are as narrow, or none holds it, all of them do, and a rule has
to cover each.
"""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.effects import Effect, Execute, Facts, FileWrite, Span
from policyengine.model import Request

# Programs that run another as it is, with its own arguments: when, how fast, or with which buffers.
HARMLESS_WRAPPERS = frozenset({"timeout", "gtimeout", "nice", "nohup", "stdbuf", "time", "command", "env"})


def commands_of(facts: Facts) -> list[Execute]:
    """Every command of a call."""
    return [effect for effect in facts.effects if type(effect) is Execute]


def owners(effect: Effect, commands: Sequence[Execute]) -> list[Execute]:
    """The commands that may have caused an effect; empty where none can be named."""
    own = [command for command in commands if command.program and command.program == effect.origin]
    if type(effect) is Execute:
        return [effect]
    if len(own) < 2 or effect.span is None:
        return own
    holding = [command for command in own if _holds(command.span, effect.span)]
    if not holding:
        return own
    narrowest = min(_width(command.span) for command in holding)
    return [command for command in holding if _width(command.span) == narrowest]


def _holds(outer: Span | None, inner: Span) -> bool:
    return outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def _width(span: Span | None) -> int:
    return 0 if span is None else span[1] - span[0]


def carried(command: Execute, commands: Sequence[Execute]) -> list[Execute]:
    """The commands that a command starts with words of its own: `git diff` in `timeout 5 git diff`."""
    return [inner for inner in commands if inner is not command and place_of(inner, command) is not None]


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
