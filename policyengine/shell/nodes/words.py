"""Words and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from policyengine.shell.nodes.node import node

if TYPE_CHECKING:
    from policyengine.shell.nodes import Script, Statement


@node
class Literal:
    """Unquoted text exactly as written (line continuations removed): globs, braces and a leading tilde are active in
    it.
    """

    text: str
    start: int
    end: int


@node
class Escaped:
    r"""A backslash and the character it quotes (`\x`); `text` is that character alone."""

    text: str
    start: int
    end: int


@node
class SingleQuoted:
    """`'…'`, or `$'…'` with `ansi` and `text` already decoded (bash manual 3.1.2.4)."""

    text: str
    ansi: bool
    start: int
    end: int


@node
class DoubleQuoted:
    """`"…"`, or `$"…"` with `localized`. Parts are Literal (inert), Escaped, Parameter, CommandSubstitution,
    Arithmetic.
    """

    parts: tuple[WordPart, ...]
    localized: bool
    start: int
    end: int


@node
class Parameter:
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


@node
class CommandSubstitution:
    """`$(…)`, backticks (`backtick`), or `${ …; }` / `${| …; }`. `body` is Unread where bash defers a fault to run
    time.
    """

    body: Script | Unread
    backtick: bool
    start: int
    end: int


@node
class ProcessSubstitution:
    """`<(…)` or `>(…)`; `op` is `<` or `>`."""

    op: str
    body: Script | Unread
    start: int
    end: int


@node
class Arithmetic:
    """`$((…))` or `$[…]`. `expression` holds the text as a word, with its nested expansions as parts."""

    expression: Word
    start: int
    end: int


@node
class ExtendedGlob:
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


@node
class Word:
    """A shell word."""

    parts: tuple[WordPart, ...]
    start: int
    end: int

    @property
    def static(self) -> str | None:
        """The text after quote removal, or None where an expansion, glob, brace expansion or tilde takes part."""
        from policyengine.shell.words import static_text  # noqa: PLC0415  words reads nodes, so it cannot be above

        return static_text(self)


@node
class Unread:
    """Text whose inner fault bash defers to run time (inside backticks, heredoc substitutions, arithmetic).

    `before` is what was read of it before the fault: bash runs the lines above the one at fault.
    """

    text: str
    message: str
    before: tuple[Statement, ...]
    start: int
    end: int
