"""Making a failing input small: shorter recordings of decisions for generated scripts, shorter texts for the rest.

Delta debugging (Zeller and Hildebrandt 2002) without complements: runs of halving length are removed, or replaced
by the
simplest item, as long as the input still fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Fails = Callable[[list[list[Item]]], list[bool]]
SECONDS = 6.0  # per finding; what is then left is small enough to read
CHUNK = 16  # candidates judged together, since one bash server can run them together


def shrink(items: Sequence[Item], fails: Fails[Item], simplest: Sequence[Item] = ()) -> list[Item]:
    """The shortest list found that still fails. Runs are replaced by `simplest` repeated, where it is not empty, or
    removed.
    """
    best = list(items)
    size = max(1, len(best) // 2)
    end = time.monotonic() + SECONDS
    at = 0
    while size and time.monotonic() < end:
        step = _first_failing(_changed(best, size, at, simplest), fails)
        if step is None:
            size, at = size // 2, 0
        else:
            at, best = step
    return best


def _changed(items: list[Item], size: int, first: int, simplest: Sequence[Item]) -> Iterator[tuple[int, list[Item]]]:
    """The candidates that differ from `items` in one run of `size`, from position `first` on."""
    for start in range(first, len(items), size):
        run = items[start : start + size]
        replacement = list(simplest) * len(run)
        if replacement != run:
            yield (start + len(replacement), items[:start] + replacement + items[start + size :])


def _first_failing(candidates: Iterator[tuple[int, list[Item]]], fails: Fails[Item]) -> tuple[int, list[Item]] | None:
    """The first candidate that still fails, with the position to go on from; None if none does."""
    while True:
        chunk = [candidate for _, candidate in zip(range(CHUNK), candidates, strict=False)]
        if not chunk:
            return None
        verdicts = fails([items for _, items in chunk])
        for candidate, failing in zip(chunk, verdicts, strict=True):
            if failing:
                return candidate


def shrink_choices(recording: Sequence[int], fails: Fails[int]) -> list[int]:
    """A recording of decisions with runs removed, then made simple, then removed again."""
    return shrink(shrink(shrink(recording, fails), fails, (0,)), fails)


def shrink_text(text: str, fails: Callable[[list[str]], list[bool]]) -> str:
    """A text shortened by lines and then by characters."""
    lines = shrink(text.splitlines(keepends=True), lambda many: fails(["".join(one) for one in many]))
    return "".join(shrink("".join(lines), lambda many: fails(["".join(one) for one in many])))
