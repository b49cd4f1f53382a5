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


OPEN: Final = (
    OpenFault(
        "xargs-runs-once-per-line",
        re.compile(r"\bxargs\b.*(-L|-n)", re.DOTALL),
        "printf 'a\\nb\\n' | xargs -L 1 m1\n",
        Started("m1", ("a",)),
    ),
    OpenFault(
        "quotes-in-operand-keep-it-whole",
        re.compile(r"\$\{[^{}]*[-+=?][^{}]*['\"\\]", re.DOTALL),
        "v1 ${u:-'a b'}\n",
        Started("v1", ("a b",)),
    ),
    OpenFault(
        "redirection-to-a-process",
        re.compile(r"[<>&]\s*[<>]\("),
        "2> >( m3 )\n",
        Started("m3", ()),
    ),
    OpenFault(
        "eval-of-partly-unknown-text",
        re.compile(r"\beval\b"),
        "eval e1 'd2' \"a $( m3 )\"\n",
        Started("e1", ("d2", "a")),
    ),
)


def is_open(text: str) -> bool:
    """Whether a difference between this script's effects and what it started may be one of these."""
    return any(fault.pattern.search(text) for fault in OPEN)
