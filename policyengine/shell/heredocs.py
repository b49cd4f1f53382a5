"""Here-documents: finding their bodies, and reading what is expanded in them (bash manual 3.6.6)."""

from __future__ import annotations

import re
from typing import Any

from policyengine.shell.expansions import Expansions, without
from policyengine.shell.lexer import END, Pending, Steps
from policyengine.shell.modes import BODY
from policyengine.shell.nodes import (
    CommandSubstitution,
    DoubleQuoted,
    Escaped,
    Heredoc,
    Literal,
    Script,
    SingleQuoted,
    Unread,
    Word,
    WordPart,
)
from policyengine.shell.offsets import Shift

_expands = re.compile(r"[$`\\]").search
_quoting_backslash = re.compile(r"\\([$`\"\\\n])")
_leading_tabs = re.compile(r"^\t+", re.MULTILINE).finditer


class Heredocs(Expansions):
    """A reader that knows where here-documents end."""

    __slots__ = ()

    def begin_heredoc(self, word: Word, *, strip_tabs: bool) -> Heredoc:
        """A here-document without its body, which follows the line."""
        delimiter, quoted = self.delimiter(word)
        heredoc = Heredoc(delimiter, quoted, strip_tabs, word, False, self.end + self.base, self.end + self.base)
        self.pending.append(Pending(heredoc, self.closer))
        return heredoc

    def delimiter(self, word: Word) -> tuple[str, bool]:
        """The line that ends the body, and whether some of it was quoted: quotes are removed, nothing is expanded."""
        local = [part.end - word.end for part in word.parts]
        starts = [part.start - word.end for part in word.parts]
        texts = [
            _unquoted(part, self.text[self.pos + start : self.pos + end])
            for part, start, end in zip(word.parts, starts, local, strict=True)
        ]
        quoted = any(map(_is_quoted, word.parts))
        return "".join(texts), quoted

    def read_bodies(self) -> None:
        """Find the bodies of the pending here-documents, in order, beginning at a line's start."""
        pending, self.pending = self.pending, []
        for heredoc, closer in pending:
            start = self.pos
            end, after = self.find_end(heredoc, closer)
            heredoc.terminated = after >= 0
            self.pos = after if after >= 0 else end
            self.place(heredoc, start, end)

    def find_end(self, heredoc: Heredoc, closer: str) -> tuple[int, int]:
        """Where the body that begins here ends, and where reading goes on; -1 if its delimiter does not come."""
        pos = self.pos
        while pos < self.end:
            line, following = self.logical_line(pos, joined=not heredoc.quoted)
            stripped = line.lstrip("\t") if heredoc.strip_tabs else line
            if stripped == heredoc.delimiter:
                return pos, min(following + 1, self.end)
            if closer != END and stripped.startswith(heredoc.delimiter) and closer in stripped:
                # In a substitution the delimiter also ends the body where `)` comes later in its line [bash 5.2].
                return pos, following - (len(stripped) - len(heredoc.delimiter))
            pos = following + 1
        return self.end, -1

    def logical_line(self, pos: int, *, joined: bool) -> tuple[str, int]:
        """The line that begins here and where its newline stands; joined with the next where a backslash ends it."""
        end = self.line_end(pos)
        line = self.text[pos:end]
        if not joined or not _continues(line):
            return line, end
        lines = []
        while _continues(line) and end < self.end:
            lines.append(line[:-1])
            pos, end = end + 1, self.line_end(end + 1)
            line = self.text[pos:end]
        return "".join([*lines, line]), end

    def line_end(self, pos: int) -> int:
        """Where the line that holds `pos` ends."""
        end = self.text.find("\n", pos)
        return self.end if end < 0 else end

    def place(self, heredoc: Heredoc, start: int, end: int) -> None:
        """Give a here-document its body, or note it for later where there is something to expand in it."""
        text, base = self.text[start:end], self.base
        heredoc.start, heredoc.end = start + base, end + base
        if heredoc.quoted or not _expands(text):
            shown = "".join(line.lstrip("\t") for line in text.splitlines(True)) if heredoc.strip_tabs else text
            heredoc.body = _body(heredoc, shown)
        else:
            self.bodies.append((heredoc, start, end))

    def finish_bodies(self) -> Steps[None]:
        """Read the expansions in the bodies noted so far."""
        while self.bodies:
            bodies, self.bodies = self.bodies, []
            for heredoc, start, end in bodies:
                text, base = self.text[start:end], self.base + start
                if heredoc.strip_tabs:
                    text, base = without([(at.start(), at.end()) for at in _leading_tabs(text)], text, base)
                inner = self.inner(text, base)
                assert isinstance(inner, Heredocs)
                yield self.within(inner, inner.expanded(heredoc, text, base))

    def expanded(self, heredoc: Heredoc, text: str, base: Shift) -> Steps[Script]:
        """The body of a here-document whose delimiter is not quoted; this reader stands at its beginning."""
        parts: list[WordPart] = []
        while self.soft(BODY, parts):
            begin = self.pos
            if not self.enter():
                break
            part: Any = yield self.nested(BODY, parts)
            self.budget.depth -= 1
            if self.fault is not None and not self.budget.limited:
                unread = Unread(text[begin:], self.fault.message, begin + base, len(text) + base)
                part = CommandSubstitution(unread, False, begin + base, len(text) + base)
            parts.append(part)
        self.count(len(parts))
        yield from self.finish_bodies()
        quoted = DoubleQuoted(tuple(parts), False, heredoc.start, heredoc.end)
        heredoc.body = Word((quoted,), heredoc.start, heredoc.end)
        return Script((), heredoc.start, heredoc.end)


def _continues(line: str) -> bool:
    return line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _is_quoted(part: object) -> bool:
    return isinstance(part, Escaped | SingleQuoted | DoubleQuoted)


def _unquoted(part: object, raw: str) -> str:
    if isinstance(part, Literal | Escaped | SingleQuoted):
        return part.text
    if isinstance(part, DoubleQuoted):
        return _quoting_backslash.sub(r"\1", raw[2 if part.localized else 1 : -1])
    return raw


def _body(heredoc: Heredoc, text: str) -> Word:
    start, end = heredoc.start, heredoc.end
    if heredoc.quoted:
        return Word((SingleQuoted(text, False, start, end),), start, end)
    inside = (Literal(text, start, end),) if text else ()
    return Word((DoubleQuoted(inside, False, start, end),), start, end)
