"""Detectors as compiled from `rules/guardrail`, and the places in a text that they find.

Every expression is RE2's and of bounded length, so that finding all places is linear in the text; what a text has to
hold for an expression to be tried at all (`hints`) is looked for first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

from policyengine.model import Severity
from policyengine.policies.guardrails.content.checks import CHECKS
from policyengine.policies.guardrails.content.folding import LONGEST_CODED, Folded, folded
from policyengine.records import NamedTuple

Plain: TypeAlias = Mapping[str, Any]  # a compiled detector out of a bundle; `config.detectors` has checked its shape

CONTEXT = 60  # characters before a place in which a word of the context has to stand
TOKEN = re.compile(r"[A-Za-z0-9_+/=.~-]*")  # what a token goes on with
_REDACTED = re.compile(r"(?:^|\[redacted:)[a-z0-9.:-]*\]")  # also one that the window cuts: its words are ours
_SURROGATE = re.compile("[\ud800-\udfff]")


class Source(StrEnum):
    """Where a text comes from."""

    ARGUMENT = "argument"  # of a tool's call
    INPUT = "input"  # of a person
    REMOTE = "remote"  # the result of a tool that brings content from elsewhere
    LOCAL = "local"  # the result of any other tool
    OUTPUT = "output"  # of the model


class Action(StrEnum):
    """What is done about a place."""

    IGNORE = "ignore"
    NOTE = "note"  # a finding, no more
    REDACT = "redact"
    NEUTRALISE = "neutralise"
    ASK = "ask"
    DENY = "deny"


class Detector(NamedTuple):
    """One detector.

    Attributes:
        id: dotted; its first part is the category.
        find: an RE2 expression. Of one that neutralises, the groups are what is replaced: the opening, the closing.
        hints: of which one has to be in the text, lower case; none: always tried.
        digits: how many digits have to be in the text.
        check: a name of `CHECKS`, or empty.
        context: words of which one has to stand shortly before, lower case; none: anywhere.
        grows: the place goes on as far as a token does.
        until: an expression for the end of a block that begins with what was found; empty for none.
        at_most: characters of a block, whether its end was found or not.
        folds: looks at folded text (`folding`).
        joins: looks at folded text out of which what shows nothing is taken.
        spaces: what is found may hold blanks.
        longest: characters that what is found (or the beginning of a block) can have.
        actions: where the text comes from → what is done.
    """

    id: str
    category: str
    message: str
    severity: Severity
    instead: str
    references: tuple[str, ...]
    find: Any  # a compiled expression of RE2, which has no types
    hints: tuple[str, ...]
    digits: int
    check: str
    context: tuple[str, ...]
    grows: bool
    until: Any
    at_most: int
    folds: bool
    joins: bool
    spaces: bool
    longest: int
    actions: Mapping[Source, Action]

    @property
    def reach(self) -> int:
        """Characters of the original that what is found can have."""
        return self.longest * LONGEST_CODED if self.folds else self.longest


class Place(NamedTuple):
    """Something found: `[start, end)`, and what stands there instead once it is redacted or neutralised.

    `first` is where what shows it begins: `password=` before the password.
    """

    first: int
    start: int
    end: int
    detector: Detector
    cuts: tuple[tuple[int, int, str], ...]
    is_open: bool = False  # it reaches the end of the text, and might go on


class Text:
    """A text that detectors look at; folded once, where one asks for that."""

    __slots__ = ("_folded", "_folded_lowered", "_joined", "_joined_lowered", "digits", "lowered", "text")

    def __init__(self, text: str) -> None:
        self.text = text if text.isascii() else _SURROGATE.sub("\ufffd", text)  # RE2 reads UTF-8
        self.lowered = self.text.lower()  # places may differ: for hints only
        self.digits = sum(map(self.text.count, "0123456789"))
        self._folded: Folded | None = None
        self._folded_lowered: str | None = None
        self._joined: Folded | None = None
        self._joined_lowered: str | None = None

    @property
    def folded(self) -> Folded:
        """The text as a reader takes it."""
        self._folded = self._folded or folded(self.text)
        return self._folded

    @property
    def folded_lowered(self) -> str:
        """The folded text in lower case, for hints."""
        if self._folded_lowered is None:
            self._folded_lowered = self.lowered if self.folded.text is self.text else self.folded.text.lower()
        return self._folded_lowered

    @property
    def joined(self) -> Folded:
        """The folded text without what shows nothing."""
        self._joined = self._joined or self.folded.joined()
        return self._joined

    @property
    def joined_lowered(self) -> str:
        """That in lower case, for hints."""
        if self._joined_lowered is None:
            same = self.joined.text is self.folded.text
            self._joined_lowered = self.folded_lowered if same else self.joined.text.lower()
        return self._joined_lowered


def places(text: Text, detector: Detector, start: int = 0) -> Iterator[Place]:
    """Find every place of one detector, from an offset on."""
    if text.digits < detector.digits:
        return
    if detector.hints:
        whole = text.joined_lowered if detector.joins else text.folded_lowered if detector.folds else text.lowered
        if not any(hint in whole for hint in detector.hints):
            return
    found = _folded_places(text, detector) if detector.folds else _plain_places(text, detector, start)
    for place in found:
        if place.start >= start:
            yield place


def _plain_places(text: Text, detector: Detector, start: int) -> Iterator[Place]:
    whole, last = text.text, start
    check = CHECKS.get(detector.check)
    for match in detector.find.finditer(whole, max(start - 1, 0)):  # some look at the character before
        begin, end = match.span(1) if detector.find.groups else match.span()
        if begin < last or (check is not None and not check(whole[begin:end])):
            continue
        if detector.context and not _in_context(whole, begin, detector.context):
            continue
        is_open = False
        if detector.until is not None:
            end, is_open = _end_of_block(whole, begin, end, detector)
        elif detector.grows:
            end = TOKEN.match(whole, end).end()  # type: ignore[union-attr]  # it matches everywhere
            is_open = end == len(whole)
        last = end
        yield Place(match.start(), begin, end, detector, ((begin, end, f"[redacted:{detector.id}]"),), is_open)


def _in_context(whole: str, begin: int, words: Sequence[str]) -> bool:
    before = _REDACTED.sub("", whole[max(begin - CONTEXT, 0) : begin]).lower()
    return any(word in before for word in words)


def _end_of_block(whole: str, begin: int, end: int, detector: Detector) -> tuple[int, bool]:
    limit = begin + detector.at_most
    close = detector.until.search(whole[end : min(limit, len(whole))])
    if close is not None:
        return end + int(close.end()), False
    return min(limit, len(whole)), limit > len(whole)


_NEUTRAL = ("(", ")", ")")


def _folded_places(text: Text, detector: Detector) -> Iterator[Place]:
    view = text.joined if detector.joins else text.folded
    for match in detector.find.finditer(view.text):
        begin, end = (view.original(place) for place in match.span())
        if not detector.find.groups:  # nothing of it can be told from what it says
            yield Place(begin, begin, end, detector, ((begin, end, f"[redacted:{detector.id}]"),))
            continue
        spans = [match.span(group + 1) for group in range(detector.find.groups)]
        cuts = tuple(
            (view.original(first), view.original(last), _NEUTRAL[index])
            for index, (first, last) in enumerate(spans)
            if last > first >= 0
        )
        yield Place(begin, begin, end, detector, cuts)


def merged_cuts(found: Iterable[Place]) -> list[tuple[int, int, str]]:
    """What is replaced by what, in order; where two overlap, the earlier and longer one swallows the other."""
    cuts: list[tuple[int, int, str]] = []
    for start, end, text in sorted(
        (cut for place in found for cut in place.cuts), key=lambda cut: (cut[0], -cut[1], cut[2])
    ):
        if cuts and start < cuts[-1][1]:
            first, last, kept = cuts[-1]
            cuts[-1] = (first, max(last, end), kept)
        else:
            cuts.append((start, end, text))
    return cuts


def replaced(text: str, cuts: Sequence[tuple[int, int, str]], start: int = 0, end: int | None = None) -> str:
    """The text from `start` to `end`, with the cuts that lie in it carried out."""
    pieces: list[str] = []
    last = start
    for first, behind, instead in cuts:
        pieces += (text[last:first], instead)
        last = behind
    return "".join([*pieces, text[last:end]])


# ------------------------------------------------------------------------------------------------------------- decoding
class Detectors:
    """All detectors, made ready when they are first asked for; RE2 is not loaded before that."""

    __slots__ = ("_made", "_source")

    def __init__(self, source: Mapping[str, Plain]) -> None:
        self._source = source
        self._made: dict[str, Detector] | None = None

    def by_id(self) -> Mapping[str, Detector]:
        """Give every detector by its id."""
        if self._made is None:
            self._made = {name: _detector(name, plain) for name, plain in self._source.items()}
        return self._made


def _detector(name: str, plain: Plain) -> Detector:
    import re2  # noqa: PLC0415  most processes look at no content

    options = re2.Options()
    options.max_mem = MAX_PATTERN_MEMORY
    until = plain["until"]
    return Detector(
        id=name,
        category=name.partition(".")[0],
        message=plain["message"],
        severity=Severity(plain["severity"]),
        instead=plain["instead"],
        references=tuple(plain["references"]),
        find=re2.compile(plain["find"], options),
        hints=tuple(plain["hints"]),
        digits=plain["digits"],
        check=plain["check"],
        context=tuple(plain["context"]),
        grows=plain["grows"],
        until=re2.compile(until, options) if until else None,
        at_most=plain["at_most"],
        folds=plain["folds"],
        joins=plain["joins"],
        spaces=plain["spaces"],
        longest=plain["longest"],
        actions={Source(source): Action(action) for source, action in plain["actions"].items()},
    )


MAX_PATTERN_MEMORY = 1 << 23  # bytes that RE2 may use for one expression
