"""Where a generator's decisions come from: a seed, Hypothesis, or a recording that is played back."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
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
    """Decisions of a pseudo-random generator, recorded in `taken`."""

    def __init__(self, seed: str | int) -> None:
        self._random = random.Random(seed).random
        self.taken: list[int] = []

    def below(self, count: int) -> int:
        """A number in `range(count)`."""
        self.taken.append(int(self._random() * count))
        return self.taken[-1]

    def pick(self, parent: str, ids: Sequence[str]) -> int:
        """Any of `ids`."""
        return self.below(len(ids))


class Planned(Seeded):
    """Decisions that nest the productions of `way`, one in the other, and are the smallest beside it.

    Args:
        way: productions from the outermost to the innermost; the first is "", which stands for the script.
        smallest: the productions that are chosen beside the way.
        passes: what can stand directly in a production that only passes on.
    """

    def __init__(
        self, seed: str, way: Sequence[str], smallest: frozenset[str], passes: Mapping[str, frozenset[str]]
    ) -> None:
        super().__init__(seed)
        self._way = way
        self._smallest = smallest
        self._passes = passes
        self._at = 0

    def below(self, count: int) -> int:
        """A number in `range(count)`; the first is the largest, which allows the longest script."""
        if self.taken:
            return super().below(count)
        self.taken.append(count - 1)
        return count - 1

    def pick(self, parent: str, ids: Sequence[str]) -> int:
        """The next of the way, or something that passes on to it."""
        leading = self._leading(ids) if self._way[self._at] == parent else []
        chosen = leading or [at for at, name in enumerate(ids) if name in self._smallest]
        at = chosen[int(self._random() * len(chosen))]
        self._at += bool(leading) and ids[at] not in self._passes
        self.taken.append(at)
        return at

    def _leading(self, ids: Sequence[str]) -> list[int]:
        aim = self._way[self._at + 1] if self._at + 1 < len(self._way) else None
        return [at for at, name in enumerate(ids) if name == aim or aim in self._passes.get(name, ())]


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
