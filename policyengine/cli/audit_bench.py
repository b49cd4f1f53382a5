"""`policyengine bench --suite audit`: what it costs to keep a record, in each mode of durability.

Each sample is one append of the record of a decision with three findings: against a process crash in CPU time of the
thread, since nothing is waited for, against a loss of power in wall-clock time, most of which is the disk's. The
reference `record` makes such a record of a decision whose digests are known, as after its token was signed; `write`
writes a line of the same length and does nothing else.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from policyengine.audit import AuditKey, AuditLog, Durability, decision_record
from policyengine.audit.lines import record_json
from policyengine.cli.quantiles import median_and_p99
from policyengine.cli.wire import dumps
from policyengine.model import (
    ANONYMOUS,
    Context,
    Decision,
    Finding,
    Frozen,
    Outcome,
    Request,
    Resource,
    ResourceKind,
    Severity,
    freeze_object,
)
from policyengine.records import NamedTuple

CASE_SECONDS = 3.0
MAX_SAMPLES = 50_000
LINE_EXTRA = 300  # characters that a line has beside its record


class Cost(NamedTuple):
    """What a case costs: microseconds, and how many samples say so; the least is what other work changes least."""

    p50_us: float
    p99_us: float
    n: int
    least_us: float


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    decision = _decision()
    record = decision_record(decision)
    with tempfile.TemporaryDirectory() as folder:
        costs = {mode.value: _appending(Path(folder, mode.value), mode, record) for mode in Durability}
        others = {"record": _cost(lambda: decision_record(decision)), "write": _writing(Path(folder, "w"), record)}
    if options.json:
        found = {"audit": costs, "reference": others}
        print(dumps({part: {name: cost._asdict() for name, cost in rows.items()} for part, rows in found.items()}))
    else:
        print("\n".join(_table(costs, others)))
    return 0


def _decision() -> Decision:
    findings = tuple(
        Finding(rule=f"team.rule-{number}", code="rule", message="m", outcome=Outcome.ASK, severity=Severity.LOW)
        for number in range(3)
    )
    request = Request(
        principal=ANONYMOUS, action="invoke", resource=Resource(ResourceKind.TOOL, "bash"),
        arguments=freeze_object({"command": "git push origin main"}),
        context=Context(scope_id="scope-0001", run_id="run-0001", step_id="step-7", call_id="call_0123456789"),
    )  # fmt: skip
    return Decision(outcome=Outcome.ASK, findings=findings, effects=(), request=request, policy_digest="0" * 64)


_CLOCKS = {Durability.PROCESS_CRASH: time.thread_time_ns, Durability.POWER_LOSS: time.perf_counter_ns}


def _appending(path: Path, mode: Durability, record: Mapping[str, Frozen]) -> Cost:
    log = AuditLog(path, [AuditKey("bench", secrets.token_bytes(32))], durability=mode)
    cost = _cost(lambda: log.append(record), _CLOCKS[mode])
    log.close()
    return cost


def _writing(path: Path, record: Mapping[str, Frozen]) -> Cost:
    line = b"x" * (len(record_json(record)) + LINE_EXTRA)
    with path.open("ab", buffering=0) as file:
        return _cost(lambda: file.write(line))


def _cost(work: Callable[[], object], clock: Callable[[], int] = time.thread_time_ns) -> Cost:
    samples: list[int] = []
    end = time.monotonic() + CASE_SECONDS
    while time.monotonic() < end and len(samples) < MAX_SAMPLES:
        start = clock()
        work()
        samples.append(clock() - start)
    samples.sort()
    p50, p99 = median_and_p99(samples)
    return Cost(round(p50 / 1000, 2), round(p99 / 1000, 2), len(samples), round(samples[0] / 1000, 2))


def _table(costs: dict[str, Cost], others: dict[str, Cost]) -> Iterator[str]:
    yield f"{'audit':22}{'median us':>12}{'p99 us':>12}{'n':>10}{'least us':>12}"
    rows = costs | {f"reference {name}": cost for name, cost in others.items()}
    yield from (
        f"{name:22}{cost.p50_us:>12.2f}{cost.p99_us:>12.2f}{cost.n:>10}{cost.least_us:>12.2f}"
        for name, cost in rows.items()
    )
