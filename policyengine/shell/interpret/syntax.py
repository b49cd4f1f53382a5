"""The parser as the interpretation uses it: always a tree, with what ended the reading."""

from __future__ import annotations

from policyengine.effects import Cause
from policyengine.patterns import lazily
from policyengine.records import NamedTuple
from policyengine.shell import read
from policyengine.shell.nodes import Script, Unread, walk

MAX_NESTING = 60  # constructs in constructs of one text
MAX_NODES = 60_000  # words, parts and commands of one text

_DIALECTS = {"sh": "sh", "dash": "sh", "ash": "sh", "zsh": "zsh"}


class Fault(NamedTuple):
    """Why a text was not read to its end, and from where on."""

    cause: Cause
    message: str
    start: int
    end: int


# What `sh` reads otherwise where it is dash: `((` is two subshells, and `[[ a > b ]]` a command with a redirection.
_DIFFERS = lazily(r"\(\(|\[\[[^\]]*[<>]")


def readings(text: str, shell: str) -> tuple[tuple[Script, Fault | None], ...]:
    """Each reading that counts. `sh` is bash on one machine and dash on the next: a fault is one for both."""
    if _DIALECTS.get(shell) != "sh":
        return (tolerant(text, shell),)
    wide = tolerant(text, "bash")
    if wide[1] is None and not _DIFFERS.search(text):
        return (wide,)
    narrow = tolerant(text, shell)
    if narrow[1] is not None or (wide[1] is None and any(isinstance(node, Unread) for node in walk(narrow[0]))):
        return (wide,)
    return (narrow,) if wide[1] is not None else (wide, narrow)


def tolerant(text: str, dialect: str) -> tuple[Script, Fault | None]:
    """Read shell text as far as it goes."""
    reading = read(text, _DIALECTS.get(dialect, "bash"), max_depth=MAX_NESTING, max_nodes=MAX_NODES)
    fault = reading.fault
    if fault is None:
        return reading.script, None
    cause = Cause.LIMIT if reading.limited else Cause.UNPARSEABLE
    start = min(fault.position, len(text))
    return reading.script, Fault(cause, fault.message, start, max(start, len(text)))
