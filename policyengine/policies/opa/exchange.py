"""One HTTP/1.1 answer (RFC 9112), read from whatever pieces arrive. It does no I/O: both faces of the client use it.

Stricter than a browser: one framing, no compression, no redirects, nothing after the end, bounded head and body. A
server that breaks the protocol has not answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from policyengine.records import NamedTuple

MAX_HEAD = 16 * 1024  # bytes of status line and headers
MAX_BODY = 1024 * 1024  # bytes of an answer
MAX_SIZE_LINE = 256  # bytes before a chunk
_LINE = b"\r\n"
_HEAD_END = b"\r\n\r\n"
_STATUS = re.compile(rb"HTTP/1\.([01]) ([2-5][0-9]{2})(?: [^\r\n]*)?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n]*)")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?")


class Reply(NamedTuple):
    """A whole answer; `keep` says whether the connection may be used again."""

    status: int
    body: bytes
    keep: bool


class Failure(NamedTuple):
    """Why there is no answer; `code` is that of the finding."""

    code: str
    message: str


TOO_LARGE = Failure("opa.answer-too-large", f"The answer is longer than {MAX_BODY} bytes.")
MALFORMED = Failure("opa.malformed", "What came back is no answer of HTTP/1.1.")
SURPLUS = Failure("opa.malformed", "Something follows the end of the answer.")
CLOSED = Failure("opa.closed", "The connection ended before the answer was complete.")

# Takes what has arrived, where in it the body begins, and whether the connection has ended.
Body: TypeAlias = Callable[[bytearray, int, bool], "bytes | Failure | None"]


class Answer:
    """An answer that is arriving."""

    __slots__ = ("_body", "_data", "_keep", "_searched", "_start", "_status")

    def __init__(self) -> None:
        self._data = bytearray()
        self._searched = 0  # the head does not end before this offset
        self._start = 0  # where the body begins
        self._status = 0
        self._keep = False
        self._body: Body | None = None  # known once the head is complete

    @property
    def is_empty(self) -> bool:
        """Whether nothing has arrived."""
        return not self._data

    def feed(self, piece: bytes) -> Reply | Failure | None:
        """Take what has arrived (nothing: the connection has ended); None where more is needed."""
        self._data += piece
        failure = self._read_head() if self._body is None else None
        if failure is not None:
            return failure
        if self._body is not None:
            body = self._body(self._data, self._start, not piece)
            if body is not None:
                return body if isinstance(body, Failure) else Reply(self._status, body, self._keep)
        return None if piece else CLOSED

    def _read_head(self) -> Failure | None:
        end = self._data.find(_HEAD_END, self._searched)
        self._searched = max(len(self._data) - len(_HEAD_END) + 1, 0)
        if (self._searched if end < 0 else end) > MAX_HEAD:
            return TOO_LARGE
        if end < 0:
            return None
        first, *rest = bytes(self._data[:end]).split(_LINE)
        status, headers = _STATUS.fullmatch(first), _headers(rest)
        body = None if headers is None else _framing(headers)
        if status is None or headers is None or body is None:
            return MALFORMED
        self._status, self._start, self._body = int(status[2]), end + len(_HEAD_END), body
        kept = status[1] == b"1" and headers.get(b"connection", b"").lower() != b"close"
        self._keep = kept and body is not _until_end
        return None


def _headers(lines: Sequence[bytes]) -> Mapping[bytes, bytes] | None:
    """Names in lower case → values; None where a line is no header, or one that frames the body is repeated."""
    headers: dict[bytes, bytes] = {}
    for line in lines:
        match = _HEADER.fullmatch(line)
        if match is None:
            return None
        name = match[1].lower()
        if name in headers and name in _FRAMES:
            return None
        headers[name] = match[2].rstrip(b" \t")
    return headers


_FRAMES = frozenset({b"content-length", b"transfer-encoding", b"content-encoding", b"connection"})


def _framing(headers: Mapping[bytes, bytes]) -> Body | None:
    """How the body ends; None where that is ambiguous or unheard of, or the body is compressed."""
    length, coding = headers.get(b"content-length"), headers.get(b"transfer-encoding")
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        return None
    if coding is not None:
        return _Chunks().take if coding.lower() == b"chunked" and length is None else None
    if length is None:
        return _until_end
    return _of_length(int(length)) if _LENGTH.fullmatch(length) else None


def _until_end(data: bytearray, start: int, ended: bool) -> bytes | Failure | None:
    if len(data) - start > MAX_BODY:
        return TOO_LARGE
    return bytes(data[start:]) if ended else None


def _of_length(length: int) -> Body:
    def take(data: bytearray, start: int, ended: bool) -> bytes | Failure | None:
        del ended
        have = len(data) - start
        if length > MAX_BODY:
            return TOO_LARGE
        if have > length:
            return SURPLUS
        return bytes(data[start:]) if have == length else None

    return take


class _Chunks:
    """A body in chunks (RFC 9112 7.1); trailers are refused."""

    __slots__ = ("_at", "_body", "_size")

    def __init__(self) -> None:
        self._body = bytearray()
        self._at = -1  # how far the data is read
        self._size = -1  # of the chunk that is arriving; -1 before it is known

    def take(self, data: bytearray, start: int, ended: bool) -> bytes | Failure | None:
        """Read as many chunks as have arrived."""
        del ended
        self._at = max(self._at, start)
        while True:
            if self._size < 0:
                failure = self._read_size(data)
                if failure is not None or self._size < 0:
                    return failure
            end = self._at + self._size
            if len(data) < end + len(_LINE):
                return None
            if data[end : end + len(_LINE)] != _LINE:
                return MALFORMED
            if self._size == 0:
                return bytes(self._body) if len(data) == end + len(_LINE) else SURPLUS
            self._body += data[self._at : end]
            self._at, self._size = end + len(_LINE), -1

    def _read_size(self, data: bytearray) -> Failure | None:
        """Read the line before a chunk, if it has arrived."""
        end = data.find(_LINE, self._at, self._at + MAX_SIZE_LINE)
        if end < 0:
            return MALFORMED if len(data) - self._at >= MAX_SIZE_LINE else None
        match = _SIZE.fullmatch(data, self._at, end)
        if match is None:
            return MALFORMED
        size = int(match[1], 16)
        if len(self._body) + size > MAX_BODY:
            return TOO_LARGE
        self._at, self._size = end + len(_LINE), size
        return None
