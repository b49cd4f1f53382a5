"""Command words that do not look like what they are: put together from pieces, escaped, computed."""

from __future__ import annotations

from policyengine.effects import EvaluateCode, Obscured
from policyengine.patterns import lazily
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.syntax import tolerant
from policyengine.shell.nodes import (
    CommandSubstitution,
    DoubleQuoted,
    Escaped,
    Literal,
    SimpleCommand,
    SingleQuoted,
    Word,
)
from policyengine.shell.values import Value

_WINDOWS = lazily(r"(?:\.{1,2}|[A-Za-z]:)\\[A-Za-z.]")  # `.\venv\Scripts\python.exe`: no disguise, a path of Windows


def is_plain(word: Word) -> bool:
    """Whether a word is written as it is."""
    return len(word.parts) == 1 and type(word.parts[0]) is Literal


def disguised(machine: Machine, word: Word, head: Value) -> None:
    """A command word put together from pieces: a substitution that was computed runs its output."""
    for part in word.parts:
        inner = part.parts if type(part) is DoubleQuoted else (part,)
        if any(type(item) is CommandSubstitution for item in inner):
            machine.effects.append(EvaluateCode("sh", "substitution", True, head.taint, machine.where, head.span, ""))
            return
        if type(part) is SingleQuoted and part.ansi and part.end - part.start > len(part.text) + len("$''"):
            machine.effects.append(Obscured("escapes", machine.where, head.span, ""))
            return
    if head.span is not None and _WINDOWS.match(machine.source, head.span[0]):
        return
    if len(word.parts) > 2 and "/" not in head.text:
        machine.effects.append(Obscured("concatenation", machine.where, head.span, ""))
    elif any(type(part) is Escaped and part.text.isalnum() for part in word.parts[1:]):  # the first one hides an alias
        machine.effects.append(Obscured("escapes", machine.where, head.span, ""))


def disguised_again(machine: Machine, head: Value) -> None:
    r"""A wrapper's command word counts as the word that it was written as (`env $'\\x72m' a`)."""
    if head.span is None or not head.exact:
        return
    written = machine.source[head.span[0] : head.span[1]]
    if written == head.text or not ("'" in written or '"' in written or "$" in written):
        return
    body = tolerant(written, "bash")[0].body
    command = body[0] if len(body) == 1 else None
    if isinstance(command, SimpleCommand) and len(command.words) == 1 and command.words[0].static == head.text:
        disguised(machine, command.words[0], head)


def has_substitution(word: Word) -> bool:
    """Whether a command substitution takes part in a word."""
    for part in word.parts:
        inner = part.parts if type(part) is DoubleQuoted else (part,)
        if any(type(item) is CommandSubstitution for item in inner):
            return True
    return False
