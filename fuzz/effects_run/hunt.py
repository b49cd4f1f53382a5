"""Running examples, one after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from fuzz.effects_run.compare import Comparison, compare, effects_of
from fuzz.effects_run.observed import observe
from fuzz.effects_run.root import Root
from fuzz.effects_run.tables import Example, explained, lacking, noise
from fuzz.wrapper_hunt import described


class Result(NamedTuple):
    """One example's outcome: compared, or why it was not run; `trouble` is the end of a failed run's words."""

    example: Example
    compared: Comparison | None
    skipped: str = ""
    status: int | None = 0
    trouble: str = ""
    seconds: float = 0.0


def run_examples(chosen: Sequence[Example]) -> list[Result]:
    """Run and compare each example whose programs are installed."""
    programs = described()
    if programs is None:
        raise SystemExit("the shipped descriptions do not load")
    quiet, reasons = noise(), explained()
    results = []
    with Root() as root:
        for example in chosen:
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
