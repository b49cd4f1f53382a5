"""Globs of `*` and `?` over words: does a text match, may two globs name the same text. Bounded, no regexes."""

from __future__ import annotations

MAX_MEETING = 65_536  # product of two globs' lengths up to which they are compared; beyond, they may meet


def fits(pattern: str, text: str, one: str = "") -> bool:
    """Whether a whole text is what a glob says: `*` is any text, the character `one` any character."""
    at = mark = 0
    star, held = -1, 0
    while at < len(text):
        if mark < len(pattern) and pattern[mark] == "*":
            star, held = mark, at
            mark += 1
        elif mark < len(pattern) and pattern[mark] in (one, text[at]):
            mark += 1
            at += 1
        elif star >= 0:
            held += 1
            mark, at = star + 1, held
        else:
            return False
    return pattern[mark:].strip("*") == ""


def meets(one: str, other: str) -> bool:
    """Whether two globs may name the same text; true where they are too long to be compared."""
    if len(one) * len(other) > MAX_MEETING:
        return True
    row = [other[:end].strip("*") == "" for end in range(len(other) + 1)]
    for have in one:
        above, row = row, [row[0] and have == "*"]
        for index, mark in enumerate(other):
            if "*" in (have, mark):
                row.append(above[index + 1] or row[index])
            else:
                row.append(above[index] and (have == mark or "?" in (have, mark)))
    return row[-1]
