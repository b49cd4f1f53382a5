"""Commands that a program puts together from words and arguments: xargs and its like, parallel with its `:::`."""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.effects import HOLE
from policyengine.shell.programs.parts import Operand
from policyengine.shell.programs.reading import Tail, filled
from policyengine.shell.values import UNKNOWN, Value, from_template, hull

MAX_COMMANDS = 16  # commands that given arguments are put into; more count as one unknown argument
SHELL_CHARACTERS = frozenset(";|&<>()$`\n")
FILES = ("::::", "::::+")  # what follows names files with arguments (parallel(1))


def awaiting(tail: Tail, hole: str) -> Tail:
    """A tail that standard input completes, at the hole that the call names, or at its end."""
    if tail.appended:
        return tail._replace(appended="") if tail.appended == "given" else tail
    return tail._replace(appended="stdin", hole=hole or tail.hole)


def composed(words: Sequence[Value], element: Operand) -> tuple[list[Tail], list[Value]]:
    """Take apart words up to a separator and the arguments after it; without one, standard input completes them.

    Returns the commands, or as texts of shell code those that only a shell can read: such programs hand the words,
    joined with blanks, to a shell.
    """
    end = next((index for index, word in enumerate(words) if word.text in element.until), len(words))
    command, arguments = words[:end], words[end:]
    if not command:  # the arguments are command lines of their own (parallel(1))
        return [], _given(arguments, element) if arguments else []
    hole = element.hole if any(element.hole in word.text for word in command) else ""
    if not SHELL_CHARACTERS.isdisjoint("".join(word.text for word in command)):
        tail = Tail(tuple(command), element.where, "given", hole)
        return [], [joined(filled(tail, value)) for value in (_given(arguments, element) if arguments else [UNKNOWN])]
    tail = Tail(_words(command), element.where, hole=hole)
    if not arguments:
        return [tail], []
    given = tail._replace(appended="given")
    return [Tail(filled(given, value), element.where, "given") for value in _given(arguments, element)], []


def _given(words: Sequence[Value], element: Operand) -> list[Value]:
    values = [word for word in words if word.text not in element.until]
    if len(values) > MAX_COMMANDS or any(word.text in FILES for word in words):
        return [UNKNOWN]
    return values


def _words(words: Sequence[Value]) -> tuple[Value, ...]:
    """The command line is split again by a shell, so a word with blanks is several words."""
    return tuple(piece for word in words for piece in _pieces(word))


def _pieces(word: Value) -> list[Value]:
    texts = word.text.split()
    if len(texts) < 2 or not word.exact:
        return [word]
    return [word._replace(text=text) for text in texts]


def joined(words: Sequence[Value], joint: str = " ") -> Value:
    """Words joined into one text, by blanks or as said; how often a pattern's names stand in it is not known."""
    texts = [word.template + (HOLE if word.exact and (word.many or word.glob) else "") for word in words]
    if words and words[-1].exact and not words[-1].many:
        texts[-1] = words[-1].text
    taint = frozenset().union(*(word.taint for word in words))
    return from_template(joint.join(texts), taint, hull(words))
