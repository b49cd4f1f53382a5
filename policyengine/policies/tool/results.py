"""Results of tools kept within a bound of bytes, and flagged where something was cut off.

What a host keeps beside the text that a model sees (`raw`) is bounded as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    if isinstance(value, str):
        return truncated(value, limit)
    budget = _Budget(limit)
    kept = budget.cut(value)
    return kept, budget.is_over


def flagged(error: str, limit: int) -> str:
    """Add to a result's error that it was cut: it counts as one from now on."""
    note = f"tool result exceeded max_result_bytes ({limit}); truncated"
    return f"{error}; {note}" if error else note


class _Budget:
    """Bytes that are left for data that is no text by itself."""

    __slots__ = ("_left", "is_over")

    def __init__(self, limit: int) -> None:
        self._left = limit
        self.is_over = False

    def cut(self, value: Frozen) -> Frozen:
        """Give what of a value still fits; None where nothing of it does."""
        if isinstance(value, str):
            return self._text(value) if self._takes(2) else None  # its quotation marks
        if isinstance(value, tuple):
            return tuple(self.cut(item) for item in self._fitting(value)) if self._takes(2) else None
        if isinstance(value, Mapping):
            return self._object(value) if self._takes(2) else None
        return value if self._takes(len(_literal(value))) else None

    def _object(self, value: Mapping[str, Frozen]) -> Mapping[str, Frozen]:
        kept = {}
        for key, item in self._fitting(value.items()):
            if not self._takes(len(key.encode("utf-8", "surrogatepass")) + 3):  # marks and colon; no key is cut
                break
            kept[key] = self.cut(item)
        return MappingProxyType(kept)

    def _fitting(self, items: Iterable[T]) -> Iterator[T]:
        for at, item in enumerate(items):
            if not self._takes(1 if at else 0) or self._left <= 0:  # its comma, and something of itself
                self.is_over = True
                return
            yield item

    def _text(self, text: str) -> str:
        kept, cut = truncated(text, self._left)
        self._left -= len(kept.encode("utf-8", "surrogatepass"))
        if cut:
            self._left, self.is_over = 0, True
        return kept

    def _takes(self, size: int) -> bool:
        if size > self._left:
            self._left, self.is_over = 0, True
            return False
        self._left -= size
        return True


def _literal(value: float | bool | None) -> str:
    return "null" if value is None else repr(value).lower()
