"""What is known of one argument of a command after expansion."""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.effects import CLEAN, HOLE, Span, Taints
from policyengine.records import NamedTuple


class Value(NamedTuple):
    """One argument, as far as it is known.

    Attributes:
        text: the whole text where `exact`, else the prefix that is known for certain (possibly empty).
        exact: nothing about the text is unknown.
        many: stands for any number of arguments, none included (unquoted expansion, `"$@"`).
        glob: `text` holds active glob characters and may stand for any number of matching names.
        taint: where the unknown or known text came from.
        span: `[start, end)` in the outermost analysed text.
        rest: what is written behind the first unknown piece, `HOLE` for each further one.
    """

    text: str
    exact: bool = True
    many: bool = False
    glob: bool = False
    taint: Taints = CLEAN
    span: Span | None = None
    rest: str = ""

    @property
    def template(self) -> str:
        """The text with a `HOLE` for each piece that is not known."""
        return self.text if self.exact else f"{self.text}{HOLE}{self.rest}"


def from_template(template: str, taint: Taints = CLEAN, span: Span | None = None) -> Value:
    """The value that a text with holes stands for."""
    known, hole, rest = template.partition(HOLE)
    return Value(known, not hole, taint=taint, span=span, rest=rest)


def tail_of(value: Value) -> str:
    """What certainly ends a path whose beginning is not known: what is written behind a slash after that."""
    if value.exact:
        return value.text if value.text[:1] != "/" else ""
    ending = value.rest.rpartition(HOLE)[2]
    return "" if "\n" in ending else ending.partition("/")[2]


UNKNOWN = Value("", exact=False)


def hull(words: Sequence[Value]) -> Span | None:
    """The stretch of text from which all of the words come; those of standard input stand before the command."""
    spans = [word.span for word in words if word.span is not None]
    return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else None
