"""Matching constant texts against shell patterns (bash manual 3.5.8.1), in time linear in the text.

A pattern is cut at its stars into segments; between stars the earliest place for each segment is as good as any, so no
choice is ever taken back (`(?>…)`). Extended patterns are not computed.
"""

from __future__ import annotations

import re
from functools import lru_cache

from policyengine.patterns import lazily

MAX_PATTERN = 200
MAX_SUBJECT = 512  # longer texts are not computed
MAX_STARRED = 256  # characters of a text in which a pattern with stars is searched and replaced

_EXTENDED = lazily(r"[?*+@!]\(|\[[:.=]")
_TOKEN = lazily(r"\*+|\?|\[[!^]?\]?[^\]]*\]|\\?.", re.DOTALL)


def computable(text: str, pattern: str) -> bool:
    """Whether matching the two is bounded and understood."""
    return len(text) <= MAX_SUBJECT and len(pattern) <= MAX_PATTERN and not _EXTENDED.search(pattern)


def matches(text: str, pattern: str) -> bool:
    """Whether the whole text matches."""
    return _compiled(pattern, "whole").match(text) is not None


def without_prefix(text: str, pattern: str, *, longest: bool) -> str:
    """`${x#pattern}` and `${x##pattern}`."""
    found = _compiled(pattern, "longest" if longest else "shortest").match(text)
    return text[found.end() :] if found else text


def without_suffix(text: str, pattern: str, *, longest: bool) -> str:
    """`${x%pattern}` and `${x%%pattern}`: the same on the reversed text."""
    found = _compiled(pattern, "reversed longest" if longest else "reversed shortest").match(text[::-1])
    return text[: len(text) - found.end()] if found else text


def replaced(text: str, pattern: str, by: str, *, every: bool, anchor: str) -> str | None:
    """`${x/pattern/by}` and its variants, or None where it is too long; `anchor` is `#`, `%` or empty."""
    if "*" in pattern and len(text) > MAX_STARRED:
        return None
    return _compiled(pattern, "replace" + anchor).sub(lambda _: by, text, count=0 if every else 1)


@lru_cache(maxsize=256)
def _compiled(pattern: str, how: str) -> re.Pattern[str]:
    segments = _segments(pattern)
    if how.startswith("reversed"):
        segments = [segment[::-1] for segment in segments[::-1]]
    texts = ["".join(segment) for segment in segments]
    if len(texts) == 1:
        body = texts[0]
    elif how.endswith("shortest"):
        body = texts[0] + "".join([f"(?>.*?{text})" for text in texts[1:]])
    else:
        body = texts[0] + "".join([f"(?>.*?{text})" for text in texts[1:-1]]) + ".*" + texts[-1]
    head = "^" if how == "replace#" else ""
    tail = r"\Z" if how in ("whole", "replace%") else ""
    return re.compile(head + body + tail, re.DOTALL)


def _segments(pattern: str) -> list[list[str]]:
    """The parts between stars, each a list of regular expressions for one character."""
    segments: list[list[str]] = [[]]
    for item in _TOKEN.findall(pattern):
        if item[0] == "*":
            segments.append([])
        elif item == "?":
            segments[-1].append(".")
        elif item[0] == "[" and len(item) > 2:
            segments[-1].append(_class(item))
        else:
            segments[-1].append(re.escape(item[-1]))
    return segments


def _class(item: str) -> str:
    inner = item[1:-1]
    negated = inner[:1] in ("!", "^")
    inner = inner[negated:].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    for character in "&~|":  # doubled they may come to mean something (Python library reference, re)
        inner = inner.replace(character, "\\" + character)
    inner = inner.replace("--", "-\\-")
    text = f"[{'^' if negated else ''}{inner}]"
    try:
        re.compile(text)
    except re.error:
        return re.escape(item)
    return text
