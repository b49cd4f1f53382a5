"""Where a generator's decisions come from: a seed, Hypothesis, or a recording that is played back."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Protocol

Pair = tuple[str, str]


class Choices(Protocol):
    """A source of decisions."""

    def below(self, count: int) -> int:
        """A number in `range(count)`; 0 is the simplest."""
        ...

    def pick(self, parent: str, ids: Sequence[str]) -> int:
        """Which of the productions `ids` to nest in `parent`."""
        ...


class Wanted:
    """The pairs of productions that were not nested yet.

    Args:
        pairs: all that can be nested, as (parent, child).
        passes: what can stand directly in a production that only passes on.
    """

    def __init__(self, pairs: Iterable[Pair], passes: Mapping[str, Iterable[str]]) -> None:
        self._children: dict[str, set[str]] = {}
        for parent, child in pairs:
            self._children.setdefault(parent, set()).add(child)
        self._passes = passes

    def nested(self, pairs: Iterable[Pair]) -> None:
        """These need not be nested again."""
        for parent, child in pairs:
            self._children.get(parent, set()).discard(child)

    def weight(self, parent: str, name: str) -> int:
        """How much there is to gain from nesting the production `name` in `parent`; 0 for nothing."""
        if name in self._passes:
            return max((self.weight(parent, child) for child in self._passes[name]), default=0)
        fresh = name in self._children.get(parent, ())
        return fresh * _FRESH + min(len(self._children.get(name, ())), _MOST)


_FRESH = 30
_MOST = 20


class Seeded:
    """Decisions of a pseudo-random generator, recorded in `taken`; what is `wanted` is mostly preferred."""

    def __init__(self, seed: str | int, wanted: Wanted | None = None) -> None:
        self._random = random.Random(seed).random
        self._wanted = wanted
        self.taken: list[int] = []

    def below(self, count: int) -> int:
        """A number in `range(count)`."""
        number = int(self._random() * count)
        if self._wanted is not None and not self.taken:
            number = count - 1  # the first decision is the script's length: long ones nest most
        self.taken.append(number)
        return number

    def pick(self, parent: str, ids: Sequence[str]) -> int:
        """Any of `ids`; nine times in ten by how much there is to gain."""
        if self._wanted is not None and self._random() < 0.9:
            totals = list(accumulate(self._wanted.weight(parent, name) for name in ids))
            if totals[-1]:
                self.taken.append(bisect_right(totals, int(self._random() * totals[-1])))
                return self.taken[-1]
        return self.below(len(ids))


class Replayed:
    """Decisions played back from a recording; beyond its end every decision is 0."""

    def __init__(self, recording: Sequence[int]) -> None:
        self._recording = recording
        self.position = 0

    def below(self, count: int) -> int:
        """The next recorded number, folded into `range(count)`."""
        position = self.position
        self.position += 1
        return self._recording[position] % count if position < len(self._recording) else 0

    def pick(self, parent: str, ids: Sequence[str]) -> int:
        """The next recorded number."""
        return self.below(len(ids))


class Drawn:
    """Decisions drawn by a function such as Hypothesis' `draw(integers(0, n))`."""

    def __init__(self, draw: Callable[[int], int]) -> None:
        self._draw = draw

    def below(self, count: int) -> int:
        """A number in `range(count)`."""
        return self._draw(count - 1) if count > 1 else 0

    def pick(self, parent: str, ids: Sequence[str]) -> int:
        """Any of `ids`."""
        return self.below(len(ids))
