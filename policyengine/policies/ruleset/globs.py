"""Globs without regular expressions: does a text match, may two globs name the same thing.

Matching is greedy from the left between the stars, so it costs at most the text's length for each star of the pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Test: TypeAlias = Callable[[str], bool]

GLOB_CHARACTERS = frozenset("*?[")
MAX_MEETING = 65536  # product of two globs' lengths up to which they are compared; beyond, they may meet


def is_glob(text: str) -> bool:
    """Whether a text holds glob characters."""
    return not GLOB_CHARACTERS.isdisjoint(text)


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


def loosened(segment: str) -> str:
    """An active shell glob as one of `*` and `?` that names at least as much: a bracket is any character."""
    if "[" not in segment and "(" not in segment:
        return segment
    if "(" in segment:  # an extended glob: from its operator on, anything
        return segment[: max(segment.index("(") - 1, 0)] + "*"
    loose, rest = [], segment
    while rest:
        before, bracket, after = rest.partition("[")
        close = after.find("]", 2 if after[:1] in ("!", "^") else 1)
        loose.append(before)
        if not bracket:
            break
        loose.append("?" if close > 0 else "*")
        rest = after[close + 1 :] if close > 0 else ""
    return "".join(loose)


def meets(one: str, other: str) -> bool:
    """Whether two globs of `*` and `?` may match the same text; true where they are too long to be compared."""
    if _begin_apart(one, other) or _begin_apart(one[::-1], other[::-1]):
        return False
    if "*" in one and "*" in other and "?" not in one and "?" not in other:
        return True  # the longer beginning, all that stands between stars, the longer ending
    if len(one) * len(other) > MAX_MEETING:
        return True
    row = [other[:end].strip("*") == "" for end in range(len(other) + 1)]  # prefixes of `other` that match nothing
    for have in one:
        above, row = row, [row[0] and have == "*"]
        for index, mark in enumerate(other):
            if "*" in (have, mark):  # the star ends here, or takes the other's character
                row.append(above[index + 1] or row[index])
            else:
                row.append(above[index] and (have == mark or "?" in (have, mark)))
    return row[-1]


def _begin_apart(one: str, other: str) -> bool:
    """Whether two globs differ in a character before the first that is not itself: most do."""
    for have, mark in zip(one, other, strict=False):
        if have in "*?" or mark in "*?":
            return False
        if have != mark:
            return True
    return False
