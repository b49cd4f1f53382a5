"""Steps of an interpretation for those who want to follow it: what words became, what variables and files hold.

They are taken only where somebody asked (`Machine.notes` is a list), since the decision does not need them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from policyengine.effects import CLEAN, Span, Taints
from policyengine.records import NamedTuple
from policyengine.shell.interpret.streams import Stream
from policyengine.shell.nodes import Literal, Parameter, Word, walk
from policyengine.shell.values import Value

if TYPE_CHECKING:
    from policyengine.shell.interpret.machine import Machine

MAX_NOTES = 500  # of one call


class Step(StrEnum):
    """What a note is about."""

    WORD = "word"  # what a word of a command became
    NAME = "name"  # what a command name means
    VARIABLE = "variable"  # what a variable holds from now on
    OUTPUT = "output"  # what a substitution gives
    PIPE = "pipe"  # what a command hands to the next one
    FILE = "file"  # what a file holds from now on


class Note(NamedTuple):
    """One step.

    Attributes:
        step: what it is about.
        subject: the word as written, the name or the path.
        values: what it is now, one text for each value; None where that is not known.
        taint: where that came from.
        because: what led there: the variables of a word, the meaning of a name.
        span: where in the text.
    """

    step: Step
    subject: str
    values: tuple[str | None, ...] = ()
    taint: Taints = CLEAN
    because: tuple[str, ...] = ()
    span: Span | None = None


def note(machine: Machine, made: Note) -> None:
    """Keep a note, once, and no more than there is room for."""
    notes = machine.notes
    if notes is not None and len(notes) < MAX_NOTES and made not in notes[-16:]:
        notes.append(made)


def _texts(values: Iterable[Value]) -> tuple[str | None, ...]:
    """Values as texts; of one that is known in part the beginning, `…` for the rest."""
    return tuple([value.text if value.exact else f"{value.text}…" if value.text else None for value in values])


def _taint(values: Iterable[Value]) -> Taints:
    return frozenset().union(*[value.taint for value in values])


def note_words(machine: Machine, words: Sequence[Word], values: Sequence[Value]) -> None:
    """Words that became something else than what is written, with the variables that they name."""
    for word in words:
        if len(word.parts) == 1 and type(word.parts[0]) is Literal:
            continue
        span = machine.span(word.start, word.end)
        became = [value for value in values if value.span == span]
        written = machine.source[span[0] : span[1]] if span is not None else ""
        names = tuple(dict.fromkeys([node.name for node in walk(word) if isinstance(node, Parameter)]))
        because = tuple([f"{name} {_origin(machine, name)}" for name in names])
        if _texts(became) != (written,):
            note(machine, Note(Step.WORD, written, _texts(became), _taint(became), because, span))


def _origin(machine: Machine, name: str) -> str:
    if not name.isidentifier():
        return "is a parameter of the shell"
    if machine.variable(name) is not None:
        return "was set before"
    return "was left by an earlier call" if name in machine.situation.left.exports else "is not set here"


def note_name(machine: Machine, name: str, meaning: str, span: Span | None) -> None:
    """What a command name stands for."""
    note(machine, Note(Step.NAME, name, (), CLEAN, (meaning,), span))


def note_variable(machine: Machine, name: str, values: Sequence[Value]) -> None:
    """What a variable holds."""
    note(machine, Note(Step.VARIABLE, name, _texts(values), _taint(values)))


def note_stream(machine: Machine, step: Step, subject: str, stream: Stream, span: Span | None = None) -> None:
    """What is printed, handed on or written."""
    text = stream.text if stream.text is not None else f"{stream.prefix}…" if stream.prefix else None
    note(machine, Note(step, subject, (text,), stream.taint, (), span))
