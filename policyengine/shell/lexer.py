"""Reading characters: where a text stands, what can be taken in one step, and the first fault.

Nothing here nests: whatever holds a command, a parameter's operand or another text is left to `expansions` and
`parser`,
whose productions are generators run by `run`, so that no depth of nesting uses the Python stack.

Every text ends in a NUL (no shell text holds one), so that peeking needs no bounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeAlias, TypeVar

from policyengine.errors import ParseError
from policyengine.records import NamedTuple
from policyengine.shell.dialects import Dialect
from policyengine.shell.nodes import (
    Heredoc,
    Literal,
    Word,
    WordPart,
)
from policyengine.shell.offsets import Offsets, Shift

T = TypeVar("T")
# A production in progress: it yields the productions that it needs and is sent their results.
Steps: TypeAlias = Generator[Any, Any, T]

END = "\0"


class _New(Protocol):
    def __call__(self, kind: type[T], fields: tuple[Any, ...], /) -> T: ...


# Builds a NamedTuple at half the cost of calling its class (measured).
new: _New = tuple.__new__  # type: ignore[assignment]  # typeshed does not relate the class to the result

blanks = re.compile(r"(?:[ \t]|\\\n)*+").match
comment = re.compile(r"#[^\n\0]*+").match
# Everything between commands: blanks, newlines, comments, line continuations.
gap = re.compile(r"(?:[ \t\n]++|\\\n|#[^\n\0]*+)*+").match


CONTINUED = r"(?:\\\n)*+"  # line continuations, which may stand inside any token


def one_of(words: str) -> str:
    """A pattern for any of these words, with line continuations inside."""
    return "(?:" + "|".join(CONTINUED.join(map(re.escape, word)) for word in words.split()) + ")"


# Where a character stands in the outermost text, and which text with changes it was read in: one place may be reached
# through several.
Place: TypeAlias = tuple[int, Offsets | None]


class Budget:
    """What one reading may use, shared by all texts in it.

    Attributes:
        depth: constructs that are open now.
        max_depth: how many may be.
        nodes: words, commands and parts so far (not every node is counted).
        max_nodes: how many there may be.
        texts: texts within texts (backticks, here-documents) that are open now.
        gone_on: substitutions for which it was tried whether they go on behind their end.
        limited: one of the limits was reached.
        uncertain: readings in progress whose result may be dropped, because `((` may turn out to be two subshells.
        known: what was read at a place during such a reading, its length, whether only the end of the text ended it.
        parentheses: how far the `)` of a `(` is that stands next to another one, seen during such a reading.
    """

    __slots__ = (
        "depth",
        "gone_on",
        "known",
        "limited",
        "max_depth",
        "max_nodes",
        "nodes",
        "parentheses",
        "texts",
        "uncertain",
    )

    def __init__(self, max_depth: int, max_nodes: int | None) -> None:
        self.depth = self.nodes = self.texts = self.uncertain = self.gone_on = 0
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.limited = False
        self.known: dict[tuple[Place, bool], tuple[WordPart, int, bool]] = {}
        self.parentheses: dict[Place, int] = {}


class Pending(NamedTuple):
    """A here-document whose header was read and whose body comes after the line."""

    heredoc: Heredoc
    closer: str  # the character that ends the substitution around it, or NUL


class Cursor:
    """A place in a text.

    Attributes:
        closer: the character that ends the substitution around, or NUL.
        around: what bash has on its stack of delimiters, which reach into substitutions: `(` or `"`, or NUL.
        pattern: the operand of a parameter that is read is a pattern, where `$'…'` stays quoted.
        changes: pieces of a substitution that bash changes before it reads it again: their starts, ends, new texts.
        inside: how many substitutions are open.
        documents: how many here-documents began.
        semicolons: where statements in substitutions start that a `;` ends.
        first: where the first word of the substitution around stands.
        in_case: bash is in a `case`, as far as it knows (parse.y, PST_CASESTMT).
        esacs: how many `case` wait for their `esac`.
    """

    __slots__ = (
        "around",
        "base",
        "bodies",
        "budget",
        "changes",
        "closer",
        "dialect",
        "documents",
        "end",
        "esacs",
        "extglob",
        "fault",
        "first",
        "in_case",
        "inside",
        "literal_from",
        "opened",
        "pattern",
        "pending",
        "pos",
        "semicolons",
        "strict",
        "text",
    )

    def __init__(  # noqa: PLR0913  all of it is settled before the first character
        self, text: str, base: Shift, dialect: Dialect, extglob: bool, budget: Budget, *, strict: bool
    ) -> None:
        self.text = text + END
        self.end = len(text)
        self.pos = 0
        self.base: Shift = base
        self.dialect = dialect
        self.extglob = extglob and not dialect.equals_expansion
        self.budget = budget
        self.strict = strict
        self.fault: ParseError | None = None
        self.pending: list[Pending] = []
        self.bodies: list[tuple[Heredoc, int, int]] = []
        self.opened: list[int] = []
        self.closer = self.around = END
        self.literal_from = 0
        self.pattern = False
        self.changes: dict[int, tuple[int, str]] = {}
        self.inside = self.documents = self.esacs = 0
        self.first = -1
        self.in_case = False
        self.semicolons: set[int] = set()

    # ------------------------------------------------------------------------------------------------- faults, limits
    def fail(self, message: str, expected: str = "", at: int | None = None) -> None:
        """Raise ParseError where reading is strict; else note the first fault and go to the end of the text.

        INVARIANT: every production ends at the end of a text, so all that are open keep what they have.
        """
        fault = ParseError(message, (self.pos if at is None else at) + self.base, expected)
        if self.strict:
            raise fault
        if self.fault is None:
            self.fault = fault
        self.pos = self.end

    def unexpected(self, expected: str = "") -> None:
        """Fail at the token that stands here."""
        found = _token(self.text, self.pos)
        self.fail(f"unexpected `{found[0][:40]}`" if found else "unexpected end of text", expected)

    def limit(self, message: str) -> None:
        """Fail because a limit is reached."""
        self.budget.limited = True
        self.fail(message)

    def enter(self) -> bool:
        """Open one more construct; False (and a fault) where too many are open."""
        budget = self.budget
        if budget.depth >= budget.max_depth:
            self.limit(f"nested deeper than {budget.max_depth} levels")
            return False
        budget.depth += 1
        return True

    def place_of(self, pos: int) -> Place:
        """What a position is remembered by."""
        base = self.base
        return pos + base, None if isinstance(base, int) else base.origin

    def count(self, nodes: int) -> None:
        """Count nodes that were built, and fail where there are too many."""
        budget = self.budget
        budget.nodes += nodes
        if budget.max_nodes is not None and budget.nodes > budget.max_nodes:
            self.limit(f"more than {budget.max_nodes} nodes")

    # -------------------------------------------------------------------------------------------------- between tokens
    def skip_blanks(self) -> str:
        """Go over blanks and a comment; the character that follows."""
        pos = blanks(self.text, self.pos).end()  # type: ignore[union-attr]  # the pattern matches everywhere
        if self.text[pos] == "#":
            pos = comment(self.text, pos).end()  # type: ignore[union-attr]  # a comment begins here
        self.pos = pos
        return self.text[pos]

    def skip_gap(self) -> str:
        """Go over blanks, comments and newlines, here-document bodies included; the character that follows."""
        while self.pending:
            if self.skip_blanks() != "\n":
                return self.text[self.pos]
            self.newline()
        self.pos = gap(self.text, self.pos).end()  # type: ignore[union-attr]  # the pattern matches everywhere
        return self.text[self.pos]

    def newline(self) -> None:
        """Go over the newline that stands here and the bodies of the here-documents of its line."""
        self.pos += 1
        if self.pending:
            self.read_bodies()

    def read_bodies(self) -> None:
        """Find the bodies of the pending here-documents; `heredocs` has the rule."""
        raise NotImplementedError

    # -------------------------------------------------------------------------------------------------- parts of words
    def soft(self, mode: Mode, parts: list[WordPart]) -> bool:
        """Append to `parts` all that does not nest. True at a construct that nests, False at the end of the word."""
        text, base = self.text, self.base
        run, special = mode.run, mode.special.get
        pos = begin = self.pos
        held = ""
        while True:
            found = run(text, pos)
            if found is not None:
                held += found[0]
                pos = found.end()
            handler = special(text[pos])
            if handler is None:
                piece: Any = False
                break
            self.pos = pos
            self.literal_from = begin
            piece = handler(self, mode)
            if piece.__class__ is bool:
                break
            if piece.__class__ is str:
                held += piece
            else:
                if held:
                    parts.append(new(Literal, (held, begin + base, pos + base)))
                    held = ""
                parts.append(piece)
                begin = self.pos
            pos = self.pos
        if held:
            parts.append(new(Literal, (held, begin + base, pos + base)))
        self.pos = pos
        return piece is True


# Returns a part, text that is literal (str), True at a construct that nests or False where the place ends. Untyped,
# because it is told apart by class and not by `isinstance`, for speed.
Handler: TypeAlias = Callable[[Cursor, "Mode"], Any]


class Mode(NamedTuple):
    """How text is read in one kind of place.

    Attributes:
        run: matches a run of characters that mean nothing there.
        special: what to do at others: the handler goes past a piece and returns it (a part, or text that is literal),
        or
            returns True at a construct that nests. A character in neither ends the place.
        escapes: the characters that a backslash quotes there; None for all.
        quoted: inside double quotes.
        arithmetic: inside arithmetic, where quotes hide closers, and yet what they hold is expanded [bash 5.2].
        is_word: outside all quotes and braces.
    """

    run: Callable[[str, int], re.Match[str] | None]
    special: dict[str, Handler]
    escapes: str | None = None
    quoted: bool = False
    arithmetic: bool = False
    is_word: bool = False


_token = re.compile(r"[|&;()<>]|[^ \t\n|&;()<>\0]+|\n").match


WORD_ENDS = frozenset(" \t\n|&;()<>\0")


def plain_text(word: Word) -> str | None:
    """The text of a word that is nothing but unquoted characters, as reserved words and names are; else None."""
    parts = word.parts
    return parts[0].text if len(parts) == 1 and parts[0].__class__ is Literal else None


def run(steps: Steps[T]) -> T:
    """The result of a production; the ones that wait are held here instead of on the Python stack."""
    waiting: list[Steps[Any]] = []
    current: Steps[Any] = steps
    value: Any = None
    while True:
        try:
            needed = current.send(value)
        except StopIteration as done:
            value = done.value
            if not waiting:
                return value  # type: ignore[no-any-return]  # the outermost production is `steps`
            current = waiting.pop()
        else:
            waiting.append(current)
            current, value = needed, None
