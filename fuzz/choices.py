"""Where a generator's decisions come from: a seed, Hypothesis, or a recording that is played back."""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Sequence
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


class Seeded:
    """Decisions of a pseudo-random generator, recorded in `taken`. Pairs that are not in `seen` are preferred at
    times.
    """

    def __init__(self, seed: str | int, seen: Container[Pair] | None = None) -> None:
        self._random = random.Random(seed).random
        self._seen = seen
        self.taken: list[int] = []

    def below(self, count: int) -> int:
        """A number in `range(count)`."""
        number = int(self._random() * count)
        self.taken.append(number)
        return number

    def pick(self, parent: str, ids: Sequence[str]) -> int:
        """Any of `ids`, or one time in three one that was not yet nested in `parent`."""
        if self._seen is not None and self._random() < 1 / 3:
            fresh = [at for at, name in enumerate(ids) if (parent, name) not in self._seen]
            if fresh:
                self.taken.append(fresh[int(self._random() * len(fresh))])
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
