"""Brace expansion (bash manual 3.5.1) over the parts of a word: `{a,b}`, `{1..5}`, `{a..e..2}`, nested, bounded."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from policyengine.patterns import lazily
from policyengine.shell.nodes import Literal, WordPart

MAX_WORDS = 64  # results of one word; more are not enumerated
MAX_NESTING = 16

_NUMBERS = lazily(r"([+-]?\d{1,18})\.\.([+-]?\d{1,18})(?:\.\.([+-]?\d{1,9}))?\Z")
_LETTERS = lazily(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.([+-]?\d{1,9}))?\Z")
_MARKS = lazily(r"([{},])")

_Item = WordPart | str  # a part, or one of the marks `{` `}` `,`
_Parts = tuple[WordPart, ...]


class _TooMany(Exception):
    pass


def alternatives(parts: Sequence[WordPart]) -> list[_Parts] | None:
    """The words that a word with braces stands for, each as its parts; None where they are too many to enumerate."""
    items = [item for part in parts for item in _items(part)]
    try:
        return _sequence(items, _matches(items), 0, len(items), 0)
    except _TooMany:
        return None


def _items(part: WordPart) -> list[_Item]:
    if type(part) is not Literal:
        return [part]
    return [
        text if text in ("{", "}", ",") else Literal(text, part.start, part.end)
        for text in _MARKS.split(part.text)
        if text
    ]


def _matches(items: Sequence[_Item]) -> dict[int, int]:
    """Each opening brace with its closing one; those without a partner are ordinary characters."""
    opened: list[int] = []
    found: dict[int, int] = {}
    for at, item in enumerate(items):
        if item == "{":
            opened.append(at)
        elif item == "}" and opened:
            found[opened.pop()] = at
    return found


def _sequence(items: Sequence[_Item], closing: dict[int, int], start: int, end: int, depth: int) -> list[_Parts]:
    """All words of `items[start:end]`: the product of its elements."""
    if depth > MAX_NESTING:
        raise _TooMany
    words: list[_Parts] = [()]
    at = start
    run: list[WordPart] = []  # parts in front of the next brace
    while at < end:
        close = closing.get(at)
        choices = None if close is None or close >= end else _group(items, closing, at, close, depth)
        if choices is None:
            item = items[at]
            run.append(Literal(item, 0, 0) if isinstance(item, str) else item)
            at += 1
            continue
        if len(words) * len(choices) > MAX_WORDS:
            raise _TooMany
        words = [(*head, *run, *tail) for head in words for tail in choices]
        run = []
        at = close + 1 if close is not None else at + 1
    return [(*head, *run) for head in words]


def _group(items: Sequence[_Item], closing: dict[int, int], start: int, end: int, depth: int) -> list[_Parts] | None:
    """The alternatives of `{…}`, or None where it is no brace expansion (no comma and no sequence)."""
    commas = _commas(items, closing, start, end)
    if not commas:
        inner = items[start + 1 : end]
        text = inner[0].text if len(inner) == 1 and isinstance(inner[0], Literal) else ""
        words = _range(text)
        return None if words is None else [(Literal(word, 0, 0),) for word in words]
    bounds = [start, *commas, end]
    found: list[_Parts] = []
    for left, right in itertools.pairwise(bounds):
        found += _sequence(items, closing, left + 1, right, depth + 1)
        if len(found) > MAX_WORDS:
            raise _TooMany
    return found


def _commas(items: Sequence[_Item], closing: dict[int, int], start: int, end: int) -> list[int]:
    found: list[int] = []
    at = start + 1
    while at < end:
        if items[at] == ",":
            found.append(at)
        close = closing.get(at)
        at = close + 1 if close is not None and close < end else at + 1
    return found


def _range(text: str) -> list[str] | None:
    numbers = _NUMBERS.match(text)
    if numbers:
        width = (
            max(len(side) for side in numbers.group(1, 2)) if any(_padded(side) for side in numbers.group(1, 2)) else 0
        )
        return [f"{number:0{width}d}" for number in _steps(int(numbers[1]), int(numbers[2]), numbers[3])]
    letters = _LETTERS.match(text)
    if letters:
        return [chr(code) for code in _steps(ord(letters[1]), ord(letters[2]), letters[3])]
    return None


def _padded(side: str) -> bool:
    digits = side.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0"


def _steps(first: int, last: int, step_text: str | None) -> range:
    step = abs(int(step_text or 1)) or 1
    if abs(last - first) // step >= MAX_WORDS:
        raise _TooMany
    return range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
