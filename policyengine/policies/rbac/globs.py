"""Casbin's `globMatch` for patterns of literals, `*` and `?` in one segment, as wcmatch reads them.

Slashes at the end of a name do not count, neither wildcard matches a slash, and a dot at the beginning has to be
written. Matching goes from the left between the stars: at most the name's length for each star.
"""

from __future__ import annotations

from policyengine.records import NamedTuple

OTHER_SYNTAX = frozenset("/[]{}\\")  # patterns with these are left to pycasbin


class Glob(NamedTuple):
    """A glob: the literal text before its first wildcard and after its last, and what lies between."""

    head: str
    tail: str
    parts: tuple[str, ...]  # between head and tail, split at the stars; each of literals and `?`

    def matches(self, name: str) -> bool:
        """Whether a name (without slashes at its end) that begins with `head` and ends with `tail` fits."""
        if not self.head and name[:1] in ("", "."):
            return False
        inner = name[len(self.head) : len(name) - len(self.tail)]
        return "/" not in inner and len(name) >= len(self.head) + len(self.tail) and _fits(inner, self.parts)


def can_read(pattern: str) -> bool:
    """Whether a pattern is of the kind that is read here."""
    return OTHER_SYNTAX.isdisjoint(pattern) and pattern != "**"


def glob_of(pattern: str) -> Glob | None:
    """Take a pattern apart; None for one without wildcards."""
    wild = [at for at, character in enumerate(pattern) if character in "*?"]
    if not wild:
        return None
    head, inner, tail = pattern[: wild[0]], pattern[wild[0] : wild[-1] + 1], pattern[wild[-1] + 1 :]
    return Glob(head, tail, tuple(inner.split("*")))


def _fits(text: str, parts: tuple[str, ...]) -> bool:
    if len(parts) == 1:
        return len(text) == len(parts[0]) and _is_at(text, 0, parts[0])
    first, last = parts[0], parts[-1]
    at, end = len(first), len(text) - len(last)
    if end < at or not _is_at(text, 0, first) or not _is_at(text, end, last):
        return False
    for part in parts[1:-1]:
        found = next((start for start in range(at, end - len(part) + 1) if _is_at(text, start, part)), None)
        if found is None:
            return False
        at = found + len(part)
    return True


def _is_at(text: str, start: int, part: str) -> bool:
    if "?" not in part:
        return text.startswith(part, start)
    return all(want in ("?", have) for want, have in zip(part, text[start : start + len(part)], strict=True))
