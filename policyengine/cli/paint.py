"""Colour, where somebody sees it: only on a terminal that can, and never where NO_COLOR is set (no-color.org)."""

from __future__ import annotations

import os
from enum import Enum
from typing import TextIO

from policyengine.model import Outcome, Severity


class Style(Enum):
    """What a colour says, with its SGR parameters (ECMA-48 8.3.117)."""

    GOOD = "32"
    DOUBTFUL = "33"
    BAD = "31;1"
    STRONG = "1"
    FAINT = "2"
    MARK = "4"


OUTCOME_STYLES = {Outcome.ALLOW: Style.GOOD, Outcome.ASK: Style.DOUBTFUL, Outcome.DENY: Style.BAD}
SEVERITY_STYLES = {
    Severity.INFO: Style.FAINT,
    Severity.LOW: Style.FAINT,
    Severity.MEDIUM: Style.DOUBTFUL,
    Severity.HIGH: Style.BAD,
    Severity.CRITICAL: Style.BAD,
}


class Paint:
    """Puts styles around text, or leaves it as it is."""

    def __init__(self, stream: TextIO) -> None:
        self._colourful = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def __call__(self, text: str, style: Style) -> str:
        """`text` in a style."""
        return f"\x1b[{style.value}m{text}\x1b[0m" if self._colourful and text else text
