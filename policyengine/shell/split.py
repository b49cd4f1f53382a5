"""Cutting a text at its command operators, without making a tree of it.

For callers that want the pieces as they are written. Words, here-documents and arithmetic are read by the parser's own
productions; where one of them is at fault, the rest is cut with plainer rules, so that no text is refused and a fault
shows more command positions, never fewer.
"""

from __future__ import annotations

import re

from policyengine.errors import ParseError
from policyengine.records import NamedTuple
from policyengine.shell.dialects import DIALECTS
from policyengine.shell.lexer import END, Budget, run
from policyengine.shell.nodes import Assignment
from policyengine.shell.parser import Parser
from policyengine.shell.simple import assignment_start

_MAX_DEPTH = 1000
_RESERVED = DIALECTS["bash"].reserved
# Words and operators after which a word is a name or a target, and a command may still begin behind it.
_BEFORE_NAMES = frozenset(("function", "for", "select", "coproc", ">"))
_TIME_OPTIONS = {"-p": frozenset(("time",)), "--": frozenset(("time", "-p"))}
_AFTER_LISTS = frozenset(("do", "then", "else", "elif"))
_operator = re.compile(r"\n|&&|\|\||;|&(?!>)").match
_operator_or_pipe = re.compile(r"\n|&&|\|\||\|&?|;|&(?!>)").match
_redirect = re.compile(r"&>>?|<<<|<<-?|[<>][&>]|>\||[<>](?!\()|\|&?").match
_blank = re.compile(r"(?:[ \t]|\\\n)+|#[^\n]*").match
# A word where nothing nests any more: quotes that close, escapes, and what else is no operator.
_flat_word = re.compile(r"""(?:'[^']*+'|"(?:[^"\\]++|\\.)*+"|\\.|[^\s|&;()<>'"\\]++|[\r\f\v])++""", re.DOTALL).match


class Part(NamedTuple):
    """One piece: `text` is `[start, end)` of what was cut, without blanks around it."""

    text: str
    start: int
    end: int


class Split(NamedTuple):
    """All pieces in order, and whether every quote, substitution and `((` is closed."""

    parts: tuple[Part, ...]
    valid: bool


def split_commands(text: str, pipes: bool = True, extglob: bool = False) -> Split:
    """Cut `text` at `;`, newline, `&`, `&&` and `||`, and with `pipes` at `|` and `|&`; never raises, linear.

    Cuts at the top level and inside groups, subshells and compound commands alike, not inside substitutions, quotes,
    arithmetic, arrays, `[[ ]]` and here-document bodies. A body belongs to the last piece of its header's line; one
    without its delimiter takes the rest. After an unclosed `((` no here-document is recognised; an unclosed quote ends
    at its line. Comments are left out. `extglob` says whether extended globs are words, as for `parse`.
    """
    splitter = _Splitter(text, pipes, extglob)
    while splitter.pos < len(text):
        splitter.step()
    splitter.cut(len(text))
    return Split(tuple(Part(text[start:end], start, end) for start, end in splitter.ranges), splitter.valid)


