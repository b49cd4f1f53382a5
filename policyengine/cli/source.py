"""A command's text as a person sees it: line and column of a span, and the whole text with its spans coloured."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from policyengine.cli.paint import OUTCOME_STYLES, Paint, Style
from policyengine.effects import Span
from policyengine.model import Finding, Outcome
from policyengine.visible import pieces, visible


class Source:
    """A text with its line starts. Lines end at line feeds only, as the shell's do; lines and columns count from 1."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(offset + 1 for offset, character in enumerate(text) if character == "\n")]

    def place(self, offset: int) -> str:
        """`line:column` of an offset."""
        line = bisect_right(self._starts, offset)
        return f"{line}:{offset - self._starts[line - 1] + 1}"

    def at(self, span: Span | None) -> str:
        """`line:column  text` of a span, whole; empty where there is none."""
        return "" if span is None else f"{self.place(span[0])}  {visible(self.text[span[0] : span[1]])}"

    def shown(self, findings: Iterable[Finding], paint: Paint) -> list[str]:
        """The text in full, one row a line, with the findings' spans in their colours."""
        outcomes = self._outcomes(findings)
        several = len(self._starts) > 1
        width = len(str(len(self._starts)))
        rows = []
        for number, start in enumerate(self._starts, 1):
            end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
            gutter = paint(f"{number:>{width}} ", Style.FAINT) if several else ""
            rows.append(gutter + _painted(self.text[start:end], outcomes[start:end], paint))
        return rows

    def _outcomes(self, findings: Iterable[Finding]) -> list[Outcome | None]:
        """For each character the strictest outcome of a finding about it."""
        marks: list[Outcome | None] = [None] * len(self.text)
        for outcome in Outcome:  # mild to strict, so that the strictest stays
            edges = [0] * (len(self.text) + 1)
            for finding in findings:
                if finding.span is not None and finding.outcome is outcome:
                    edges[finding.span[0]] += 1
                    edges[finding.span[1]] -= 1
            depth = 0
            for offset in range(len(self.text)):
                depth += edges[offset]
                marks[offset] = outcome if depth else marks[offset]
        return marks


def _painted(text: str, outcomes: list[Outcome | None], paint: Paint) -> str:
    """One line with runs of equal outcome in one colour each."""
    shown = pieces(text)
    parts: list[str] = []
    start = 0
    for end in range(1, len(shown) + 1):
        if end == len(shown) or outcomes[end] is not outcomes[start]:
            run, outcome = "".join(shown[start:end]), outcomes[start]
            parts.append(run if outcome is None else paint(run, OUTCOME_STYLES[outcome]))
            start = end
    return "".join(parts)
