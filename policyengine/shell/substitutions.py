"""Commands in words: `$(…)`, `<(…)` and backticks, and what bash 5.2 reads instead when it runs them.

It keeps a `$(…)` as text and reads that again. Where the first reading was made in double quotes, `$'…'` in an operand
was decoded by then and its quotes are gone; and in an array literal a backslash before a quote counted for nothing. So
the commands may be others: both readings are reported.
"""

from __future__ import annotations

import re

from policyengine.shell.joining import joined
from policyengine.shell.lexer import END, Cursor, Mode, Steps, T, blanks, new
from policyengine.shell.modes import BODY
from policyengine.shell.nodes import (
    CommandSubstitution,
    DoubleQuoted,
    ProcessSubstitution,
    Script,
    SimpleCommand,
    Statement,
    Unread,
    Word,
    WordPart,
)
from policyengine.shell.offsets import Offsets, Shift
from policyengine.shell.quotes import places

MAX_AGAIN = 2  # texts around a substitution that is read again, so that no text is read over and over
MAX_BEHIND = 500  # characters behind a substitution that may belong to it when it is read again
MAX_GONE_ON = 8  # substitutions of a text for which that is tried; of others it is said that they are not known
MAX_TEXTS = 32  # texts in texts (backticks in here-documents in …): each is a copy, so that they are kept few

_backticks = re.compile(r"`((?:[^`\\\0]++|\\[^\0])*+)`").match
_taken_out = re.compile(r"\\[$`\\]").finditer
_taken_out_in_quotes = re.compile(r"\\[$`\\\"]").finditer


