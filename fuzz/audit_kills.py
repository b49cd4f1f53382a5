"""`python -m fuzz.audit_kills`: writers of one audit log are killed at random points, and nothing may be lost.

In each run several processes append records of many sizes to one folder and note each one that was acknowledged; each
is ended with SIGKILL at a random moment, and half of them are followed by another that takes the segment over. Then
every noted record has to be in the log, every chain has to hold, and what was cut short has to be reported: as torn
before the next writer, as repaired after it.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from policyengine.audit import AuditKey, AuditLog, Report, Standing, entries, verify

KEYS = (AuditKey("kills", b"\x5a" * 32),)
ROOT = Path(__file__).parents[1]
SIZES = ((0.7, 200, 2_000), (0.26, 20_000, 300_000), (0.04, 1_000_000, 2_000_000))  # share, least, most characters
START_SECONDS = 60


@dataclass
class Figures:
    """What was seen in all runs. `wrong` says what must not be."""

    runs: int = 0
    kills: int = 0
    acknowledged: int = 0
    unacknowledged: int = 0  # records in the log of which nobody was told: legitimate
    torn: int = 0
    repaired: int = 0
    ahead: int = 0
    wrong: list[str] = field(default_factory=list)


def main(words: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where something was lost."""
    options = _options(words)
    if options.write:
        write(*options.write)
    start = time.monotonic()
    figures = Figures()
    for number in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:
            run(Path(folder), options.writers, random.Random(f"{options.seed} {number}"), figures)
    for name, value in vars(figures).items():
        print(f"{name:15} {value if name != 'wrong' else len(value)}")
    print(f"{'seconds':15} {time.monotonic() - start:.0f}")
    print("\n".join(figures.wrong))
    return bool(figures.wrong)


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz.audit_kills", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", nargs=3, metavar=("LOG", "NOTES", "SEED"), help=argparse.SUPPRESS)
    return parser.parse_args(words)


# ------------------------------------------------------------------------------------------------------ the writers
def write(log_path: str, notes_path: str, seed: str) -> None:
    """Append until somebody ends this process, and note what was acknowledged."""
    draw = random.Random(seed)
    log = AuditLog(log_path, KEYS)
    with Path(notes_path).open("ab", buffering=0) as notes:
        notes.write(b"ready\n")
        while True:
            [(_, least, most)] = draw.choices(SIZES, [share for share, _, _ in SIZES])
            receipt = log.append({"type": "kill", "pad": "x" * draw.randint(least, most)})
            notes.write(f"{receipt.segment} {receipt.seq}\n".encode())


class _Writer:
    """A process that writes, and what it noted."""

    def __init__(self, log: Path, notes: Path, seed: str) -> None:
        self.notes = notes
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.audit_kills", "--write", str(log), str(notes), seed],
            cwd=ROOT, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def await_start(self) -> None:
        """Wait until it writes."""
        until = time.monotonic() + START_SECONDS
        while not (self.notes.exists() and self.notes.stat().st_size):
            assert self._process.poll() is None, "a writer ended by itself"
            assert time.monotonic() < until, "a writer did not start"
            time.sleep(0.002)

    def kill(self) -> bool:
        """End it, and say whether that was we."""
        self._process.kill()
        return self._process.wait() == -signal.SIGKILL

    def noted(self) -> set[tuple[str, int]]:
        """What it was told is kept; the last line may be half a one."""
        lines = self.notes.read_bytes().split(b"\n")[1:-1]
        return {(segment, int(seq)) for segment, seq in (line.decode().split() for line in lines)}


# --------------------------------------------------------------------------------------------------------- one run
def run(folder: Path, writers: int, draw: random.Random, figures: Figures) -> None:
    """Let writers write, kill them, and look at what is left."""
    log = folder / "log"
    started = [_Writer(log, folder / f"notes{index}", str(draw.random())) for index in range(writers)]
    for writer in started:
        writer.await_start()
    for index, writer in enumerate(draw.sample(started, len(started))):
        time.sleep(draw.uniform(0, 0.05))
        if not writer.kill():
            figures.wrong.append("a writer ended by itself")
        figures.kills += 1
        if index % 2:
            continue
        later = _Writer(log, folder / f"later{index}", str(draw.random()))
        started.append(later)
        later.await_start()
    for writer in started[writers:]:
        time.sleep(draw.uniform(0, 0.05))
        writer.kill()
        figures.kills += 1
    figures.runs += 1
    _look(log, set().union(*(writer.noted() for writer in started)), figures)


def _look(log: Path, noted: set[tuple[str, int]], figures: Figures) -> None:
    before = verify(log, KEYS)
    found = {(entry.segment, entry.seq) for entry in entries(log, KEYS)}
    lost = noted - found
    if lost:
        figures.wrong.append(f"acknowledged and lost: {sorted(lost)[:5]}")
    _mend(log)
    after = verify(log, KEYS)
    torn, repaired = _count(before, "audit.torn"), _count(before, "audit.repaired")
    for report in (before, after):
        if report.standing is not Standing.SOUND:
            figures.wrong.append(f"{report.standing.word}: {report.problems[:5]}")
    if _count(after, "audit.torn") or _count(after, "audit.repaired") != torn + repaired:
        figures.wrong.append(f"{torn} torn and {repaired} repaired, then {after.problems[:5]}")
    figures.acknowledged += len(noted)
    figures.unacknowledged += len(found) - len(noted)
    figures.torn += torn
    figures.repaired += _count(after, "audit.repaired")
    figures.ahead += _count(before, "audit.ahead")


def _mend(log: Path) -> None:
    """Let new writers take every segment over, the manifest too."""
    segments = len(verify(log, KEYS).segments)
    logs = [AuditLog(log, KEYS) for _ in range(segments + 1)]
    for one in logs:
        one.append({"type": "end", "pid": os.getpid()})
        one.close()


def _count(report: Report, code: str) -> int:
    return Counter(problem.code for problem in report.problems)[code]


if __name__ == "__main__":
    sys.exit(main())
