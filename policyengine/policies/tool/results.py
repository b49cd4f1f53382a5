"""Results of tools kept within a bound of bytes, and flagged where something was cut off.

What a host keeps beside the text that a model sees (`raw`) is bounded as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from policyengine.model import Frozen

T = TypeVar("T")


def truncated(text: str, limit: int) -> tuple[str, bool]:
    """Cut a text to at most `limit` bytes of UTF-8, never within a character; say whether something was cut off."""
    if len(text) * 4 <= limit:  # no character has more bytes
        return text, False
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return text, False
    end = max(limit, 0)
    while end and data[end] & 0xC0 == 0x80:  # a byte that continues a character (RFC 3629)
        end -= 1
    return data[:end].decode("utf-8", "surrogatepass"), True


def bounded(value: Frozen, limit: int) -> tuple[Frozen, bool]:
    """Cut a result to at most `limit` bytes; say whether something was cut off.

    A text counts by itself, other data by its shortest JSON with every character as it is. Texts are cut as `truncated`
    does, of lists and objects the end is left out.
    """
    if value is None:
        return None, False
    if isinstance(value, str):
        return truncated(value, limit)
    budget = _Budget(limit)
    try:
        return budget.cut(value), budget.is_over
    except _Full:
        return None, True


def flagged(error: str, limit: int) -> str:
    """Add to a result's error that it was cut: it counts as one from now on."""
    note = f"tool result exceeded max_result_bytes ({limit}); truncated"
    return f"{error}; {note}" if error else note


class _Full(Exception):
    """Nothing of a value fits any more."""


class _Budget:
    """Bytes that are left for data that is no text by itself."""

    __slots__ = ("_left", "is_over")

    def __init__(self, limit: int) -> None:
        self._left = limit
        self.is_over = False

    def cut(self, value: Frozen) -> Frozen:
        """Give what of a value fits.

        Raises:
            _Full: nothing of it does.
        """
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, tuple):
            self._take(2)  # the brackets
            kept: list[Frozen] = []
            self._fill(value, lambda item: kept.append(self.cut(item)))
            return tuple(kept)
        if isinstance(value, Mapping):
            self._take(2)
            entries: dict[str, Frozen] = {}
            self._fill(value, lambda key: entries.update({self._key(key): self.cut(value[key])}))
            return MappingProxyType(entries)
        self._take(len("null" if value is None else repr(value)))  # `true` is as long as `True`
        return value

    def _fill(self, items: Iterable[T], keep: Callable[[T], None]) -> None:
        """Keep items while they fit; the rest is left out."""
        for at, item in enumerate(items):
            try:
                self._take(1 if at else 0)  # the comma
                keep(item)
            except _Full:
                self.is_over = True
            if self.is_over:
                return

    def _key(self, key: str) -> str:
        self._take(_size(key) + 3)  # quotation marks and colon; no key is cut
        return key

    def _text(self, text: str) -> str:
        self._take(2)  # the quotation marks
        kept, cut = truncated(text, self._left)
        self._take(_size(kept))
        self.is_over = self.is_over or cut
        return kept

    def _take(self, size: int) -> None:
        if size > self._left:
            raise _Full
        self._left -= size


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
