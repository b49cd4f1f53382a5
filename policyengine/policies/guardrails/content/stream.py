"""Text that arrives in pieces: what may still become a secret or a tag is held back, and nothing else is.

Whatever is given out is final. The joined output is what one pass over the joined input makes of it. At most `MAX_HELD`
characters are held, and a long remainder is looked at again only once it has grown by a quarter, so the whole is
linear.
"""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.policies.guardrails.content.detectors import (
    CONTEXT,
    TOKEN,
    Detector,
    Place,
    Text,
    merged_cuts,
    places,
    replaced,
)
from policyengine.policies.guardrails.content.folding import folded

MAX_HELD = 16 * 1024
EASY = 64  # characters that are looked at again with every piece
_OPENERS = frozenset("<[&\\%-")
# What may stand between the opening of a tag and the end of its name, in folded text.
_BEGINNING = (
    _OPENERS
    | frozenset(" \t\r\n\0/|:_#;{}")
    | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
)
_END = 96  # characters that the end of a block can have


class Scanner:
    """Redacts and neutralises a stream by the detectors given.

    Attributes:
        seen: ids of the detectors that found something so far.
    """

    __slots__ = ("_before", "_budget", "_detectors", "_fresh", "_held", "_inside", "_swallowed", "seen")

    def __init__(self, detectors: Sequence[Detector]) -> None:
        self._detectors = tuple(detectors)
        self._before = ""  # the end of what was given out, as it was before
        self._held = ""
        self._fresh = 0  # characters of `_held` that were not looked at
        self._inside: Detector | None = None  # of what is being swallowed
        self._swallowed = ""  # its end so far
        self._budget = 0  # characters of a block that may still be swallowed
        self.seen: set[str] = set()

    def feed(self, piece: str) -> str:
        """Take a piece and give out what is certain."""
        if self._inside is not None:
            piece = self._swallow(piece)
        if not self._detectors:
            return piece
        self._held += piece
        self._fresh += len(piece)
        if not self._held or (len(self._held) > EASY and self._fresh * 4 < len(self._held)):
            return ""
        return self._given(final=False)

    def finish(self) -> str:
        """Give out what was held: nothing more will come."""
        return self._given(final=True) if self._held else ""

    def _given(self, *, final: bool) -> str:
        start, whole = len(self._before), self._before + self._held
        looked_at = Text(whole)
        found = [place for detector in self._detectors for place in places(looked_at, detector, start)]
        end = len(whole) if final else self._certain(whole, found, start)
        if end <= start:
            self._fresh = 0
            return ""
        taken = [place for place in found if place.start < end]
        ongoing = None if final else max((place for place in taken if place.is_open), default=None, key=_start)
        if ongoing is not None:
            end = len(whole)
            self._begin(ongoing, whole)
        self.seen.update(place.detector.id for place in taken)
        self._before, self._held, self._fresh = whole[max(end - CONTEXT, 0) : end], whole[end:], 0
        return replaced(whole, merged_cuts(taken), start, end)

    def _certain(self, whole: str, found: Sequence[Place], start: int) -> int:
        """Up to where nothing that may still grow begins."""
        end = min(_beginning(whole, detector) for detector in self._detectors)
        if len(whole) - end > MAX_HELD:
            end = len(whole) - MAX_HELD
        for place in sorted(found, key=_start, reverse=True):
            if place.first < end < place.end and not place.is_open:
                end = place.first if len(whole) - place.first <= MAX_HELD else place.end
        return max(end, start)

    # -------------------------------------------------------------------------------------------------------- swallow
    def _begin(self, place: Place, whole: str) -> None:
        self._inside, self._swallowed = place.detector, whole[max(place.start, len(whole) - _END) :]
        self._budget = place.detector.at_most - (len(whole) - place.start)

    def _swallow(self, piece: str) -> str:
        """What of a piece no longer belongs to the place that is being swallowed."""
        assert self._inside is not None
        end = self._token_end(piece) if self._inside.until is None else self._block_end(piece)
        self._before = (self._before + piece[:end])[-CONTEXT:]
        if end < len(piece):
            self._inside = None
        return piece[end:]

    def _token_end(self, piece: str) -> int:
        match = TOKEN.match(piece)
        return match.end() if match else 0

    def _block_end(self, piece: str) -> int:
        assert self._inside is not None
        tail = self._swallowed
        close = self._inside.until.search(tail + piece[: self._budget])
        if close is not None:
            self._inside, end = None, int(close.end()) - len(tail)
            return end
        end = min(self._budget, len(piece))
        self._budget -= end
        self._swallowed = (tail + piece[:end])[-_END:]
        if self._budget <= 0:
            self._inside = None
        return end


def _start(place: Place) -> int:
    return place.start


def _beginning(whole: str, detector: Detector) -> int:
    """Where something that a detector may still find could begin; the end where there is nothing."""
    window = whole[-detector.reach :]
    if detector.joins:
        held = _phrase(window, detector.longest)
    elif detector.folds:
        held = _tag(window, detector.longest)
    elif detector.spaces:
        held = len(window) - (window.rfind("\n") + 1)
    else:
        held = 0 if window[-1:].isspace() else len(window.rsplit(None, 1)[-1]) if window else 0
    return len(whole) - held


def _phrase(window: str, longest: int) -> int:
    """Length of what may be the beginning of a phrase at the end of a text's last line, without what is unseen."""
    view = folded(window).joined()
    return len(window) - view.original(max(len(view.text) - longest, view.text.rfind("\n") + 1))


def _tag(window: str, longest: int) -> int:
    """Length of what may be the beginning of a tag at the end of a text."""
    view = folded(window)
    text, first = view.text, None
    for at in range(len(text) - 1, max(len(text) - longest, 0) - 1, -1):
        if text[at] not in _BEGINNING:
            break
        if text[at] in _OPENERS:
            first = at
    return 0 if first is None else len(window) - view.original(first)
