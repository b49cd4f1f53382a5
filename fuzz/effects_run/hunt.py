"""Running examples, one after the other."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from fuzz.effects_run.compare import Comparison, compare, effects_of
from fuzz.effects_run.observed import observe
from fuzz.effects_run.root import Root
from fuzz.effects_run.tables import Example, explained, lacking, noise
from fuzz.wrapper_hunt import described

OVER: Final = "the time is over"


class Result(NamedTuple):
    """One example's outcome: compared, or why it was not run; `trouble` is the end of a failed run's words."""

    example: Example
    compared: Comparison | None
    skipped: str = ""
    status: int | None = 0
    trouble: str = ""
    seconds: float = 0.0


def in_turn(chosen: Sequence[Example]) -> list[Example]:
    """The same examples, first the first one of each program, then the second ones, and so on."""
    turns: Counter[str] = Counter()
    numbered = []
    for example in chosen:
        numbered.append((turns[example.program], example))
        turns[example.program] += 1
    return [example for _, example in sorted(numbered, key=lambda pair: pair[0])]


def run_examples(chosen: Sequence[Example], seconds: float = float("inf")) -> list[Result]:
    """Run and compare each example whose programs are installed; none begins after so many seconds."""
    programs = described()
    if programs is None:
        raise SystemExit("the shipped descriptions do not load")
    quiet, reasons = noise(), explained()
    results = []
    end = time.monotonic() + seconds
    with Root() as root:
        for example in chosen:
            if time.monotonic() > end:
                results.append(Result(example, None, OVER))
                continue
            lack = lacking(example)
            if lack:
                results.append(Result(example, None, f"`{lack}` is not installed"))
                continue
            start = time.monotonic()
            try:
                ran = root.run(example.run, example.files, example.setup, example.stdin)
            except OSError as error:
                results.append(Result(example, None, f"set-up failed: {error}"))
                continue
            found = compare(example.run, observe(ran), effects_of(example.run, programs), quiet, reasons)
            results.append(
                Result(example, found, "", ran.status, ran.said if ran.status else "", time.monotonic() - start)
            )
    return results
