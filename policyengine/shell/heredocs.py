"""Here-documents: finding their bodies, and reading what is expanded in them (bash manual 3.6.6)."""

from __future__ import annotations

import re

from policyengine.shell.arithmetic import ArithmeticExpansions
from policyengine.shell.lexer import END, Pending, Steps
from policyengine.shell.nodes import (
    DoubleQuoted,
    Escaped,
    Heredoc,
    Literal,
    SingleQuoted,
    Word,
)
from policyengine.shell.offsets import Offsets
from policyengine.shell.quotes import decode_ansi
from policyengine.shell.substitutions import without

_expands = re.compile(r"[$`\\]").search
_quoting_backslash = re.compile(r"\\([$`\"\\\n])")
# A delimiter in which nothing nests, and its pieces: a continuation, quotes, an escape.
_flat = re.compile(r"(?:[^$`]|\$(?![({\[]))*+", re.DOTALL).fullmatch
_flat_piece = re.compile(r"""\\\n|\\(.)|'([^']*)'|\$'((?:[^'\\]|\\.)*)'|\$?"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_leading_tabs = re.compile(r"^\t+", re.MULTILINE).finditer


class Heredocs(ArithmeticExpansions):
    """A reader that knows where here-documents end."""

    __slots__ = ()

    def begin_heredoc(self, word: Word, written: str, *, strip_tabs: bool) -> Heredoc:
        """A here-document without its body, which follows the line; `word` is its delimiter, as it is `written`."""
        delimiter, quoted = self.delimiter(word, written)
        heredoc = Heredoc(delimiter, quoted, strip_tabs, word, False, self.end + self.base, self.end + self.base)
        self.pending.append(Pending(heredoc, self.closer))
        self.documents += 1
        return heredoc

    def delimiter(self, word: Word, written: str) -> tuple[str, bool]:
        """The line that ends the body, and whether some of it was quoted: quotes are removed, nothing is expanded."""
        if isinstance(self.base, Offsets) and _flat(written):
            # Characters were taken out of this text, so that the parts do not say where they stand in it.
            return _flat_piece.sub(_flat_text, written), any(map(_is_quoted, word.parts))
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
            if heredoc.delimiter in (stripped, line):  # which may begin with tabs itself
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
                yield self.within(inner, inner.expanded(heredoc))

    def expanded(self, heredoc: Heredoc) -> Steps[None]:
        """The body of a here-document whose delimiter is not quoted; this reader stands at its beginning."""
        parts = yield from self.lenient_parts()
        quoted = DoubleQuoted(parts, False, heredoc.start, heredoc.end)
        heredoc.body = Word((quoted,), heredoc.start, heredoc.end)


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


def _flat_text(piece: re.Match[str]) -> str:
    if piece[3] is not None:
        return decode_ansi(piece[3])
    if piece[4] is not None:
        return _quoting_backslash.sub(r"\1", piece[4])
    return piece[1] or piece[2] or ""


def _body(heredoc: Heredoc, text: str) -> Word:
    start, end = heredoc.start, heredoc.end
    if heredoc.quoted:
        return Word((SingleQuoted(text, False, start, end),), start, end)
    inside = (Literal(text, start, end),) if text else ()
    return Word((DoubleQuoted(inside, False, start, end),), start, end)
