"""The syntax tree of shell text: what the parser builds and every pass reads.

All nodes are NamedTuples (measured beside slotted and frozen dataclasses: cheapest to build, and equality, hashing and
`_fields` come free). Every node ends with `start` and `end`: code-point offsets `[start, end)` into the text that was
parsed. Nodes inside backticks carry offsets into the outer text too.

    Script      = statements
    Statement   = SimpleCommand | Pipeline | AndOr | Background | Group | Subshell | If | While | For | ArithmeticFor
                | Select | Case | Condition | ArithmeticCommand | Function | Coprocess          (with redirects where
                bash has them)
    Word        = parts
    WordPart    = Literal | Escaped | SingleQuoted | DoubleQuoted | Parameter | CommandSubstitution |
    ProcessSubstitution
                | Arithmetic | ExtendedGlob

`walk` visits every node below one, derived from the fields, so no child can be forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias


# --------------------------------------------------------------------------------------------------------------- words
class Literal(NamedTuple):
    """Unquoted text exactly as written (line continuations removed): globs, braces and a leading tilde are active in
    it.
    """

    text: str
    start: int
    end: int


class Escaped(NamedTuple):
    r"""A backslash and the character it quotes (`\x`); `text` is that character alone."""

    text: str
    start: int
    end: int


class SingleQuoted(NamedTuple):
    """`'…'`, or `$'…'` with `ansi` and `text` already decoded (bash manual 3.1.2.4)."""

    text: str
    ansi: bool
    start: int
    end: int


class DoubleQuoted(NamedTuple):
    """`"…"`, or `$"…"` with `localized`. Parts are Literal (inert), Escaped, Parameter, CommandSubstitution,
    Arithmetic.
    """

    parts: tuple[WordPart, ...]
    localized: bool
    start: int
    end: int


class Parameter(NamedTuple):
    """`$name` and every `${…}` (bash manual 3.5.3).

    `name` is the parameter (`x`, `1`, `@`, `#`, `?`, `-`, `$`, `!`, `*`); `subscript` that of an array element;
    `prefix` is `!`
    for indirection and name lists, `#` for a length, else empty. `op` is the operator after the name (empty if none):
    `:-`
    `-` `:=` `=` `:?` `?` `:+` `+` `:` (substring) `#` `##` `%` `%%` `/` `//` `/#` `/%` `^` `^^` `,` `,,` `@`
    (transformation; the
    letter is the argument) and `*`/`@` after a `!` prefix (names). `arguments` are its operand words: one, or two for a
    substring's offset and length and for pattern and replacement.
    """

    name: str
    prefix: str
    subscript: Word | None
    op: str
    arguments: tuple[Word, ...]
    start: int
    end: int


class CommandSubstitution(NamedTuple):
    """`$(…)`, backticks (`backtick`), or `${ …; }` / `${| …; }`. `body` is Unread where bash defers a fault to run
    time.
    """

    body: Script | Unread
    backtick: bool
    start: int
    end: int


class ProcessSubstitution(NamedTuple):
    """`<(…)` or `>(…)`; `op` is `<` or `>`."""

    op: str
    body: Script | Unread
    start: int
    end: int


class Arithmetic(NamedTuple):
    """`$((…))` or `$[…]`. `expression` holds the text as a word, with its nested expansions as parts."""

    expression: Word
    start: int
    end: int


class ExtendedGlob(NamedTuple):
    """`?(…)` `*(…)` `+(…)` `@(…)` `!(…)`; `op` is the first character. Substitutions inside it are parts of
    `pattern`.
    """

    op: str
    pattern: Word
    start: int
    end: int


WordPart: TypeAlias = (
    Literal
    | Escaped
    | SingleQuoted
    | DoubleQuoted
    | Parameter
    | CommandSubstitution
    | ProcessSubstitution
    | Arithmetic
    | ExtendedGlob
)


class Word(NamedTuple):
    """A shell word."""

    parts: tuple[WordPart, ...]
    start: int
    end: int

    @property
    def static(self) -> str | None:
        """The text after quote removal, or None where an expansion, glob, brace expansion or tilde takes part."""
        from policyengine.shell.words import static_text  # noqa: PLC0415  words reads nodes, so it cannot be above

        return static_text(self)


class Unread(NamedTuple):
    """Text whose inner fault bash defers to run time (inside backticks, heredoc substitutions, arithmetic)."""

    text: str
    message: str
    start: int
    end: int


# ------------------------------------------------------------------------------------------------ commands and their
# parts
class ArrayElement(NamedTuple):
    """One element of `a=( … )`: `[subscript]=value` or a plain value."""

    subscript: Word | None
    append: bool
    value: Word
    start: int
    end: int


class Assignment(NamedTuple):
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


class Redirect(NamedTuple):
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


class SimpleCommand(NamedTuple):
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


class Pipeline(NamedTuple):
    """`[time [-p]] [!] command | command |& command`. `operators` has one entry less than `commands`: `|` or `|&`."""

    commands: tuple[Statement, ...]
    operators: tuple[str, ...]
    negated: bool
    timed: bool
    start: int
    end: int


class AndOr(NamedTuple):
    """`a && b || c`: two or more `items`, `operators` between them (`&&`, `||`), equal precedence, left to right."""

    items: tuple[Statement, ...]
    operators: tuple[str, ...]
    start: int
    end: int


class Background(NamedTuple):
    """`command &`."""

    command: Statement
    start: int
    end: int


class Group(NamedTuple):
    """`{ …; }`."""

    body: tuple[Statement, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class Subshell(NamedTuple):
    """`( … )`."""

    body: tuple[Statement, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class IfBranch(NamedTuple):
    """One `if`/`elif … then …`."""

    condition: tuple[Statement, ...]
    body: tuple[Statement, ...]
    start: int
    end: int


class If(NamedTuple):
    """`if … then … [elif … then …] [else …] fi`. `otherwise` is None without `else`."""

    branches: tuple[IfBranch, ...]
    otherwise: tuple[Statement, ...] | None
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class While(NamedTuple):
    """`while … do … done`, or `until` where `until`."""

    condition: tuple[Statement, ...]
    body: tuple[Statement, ...]
    until: bool
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class For(NamedTuple):
    """`for name [in words]; do … done` (or braces). `words` is None for the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: tuple[Statement, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class ArithmeticFor(NamedTuple):
    """`for (( init; test; step )) do … done`; each part is a word like that of `Arithmetic`."""

    parts: tuple[Word, ...]
    body: tuple[Statement, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class Select(NamedTuple):
    """`select name [in words]; do … done`."""

    name: str
    words: tuple[Word, ...] | None
    body: tuple[Statement, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class CaseArm(NamedTuple):
    """`pattern | pattern) … ;;`; `terminator` is `;;`, `;&`, `;;&` or empty (last arm)."""

    patterns: tuple[Word, ...]
    body: tuple[Statement, ...]
    terminator: str
    start: int
    end: int


class Case(NamedTuple):
    """`case word in … esac`."""

    word: Word
    arms: tuple[CaseArm, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class Condition(NamedTuple):
    """`[[ … ]]`. `words` are its operands in order; operators are left out of it (`operators`, in order)."""

    words: tuple[Word, ...]
    operators: tuple[str, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class ArithmeticCommand(NamedTuple):
    """`(( … ))`."""

    expression: Word
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class Function(NamedTuple):
    """`name() body` or `function name [()] body`; redirections stand on the body."""

    name: str
    body: Statement
    start: int
    end: int


class Coprocess(NamedTuple):
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


class Script(NamedTuple):
    """A whole text, or the body of a substitution: statements in source order."""

    body: tuple[Statement, ...]
    start: int
    end: int

    def commands(self) -> Iterator[SimpleCommand]:
        """Every simple command, nested ones included, ordered by where it starts.

        Function bodies and substitutions inside heredocs, arithmetic, subscripts and `[[ ]]` are included; `[[`, `((`,
        alias
        expansions and the strings of `eval` are not.
        """
        found = [node for node in walk(self) if isinstance(node, SimpleCommand)]
        found.sort(key=lambda command: command.start)
        return iter(found)


Node: TypeAlias = (
    Script | Statement | Word | WordPart | Unread | ArrayElement | Assignment | Heredoc | Redirect | IfBranch | CaseArm
)


def walk(node: Node) -> Iterator[Node]:
    """Every node at and below `node`, parents before children, in no recursion: derived from the fields."""
    pending: list[object] = [node]
    while pending:
        current = pending.pop()
        children: tuple[object, ...] = tuple(current)  # type: ignore[arg-type]  # only nodes and tuples get here
        if hasattr(current, "_fields"):  # plain tuples hold children and have no fields
            yield current  # type: ignore[misc]  # everything with fields in a tree is a Node
        pending.extend(child for child in reversed(children) if isinstance(child, _HOLDERS))


_HOLDERS = (tuple, Heredoc)
