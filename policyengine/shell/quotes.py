"""What the escapes inside `$'…'` stand for (bash manual 3.1.2.4)."""

from __future__ import annotations

import re
from collections.abc import Callable

_escape = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))", re.DOTALL
)
_NAMED = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NAMED |= {mark: mark for mark in "\\'\"?"}
_BYTE = 0xDC00  # bytes above 0x7f travel as surrogates (PEP 383) until they are joined to UTF-8
_LAST_CODE_POINT = 0x10FFFF


def decode_ansi(text: str) -> str:
    """The text between `$'` and `'`, decoded; a NUL ends it, and bytes that form UTF-8 become its characters."""
    if "\\" not in text:
        return text
    decoded = _escape.sub(_character, text).partition("\0")[0]
    if not any(_BYTE + 0x80 <= ord(character) <= _BYTE + 0xFF for character in decoded):
        return decoded
    try:
        return decoded.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # the source itself held other lone surrogates
        return decoded


def places(text: str) -> tuple[list[int], list[int]]:
    """Where pieces of the decoded text begin, and where in `text`: one after each escape."""
    starts, targets, taken = [0], [0], 0
    for found in _escape.finditer(text):
        taken += found.end() - found.start() - len(_character(found))
        starts.append(found.end() - taken)
        targets.append(found.end())
    return starts, targets


def _character(found: re.Match[str]) -> str:
    group = found.lastindex or 0
    return _DECODERS[group](found[group])


def _byte(value: int) -> str:
    return chr(value if value < 0x80 else _BYTE + value)


def _code_point(digits: str) -> str:
    value = int(digits, 16)
    return chr(value) if value <= _LAST_CODE_POINT else "\ufffd"


def _named(mark: str) -> str:
    return _NAMED.get(mark, "\\" + mark)


_DECODERS: tuple[Callable[[str], str], ...] = (
    str,
    lambda digits: _byte(int(digits, 16)),
    lambda digits: _byte(int(digits, 8) & 0xFF),
    _code_point,
    _code_point,
    lambda control: "\x7f" if control == "?" else chr(ord(control.upper()) & 0x1F),
    _named,
)
