"""The figures of a hunt, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from fuzz.effects_run.hunt import OVER, Result
from fuzz.effects_run.observed import Item
from policyengine.effects import Effect, kind_of

LEAST_REPORTED: Final = 0.99  # of what was observed
LEAST_EXPLAINED: Final = 0.90  # of what was reported
SLOW_SECONDS: Final = 1.0


class Figures(NamedTuple):
    """Counts over some results: what was observed (and reported, or noise), what was reported (and happened)."""

    examples: int = 0
    observed: int = 0
    reported: int = 0
    noise: int = 0
    effects: int = 0
    happened: int = 0
    explained: int = 0

    @property
    def recall(self) -> float:
        """The part of what was observed that is reported."""
        return self.reported / self.observed if self.observed else 1.0

    @property
    def precision(self) -> float:
        """The part of what is reported that was observed or is explained."""
        return (self.happened + self.explained) / self.effects if self.effects else 1.0


def figures(results: Iterable[Result]) -> Figures:
    """Add up."""
    rows = [result.compared for result in results if result.compared is not None]
    return Figures(
        len(rows),
        sum(len(row.reported) + len(row.missing) for row in rows),
        sum(len(row.reported) for row in rows),
        sum(len(row.noise) for row in rows),
        sum(len(row.observed) + len(row.explained) + len(row.unexplained) for row in rows),
        sum(len(row.observed) for row in rows),
        sum(len(row.explained) for row in rows),
    )


def holds(results: Sequence[Result]) -> bool:
    """Whether both thresholds hold; a hunt that observed nothing proves nothing."""
    found = figures(results)
    return bool(found.observed) and found.recall >= LEAST_REPORTED and found.precision >= LEAST_EXPLAINED


def table(results: Sequence[Result], verbose: bool = False) -> str:
    """Everything as text: a line for each program, then the lists, then the figures."""
    lines = [*_programs(results), *_skipped(results), *_lists(results)]
    if verbose:
        lines += [*_failed(results), *_slow(results), *_excused(results)]
    found, run = figures(results), {result.example.program for result in results if result.compared}
    lines += [
        f"programs {len(run)}, examples {found.examples}",
        f"observed {found.observed} (and {found.noise} inside of programs), reported {found.reported}: "
        f"{found.recall:.2%} (at least {LEAST_REPORTED:.0%})",
        f"definite effects {found.effects}, observed {found.happened}, explained {found.explained}: "
        f"{found.precision:.2%} (at least {LEAST_EXPLAINED:.0%})",
    ]
    return "\n".join(lines)


def _programs(results: Sequence[Result]) -> Iterable[str]:
    names = ("examples", "observed", "reported", "noise", "effects", "happened", "explained")
    yield _row("program", names)
    for name in dict.fromkeys(result.example.program for result in results if result.compared):
        yield _row(name, figures(result for result in results if result.example.program == name))


def _row(name: str, cells: Iterable[object]) -> str:
    return f"{name:<14}" + "".join(f"{cell:>10}" for cell in cells)


def _skipped(results: Sequence[Result]) -> Iterable[str]:
    skipped = [one for one in results if one.skipped and one.skipped != OVER]
    for program, why in dict.fromkeys((one.example.program, one.skipped) for one in skipped):
        yield f"skipped: {program}: {why}"
    left = sum(one.skipped == OVER for one in results)
    if left:
        yield f"skipped: {left} examples of {len(results)}: {OVER}"


def _lists(results: Sequence[Result]) -> Iterable[str]:
    for result in results:
        if result.compared is not None:
            for item in result.compared.missing:
                yield f"missing: {said(item)}  in  {result.example.run!r}"
            for effect in result.compared.unexplained:
                yield f"unexplained: {told(effect)}  in  {result.example.run!r}"


def _failed(results: Sequence[Result]) -> Iterable[str]:
    for result in results:
        if result.compared is not None and result.status != 0:
            yield f"ended with {result.status}: {result.example.run!r}: {result.trouble.strip()[-150:]}"


def _slow(results: Sequence[Result]) -> Iterable[str]:
    for result in results:
        if result.seconds > SLOW_SECONDS:
            yield f"took {result.seconds:.1f} s: {result.example.run!r}"


def _excused(results: Sequence[Result]) -> Iterable[str]:
    rows = [result.compared for result in results if result.compared is not None]
    counts = Counter(excuse for row in rows for _, excuse in (*row.noise, *row.explained))
    for excuse, count in counts.most_common():
        yield f"{count:6} x {excuse.kind} {excuse.program} {excuse.target}: {excuse.reason}"


def said(item: Item) -> str:
    """An item as a line."""
    return f"{item.kind} {item.target} by {item.program}"


def told(effect: Effect) -> str:
    """An effect as a line."""
    fields = effect._asdict()
    what = fields.get("path") or fields.get("program") or fields.get("host") or ""
    return f"{kind_of(effect)} {what} by {effect.origin}"


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """The same as one JSON object."""
    found = figures(results)
    compared = [(result.example, result.compared) for result in results if result.compared is not None]
    return {
        "programs": len({example.program for example, _ in compared}),
        **found._asdict(),
        "recall": found.recall,
        "precision": found.precision,
        "skipped": sorted({(one.example.program, one.skipped) for one in results if one.skipped}),
        "missing": [[example.run, *item] for example, row in compared for item in row.missing],
        "unexplained": [[example.run, told(effect)] for example, row in compared for effect in row.unexplained],
    }
