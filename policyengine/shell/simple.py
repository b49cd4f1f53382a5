"""Simple commands: words, assignments and redirections (bash manual 3.2.2, 3.4, 3.6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from policyengine.shell.heredocs import Heredocs
from policyengine.shell.lexer import CONTINUED, END, WORD_ENDS, Steps, blanks, new, one_of, plain_text
from policyengine.shell.modes import ELEMENT, SUBSCRIPT, WORD, expands, process
from policyengine.shell.nodes import (
    ArrayElement,
    Assignment,
    DoubleQuoted,
    Escaped,
    Literal,
    Redirect,
    SimpleCommand,
    SingleQuoted,
    Statement,
    Word,
    WordPart,
)
from policyengine.shell.offsets import Shift

# What is a word at once: 1 plain, 2 single quoted, 3 double quoted without expansions; 4-6 are a redirection.
_quick = re.compile(
    r"""[ \t]*+(?:
      ((?!\#)[^ \t\n|&;()<>"'`$\\\0]++)(?=[ \t\n|&;)\0])
    | '([^'\0]*+)'(?=[ \t\n|&;)\0])
    | "([^"$`\\\0]*+)"(?=[ \t\n|&;)\0])
    | ([0-9]{1,9}|)(>>|[<>]&(?![ \t]*+-)|>\||>|<)[ \t]*+((?!\#)[^ \t\n|&;()<>"'`$\\\0]++)(?=[ \t\n|&;)\0])
    |)""",
    re.VERBOSE,
).match
# A number or name that would say which descriptor a redirection means; a number that is no C int is a word.
_number = re.compile(rf"[0-9]++(?=[<>](?!{CONTINUED}\())").match
_name = re.compile(rf"\{{[A-Za-z_]\w*+(?:\[[^]\n]*+\])?\}}[<>](?!{CONTINUED}\()", re.ASCII).match
_INT_MAX = 2**31 - 1
_INT_DIGITS = len(str(_INT_MAX))
_OPERATORS = ("&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">&", ">|")
_redirect = re.compile(
    r"([0-9]++|\{[A-Za-z_]\w*+(?:\[[^]\n]*+\])?\})?((?:\\\n)*+(?:"
    + one_of(" ".join(_OPERATORS))
    + rf"|[<>](?!{CONTINUED}\()))",
    re.ASCII,
).match
assignment_start = re.compile(rf"([A-Za-z_]\w*+(?:\\\n\w*+)*+)(?:(\+?{CONTINUED}=){CONTINUED}|\[)", re.ASCII).match
_array_argument = re.compile(r"([A-Za-z_]\w*+)(?:\[([^]]*)\])?(\+?)=", re.ASCII).fullmatch
_ZSH_WORDS = frozenset(("repeat", "-"))
_prompt_option = re.compile(r"-\w*P").match
_equals = re.compile(rf"{CONTINUED}(\+?){CONTINUED}={CONTINUED}").match
# Builtins whose arguments may be arrays; to the last two bash gives them as texts.
_TAKING_ARRAYS = frozenset(["eval", "let"])
_DECLARATIONS = frozenset(["alias", "declare", "export", "local", "readonly", "typeset"]) | _TAKING_ARRAYS

_FLAT = (Literal, Escaped, SingleQuoted)
_END, _GO_ON, _NESTS, _HARD = range(4)
_COMMAND_ENDS = frozenset("\n;|)\0")
_HEREDOCS = frozenset(("<<", "<<-"))
_DUPLICATIONS = frozenset(("<&", ">&"))
_REDIRECT_STARTS = frozenset("0123456789<>&{")
# A command that has been read, or the production that reads the rest of it.
Begun: TypeAlias = SimpleCommand | Steps[Statement]


class SimpleCommands(Heredocs):
    """A reader of commands that hold no others but in their words."""

    __slots__ = ("begun",)

    # A word that goes on with a construct that nests, and where it begins.
    begun: tuple[list[WordPart], int]

    def function_parentheses(self, name: str, start: int) -> Steps[Statement]:
        """The rest of a function definition after its name; `parser` has the production."""
        raise NotImplementedError

    def simple(self, *first: Word) -> Begun:
        """simple: (assignment | redirect)* (word | redirect)* ; or function: word '(' ')' newline* compound ."""
        begin = self.pos
        words: list[Word] = list(first)
        redirects: list[Redirect] = []
        taken = self.take(words, redirects)
        start = first[0].start if first else begin + self.base
        if taken == _END and (words or redirects) and self.text[self.pos] != "(":
            return self.finished([], words, redirects, start)  # nearly every command: no production of its own
        return self.go_on(words, redirects, taken, begin, start)

    def go_on(
        self, words: list[Word], redirects: list[Redirect], taken: int, begin: int, start: int
    ) -> Steps[Statement]:
        """The rest of a simple command or function from where something nests."""
        assignments: list[Assignment] = []
        while taken:
            if taken == _NESTS:
                parts, opening = self.begun
                found = yield from self.more_parts(WORD, parts, True)
                words.append(new(Word, (found, opening + self.base, self.pos + self.base)))
            elif assignment_start(self.text, self.pos):
                item: Assignment | Word = yield from self.assignment(
                    may_be_array=_may_be_array([*assignments[:1], *words[:1]], redirects)
                )
                if isinstance(item, Word):
                    words.append(item)
                elif words and plain_text(words[0]) in _TAKING_ARRAYS:
                    words.append(assigning_word(item))
                else:
                    assignments.append(item)
            else:
                redirects.append((yield from self.redirect()))
            taken = self.take(words, redirects)
        if self.text[self.pos] == "(" and len(words) == 1 and not assignments and not redirects:
            self.count(2)
            return (yield from self.function_parentheses(self.text[begin : self.pos].rstrip(), start))
        if not (words or assignments or redirects):
            self.unexpected("a command")
        return self.finished(assignments, words, redirects, start)

    def finished(
        self, assignments: list[Assignment], words: list[Word], redirects: list[Redirect], start: int
    ) -> SimpleCommand:
        """The simple command that has been read."""
        self.count(len(words) + 1)
        if self.dialect.equals_expansion:
            self.refuse_for_zsh(words, redirects)
        end = words[-1].end if words else start
        if redirects:
            end = max(end, redirects[-1].end)
        if assignments:
            end = max(end, assignments[-1].end)
        return new(SimpleCommand, (tuple(assignments), tuple(words), tuple(redirects), start, end))

    def whole(self, begun: Begun) -> Steps[Statement]:
        """A command of which `simple` or another production has read the beginning, or all."""
        return begun if isinstance(begun, SimpleCommand) else (yield from begun)

    def take(self, words: list[Word], redirects: list[Redirect]) -> int:
        """Append the words and redirections that do not nest. What comes then: _END, _NESTS or _HARD."""
        text, base, pos = self.text, self.base, self.pos
        while True:
            found = _quick(text, pos)
            assert found is not None
            kind = found.lastindex
            if kind == 1:
                word = found[1]
                start, pos = found.span(1)
                if not words and ("=" in word or "[" in word) and assignment_start(text, start):
                    self.pos = start
                    return _HARD
                begin, end = start + base, pos + base
                words.append(new(Word, ((new(Literal, (word, begin, end)),), begin, end)))
                if text[pos] in _COMMAND_ENDS:
                    self.pos = pos
                    return _END
            elif kind is None:
                self.pos = found.end()
                outcome = self.take_slowly(words)
                if outcome != _GO_ON:
                    return outcome
                pos = self.pos
            elif kind == 6:
                redirects.append(_quick_redirect(found, base))
                pos = found.end()
            else:
                words.append(_quick_quoted(found, kind, base))
                pos = found.end()

    def take_slowly(self, words: list[Word]) -> int:
        """Append the word that stands here, whose parts `soft` finds. What comes then."""
        text, start = self.text, self.pos
        character = text[start]
        if character in _COMMAND_ENDS or character in "(#" or (character == "&" and text[start + 1] not in ">\\"):
            return _END
        if character == "\\" and text[start + 1] == "\n":
            self.pos = blanks(text, start).end()  # type: ignore[union-attr]  # the pattern matches everywhere
            return _GO_ON
        if self.at_redirect() or (not words and assignment_start(text, start)):
            return _HARD
        parts: list[WordPart] = []
        if self.soft(WORD, parts):
            self.begun = parts, start
            return _NESTS
        if self.pos == start:
            return _END
        if text[self.pos] == "(" and words and _declares(words[0], parts):
            self.pos = start
            return _HARD
        words.append(new(Word, (tuple(parts), start + self.base, self.pos + self.base)))
        return _GO_ON

    def refuse_for_zsh(self, words: list[Word], redirects: list[Redirect]) -> None:
        """Fail at what zsh reads as something that no node says: `=name`, `>!`, `repeat`, `{name}` (zshmisc(1))."""
        first = plain_text(words[0]) if words else None
        if first in _ZSH_WORDS or (first is not None and first[0] == "{" and len(first) > 1):
            self.fail(f"zsh takes `{first}` for no command")
        if first == "print" and any(map(_is_prompt_option, words)) and any(map(_holds_substitution, words)):
            self.fail("zsh may expand what `print -P` prints")
        for word in words:
            if (plain_text(word) or "").startswith("="):
                self.fail("zsh expands `=name` to the path of a program")
        for redirect in redirects:
            if redirect.op[0] == ">" and (plain_text(redirect.target) or "").startswith("!"):
                self.fail("zsh reads `>!` as an operator")

    def nothing(self) -> Statement:
        """What stands for a command that is missing, in a tolerant reading."""
        return SimpleCommand((), (), (), self.pos + self.base, self.pos + self.base)

    # ------------------------------------------------------------------------------------- redirections, assignments
    def at_redirect(self) -> bool:
        """Whether a redirection begins here."""
        found = _redirect(self.text, self.pos) if self.text[self.pos] in _REDIRECT_STARTS else None
        if found is not None and found[1] is not None and not _is_descriptor(found[1]):
            return False
        if found is None or self.dialect.wide_redirects:
            return found is not None
        return found[2][0] != "&" and not (found[1] or "").startswith("{")

    def redirect(self) -> Steps[Redirect]:
        """redirect: [number | '{' name '}'] operator word ."""
        start = self.pos
        found = _redirect(self.text, start)
        assert found is not None
        self.pos = found.end()
        operator = found[2].replace("\\\n", "")
        self.skip_blanks()
        second = _name(self.text, self.pos) if operator[-1] == "&" else before_redirect(self.text, self.pos)
        if second or not self.at_word() or (operator == "<<<" and not self.dialect.wide_redirects):
            self.unexpected("a word")
        begin = self.pos
        if self.text[begin] == "-" and operator in _DUPLICATIONS:  # what follows is another word [bash 5.2]
            self.pos += 1
            dash = new(Literal, ("-", begin + self.base, self.pos + self.base))
            target = new(Word, ((dash,), dash.start, dash.end))
        else:
            target = yield from self.word()
        end = self.pos + self.base
        heredoc = None
        if operator in _HEREDOCS:
            heredoc = self.begin_heredoc(target, self.text[begin : self.pos], strip_tabs=operator == "<<-")
            if not all(isinstance(part, _FLAT) for part in target.parts):  # nothing in a delimiter is expanded
                target = Word((SingleQuoted(heredoc.delimiter, False, target.start, end),), target.start, end)
        return new(Redirect, (operator, found[1], target, heredoc, start + self.base, end))

    def redirects(self) -> Steps[tuple[Redirect, ...]]:
        """The redirections after a compound command."""
        found = []
        while self.skip_blanks() in _REDIRECT_STARTS and self.at_redirect():
            found.append((yield from self.redirect()))
        return tuple(found)

    def at_word(self) -> bool:
        """Whether a word begins here."""
        text, pos = self.text, self.pos
        if text[pos] in "<>":
            return process(text, pos) is not None and self.dialect.process_substitution
        return text[pos] not in WORD_ENDS

    def assignment(self, may_be_array: bool) -> Steps[Assignment | Word]:
        """assignment: name ['[' subscript ']'] ('=' | '+=') (word? | '(' element* ')'); without `=` it is a word."""
        start, base = self.pos, self.base
        found = assignment_start(self.text, start)
        assert found is not None
        self.pos = found.end()
        name, subscript, operator = found[1].replace("\\\n", ""), None, found[2]
        if operator is None:
            subscript = yield from self.balanced(SUBSCRIPT, "]")
            operator = self.equals()
            if not operator:
                return (yield from self.bracketed_word(name + "[", start, subscript))
        elements, value = None, None
        if self.text[self.pos] == "(" and self.dialect.arrays and may_be_array:
            elements = yield from self.elements()
        if self.at_word():
            value = yield from self.word()
        append = operator[0] == "+"
        return new(Assignment, (name, subscript, append, value, elements, start + base, self.pos + base))

    def equals(self) -> str:
        """Go past `=` or `+=`; empty if neither stands here."""
        found = _equals(self.text, self.pos)
        if found is None:
            return ""
        self.pos = found.end()
        return found[1] + "="

    def bracketed_word(self, head: str, start: int, inside: Word) -> Steps[Word]:
        """A word whose beginning (`head`, brackets, what is in them) was read as a subscript."""
        base = self.base
        opening = new(Literal, (head, start + base, inside.start))
        parts = [opening, *inside.parts, new(Literal, ("]", inside.end, self.pos + base))]
        found = yield from self.more_parts(WORD, parts, self.soft(WORD, parts))
        return new(Word, (found, start + base, self.pos + base))

    def elements(self) -> Steps[tuple[ArrayElement, ...]]:
        """elements: '(' (newline | element)* ')' ."""
        self.pos += 1
        found: list[ArrayElement] = []
        while self.skip_gap() != ")":
            if not self.at_word():
                self.unexpected("`)`")
                break
            found.append((yield from self.element()))
        self.close(")")
        return tuple(found)

    def element(self) -> Steps[ArrayElement]:
        """element: ['[' subscript ']' ('=' | '+=')] word ."""
        start, base = self.pos, self.base
        mode = WORD if self.closer == END else ELEMENT
        if self.text[start] != "[":
            word = yield from self.word(mode)
            return new(ArrayElement, (None, False, word, start + base, self.pos + base))
        self.pos += 1
        subscript = yield from self.balanced(SUBSCRIPT, "]")
        operator = self.equals()
        if operator:
            word = yield from self.word(mode)
            return new(ArrayElement, (subscript, operator == "+=", word, start + base, self.pos + base))
        word = yield from self.bracketed_word("[", start, subscript)
        return new(ArrayElement, (None, False, word, start + base, self.pos + base))


def _is_prompt_option(word: Word) -> bool:
    return _prompt_option(plain_text(word) or "") is not None


def _holds_substitution(word: Word) -> bool:
    return any(isinstance(part, SingleQuoted) and expands(part.text) for part in word.parts)


def assigning_word(node: Assignment) -> Word:
    """An assignment that is an argument, as bash gives it: with one blank between elements."""

    def literal(text: str) -> Literal:
        return new(Literal, (text, node.start, node.start))

    parts: list[WordPart] = [literal(node.name), *_subscripted(node, literal)]
    if node.elements is not None:
        parts.append(literal("("))
        for element in node.elements:
            if element is not node.elements[0]:
                parts.append(literal(" "))
            if element.subscript is not None:
                parts.extend(_subscripted(element, literal))
            parts.extend(element.value.parts)
        parts.append(literal(")"))
    if node.value is not None:
        parts.extend(node.value.parts)
    return new(Word, (tuple(parts), node.start, node.end))


def _subscripted(node: Assignment | ArrayElement, literal: Callable[[str], Literal]) -> list[WordPart]:
    operator = "+=" if node.append else "="
    if node.subscript is None:
        return [literal(operator)]
    return [literal("["), *node.subscript.parts, literal("]" + operator)]


def before_redirect(text: str, pos: int) -> bool:
    """Whether the number or name of a redirection stands at `pos`, with its operator after it."""
    found = _number(text, pos)
    return (found is not None and _is_descriptor(found[0])) or _name(text, pos) is not None


def _is_descriptor(written: str) -> bool:
    """Whether bash takes this number before an operator for a descriptor: it must fit into a C int. Names do."""
    digits = written.lstrip("0")
    return written[0] == "{" or len(digits) < _INT_DIGITS or (len(digits) == _INT_DIGITS and int(digits) <= _INT_MAX)


def _may_be_array(before: Sequence[Assignment | Word], redirects: Sequence[Redirect]) -> bool:
    """Whether bash takes `(` after `name=`: not behind a redirection that comes after a first word or assignment."""
    return not (before and redirects) or redirects[-1].start < min(one.start for one in before)


def _quick_redirect(found: re.Match[str], base: Shift) -> Redirect:
    start, end = found.start(4) + base, found.end() + base
    begin = found.start(6) + base
    target = new(Word, ((new(Literal, (found[6], begin, end)),), begin, end))
    return new(Redirect, (found[5], found[4] or None, target, None, start, end))


def _quick_quoted(found: re.Match[str], kind: int, base: Shift) -> Word:
    begin, finish = found.span(kind)
    start, end = begin - 1 + base, finish + 1 + base
    if kind == 2:
        part: WordPart = new(SingleQuoted, (found[2], False, start, end))
    else:
        inside = (new(Literal, (found[3], begin + base, finish + base)),) if found[3] else ()
        part = new(DoubleQuoted, (inside, False, start, end))
    return new(Word, ((part,), start, end))


def _declares(command: Word, parts: list[WordPart]) -> bool:
    """Whether the arguments of this command may be arrays, and `parts` begin one (`name=` before `(`)."""
    last = parts[-1] if len(parts) == 1 else None
    return isinstance(last, Literal) and plain_text(command) in _DECLARATIONS and _array_argument(last.text) is not None
