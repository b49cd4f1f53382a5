"""Where the characters of an unescaped text stood in the text around it.

The inside of backticks and of `<<-` here-documents is read after characters were taken out of it. `Offsets` stands
where
the reader otherwise has an integer shift, so that `position + shift` gives a place in the outermost text either way.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TypeAlias, Union


class Offsets:
    """A shift that grows along the text: `position + offsets` is the place in the outermost text.

    Attributes:
        origin: the shift of the whole inner text, of which this may be a part.
    """

    __slots__ = ("_around", "_skip", "_starts", "_targets", "origin")

    def __init__(
        self, starts: list[int], targets: list[int], around: Shift, skip: int = 0, origin: Offsets | None = None
    ) -> None:
        """Piecewise shift.

        Args:
            starts: ascending positions where a piece of the inner text begins; the first is 0.
            targets: where each piece begins in the text around.
            around: shift of the text around.
            skip: offset of position 0 within the inner text.
            origin: None for a whole inner text.
        """
        self.origin: Offsets = self if origin is None else origin
        self._starts = starts
        self._targets = targets
        self._around = around
        self._skip = skip

    def __add__(self, more: int) -> Offsets:
        """The shift for a part of the inner text that begins at `more`."""
        return Offsets(self._starts, self._targets, self._around, self._skip + more, self.origin)

    def __radd__(self, position: int) -> int:
        shift: Shift = self
        while isinstance(shift, Offsets):
            position += shift._skip
            piece = bisect_right(shift._starts, position) - 1
            position += shift._targets[piece] - shift._starts[piece]
            shift = shift._around
        return position + shift


Shift: TypeAlias = Union[int, Offsets]  # noqa: UP007  the class names the alias in its own annotations
