"""Arithmetic in words: `$((…))`, `$[…]`, and quotes in them, which hide closers but no expansions [bash 5.2]."""

from __future__ import annotations

import re

from policyengine.shell.expansions import Expansions
from policyengine.shell.lexer import Steps, new
from policyengine.shell.modes import ARITHMETIC, BRACKETED, expands
from policyengine.shell.nodes import (
    Arithmetic,
    CommandSubstitution,
    DoubleQuoted,
    Literal,
    Script,
    SimpleCommand,
    Unread,
    Word,
    WordPart,
)
from policyengine.shell.offsets import Offsets
from policyengine.shell.quotes import decode_ansi, places

_quote_end = re.compile(r"[^']*+").match
_ansi_end = re.compile(r"(?:[^'\\]++|\\.)*+", re.DOTALL).match
# What counts in a text that may be arithmetic, and what makes counting doubtful: comments, `case`, here-documents.
_counted = re.compile(r"""[()"$]|\\.|'[^']*+(?:'|\Z)|(?<![^\s;&|()`])\#|\besac\b|(?<!<)<<(?!<)""", re.DOTALL).search
_closed_quote = re.compile("'[^']*'").fullmatch
_double_rest = re.compile(r'(?:[^"\\]++|\\.)*+"?', re.DOTALL).match


class ArithmeticExpansions(Expansions):
    """The productions of arithmetic below a word."""

    __slots__ = ()

    def old_arithmetic(self, start: int) -> Steps[WordPart]:
        """old_arithmetic: '$[' expression ']' ."""
        expression = yield from self.balanced(BRACKETED, "]")
        return new(Arithmetic, (expression, start + self.base, self.pos + self.base))

    def arithmetic(self, start: int) -> Steps[WordPart]:
        """arithmetic: '$((' expression '))'; where the two do not close together bash runs `( … ) …` as commands."""
        inside = self.pos
        self.pos += 1
        self.budget.uncertain += 1
        expression = yield from self.balanced(ARITHMETIC, ")")
        closes = self.text[self.pos] == ")"
        if closes and self.counts_as_arithmetic(expression, inside + 1):
            self.settled()
            self.pos += 1
            return new(Arithmetic, (expression, start + self.base, self.pos + self.base))
        self.budget.uncertain -= 1
        body = yield from self.deferred(inside)
        begin, end = start + self.base, self.pos + self.base
        substitution = new(CommandSubstitution, (body, False, begin, end))
        if not closes:
            return substitution
        ends = new(Literal, ("))", end - 2, end))  # so that it is no expression that anybody could evaluate
        parts: tuple[WordPart, ...] = (*expression.parts, ends, substitution)
        text = self.text[inside : self.pos - 1]
        if "'" in text and expands(text):  # where bash finds another end of what nests, these quotes hide nothing
            parts = (*parts, _unknown(text, begin, end))
        both = new(Word, (parts, expression.start, expression.end))
        return new(Arithmetic, (both, begin, end))

    def counts_as_arithmetic(self, expression: Word, start: int) -> bool:
        """Whether bash surely takes the text from `start` to the `))` here for arithmetic, not for commands.

        It counts the parentheses of the text, and skips nothing but quotes and escapes (subst.c, chk_arithsub): those
        of patterns, comments and here-documents in nested commands count too, though bash 5.2 has printed them anew
        before. Where they may tip the scale, the text is read both ways.
        """
        shift = start - expression.start if isinstance(self.base, int) else None
        for part in expression.parts:
            if part.__class__ is CommandSubstitution:
                begin, end = (start, self.pos - 1) if shift is None else (part.start + shift, part.end + shift)
                if not self.counts_nothing(begin, end):
                    return False
        return True

    def counts_nothing(self, pos: int, end: int) -> bool:
        """Whether the parentheses in this substitution balance however they are counted."""
        text, count = self.text, 0
        while (found := _counted(text, pos, end)) is not None:
            pos = found.end()
            mark = found[0]
            if mark in "()":
                count += 1 if mark == "(" else -1
                if count < 0:
                    return False
            elif mark in '$"':
                pos += self.skipped(found.start())
            elif mark[0] != "\\" and not _closed_quote(mark):
                return False
        return not count and pos <= end

    def skipped(self, pos: int) -> int:
        """How much of arithmetic or of double quotes follows the character at `pos`: they were read and balance."""
        part, length, _ = self.budget.known.get((self.place_of(pos), False), (None, 1, False))
        if isinstance(part, Arithmetic | DoubleQuoted) and part.end - part.start == length:
            return length - 1
        if self.text[pos] == "$":
            return 0
        return _double_rest(self.text, pos + 1).end() - pos - 1  # type: ignore[union-attr]  # matches everywhere

    def quoted_arithmetic(self, start: int) -> Steps[WordPart]:
        """quoted_arithmetic: "'" … "'", in arithmetic, where bash expands what is in it all the same."""
        inside = self.pos + 1
        end = _quote_end(self.text, inside).end()  # type: ignore[union-attr]  # the handler saw where it ends
        text, base = self.text[inside:end], self.base + inside
        if self.text[start] == "$":
            inside = self.pos + 1
            end = _ansi_end(self.text, inside).end()  # type: ignore[union-attr]  # as above
            coded = self.text[inside:end]
            text, base = decode_ansi(coded), Offsets(*places(coded), self.base + inside)
        self.pos = end + 1
        inner = self.inner(text, base)
        parts = yield self.within(inner, inner.lenient_parts())
        return new(DoubleQuoted, (parts, False, start + self.base, self.pos + self.base))


def _unknown(text: str, start: int, end: int) -> WordPart:
    """A substitution that runs some command of which nothing is known."""
    unread = new(Unread, (text, "bash may find another end of what nests in it", (), start, end))
    word = new(Word, ((new(CommandSubstitution, (unread, False, start, end)),), start, end))
    command = new(SimpleCommand, ((), (word,), (), start, end))
    return new(CommandSubstitution, (new(Script, ((command,), start, end)), False, start, end))
