"""`policyengine bench --suite linear`: how time and memory grow with the length of hostile text.

Times are CPU times of the process with the cyclic garbage collector on, as in any program that uses the package; each
is the least of some whole fresh calls. Doubling a text should about double its time: a shape whose time grows by more
than `MOST_A_DOUBLING` each time that the length doubles, above the noise, is said to be steep.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import inf, log2

from policyengine.cli.core import open_engine, shell_request
from policyengine.cli.shapes import SHAPES
from policyengine.cli.wire import Json, dumps
from policyengine.errors import UsageError
from policyengine.model import Context
from policyengine.records import NamedTuple
from policyengine.shell.reading import read
from policyengine.state import START

LENGTHS = (1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000)  # characters
LONGEST_DECIDED = 256_000  # MAX_BYTES of the analysis ends longer ones at once
LENGTH_OF_MEMORY = 64_000  # at which the memory of reading is looked at; longer ones take the same per character
MOST_A_DOUBLING = 2.4
NOISE_SECONDS = 0.002  # what takes less says nothing about growth
REPEATS = 3
ATTEMPTS = 3
ENOUGH_SECONDS = 0.5  # a call that takes so long is not repeated
TOO_LONG_SECONDS = 30.0  # a shape that takes so long is measured no further

Work = Callable[[str], object]


class Growth(NamedTuple):
    """What one shape costs.

    Attributes:
        shape: its name.
        work: `read` or `decide`.
        seconds: CPU seconds by the text's length, in ascending order.
        bytes_per_character: the most memory that reading held at once, by the length of the text; None for `decide`.
    """

    shape: str
    work: str
    seconds: dict[int, float]
    bytes_per_character: float | None = None

    def doublings(self) -> list[float]:
        """The factor for each doubling between one length and the next; times below the noise count as the noise."""
        rows = [(length, max(seconds, NOISE_SECONDS)) for length, seconds in self.seconds.items()]
        return [
            (later / before) ** (1 / log2(long / short))
            for (short, before), (long, later) in pairwise(rows)
            if long > short
        ]

    @property
    def is_steep(self) -> bool:
        """Whether some doubling of the text takes clearly more than twice the time."""
        return any(factor > MOST_A_DOUBLING for factor in self.doublings())


def run(options: argparse.Namespace) -> int:
    """Measure every shape, or those that were asked for, and print each as soon as it is known."""
    unknown = set(options.shape) - SHAPES.keys()
    if unknown:
        raise UsageError(f"there is no shape `{min(unknown)}`; there are {', '.join(SHAPES)}")
    lengths = tuple(length for length in LENGTHS if length <= options.longest)
    if not lengths:
        raise UsageError(f"the shortest texts have {LENGTHS[0]} characters")
    found, stream = [], sys.stderr if options.json else sys.stdout
    print(_head(lengths), file=stream, flush=True)
    for growth in measured(works(options), options.shape or list(SHAPES), lengths):
        found.append(growth)
        print(_line(growth, lengths), file=stream, flush=True)
    print(dumps({"linear": [_json(growth) for growth in found]}) if options.json else _summary(found))
    return 0


def works(options: argparse.Namespace) -> dict[str, Work]:
    """What is measured: the tolerant reading alone, and the whole decision."""
    engine, context = open_engine(options), Context()
    return {"read": read, "decide": lambda text: engine.decide(shell_request(text, context), START)}


def measured(works: dict[str, Work], shapes: list[str], lengths: tuple[int, ...]) -> Iterator[Growth]:
    """Each shape with each work, one after the other."""
    for work in works.values():
        work("a")  # descriptions are decoded when they are first used
    for shape in shapes:
        memory = _memory(works["read"], SHAPES[shape](min(LENGTH_OF_MEMORY, lengths[-1])))
        yield growth_of(shape, "read", works["read"], lengths)._replace(bytes_per_character=memory)
        decided = tuple(length for length in lengths if length <= LONGEST_DECIDED)
        yield growth_of(shape, "decide", works["decide"], decided)


def growth_of(shape: str, name: str, work: Work, lengths: tuple[int, ...]) -> Growth:
    """What `work` costs on one shape; what looks steep is measured again, as other work on the machine looks so too."""
    texts = [SHAPES[shape](length) for length in lengths]
    seconds: dict[int, float] = {}
    for _ in range(ATTEMPTS):
        for text in texts:
            seconds[len(text)] = min(_seconds(work, text), seconds.get(len(text), inf))
            if seconds[len(text)] > TOO_LONG_SECONDS:
                break
        growth = Growth(shape, name, seconds)
        if not growth.is_steep:
            break
    return growth


def _seconds(work: Work, text: str) -> float:
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < ENOUGH_SECONDS:
        gc.collect()  # so that nobody pays for what another call has left
        start = time.process_time()
        result = work(text)
        times.append(time.process_time() - start)
        del result
    return min(times)


def _memory(work: Work, text: str) -> float:
    """The most bytes that a call holds at once, for each character."""
    tracemalloc.start()
    work(text)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return round(most / len(text), 1)


def _head(lengths: tuple[int, ...]) -> str:
    columns = "".join(f"{length:>10,}" for length in lengths)
    return (
        f"{'shape':24}{'work':7}{columns}{'factor':>7}{'b/char':>7}   CPU ms by characters; steepest factor a doubling"
    )


def _line(growth: Growth, lengths: tuple[int, ...]) -> str:
    times = "".join(f"{seconds * 1000:>10.1f}" for seconds in growth.seconds.values()).ljust(10 * len(lengths))
    steepest = max(growth.doublings(), default=0.0)
    memory = "" if growth.bytes_per_character is None else f"{growth.bytes_per_character:.0f}"
    factor = f"{steepest:.2f}" if steepest > 1 else "-"
    return f"{growth.shape:24}{growth.work:7}{times}{factor:>7}{memory:>7}{'  steep' if growth.is_steep else ''}"


def _summary(found: list[Growth]) -> str:
    steep = [f"{growth.shape} ({growth.work})" for growth in found if growth.is_steep]
    return f"{len(steep)} of {len(found)} are steep{': ' if steep else ''}{', '.join(steep)}"


def _json(growth: Growth) -> Json:
    return {
        "shape": growth.shape,
        "work": growth.work,
        "seconds": {str(length): round(seconds, 6) for length, seconds in growth.seconds.items()},
        "doublings": [round(factor, 3) for factor in growth.doublings()],
        "bytes_per_character": growth.bytes_per_character,
        "steep": growth.is_steep,
    }
