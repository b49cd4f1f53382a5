"""What a builtin's handler is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from policyengine.effects import Span
from policyengine.records import NamedTuple
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.nodes import Word
from policyengine.shell.values import Value


class Call(NamedTuple):
    """A builtin's call: its name, arguments as values, and the words they came from (none for computed commands)."""

    name: str
    arguments: list[Value]
    span: Span | None
    words: Sequence[Word] = ()


Builtin: TypeAlias = Callable[[Machine, Call], None]


def operands(call: Call) -> list[Value]:
    """The arguments without leading options; `--` ends those."""
    arguments = call.arguments
    at = 0
    while at < len(arguments) and len(arguments[at].text) > 1 and arguments[at].text[0] == "-" and arguments[at].exact:
        at += 1
        if arguments[at - 1].text == "--":
            break
    return arguments[at:]


def flags(call: Call) -> str:
    """The letters of leading options, joined."""
    return "".join(value.text[1:] for value in call.arguments[: len(call.arguments) - len(operands(call))])
