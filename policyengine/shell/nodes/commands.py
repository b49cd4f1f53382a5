"""Commands, their redirections and assignments, and what they are put together to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from policyengine.shell.nodes.node import node
from policyengine.shell.nodes.words import Word


@node
class ArrayElement:
    """One element of `a=( … )`: `[subscript]=value` or a plain value."""

    subscript: Word | None
    append: bool
    value: Word
    start: int
    end: int


@node
class Assignment:
    """`name=value`, `name+=value`, `name[subscript]=value`, `name=(elements)`.

    `value` is the word after `=` (None for an empty one or an array); `elements` is None unless it is an array.
    """

    name: str
    subscript: Word | None
    append: bool
    value: Word | None
    elements: tuple[ArrayElement, ...] | None
    start: int
    end: int


class Heredoc:
    """A here-document's body, which stands after the line of its header.

    Not a tuple, because the reader completes it when it gets there; frozen for everybody else.

    Attributes:
        delimiter: the line that ends it, quotes removed.
        quoted: the delimiter was quoted, so that the body is data: one SingleQuoted part. Else `body` is one
        DoubleQuoted
            part with the expansions in it.
        strip_tabs: `<<-`: leading tabs are taken away (and are not in `body`).
        body: the text.
        terminated: false where the text ended first, as bash accepts with a warning.
        start, end: the body without its delimiter's line.
    """

    __slots__ = _fields = __match_args__ = ("delimiter", "quoted", "strip_tabs", "body", "terminated", "start", "end")

    def __init__(  # noqa: PLR0913, PLR0917  one for each field, as a NamedTuple has
        self, delimiter: str, quoted: bool, strip_tabs: bool, body: Word, terminated: bool, start: int, end: int
    ) -> None:
        self.delimiter = delimiter
        self.quoted = quoted
        self.strip_tabs = strip_tabs
        self.body = body
        self.terminated = terminated
        self.start = start
        self.end = end

    def __iter__(self) -> Iterator[object]:
        return (getattr(self, name) for name in self._fields)  # the fields are those just named

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Heredoc) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Heredoc({', '.join(f'{name}={value!r}' for name, value in zip(self._fields, self, strict=True))})"


@node
class Redirect:
    """`[fd]op target`. `op` is `<` `>` `>>` `>|` `<>` `<&` `>&` `&>` `&>>` `<<` `<<-` `<<<`; `fd` the number as
    written, `{name}`
    or None. For here-documents `target` is the delimiter word and `heredoc` the body.
    """

    op: str
    fd: str | None
    target: Word
    heredoc: Heredoc | None
    start: int
    end: int


@node
class SimpleCommand:
    """Assignments, words and redirections; `words[0]` is the command word. May have no words."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int

    @property
    def span(self) -> tuple[int, int]:
        """`[start, end)` in the parsed text."""
        return (self.start, self.end)


@node
class Pipeline:
    """`[time [-p]] [!] command | command |& command`. `operators` has one entry less than `commands`: `|` or `|&`."""

    commands: tuple[Statement, ...]
    operators: tuple[str, ...]
    negated: bool
    timed: bool
    start: int
    end: int


@node
class AndOr:
    """`a && b || c`: two or more `items`, `operators` between them (`&&`, `||`), equal precedence, left to right."""

    items: tuple[Statement, ...]
    operators: tuple[str, ...]
    start: int
    end: int


@node
class Background:
    """`command &`."""

    command: Statement
    start: int
    end: int


@node
class Group:
    """`{ …; }`."""

    body: tuple[Statement, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@node
class Subshell:
    """`( … )`."""

    body: tuple[Statement, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@node
class IfBranch:
    """One `if`/`elif … then …`."""

    condition: tuple[Statement, ...]
    body: tuple[Statement, ...]
    start: int
    end: int


@node
class If:
    """`if … then … [elif … then …] [else …] fi`. `otherwise` is None without `else`."""

    branches: tuple[IfBranch, ...]
    otherwise: tuple[Statement, ...] | None
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@node
class While:
    """`while … do … done`, or `until` where `until`."""

    condition: tuple[Statement, ...]
    body: tuple[Statement, ...]
    until: bool
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@node
class For:
    """`for name [in words]; do … done` (or braces). `words` is None for the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: tuple[Statement, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@node
class ArithmeticFor:
    """`for (( init; test; step )) do … done`; each part is a word like that of `Arithmetic`."""

    parts: tuple[Word, ...]
    body: tuple[Statement, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@node
class Select:
    """`select name [in words]; do … done`."""

    name: str
    words: tuple[Word, ...] | None
    body: tuple[Statement, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@node
class CaseArm:
    """`pattern | pattern) … ;;`; `terminator` is `;;`, `;&`, `;;&` or empty (last arm)."""

    patterns: tuple[Word, ...]
    body: tuple[Statement, ...]
    terminator: str
    start: int
    end: int


@node
class Case:
    """`case word in … esac`."""

    word: Word
    arms: tuple[CaseArm, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@node
class Condition:
    """`[[ … ]]`. `words` are its operands in order; operators are left out of it (`operators`, in order)."""

    words: tuple[Word, ...]
    operators: tuple[str, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@node
class ArithmeticCommand:
    """`(( … ))`."""

    expression: Word
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@node
class Function:
    """`name() body` or `function name [()] body`; redirections stand on the body."""

    name: str
    body: Statement
    start: int
    end: int


@node
class Coprocess:
    """`coproc [NAME] command`; `name` is `COPROC` unless given."""

    name: str
    body: Statement
    start: int
    end: int


Statement: TypeAlias = (
    SimpleCommand
    | Pipeline
    | AndOr
    | Background
    | Group
    | Subshell
    | If
    | While
    | For
    | ArithmeticFor
    | Select
    | Case
    | Condition
    | ArithmeticCommand
    | Function
    | Coprocess
)
