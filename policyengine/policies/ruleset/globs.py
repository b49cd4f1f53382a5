"""What globs of paths have beside `patterns.glob_test`: brackets, and whether two may name the same thing."""

from __future__ import annotations

GLOB_CHARACTERS = frozenset("*?[")
MAX_MEETING = 65536  # product of two globs' lengths up to which they are compared; beyond, they may meet


def is_glob(text: str) -> bool:
    """Whether a text holds glob characters."""
    return not GLOB_CHARACTERS.isdisjoint(text)


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
