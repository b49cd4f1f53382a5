"""Text made safe to show: whatever could move the cursor, reorder the line, hide or vanish is shown as its code point.

A person decides by what they see, so nothing is dropped or cut; only runs of blanks, which could push the tail out of
sight, are shown by their length. Sources: Unicode UAX 9 (bidirectional text), UTS 39 (invisible characters), ECMA-48.
"""

from __future__ import annotations

import unicodedata

MAX_BLANKS = 16  # longer runs of blanks are shown as their number
UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
UNSEEN_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")  # fillers that look like nothing
MAX_MARKS = 2  # combining marks on one character; more could climb over other lines


def visible(text: str) -> str:
    """`text` on one line, with every unseen character as `<U+XXXX>`."""
    return "".join(pieces(text))


def pieces(text: str) -> list[str]:
    """What is shown for each code point of `text`, in order; joined they are `visible(text)`."""
    if text.isascii() and text.isprintable() and " " * (MAX_BLANKS + 1) not in text:
        return list(text)
    shown: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        shown.append(_code(character) if marks > MAX_MARKS or is_unseen(character) else character)
    _count_blanks(text, shown)
    return shown


def is_unseen(character: str) -> bool:
    """Whether a character would be shown as nothing, as something else, or as a command to the terminal."""
    if character == " " or (character.isascii() and character.isprintable()):
        return False
    category = unicodedata.category(character)
    return category in UNSEEN_CATEGORIES or category == "Zs" or character in UNSEEN_LETTERS or _is_selector(character)


def _is_selector(character: str) -> bool:
    """Variation selectors carry hidden data (Unicode 23.4)."""
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _code(character: str) -> str:
    return f"<U+{ord(character):04X}>"


def _count_blanks(text: str, shown: list[str]) -> None:
    start = 0
    while start < len(text):
        end = start + 1
        if text[start] == " ":
            while end < len(text) and text[end] == " ":
                end += 1
            if end - start > MAX_BLANKS:
                shown[start:end] = [f"<{end - start} blanks>"] + [""] * (end - start - 1)
        start = end
