"""What a person wrote, kept beside what the model is shown: only the server may say what that was.

Messages carry it under `ORIGINAL` in their extra fields. A caller could forge it, so what a caller sends is dropped
unless the caller is the host itself; a value that is no string is nobody's text and is replaced; the first string
stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Extra: TypeAlias = Mapping[str, Any]  # a message's extra fields, of the host's own shape

ORIGINAL = "original_user_content"


def received(extra: Extra, *, internal: bool) -> dict[str, Any]:
    """Give the extra fields of a message as it enters: a caller's claim stays only where the caller is internal."""
    kept = dict(extra)
    if internal is not True or not isinstance(kept.get(ORIGINAL, ""), str):
        kept.pop(ORIGINAL, None)
    return kept


def with_original(extra: Extra, text: str) -> dict[str, Any]:
    """Give the extra fields with `text` as the original, unless there is one that is a string."""
    kept = dict(extra)
    if not isinstance(kept.get(ORIGINAL), str):
        kept[ORIGINAL] = text
    return kept


BEGIN, END = "--- BEGIN USER INPUT ---", "--- END USER INPUT ---"


def wrapped(text: str, neutralise: Callable[[str], str]) -> str:
    """Neutralise a person's text and set it between the markers that tell it from the framework's.

    Doing it again changes nothing: text that stands between the markers already is taken out first.
    """
    head, tail = f"{BEGIN}\n", f"\n{END}"
    is_wrapped = text.startswith(head) and text.endswith(tail) and len(text) >= len(head) + len(tail)
    return head + neutralise(text[len(head) : -len(tail)] if is_wrapped else text) + tail
