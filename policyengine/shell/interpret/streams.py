"""What is known of bytes that flow from one program to the next, or into and out of files."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TypeAlias

from policyengine.effects import CLEAN, HOLE, Span, Taint, Taints
from policyengine.records import NamedTuple
from policyengine.shell.values import Value, from_template

MAX_TEXT = 64 * 1024  # of one computed value, stream or file
MAX_ALTERNATIVES = 8  # of what an output may hold
MAX_BACK = 12  # pieces of each that are compared where they are more


class Stream(NamedTuple):
    """What is known of bytes that flow: a standard input, an output, a file's contents.

    Attributes:
        text: the whole text, or None where it is not known.
        taint: where it came from.
        path: the file whose contents it is; empty where there is none.
        peer: host and port at the other end of a connection.
        driven: written by a shell or interpreter whose commands come from an open end.
        span: where its text stands in the analysed text.
        prefix: how it begins for certain, where `text` is None.
        rest: what comes after the first unknown piece, where that is known (`Value.rest`).
        choices: the texts, with holes, of which it is one, where alternatives printed it; `text` is None then.
    """

    text: str | None = None
    taint: Taints = CLEAN
    path: str = ""
    peer: tuple[str, str] | None = None
    driven: bool = False
    span: Span | None = None
    prefix: str = ""
    rest: str = ""
    choices: tuple[str, ...] = ()

    @property
    def template(self) -> str | None:
        """The text, with holes if it is known in part; None where nothing of it is."""
        if self.text is not None or not (self.prefix or self.rest):
            return self.text
        return f"{self.prefix}{HOLE}{self.rest}"

    def value(self, span: Span | None = None) -> Value:
        """The text as a value."""
        if self.text is not None:
            return from_template(self.text, self.taint, self.span or span)
        return Value(self.prefix, exact=False, taint=self.taint, span=self.span or span, rest=self.rest)

    def chosen(self, template: str) -> Stream:
        """The stream if it is this one of its choices."""
        known, hole, rest = template.partition(HOLE)
        return self._replace(text=None if hole else known, prefix=known if hole else "", rest=rest, choices=())


def stream_of_value(value: Value, end: str = "") -> Stream:
    """The stream that a text makes, `end` being added to it."""
    if value.exact:
        return Stream(value.text + end, value.taint, span=value.span)
    return Stream(None, value.taint, span=value.span, prefix=value.text, rest=value.rest + end)


NOTHING = Stream("")
OUTER_INPUT = Stream(None, frozenset({Taint.INPUT}))


def shared_start(texts: Sequence[str]) -> str:
    """How all of the texts begin."""
    low, high = min(texts, default=""), max(texts, default="")
    size = next((at for at, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return low[:size]


class Piece(NamedTuple):
    """What was written last, a text with holes, and all before it: one alternative of what an output holds."""

    before: Piece | None
    text: str
    size: int


Written: TypeAlias = list[Piece | None]  # alternatives; None: nothing, and empty where this place is not reached


class Sink:
    """Collects what commands write to one output, each alternative by itself.

    Attributes:
        live: what may have been written where the interpretation is now.
        left: what had been written where something was left for good (`Machine.ways`), by what it was.
        outer: the output that this one stands in for while redirections are in force.
        into: the file that receives at once what is written; empty where there is none.
    """

    __slots__ = ("driven", "into", "left", "live", "outer", "path", "peer", "taint")

    def __init__(self, outer: Sink | None = None) -> None:
        self.live: Written = [None]
        self.left: dict[int, Written] = {}
        self.outer = outer
        self.taint: Taints = CLEAN
        self.path = self.into = ""
        self.peer: tuple[str, str] | None = None
        self.driven = False

    def add(self, stream: Stream) -> None:
        """Append what another command wrote."""
        if stream.taint:
            self.taint |= stream.taint
        self.path = self.path or stream.path
        self.peer = self.peer or stream.peer
        self.driven |= stream.driven
        if stream.choices:
            self.live = joined([_behind(before, text) for text in stream.choices for before in self.live])
            return
        text = stream.text if stream.text is not None else f"{stream.prefix}{HOLE}{stream.rest}"
        if text:
            self.live = [_behind(before, text) for before in self.live]

    def leave(self, way: int) -> None:
        """What comes next is not reached from here."""
        sink: Sink | None = self
        while sink is not None:
            sink.left[way] = joined(sink.left.get(way, ()), sink.live)
            sink.live = []
            sink = sink.outer

    def arrive(self, way: int) -> None:
        """Here things go on for all that was left that way."""
        sink: Sink | None = self
        while sink is not None:
            found = sink.left.pop(way, None)
            if found:
                sink.live = joined(sink.live, found)
            sink = sink.outer

    def stream(self, *, silent: bool = False) -> Stream:
        """What has been collected: of several alternatives those that wrote something, or all if it may be silent."""
        ends = (
            self.live if not self.left else [piece for pieces in (self.live, *self.left.values()) for piece in pieces]
        )
        written = [piece for piece in ends if piece is not None or silent]
        if len(written) <= 1:
            return self._stream(_text(written[0]) if written else "")
        texts = tuple(dict.fromkeys(map(_text, written)))
        if len(texts) == 1:
            return self._stream(texts[0])
        choices = texts if len(texts) <= MAX_ALTERNATIVES else ()
        prefix = shared_start(texts).partition(HOLE)[0]
        return Stream(
            None, self.taint, self.path, self.peer, self.driven, None, prefix, "\n".join(texts)[:MAX_TEXT], choices
        )

    def _stream(self, template: str) -> Stream:
        known, hole, rest = template.partition(HOLE)
        text, prefix = (None, known) if hole else (known, "")
        return Stream(text, self.taint, self.path, self.peer, self.driven, None, prefix, rest)


def _behind(before: Piece | None, text: str) -> Piece:
    if before is None:
        kept = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n{HOLE}"
        return Piece(None, kept, len(kept))
    size = before.size + len(text)
    if size <= MAX_TEXT:
        return Piece(before, text, size)
    return before if before.text[-1:] == HOLE else Piece(before, HOLE, before.size + 1)


def _text(piece: Piece | None) -> str:
    if piece is not None and piece.before is None:  # mostly
        return piece.text
    return _since(piece, frozenset())


def joined(*alternatives: Sequence[Piece | None]) -> Written:
    """All of them, without repetition; where they are too many, something unknown in which what differs is written."""
    distinct = {_identity(piece): piece for written in alternatives for piece in written}
    pieces = list(distinct.values())
    if len(pieces) <= MAX_ALTERNATIVES:
        return pieces
    pasts = [_past(piece) for piece in pieces]
    shared = set(map(id, pasts[0])).intersection(*[map(id, past) for past in pasts[1:]])
    ends = [next((at for at, piece in enumerate(past) if id(piece) in shared), len(past)) for past in pasts]
    texts = {_text_of(past[:end]): past[0] for past, end in zip(pasts, ends, strict=True)}
    if shared and len(texts) <= MAX_ALTERNATIVES:
        return list(texts.values())
    return [_behind(pasts[0][ends[0]] if shared else None, HOLE + "\n".join(texts))]


def _past(piece: Piece | None) -> list[Piece | None]:
    """The last pieces, the very last one first."""
    found = [piece]
    while piece is not None and len(found) < MAX_BACK:
        piece = piece.before
        found.append(piece)
    return found


def _text_of(past: Sequence[Piece | None]) -> str:
    return "".join([piece.text for piece in reversed(past) if piece is not None])


def _identity(piece: Piece | None) -> tuple[int, str] | None:
    return (id(piece.before), piece.text) if piece is not None else None


def noted(written: Written) -> Written:
    """The same alternatives, in which writing nothing is a way that things regularly go: it counts as a text."""
    return [Piece(piece, "", piece.size if piece is not None else 0) for piece in written]


def repeated(start: Written, written: Written) -> Written:
    """What any number of rounds writes, one of which led from the start to what is written."""
    if written is start or not start:
        return start
    known = {id(piece) for piece in start}
    texts = [text for text in (_since(piece, known) for piece in written) if text]
    return joined(start, [_behind(before, HOLE + "".join(texts)) for before in start]) if texts else start


def _since(piece: Piece | None, known: Set[int]) -> str:
    texts = []
    while piece is not None and id(piece) not in known:
        texts.append(piece.text)
        piece = piece.before
    return "".join(reversed(texts))
