"""What a word is once its quotes are removed, where no expansion takes part in it."""

from __future__ import annotations

import re

from policyengine.shell.nodes import DoubleQuoted, Escaped, Literal, SingleQuoted, Word

# Unquoted characters that may make a word something else than its text: pathname expansion, braces, a tilde.
_active = re.compile(r"[*?\[{~]").search
# bash manual 3.5.2: a tilde after `=` or `:` counts in words that look like an assignment.
_assignment = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=", re.ASCII).match
_tilde_in_value = re.compile(r"(?:^|[=:])~").search
# bash manual 3.5.1: a sequence of two integers or two letters with an optional increment.
_sequence = re.compile(r"(?:[-+]?\d+\.\.[-+]?\d+|[A-Za-z]\.\.[A-Za-z])(?:\.\.[-+]?\d+)?", re.ASCII).fullmatch
_QUOTED = "\0"  # stands for quoted text where only unquoted characters count


def static_text(word: Word) -> str | None:
    """The text of `word` after quote removal, or None where an expansion, glob, brace expansion or tilde takes part."""
    parts = word.parts
    if len(parts) == 1 and isinstance(parts[0], Literal):
        text = parts[0].text
        return None if _active(text) and is_active(text) else text
    texts = [_quoted_text(part) for part in parts]
    if None in texts:
        return None
    unquoted = "".join(part.text if isinstance(part, Literal) else _QUOTED for part in parts)
    return None if _active(unquoted) and is_active(unquoted) else "".join(text for text in texts if text is not None)


def _quoted_text(part: object) -> str | None:
    if isinstance(part, Literal | Escaped | SingleQuoted):
        return part.text
    if not isinstance(part, DoubleQuoted):
        return None
    texts = [inner.text for inner in part.parts if isinstance(inner, Literal | Escaped)]
    return "".join(texts) if len(texts) == len(part.parts) else None


def is_active(unquoted: str) -> bool:
    """Whether bash would expand this unquoted text of a word (globs, braces, tilde); quoted parts stand as NUL in
    it.
    """
    return has_glob(unquoted) or has_tilde(unquoted) or has_braces(unquoted)


def has_glob(unquoted: str) -> bool:
    """Whether pathname expansion applies: `*`, `?`, or a `[` with a `]` after it."""
    opened = unquoted.find("[")
    return "*" in unquoted or "?" in unquoted or (opened >= 0 and "]" in unquoted[opened:])


def has_tilde(unquoted: str) -> bool:
    """Whether a tilde is expanded: first in the word, or after `=` or `:` where the word looks like an assignment."""
    if unquoted.startswith("~"):
        return True
    head = _assignment(unquoted) if "~" in unquoted else None
    return head is not None and _tilde_in_value(unquoted[head.end() :]) is not None


def has_braces(unquoted: str) -> bool:
    """Whether some `{…}` holds a comma of its own or is a sequence like `1..3` (linear in the text)."""
    opened: list[list[int]] = []  # for each open brace: where it stands, and whether it saw a comma
    for at in re.finditer(r"[{},]", unquoted):
        mark = at[0]
        if mark == "{":
            opened.append([at.start(), 0])
        elif opened and mark == ",":
            opened[-1][1] = 1
        elif opened:
            start, comma = opened.pop()
            if comma or (at.start() - start < _LONGEST_SEQUENCE and _sequence(unquoted, start + 1, at.start())):
                return True
    return False


_LONGEST_SEQUENCE = 80  # three 64-bit integers with signs and dots; keeps nested braces linear
