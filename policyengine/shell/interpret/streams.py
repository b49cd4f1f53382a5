"""What is known of bytes that flow from one program to the next, or into and out of files."""

from __future__ import annotations

from policyengine.effects import CLEAN, HOLE, Span, Taint, Taints
from policyengine.records import NamedTuple
from policyengine.shell.values import Value, from_template

MAX_TEXT = 64 * 1024  # of one computed value, stream or file


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
    """

    text: str | None = None
    taint: Taints = CLEAN
    path: str = ""
    peer: tuple[str, str] | None = None
    driven: bool = False
    span: Span | None = None
    prefix: str = ""
    rest: str = ""

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


def stream_of_value(value: Value, end: str = "") -> Stream:
    """The stream that a text makes, `end` being added to it."""
    if value.exact:
        return Stream(value.text + end, value.taint, span=value.span)
    return Stream(None, value.taint, span=value.span, prefix=value.text, rest=value.rest + end)


NOTHING = Stream("")
OUTER_INPUT = Stream(None, frozenset({Taint.INPUT}))


class Sink:
    """Collects what commands write to one output."""

    __slots__ = ("driven", "known", "parts", "path", "peer", "prefix", "rest", "size", "taint")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.size = 0
        self.known = True
        self.taint: Taints = CLEAN
        self.path = ""
        self.peer: tuple[str, str] | None = None
        self.driven = False
        self.prefix = ""
        self.rest: list[str] = []

    def add(self, stream: Stream) -> None:
        """Append what another command wrote."""
        self.taint |= stream.taint
        self.path = self.path or stream.path
        self.peer = self.peer or stream.peer
        self.driven |= stream.driven
        if not self.known:
            self._behind(stream.text if stream.text is not None else f"{stream.prefix}{HOLE}{stream.rest}")
        elif stream.text is None:
            self.prefix = "".join(self.parts) + stream.prefix
            self.known = False
            self._behind(stream.rest)
        else:
            self.size += len(stream.text)
            self.known = self.size <= MAX_TEXT
            self.parts.append(stream.text)

    def _behind(self, text: str) -> None:
        self.size += len(text)
        if text and self.size <= MAX_TEXT:
            self.rest.append(text)

    def stream(self) -> Stream:
        """What has been collected."""
        text = "".join(self.parts) if self.known else None
        return Stream(text, self.taint, self.path, self.peer, self.driven, None, self.prefix, "".join(self.rest))
