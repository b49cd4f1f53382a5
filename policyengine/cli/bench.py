"""`policyengine bench`: what a decision, or the reading of a command alone, costs here and now.

Every measurement is a whole fresh call: nothing is cached between two of them but the descriptions of programs, which a
process decodes once. Times are CPU times of the thread, so that other work on the machine does not count. The numbered
cases are hostile shapes of one, two and four times the length, so that a cost which grows faster than its input shows.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from policyengine.cli import audit_bench, exposure_bench, gate_bench, linear, opa, rbac_bench, sign_bench
from policyengine.cli.core import open_engine, shell_request
from policyengine.cli.everyday import EVERYDAY
from policyengine.cli.quantiles import median_and_p99
from policyengine.cli.wire import Json, dumps, loads, request_of
from policyengine.errors import ParseError, UsageError
from policyengine.model import Context, Request
from policyengine.records import NamedTuple
from policyengine.shell import parse
from policyengine.state import START

CASE_SECONDS = 2.5  # thirteen cases and a reference stay below a suite's 50 seconds
MAX_SAMPLES = 20_000
MAX_ROWS = 5_000  # of a file; more are thinned evenly
UNIT = 2_500  # characters of a hostile input of length one


class Cost(NamedTuple):
    """What one case costs: microseconds, and how many samples say so.

    `least_us` is the median over the requests of the least that each took: what other work on the machine, which slows
    every call, changes least.
    """

    p50_us: float
    p99_us: float
    n: int
    per_second: float
    least_us: float


def run(options: argparse.Namespace) -> int:
    """Measure one suite and print it."""
    if options.suite in _WHOLE:
        return _WHOLE[options.suite](options)
    requests = {"everyday": everyday(options.input)} | {
        name: [shell_request(text, Context())] for name, text in hostile()
    }
    work, references = _SUITES[options.suite](options)
    costs = {name: _cost(work, rows) for name, rows in requests.items()}
    others = {name: _cost(reference, requests["everyday"]) for name, reference in references.items()}
    if options.json:
        print(dumps({options.suite: _json(costs), "reference": _json(others)}))
    else:
        print("\n".join(_table(options.suite, costs, others)))
    return 0


def hostile() -> Iterator[tuple[str, str]]:
    """The numbered cases: name and text."""
    shapes: dict[str, Callable[[int], str]] = {
        "list": lambda size: "a; " * (size // 3),
        "nest": lambda size: "$(aaaa bbbbbb " * (size // 16) + " )" * (size // 16),
        "word": lambda size: "echo " + "w" * (size - 5),
        "quote": lambda size: "echo " + "\"a\"'b'\\c$'\\x64'" * (size // 15),
    }
    for name, shape in shapes.items():
        yield from ((f"{name}{times}", shape(UNIT * times)) for times in (1, 2, 4))


def everyday(file: str | None) -> list[Request]:
    """Give the everyday commands: those of a file, or our own.

    Raises:
        UsageError: the file has no rows, or one that is none.
    """
    if file is None:
        return [shell_request(text, Context()) for text in EVERYDAY]
    path = Path(file)
    rows = [
        _row(line, f"{path}:{number}") for number, line in enumerate(path.read_bytes().split(b"\n"), 1) if line.strip()
    ]
    if not rows:
        raise UsageError(f"`{path}` has no rows")
    return rows[:: -(-len(rows) // MAX_ROWS)]


def _row(line: bytes, place: str) -> Request:
    """A row with `text` (and perhaps `context`), or a `decide` request."""
    try:
        value = loads(line)
        if isinstance(value, dict) and isinstance(value.get("text"), str):
            known = {key: value[key] for key in ("context",) if key in value}
            value = {"id": "", "tool": "bash", "arguments": {"command": value["text"]}, **known}
        return request_of(value)
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from error


def _cost(work: Callable[[Request], object], requests: list[Request]) -> Cost:
    """Run over the requests again and again until time or samples are up; every request is one sample."""
    samples: list[int] = []
    cpu, clock = time.thread_time_ns, time.monotonic
    for request in requests:  # descriptions are decoded when they are first used
        work(request)
    end = clock() + CASE_SECONDS
    while clock() < end and len(samples) < MAX_SAMPLES:
        for request in requests:
            start = cpu()
            work(request)
            samples.append(cpu() - start)
            if clock() > end:
                break
    least = sorted(min(samples[at :: len(requests)]) for at in range(min(len(requests), len(samples))))
    samples.sort()
    p50, p99 = median_and_p99(samples)
    per_second = round(len(samples) * 1e9 / sum(samples), 1)
    return Cost(
        round(p50 / 1000, 1), round(p99 / 1000, 1), len(samples), per_second, round(least[len(least) // 2] / 1000, 1)
    )


Work = tuple[Callable[[Request], object], dict[str, Callable[[Request], object]]]


def _shell(options: argparse.Namespace) -> Work:
    """The whole decision; beside it, what reading the text takes of it."""
    engine = open_engine(options)
    return lambda request: engine.decide(request, START), {"parse": _parsed}


def _parse(_: argparse.Namespace) -> Work:
    """Reading alone (`python -m fuzz.speed` measures it beside other readers)."""
    return _parsed, {}


def _parsed(request: Request) -> object:
    try:
        return parse(_text(request))
    except ParseError:
        return None


def _text(request: Request) -> str:
    command = (request.arguments or {}).get("command")
    return command if isinstance(command, str) else ""


_WHOLE: dict[str, Callable[[argparse.Namespace], int]] = {
    "linear": linear.run,
    "opa": opa.run,
    "rbac": rbac_bench.run,
    "exposure": exposure_bench.run,
    "sign": sign_bench.run,
    "gate": gate_bench.run,
    "audit": audit_bench.run,
}
_SUITES: dict[str, Callable[[argparse.Namespace], Work]] = {"shell": _shell, "parse": _parse}


def _json(costs: dict[str, Cost]) -> Json:
    return {name: cost._asdict() for name, cost in costs.items()}


def _table(suite: str, costs: dict[str, Cost], others: dict[str, Cost]) -> Iterator[str]:
    python = ".".join(str(part) for part in sys.version_info[:3])
    yield f"{suite:22}{'median us':>12}{'p99 us':>12}{'least us':>12}{'per second':>12}{'n':>9}   python {python}"
    rows = costs | {f"reference {name}": cost for name, cost in others.items()}
    yield from (
        f"{name:22}{c.p50_us:>12.1f}{c.p99_us:>12.1f}{c.least_us:>12.1f}{c.per_second:>12.0f}{c.n:>9}"
        for name, c in rows.items()
    )
