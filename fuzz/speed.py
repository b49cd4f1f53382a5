"""`python -m fuzz.speed [FILE]`: how fast our reader is beside bashlex and tree-sitter-bash, on the same commands.

FILE has a command a line, or JSON objects with a `text` each (`.jsonl`); without one the benchmark's everyday commands
are read. Each time is the least CPU time of some calls, taken in turns, so that other work meets all readers alike; the
figures are about the commands that every reader reads. tree-sitter is a C library whose tree nobody has looked at yet;
bashlex and our reader are Python and give the tree.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from policyengine.cli.everyday import EVERYDAY
from policyengine.cli.quantiles import median_and_p99
from policyengine.errors import ParseError
from policyengine.shell import parse

ROUNDS = 5
OURS = "policyengine"
Reader = Callable[[str], bool]  # reads a text and says whether it could


@dataclass(frozen=True)
class Speed:
    """What one reader takes for each command that all readers read, in microseconds, and how many it reads of all."""

    read: int
    median: float
    p99: float
    total: float


def main(words: Sequence[str] | None = None) -> int:
    """Print the table."""
    options = _options(words)
    texts = commands(options.file) if options.file else EVERYDAY
    found = measured(readers(), texts)
    print("\n".join(table(found, len(texts))))
    return 0


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz.speed", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="commands, one a line, or JSON lines")
    return parser.parse_args(words)


def commands(file: Path) -> tuple[str, ...]:
    """The commands in a file, each once, in order."""
    lines = [line for line in file.read_text(encoding="utf-8", errors="surrogateescape").split("\n") if line.strip()]
    return tuple(dict.fromkeys(json.loads(line)["text"] if file.suffix == ".jsonl" else line for line in lines))


def readers() -> dict[str, Reader]:
    """Our reader, and those of the others that are installed."""
    found: dict[str, Reader] = {OURS: _ours}
    for name, module, make in (("bashlex", "bashlex", _bashlex), ("tree-sitter", "tree_sitter_bash", _tree_sitter)):
        try:
            importlib.import_module(module)
        except ImportError:
            print(f"skipped: `{name}` is not installed", file=sys.stderr)
        else:
            found[name] = make()
    return found


def _ours(text: str) -> bool:
    try:
        parse(text)
    except ParseError:
        return False
    return True


def _bashlex() -> Reader:
    bashlex = importlib.import_module("bashlex")

    def read(text: str) -> bool:
        try:
            bashlex.parse(text)
        except Exception:  # NotImplementedError, AttributeError, ParsingError and others
            return False
        return True

    return read


def _tree_sitter() -> Reader:
    tree_sitter, grammar = importlib.import_module("tree_sitter"), importlib.import_module("tree_sitter_bash")
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))

    def read(text: str) -> bool:
        return not parser.parse(text.encode("utf-8", "replace")).root_node.has_error

    return read


def measured(readers: Mapping[str, Reader], texts: Sequence[str]) -> dict[str, Speed]:
    """What each reader takes."""
    reads = {name: [reader(text) for text in texts] for name, reader in readers.items()}
    common = [text for text, *all_read in zip(texts, *reads.values(), strict=True) if all(all_read)]
    times: dict[str, list[float]] = {name: [] for name in readers}
    for text in common:
        rounds = [{name: _microseconds(reader, text) for name, reader in readers.items()} for _ in range(ROUNDS)]
        for name, own in times.items():
            own.append(min(taken[name] for taken in rounds))
    return {name: _speed(sum(reads[name]), sorted(own)) for name, own in times.items()}


def _microseconds(reader: Reader, text: str) -> float:
    start = time.thread_time_ns()
    reader(text)
    return (time.thread_time_ns() - start) / 1000


def _speed(read: int, times: list[float]) -> Speed:
    if not times:
        return Speed(read, 0.0, 0.0, 0.0)
    median, p99 = median_and_p99(times)
    return Speed(read, median, p99, sum(times))


def table(found: Mapping[str, Speed], count: int) -> list[str]:
    """One line a reader; the last column says how many times as long as ours it takes in all."""
    ours = found[OURS].total
    head = f"{'reader':14}{f'read of {count}':>16}{'median us':>12}{'p99 us':>12}{'total ms':>12}{'to ours':>10}"
    rows = [
        f"{name:14}{speed.read:>16}{speed.median:>12.1f}{speed.p99:>12.1f}{speed.total / 1000:>12.1f}"
        f"{speed.total / ours if ours else 0:>10.2f}"
        for name, speed in found.items()
    ]
    return [head, *rows]


if __name__ == "__main__":
    sys.exit(main())