class Substitutions(Cursor):
    """A reader of commands in words."""

    __slots__ = ()

    def statements(self) -> Steps[tuple[Statement, ...]]:
        """A list of commands up to what ends it; `parser` has the production."""
        raise NotImplementedError

    def script(self) -> Steps[Script]:
        """A whole text; `parser` has the production."""
        raise NotImplementedError

    def deferred(self, inside: int) -> Steps[Script | Unread]:
        """Commands that bash reads when it runs; `expansions` has this production and the next."""
        raise NotImplementedError

    def lenient_parts(self, mode: Mode = BODY) -> Steps[tuple[WordPart, ...]]:
        """The expansions of a text."""
        raise NotImplementedError

    def substituted(self, *, quoted: bool = False) -> Steps[Script]:
        """The commands of a substitution and its `)`.

        Here-documents of the line around wait until it goes on; those inside that have no body yet join them [bash
        5.2].
        """
        start = self.pos
        waiting, self.pending = self.pending, []
        closer, self.closer = self.closer, ")"
        documents = self.documents
        in_case, esacs, self.esacs = self.in_case, self.esacs, 0
        self.inside += 1
        self.first = blanks(self.text, start).end()  # type: ignore[union-attr]  # the pattern matches everywhere
        body = yield from self.statements()
        end = self.pos
        if self.text[end] == ")":
            self.pos = end + 1
        elif self.text[end] == END:
            self.fail("unclosed substitution", "`)`")
        else:
            self.unexpected("`)`")
        self.pending = waiting + self.pending
        self.closer, self.in_case, self.esacs = closer, in_case, esacs
        if self.documents != documents:
            body += joined(body, self.semicolons, self.inside)
        self.inside -= 1
        if self.changes and closer == END:
            body += yield from self.read_again(start, end, quoted=quoted)
        return new(Script, (body, start + self.base, end + self.base))

    def read_again(self, start: int, end: int, *, quoted: bool) -> Steps[tuple[Statement, ...]]:
        """The commands that bash reads in this substitution when it runs it; after a fault, all that is expanded."""
        changes, self.changes = self.changes, {}
        budget = self.budget
        escapes = any(after == begin for begin, (after, _) in changes.items())
        goes_on = quoted and escapes and not budget.texts and budget.gone_on < MAX_GONE_ON
        budget.gone_on += goes_on
        text, base = self.changed(changes, start, self.quotes_end(end) if goes_on else end)
        quotes_alike = not quoted and all(self.text[begin] == "(" for begin in changes)
        known, parentheses = budget.known, budget.parentheses
        budget.known, budget.parentheses = {}, {}
        if budget.texts < MAX_AGAIN:
            body = yield from (self.begun_within(text, base) if goes_on else self.text_within(text, base))
        else:
            body = new(Unread, (text, "read again too often", (), 0 + base, len(text) + base))
            quotes_alike = True
        if isinstance(body, Unread):  # bash may have read on behind another `)` than this
            inner = self.inner(*(self.changed(changes, start, end) if goes_on else (text, base)))
            parts = () if quotes_alike else (yield from self.within(inner, inner.lenient_parts()))
            at = (body.start, body.end)
            unread = new(CommandSubstitution, (body, False, *at))
            word = new(Word, ((unread, new(DoubleQuoted, (parts, False, *at))), *at))
            body = new(Script, ((new(SimpleCommand, ((), (word,), (), *at)),), *at))
        budget.known, budget.parentheses = known, parentheses
        return body.body

    def quotes_end(self, pos: int) -> int:
        """Where the double quotes around a substitution that ends at `pos` may end, if not far away."""
        return _to_quote(self.text, pos, min(self.end, pos + MAX_BEHIND)).end()  # type: ignore[union-attr]  # matches

    def begun_within(self, text: str, base: Shift) -> Steps[Script | Unread]:
        """The commands of a substitution that ends anywhere in a text; Unread where they are at fault."""
        inner = self.inner(text, base)
        script = yield from self.within(inner, inner.substituted())
        if inner.fault is None or self.budget.limited:
            return script
        return new(Unread, (text, inner.fault.message, script.body, 0 + base, len(text) + base))

    def changed(self, changes: dict[int, tuple[int, str]], start: int, end: int) -> tuple[str, Shift]:
        """The text from `start` to `end` with what bash puts for some of its pieces, and the shift that leads back."""
        starts, targets, pieces, length, at = [0], [0], [], 0, start
        for begin, (after, decoded) in sorted(changes.items()):
            if not at <= begin <= after <= end:
                continue
            pieces += [self.text[at:begin], decoded]
            length += begin - at
            inner_starts, inner_targets = places(self.text[begin + _ANSI_OPENS : after - 1])
            starts += [length + one for one in inner_starts]
            targets += [begin + _ANSI_OPENS - start + one for one in inner_targets]
            length += len(decoded)
            starts.append(length)
            targets.append(after - start)
            at = after
        pieces.append(self.text[at:end])
        return "".join(pieces), Offsets(starts, targets, self.base + start)

    def process_substitution(self) -> Steps[WordPart]:
        """process_substitution: ('<' | '>') '(' commands ')' ."""
        start = self.pos
        self.pos = self.text.index("(", start) + 1
        nested = self.text[self.pos] == "("
        body = yield from (self.deferred(self.pos) if nested else self.substituted())
        return new(ProcessSubstitution, (self.text[start], body, start + self.base, self.pos + self.base))

    def backticks(self, quoted: bool) -> Steps[WordPart]:
        r"""backticks: '`' text '`', where ``\$ \` \\`` (and `\"` in double quotes) lose their backslash."""
        start = self.pos
        found = _backticks(self.text, start)
        end = self.end if found is None else found.end() - 1
        text, base = self.text[start + 1 : end], self.base + (start + 1)
        if "\\" in text:
            taken = _taken_out_in_quotes if quoted else _taken_out
            text, base = without([(at.start(), at.start() + 1) for at in taken(text)], text, base)
        body = yield from self.text_within(text, base)
        if found is None:
            self.fail("unclosed backtick", "'`'", at=start)
        else:
            self.pos = found.end()
        return new(CommandSubstitution, (body, True, start + self.base, self.pos + self.base))

    def inner(self, text: str, base: Shift) -> Substitutions:
        """A reader of the same kind for a text within this one; its faults are noted, not raised."""
        return type(self)(text, base, self.dialect, self.extglob, self.budget, strict=False)

    def text_within(self, text: str, base: Shift) -> Steps[Script | Unread]:
        """The commands of a text that bash reads only when it runs; Unread where they are at fault."""
        inner = self.inner(text, base)
        script = yield from self.within(inner, inner.script())
        if inner.fault is None or self.budget.limited:
            return script
        return new(Unread, (text, inner.fault.message, script.body, 0 + base, len(text) + base))

    def within(self, inner: Substitutions, steps: Steps[T]) -> Steps[T]:
        """Run a production of an inner reader, and take over its fault where a limit was the reason."""
        if self.budget.texts >= MAX_TEXTS:
            self.limit(f"texts nested deeper than {MAX_TEXTS} levels")
            inner.pos = inner.end
        self.budget.texts += 1
        result = yield from steps
        self.budget.texts -= 1
        if self.budget.limited and self.fault is None and inner.fault is not None:
            self.fail(inner.fault.message)
        return result


_to_quote = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL).match
_ANSI_OPENS = 2  # `$'`


def without(cuts: list[tuple[int, int]], text: str, base: Shift) -> tuple[str, Shift]:
    """`text` without the ranges `cuts`, and the shift that leads back."""
    if not cuts:
        return text, base
    starts, targets, pieces, length, at = [], [], [], 0, 0
    for start, end in [*cuts, (len(text), len(text))]:
        starts.append(length)
        targets.append(at)
        pieces.append(text[at:start])
        length += start - at
        at = end
    return "".join(pieces), Offsets(starts, targets, base)
