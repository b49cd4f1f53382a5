"""Reading a whole text: strictly, or as far as it goes."""

from __future__ import annotations

from policyengine.errors import ParseError
from policyengine.records import NamedTuple
from policyengine.shell.dialects import dialect_named
from policyengine.shell.lexer import END, Budget, run
from policyengine.shell.nodes import Script
from policyengine.shell.parser import Parser

MAX_DEPTH = 1000  # constructs in constructs that are read; bash itself gives up at some thousands


class Reading(NamedTuple):
    """What was read of a text.

    Attributes:
        script: everything before the fault, with the constructs that it left open ending there; all of the text if
        none.
        fault: why reading ended, or None.
        limited: it ended because of `max_depth`, `max_nodes` or another limit, not because of what the text says.
    """

    script: Script
    fault: ParseError | None
    limited: bool


def parse(text: str, dialect: str = "bash", extglob: bool = False) -> Script:
    """The syntax tree of shell text.

    Agrees with `bash -n` on what is valid; faults that bash finds only when it runs are Unread nodes. Of a wrong order
    of words in `[[ … ]]` bash prints a fault, reads nothing after its line and exits with 0: the tree ends there, as
    that of `read` does, which tells of the fault. Linear in the text.

    Args:
        text: any string.
        dialect: `bash`, `sh` or `zsh`.
        extglob: whether `shopt -s extglob` is on from the beginning (it is off unless a script says so).

    Raises:
        ParseError: the text is not valid, or nested deeper than MAX_DEPTH levels; nothing else is raised for a text.
        UsageError: there is no such dialect.
    """
    _refuse_nul(text)
    if _ends_in_escape(text):  # in a string (`bash -c`, `eval`) it is a character
        reading = read(text, dialect, extglob)
        if reading.fault is not None:
            parse(text[:-1], dialect, extglob)  # in a file it is taken with the newline
        return reading.script
    parser = Parser(text, 0, dialect_named(dialect), extglob, Budget(MAX_DEPTH, None), strict=True)
    return run(parser.script())


def read(
    text: str,
    dialect: str = "bash",
    extglob: bool = False,
    *,
    max_depth: int = MAX_DEPTH,
    max_nodes: int | None = None,
) -> Reading:
    """As much of the syntax tree as there is; never raises for a text.

    Args:
        text: any string.
        dialect: as for `parse`.
        extglob: as for `parse`.
        max_depth: how many constructs may be open at once.
        max_nodes: how many words, parts and commands there may be; None for any number.
    """
    budget = Budget(max_depth, max_nodes)
    before, nul, _ = text.partition(END)
    parser = Parser(before, 0, dialect_named(dialect), extglob, budget, strict=False)
    script = run(parser.script())
    fault = parser.fault
    if nul and fault is None:
        fault = _nul(len(before))
    return Reading(script, fault, budget.limited)


def _ends_in_escape(text: str) -> bool:
    return text.endswith("\\") and (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _refuse_nul(text: str) -> None:
    if END in text:
        raise _nul(text.index(END))


def _nul(position: int) -> ParseError:
    return ParseError("NUL character, which no shell text holds", position)
