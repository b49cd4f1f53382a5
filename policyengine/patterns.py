"""Patterns of texts: regular expressions that are compiled when first used, and globs that need none.

Most processes answer one call and need few expressions. A glob is matched greedily from the left between its stars, so
it costs at most the text's length for each of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias, cast

Test: TypeAlias = Callable[[str], bool]


class _Lazy:
    """Stands for a compiled expression; each method is an attribute of its own from its first use on."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._given = (pattern, flags)

    def __getattr__(self, name: str) -> object:
        method: object = getattr(re.compile(*self._given), name)  # `re` keeps it
        self.__dict__[name] = method
        return method


def lazily(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Give an expression that is compiled when it is first asked for anything."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))


def glob_test(pattern: str) -> Test:
    """Compile a glob of `*` (any text) and `?` (one character) into a test for whole texts."""
    if "?" in pattern or pattern.count("*") > 1:
        parts = pattern.split("*")
        return lambda text: _matches(text, parts)
    head, star, tail = pattern.partition("*")
    if not star:
        return lambda text: text == pattern
    if not head:
        return lambda text: text.endswith(tail)
    if not tail:
        return lambda text: text.startswith(head)
    least = len(head) + len(tail)
    return lambda text: len(text) >= least and text.startswith(head) and text.endswith(tail)


def _matches(text: str, parts: list[str]) -> bool:
    """Whether `text` is the parts in order with any text between them."""
    head, tail = parts[0], parts[-1]
    if len(parts) == 1:
        return len(text) == len(head) and _fits(text, 0, head)
    end = len(text) - len(tail)
    if end < len(head) or not _fits(text, 0, head) or not _fits(text, end, tail):
        return False
    position = len(head)
    for part in parts[1:-1]:
        position = _find(text, part, position, end)
        if position < 0:
            return False
        position += len(part)
    return True


def _find(text: str, part: str, start: int, end: int) -> int:
    if "?" not in part:
        return text.find(part, start, end)
    return next((at for at in range(start, end - len(part) + 1) if _fits(text, at, part)), -1)


def _fits(text: str, at: int, part: str) -> bool:
    if "?" not in part:
        return text.startswith(part, at)
    return all(want in ("?", have) for want, have in zip(part, text[at : at + len(part)], strict=True))
