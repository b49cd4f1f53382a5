"""Words, and what nests in them: quotes that hold expansions, `$…`, backticks, process substitution, extended globs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from policyengine.shell.lexer import END, Mode, Steps, new
from policyengine.shell.modes import (
    ARITHMETIC,
    BODY,
    DOUBLE,
    HERE_OPERAND,
    IN_PARENTHESES,
    OPERAND,
    OPERAND_IN_ARITHMETIC,
    OPERAND_TO_COLON,
    OPERAND_TO_SLASH,
    PARENTHESISED,
    QUOTED_OPERAND,
    QUOTED_TO_COLON,
    SUBSCRIPT_IN_BRACES,
    WORD,
    closes,
    opens_expansion,
)
from policyengine.shell.nodes import (
    CommandSubstitution,
    DoubleQuoted,
    ExtendedGlob,
    Literal,
    Parameter,
    Script,
    Statement,
    Unread,
    Word,
    WordPart,
)
from policyengine.shell.substitutions import Substitutions

_continuations = re.compile(r"(?:\\\n)*+").match
# `#` asks for a length and `!` for an indirection only before a parameter (bash manual 3.5.3).
_braced_head = re.compile(
    r"(#(?=[A-Za-z_0-9]|[@*#?$!-]\})|!(?=[A-Za-z_0-9]|[@*#?$!-]\}))?([A-Za-z_]\w*+|[0-9]++|\$(?![{(\[$])|[@*#?!-])",
    re.ASCII,
).match
_head = re.compile(r"(?:\\\n|[\w#!@*$?:=+%/^,~\[}-]){0,400}+").match  # names and operators, with continuations
# Flags `e` and `%`, and `~`, with which commands in a value run (zshexpn(1), parameter expansion, GLOB_SUBST).
_zsh_evaluates = re.compile(r"[\^=#+]*+(?:~|\([^()\0]*[e%~])").match
_operator = re.compile(r":[-=?+]|[-=?+]|##?|%%?|/[/#%]?|\^\^?|,,?|~~?|@|:").match
_all_names = re.compile(r"[*@](?=\})").match
_PATTERN_OPERATORS = frozenset(("#", "##", "%", "%%", "^", "^^", ",", ",,", "~", "~~"))


class Expansions(Substitutions):
    """The productions below a word."""

    __slots__ = ()

    def finish_bodies(self) -> Steps[None]:
        """Read the expansions in here-documents whose bodies were found; `heredocs` has the production."""
        raise NotImplementedError

    def arithmetic(self, start: int) -> Steps[WordPart]:
        """`$((…))`; `arithmetic` has this production and the next two."""
        raise NotImplementedError

    def old_arithmetic(self, start: int) -> Steps[WordPart]:
        """`$[…]`."""
        raise NotImplementedError

    def quoted_arithmetic(self, start: int) -> Steps[WordPart]:
        """Quotes in arithmetic, with something in them that is expanded."""
        raise NotImplementedError

    def word(self, mode: Mode = WORD) -> Steps[Word]:
        """word: part+ ."""
        start = self.pos
        parts = yield from self.parts(mode)
        return new(Word, (parts, start + self.base, self.pos + self.base))

    def parts(self, mode: Mode) -> Steps[tuple[WordPart, ...]]:
        """Parts up to a character that ends them in this mode."""
        parts: list[WordPart] = []
        return (yield from self.more_parts(mode, parts, self.soft(mode, parts)))

    def more_parts(self, mode: Mode, parts: list[WordPart], nests: bool) -> Steps[tuple[WordPart, ...]]:
        """`parts`, and all that follow; `nests` says whether a construct that nests begins here."""
        while nests and self.enter():
            parts.append((yield self.nested(mode, parts)))
            self.budget.depth -= 1
            nests = self.soft(mode, parts)
        self.count(len(parts))
        return tuple(parts)

    def nested(self, mode: Mode, parts: list[WordPart]) -> Steps[WordPart]:
        """The construct that begins here, from memory where it was read before by a reading that was dropped."""
        budget = self.budget
        key = (self.place_of(self.pos), mode.quoted)
        start = self.pos
        if key in budget.known:
            part, length, open_ended = budget.known[key]
            if start + length == self.end or (start + length < self.end and not open_ended):
                self.pos += length
                return part
        opened, self.opened = self.opened, []
        around, pattern = self.around, self.pattern
        part = yield from self.construct(mode, parts)
        self.opened, self.around, self.pattern = opened, around, pattern
        if budget.uncertain and self.text[start] != "(":
            budget.known[key] = part, self.pos - start, self.fault is not None
        return part

    def construct(self, mode: Mode, parts: list[WordPart]) -> Steps[WordPart]:
        """construct: '"' … '"' | '`' … '`' | '$' … | '<(' … ')' | '>(' … ')' | glob '(' … ')' | "'" … "'" ."""
        character = self.text[self.pos]
        self.pattern = False
        if character == "$":
            return (yield from self.dollar(mode))
        if character == '"':
            self.around = '"'
            return (yield from self.double_quoted(self.pos, localized=False))
        if character == "`":
            return (yield from self.backticks(mode.quoted))
        if character == "(":
            return (yield from self.extended_glob(parts))
        if character == "'":
            quotes = self.quoted_arithmetic(self.pos)
            return (yield from (self.shell_dependent(quotes) if mode.quoted else quotes))
        if mode.is_word:
            self.around = "("
        return (yield from self.process_substitution())

    def shell_dependent(self, quotes: Steps[WordPart]) -> Steps[WordPart]:
        """Single quotes in a quoted operand; where they hide what would close it, other shells and modes differ."""
        start = self.pos
        part = yield from quotes
        text = self.text[start + 1 : self.pos - 1]
        if not closes(text) or not isinstance(part, DoubleQuoted):
            return part
        unread = new(Unread, (text, "outside bash these quotes hide nothing", (), part.start, part.end))
        hidden = new(CommandSubstitution, (unread, False, part.start, part.end))
        return new(DoubleQuoted, ((*part.parts, hidden), False, part.start, part.end))

    def dollar(self, mode: Mode) -> Steps[WordPart]:
        """dollar: '$(' … ')' | '$((' … '))' | '${' … '}' | '$[' … ']' | '$"' … '"' ."""
        start = self.pos
        self.pos = _continuations(self.text, start + 1).end()  # type: ignore[union-attr]  # matches everywhere
        opener = self.text[self.pos]
        self.pos += 1
        if opener == "{":
            return (yield from self.braced(start, mode))
        if opener == "[":
            return (yield from self.old_arithmetic(start))
        if opener == '"':
            self.pos -= 1
            self.around = '"'
            return (yield from self.double_quoted(start, localized=True))
        if opener == "'":
            self.pos -= 1
            return (yield from self.quoted_arithmetic(start))
        if mode.is_word:
            self.around = "("
        if self.text[self.pos] == "(":
            return (yield from self.arithmetic(start))
        body = yield from self.substituted(quoted=mode.quoted)
        return new(CommandSubstitution, (body, False, start + self.base, self.pos + self.base))

    # ------------------------------------------------------------------------------------------------ quotes and braces
    def double_quoted(self, start: int, *, localized: bool) -> Steps[WordPart]:
        """double_quoted: '"' part* '"', where expansions are parts."""
        self.pos += 1
        parts = yield from self.parts(DOUBLE)
        if self.text[self.pos] == END:
            self.fail("unclosed double quote", '`"`')
        else:
            self.pos += 1
        return new(DoubleQuoted, (parts, localized, start + self.base, self.pos + self.base))

    def lenient_parts(self, mode: Mode = BODY) -> Steps[tuple[WordPart, ...]]:
        """The parts of a text that bash expands only when it runs; what is at fault is Unread."""
        parts: list[WordPart] = []
        while self.soft(mode, parts):
            begin = self.pos
            if not self.enter():
                break
            part: Any = yield self.nested(mode, parts)
            self.budget.depth -= 1
            if self.fault is not None and not self.budget.limited:
                start, end = begin + self.base, self.end + self.base
                unread = Unread(self.text[begin : self.end], self.fault.message, _statements_in(part), start, end)
                part = CommandSubstitution(unread, False, start, end)
            parts.append(part)
        self.count(len(parts))
        yield from self.finish_bodies()
        return tuple(parts)

    def braced(self, start: int, mode: Mode) -> Steps[WordPart]:
        """braced: '${' ['#' | '!'] parameter ['[' subscript ']'] [operator operands] '}' ."""
        if self.text[self.pos] in " \t\n|":
            return (yield from self.funsub(start))
        if self.dialect.equals_expansion and _zsh_evaluates(self.text, self.pos):
            self.fail("zsh expands again what this parameter holds")
        found = self.headed(_braced_head)
        prefix, name, subscript, operator = "", "", None, ""
        if found is not None:
            prefix, name = found[1] or "", found[2]
            if self.text[self.pos] == "[" and (name[0].isalpha() or name[0] == "_"):
                self.pos += 1
                subscript = yield from self.word_within(SUBSCRIPT_IN_BRACES)
                name = name if self.text[self.pos] == "]" else ""
                self.pos += self.text[self.pos] == "]"
        if self.text[self.pos] == "}":
            arguments: tuple[Word, ...] = ()
        else:
            operator = self.operator(prefix)
            arguments = yield from self.operands(operator, mode)
        self.close("}")
        # Without an operator nothing may follow the name: bash calls it a bad substitution when it runs.
        name = name if operator or not arguments else ""
        return new(Parameter, (name, prefix, subscript, operator, arguments, start + self.base, self.pos + self.base))

    def operator(self, prefix: str) -> str:
        """Go past the operator after a parameter's name; empty if there is none."""
        found = (self.headed(_all_names) if prefix == "!" else None) or self.headed(_operator)
        return found[0] if found is not None else ""

    def headed(self, match: Callable[[str, int], re.Match[str] | None]) -> re.Match[str] | None:
        """Go past a part of what stands before an operand, in which lines may be continued."""
        found = match(self.text, self.pos)
        end = self.pos if found is None else found.end()
        if not self.text.startswith("\\\n", end):
            self.pos = end
            return found
        found = match(_head(self.text, self.pos)[0].replace("\\\n", "") + END, 0)  # type: ignore[index]  # matches everywhere
        left = 0 if found is None else found.end()
        while left or self.text.startswith("\\\n", self.pos):
            continued = self.text.startswith("\\\n", self.pos)
            self.pos += 2 if continued else 1
            left -= not continued
        return found

    def operands(self, operator: str, mode: Mode) -> Steps[tuple[Word, ...]]:
        """operands: word | offset [':' length] | pattern ['/' word] ."""
        plain = OPERAND_IN_ARITHMETIC if mode.arithmetic else OPERAND
        if mode.quoted:
            plain = HERE_OPERAND if mode is BODY or mode is HERE_OPERAND else QUOTED_OPERAND
        if operator == ":":
            if mode.quoted:
                return (yield from self.two(QUOTED_TO_COLON, QUOTED_OPERAND))
            return (yield from self.two(OPERAND_TO_COLON, OPERAND_IN_ARITHMETIC))
        self.pattern = operator in _PATTERN_OPERATORS or operator[:1] == "/"
        if operator.startswith("/"):
            return (yield from self.two(OPERAND_TO_SLASH, plain))
        word = yield from self.word(OPERAND if operator in _PATTERN_OPERATORS else plain)
        return (word,) if word.parts or operator not in "*@" else ()

    def two(self, first: Mode, second: Mode) -> Steps[tuple[Word, ...]]:
        """The two operands of a substring or of a replacement; the second may be missing."""
        start = self.pos
        lead: list[WordPart] = []  # before what `soft` finds
        if first is OPERAND_TO_SLASH and self.text[start] == "/":  # a pattern may begin with a slash
            self.pos += 1
            lead.append(new(Literal, ("/", start + self.base, self.pos + self.base)))
        parts = yield from self.more_parts(first, lead, self.soft(first, lead))
        word = new(Word, (parts, start + self.base, self.pos + self.base))
        if self.text[self.pos] in "}\0":
            return (word,)
        self.pos += 1
        return (word, (yield from self.word(second)))

    def funsub(self, start: int) -> Steps[WordPart]:
        """funsub: '${' (blank | '|') commands '}': bash 5.3 runs the commands; before, it is a bad substitution."""
        inside = self.pos
        self.budget.uncertain += 1  # what nests in it is met again when the commands are read
        yield from self.word_within(OPERAND)
        self.budget.uncertain -= 1
        text, skipped = self.text[inside : self.pos], int(self.text[inside] == "|")
        body = yield from self.text_within(text[skipped:], self.base + (inside + skipped))
        self.close("}")
        return new(CommandSubstitution, (body, False, start + self.base, self.pos + self.base))

    def close(self, closer: str) -> None:
        """Go past the character that closes a construct, or fail."""
        if self.text[self.pos] == closer:
            self.pos += 1
        else:
            self.fail(f"unclosed construct, no `{closer}`", f"`{closer}`")

    # --------------------------------------------------------------------------------------------------- balanced texts
    def balanced(self, mode: Mode, closer: str) -> Steps[Word]:
        """A text up to the closer that matches, with its expansions; goes past the closer."""
        word = yield from self.word_within(mode)
        self.close(closer)
        return word

    def word_within(self, mode: Mode) -> Steps[Word]:
        """A text up to the closer that matches."""
        opened, self.opened = self.opened, []
        word = yield from self.word(mode)
        self.opened = opened
        return word

    def parenthesised(self) -> Steps[Word]:
        """A pattern up to the `)` that closes by count, and what is expanded in it; goes past the `)`."""
        start = self.pos
        self.budget.uncertain += 1  # what nests in it is met again
        word = yield from self.word_within(PARENTHESISED)
        text, base = self.text[start : self.pos], self.base + start
        self.budget.uncertain -= 1
        if opens_expansion(text):
            inner = self.inner(text, base)
            parts = yield from self.within(inner, inner.lenient_parts(IN_PARENTHESES))
            word = new(Word, (parts, word.start, word.end))
        self.close(")")
        return word

    def deferred(self, inside: int) -> Steps[Script | Unread]:
        """The commands from `inside` to the `)` that closes: bash counts parentheses and reads them when it runs."""
        self.budget.uncertain += 1
        yield from self.word_within(ARITHMETIC)
        self.budget.uncertain -= 1
        body = yield from self.text_within(self.text[inside : self.pos], self.base + inside)
        self.close(")")
        return body

    def settled(self) -> None:
        """An uncertain reading stays; once none is left, nothing need be remembered."""
        budget = self.budget
        budget.uncertain -= 1
        if not budget.uncertain:
            budget.known.clear()
            budget.parentheses.clear()

    def extended_glob(self, parts: list[WordPart]) -> Steps[WordPart]:
        """extended_glob: ('?' | '*' | '+' | '@' | '!') '(' pattern ')' ."""
        start = self.pos - 1
        operator = self.text[start]
        before = parts[-1]
        if isinstance(before, Literal):
            parts.pop()
            if len(before.text) > 1:
                parts.append(new(Literal, (before.text[:-1], before.start, before.end - 1)))
        self.pos += 1
        pattern = yield from self.parenthesised()
        return new(ExtendedGlob, (operator, pattern, start + self.base, self.pos + self.base))


def _statements_in(part: object) -> tuple[Statement, ...]:
    """What a part that is at fault holds, if it is commands."""
    body = getattr(part, "body", None)  # the two kinds of substitutions have one
    return body.body if isinstance(body, Script) else body.before if isinstance(body, Unread) else ()