class _Splitter:
    """A place in the text and the pieces before it."""

    def __init__(self, text: str, pipes: bool, extglob: bool) -> None:
        self.text = text
        self.operator = _operator_or_pipe if pipes else _operator
        self.pos = 0
        self.start = -1  # of the piece in progress, or -1
        self.last = 0  # where its last word or redirection ends
        self.ranges: list[tuple[int, int]] = []
        self.valid = True
        self.heredocs = True
        self.condition = False
        self.assigning = True  # no word but assignments, reserved words and their names yet
        self.before = ""  # the last word or operator
        self.parser = Parser(
            text.replace(END, "\x01"), 0, DIALECTS["bash"], extglob, Budget(_MAX_DEPTH, None), strict=True
        )

    def step(self) -> None:
        """Go past one token."""
        text, pos = self.text, self.pos
        if (found := _blank(text, pos)) is not None:
            self.pos = found.end()
        elif (found := self.operator(text, pos)) is not None and not (self.condition and found[0] in _CONDITIONAL):
            self.cut_at(found)
        elif (found := _redirect(text, pos)) is not None:
            self.redirect(found)
        elif text.startswith("((", pos) and self.arithmetic():
            self.took(self.parser.pos)
        elif text[pos] in "()&":
            self.assigning, self.before = True, text[pos]
            self.took(pos + 1)
        else:
            self.word()

    def took(self, end: int) -> None:
        """The piece in progress goes on to `end`."""
        if self.start < 0:
            self.start = self.pos
        self.pos = self.last = end

    def cut(self, end: int) -> None:
        """End the piece in progress."""
        if self.start >= 0:
            self.ranges.append((self.start, self.last))
        self.start, self.pos, self.condition, self.assigning, self.before = -1, end, False, True, ""

    def cut_at(self, operator: re.Match[str]) -> None:
        """End a piece at an operator; the bodies of here-documents come after a newline."""
        self.cut(operator.end())
        self.before = operator[0].rstrip("&")  # a `|&` is a `|`, to what follows
        if operator[0] == "\n" and self.parser.pending:
            self.parser.pos = operator.end()
            self.parser.read_bodies()
            self.pos = self.parser.pos
            start, _end = self.ranges[-1]
            self.ranges[-1] = start, self.pos - (self.text[self.pos - 1] == "\n")

    def redirect(self, found: re.Match[str]) -> None:
        """Go past a redirection's operator, and past the delimiter of a here-document."""
        self.took(found.end())
        self.before = ">"
        if found[0][0] == "|":
            self.assigning, self.before = True, "|"
        if found[0] not in ("<<", "<<-") or not self.heredocs:
            return
        parser = self.parser
        parser.pos = self.pos
        parser.skip_blanks()
        begin = parser.pos
        try:
            word = run(parser.word())
        except ParseError:
            return
        if word.parts:
            self.took(parser.pos)
            parser.begin_heredoc(word, self.text[begin : parser.pos], strip_tabs=found[0] == "<<-")

    def arithmetic(self) -> bool:
        """Whether `((` here closes with `))`; the parser is then behind it. An unclosed one ends here-documents."""
        parser, start = self.parser, self.pos
        inner = parser.budget.parentheses.get(parser.place_of(start + 1))
        if not self.heredocs or (inner is not None and self.text[start + inner + 2 : start + inner + 3] != ")"):
            return False
        try:
            return run(parser.arithmetic_expression(start)) is not None
        except ParseError:
            self.valid = self.heredocs = False
            return False

    def word(self) -> None:
        """Go past a word, with an array after it."""
        parser = self.parser
        parser.pos = self.pos
        try:
            if not self.valid:
                raise ParseError("flat from here on", self.pos)
            self.assignment_or_word()
        except ParseError:
            self.flat_word()
            return
        plain = self.text[self.pos : parser.pos]
        self.condition = plain == "[[" if self.start < 0 else self.condition and plain != "]]"
        self.took(max(parser.pos, self.pos + 1))

    def assignment_or_word(self) -> None:
        """Let the parser go past an assignment, or a word with an array after it."""
        parser = self.parser
        before, self.before = self.before, ""
        if self.assigning and before not in _BEFORE_NAMES and assignment_start(self.text, self.pos):
            item = run(parser.assignment(may_be_array=True))
            self.assigning = isinstance(item, Assignment)
            return
        self.word_or_pattern()
        plain = self.before = self.text[self.pos : parser.pos]
        self.assigning = self.assigning and (
            (plain in _RESERVED and (plain != "time" or before != "|"))
            or before in _BEFORE_NAMES
            or before in _TIME_OPTIONS.get(plain, ())
        )
        if before == ")" and self.assigning and plain in _AFTER_LISTS:
            self.cut(self.pos)
        if plain.endswith("=") and not self.condition and self.text.startswith("(", parser.pos):
            run(parser.elements())

    def word_or_pattern(self) -> None:
        """Let the parser go past a word; in a condition it may be a pattern, whatever the shell's options."""
        parser = self.parser
        extglob = parser.extglob
        parser.extglob = extglob or self.condition
        try:
            run(parser.word())
        finally:
            parser.extglob = extglob

    def flat_word(self) -> None:
        """Go past a word in which nothing nests; an unclosed quote ends at its line."""
        self.valid = False
        found = _flat_word(self.text, self.pos)
        end = self.pos if found is None else found.end()
        if self.text[end : end + 1] in ("'", '"'):
            line_end = self.text.find("\n", end)
            end = len(self.text) if line_end < 0 else line_end
        self.took(max(end, self.pos + 1))


_CONDITIONAL = frozenset(("&&", "||", "|", "&"))
