"""What stands between `[[` and `]]`: operands and operators in bash's order (bash manual 3.2.5.2, parse.y cond_term).

Of a wrong order bash 5.2 prints a fault and reads nothing after that line, and yet `bash -n` exits with 0, unless it is
in a substitution or the text ends first.
"""

from __future__ import annotations

import re

from policyengine.shell.lexer import CONTINUED, END, Steps, new, plain_text
from policyengine.shell.modes import REGEX
from policyengine.shell.nodes import Literal, Word, WordPart
from policyengine.shell.simple import SimpleCommands, before_redirect

_symbol = re.compile(rf"&{CONTINUED}&|\|{CONTINUED}\||[<>](?!{CONTINUED}[<>&|])|\)").match
_unary = re.compile(r"-[abcdefghknoprstuvwxzGLNORS]").fullmatch
_BINARY = frozenset(["=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"])
_MATCHES = frozenset(("=", "==", "!="))


class Conditions(SimpleCommands):
    """A reader of conditions."""

    __slots__ = ("word_end",)

    # Where the word ends that `plain_word` saw last.
    word_end: int

    def plain_word(self) -> str:
        """The word that stands here if it is nothing but unquoted characters; `parser` has the rule."""
        raise NotImplementedError

    def expression(self) -> Steps[tuple[tuple[Word, ...], tuple[str, ...]]]:
        """expression: term (('&&' | '||') term)* ']]' ; its operands and its operators, in order."""
        words: list[Word] = []
        operators: list[str] = []
        opened = 0
        while True:
            opened += self.openers(operators)
            sound = yield from self.term(words, operators)
            if sound:
                opened -= self.closers(operators, opened)
            symbol = self.symbol() if sound else ""
            if symbol not in ("&&", "||"):
                break
            self.past(symbol, operators)
        if sound and not opened and self.plain_word() == "]]":
            self.pos = self.word_end
        else:
            yield from self.misplaced("an operator or operand")
        return tuple(words), tuple(operators)

    def openers(self, operators: list[str]) -> int:
        """Go past `!` and `(` before a term; how many are open then."""
        opened = 0
        while True:
            if self.skip_gap() == "(":
                self.pos += 1
                operators.append("(")
                opened += 1
            elif self.plain_word() == "!":
                self.pos = self.word_end
                operators.append("!")
            else:
                return opened

    def closers(self, operators: list[str], opened: int) -> int:
        """Go past the `)` after a term, as many as are open; how many."""
        closed = 0
        while closed < opened and self.text[self.pos] == ")":
            self.pos += 1
            operators.append(")")
            closed += 1
            self.skip_gap()
        return closed

    def term(self, words: list[Word], operators: list[str]) -> Steps[bool]:
        """term: unary word newline* | word binary word newline* | word ; False where none stands here."""
        if not self.at_operand():
            return False
        word = yield from self.word()
        unary = plain_text(word) or ""
        if _unary(unary):
            operators.append(unary)
            self.skip_blanks()
            if not self.at_operand():
                return False
            words.append((yield from self.word()))
            self.skip_gap()
            return True
        words.append(word)
        self.skip_blanks()
        binary = self.binary()
        if not binary:
            return self.symbol() in ("&&", "||", ")") or self.plain_word() == "]]"
        self.past(binary, operators)
        return (yield from self.right_side(binary, words))

    def right_side(self, operator: str, words: list[Word]) -> Steps[bool]:
        """The operand after a binary operator, and newlines; False where none stands here."""
        character = self.skip_blanks()
        if operator == "=~":  # an operator is an empty operand before it
            if character in "\n\0" or self.plain_word() == "]]":
                return False
            words.append((yield from self.regular_expression()))
        elif not self.at_operand():
            return False
        else:
            extglob = self.extglob
            self.extglob = extglob or operator in _MATCHES  # in substitutions in it too [bash -n]
            words.append((yield from self.word()))
            self.extglob = extglob
        self.skip_gap()
        return True

    def at_operand(self) -> bool:
        """Whether a word stands here that is not `]]` and no number or name of a redirection."""
        return self.at_word() and not before_redirect(self.text, self.pos) and self.plain_word() != "]]"

    def binary(self) -> str:
        """The binary operator that stands here, or empty."""
        operator = self.plain_word() if self.at_word() else self.symbol()
        return operator if operator in _BINARY or operator in ("<", ">") else ""

    def symbol(self) -> str:
        """The operator of other characters than words have that stands here, or empty."""
        found = _symbol(self.text, self.pos) if not self.at_word() else None
        if found is None:
            return ""
        self.word_end = found.end()
        return found[0].replace("\\\n", "")

    def past(self, operator: str, operators: list[str]) -> None:
        """Go past the operator that was seen last."""
        operators.append(operator)
        self.pos = self.word_end

    def regular_expression(self) -> Steps[Word]:
        """The operand after `=~`, which may hold `|`, and blanks in parentheses."""
        start = self.pos
        parts: list[WordPart] = []
        nests = self.soft(REGEX, parts)
        while True:
            yield from self.more_parts(REGEX, parts, nests)
            if self.text[self.pos] != "(":
                break
            opening = self.pos
            self.pos += 1
            inside = yield from self.parenthesised()
            parts.append(new(Literal, ("(", opening + self.base, opening + 1 + self.base)))
            parts.extend(inside.parts)
            parts.append(new(Literal, (")", self.pos - 1 + self.base, self.pos + self.base)))
            nests = self.soft(REGEX, parts)
        return new(Word, (tuple(parts), start + self.base, self.pos + self.base))

    def misplaced(self, expected: str) -> Steps[None]:
        """Fail at what stands here and go no further, yet accept the text where `bash -n` exits with 0."""
        at = self.pos
        if self.strict and self.closer == END:
            yield from self.rest_of_line()
            self.strict = False
        self.pos = at
        self.unexpected(expected)

    def rest_of_line(self) -> Steps[None]:
        """Go past the word that stands here and to the end of its line, as bash does after a fault, or fail."""
        begun = False
        while self.text[self.pos] != "\n" or not begun:
            if self.text[self.pos] == END:
                if not begun or self.text[self.pos - 1] == "\n":
                    self.unexpected("`]]`")
                return
            if self.at_word():
                yield from self.word()
            else:
                self.pos += 1
            begun = True
            self.skip_blanks()
