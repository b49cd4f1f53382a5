"""Faults of the interpretation that are known and not mended yet: counted apart, so that a new one shows.

Each has an example that a test expects to fail; once it passes, the test fails until the entry is taken out here.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from fuzz.wrapper_runs import Started


class OpenFault(NamedTuple):
    """One fault: scripts that match `pattern` may show it, and `example` does, since it starts `started`."""

    id: str
    pattern: re.Pattern[str]
    example: str
    started: Started


OPEN: Final[tuple[OpenFault, ...]] = ()


def is_open(text: str) -> bool:
    """Whether a difference between this script's effects and what it started may be one of these."""
    return any(fault.pattern.search(text) for fault in OPEN)
