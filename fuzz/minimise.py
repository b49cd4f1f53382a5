"""Making a failing input small: shorter recordings of decisions for generated scripts, shorter texts for the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Fails = Callable[[list[list[Item]]], list[bool]]
MAX_ROUNDS = 400  # batches of candidates tried; what is then left is small enough to read


def shrink(items: Sequence[Item], fails: Fails[Item]) -> list[Item]:
    """The shortest list found by removing runs of items, such that it still fails.

    `fails` judges many candidates at once, since one bash server can run them together. Runs of halving length are
    tried (Zeller's delta debugging, without the complements).
    """
    best = list(items)
    size = max(1, len(best) // 2)
    for _ in range(MAX_ROUNDS):
        smaller = _removed(best, size, fails)
        if smaller is not None:
            best = smaller
            size = min(size, max(1, len(best) // 2))
        elif size == 1:
            break
        else:
            size //= 2
    return best


def _removed(items: list[Item], size: int, fails: Fails[Item]) -> list[Item] | None:
    """`items` without as many runs of `size` as can go one by one, or None if none can."""
    candidates = [items[:start] + items[start + size :] for start in range(0, len(items), size)]
    verdicts = fails(candidates) if candidates else []
    return next((candidate for candidate, failing in zip(candidates, verdicts, strict=True) if failing), None)


def shrink_choices(recording: Sequence[int], fails: Fails[int]) -> list[int]:
    """A recording of decisions with runs removed and then, one by one, the simplest decision taken."""
    best = shrink(recording, fails)
    for _ in range(MAX_ROUNDS):
        simpler = [best[:at] + [0] + best[at + 1 :] for at, decision in enumerate(best) if decision]
        verdicts = fails(simpler) if simpler else []
        chosen = next((one for one, failing in zip(simpler, verdicts, strict=True) if failing), None)
        if chosen is None:
            break
        best = shrink(chosen, fails)
    return best


def shrink_text(text: str, fails: Callable[[list[str]], list[bool]]) -> str:
    """A text shortened by lines and then by characters."""
    lines = shrink(text.splitlines(keepends=True), lambda many: fails(["".join(one) for one in many]))
    return "".join(shrink("".join(lines), lambda many: fails(["".join(one) for one in many])))
