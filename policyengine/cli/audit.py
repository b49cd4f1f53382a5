"""`policyengine audit`: whether a log is as it was written, an anchor to keep elsewhere, and what stands in it.

`verify` ends with 0 where the log is sound (what a crash cut short is reported), 1 where something could not be read or
checked, 2 where somebody changed it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

from policyengine.audit import AuditKey, AuditLog, Problem, Report, Standing, entries, verify
from policyengine.cli.paint import Paint, Style
from policyengine.cli.status import Status
from policyengine.cli.wire import Json, dumps
from policyengine.config.audit_keys import audit_keys_from_file, default_file
from policyengine.errors import AuditError, TokenError, UsageError
from policyengine.visible import visible

STYLES = {Standing.SOUND: Style.GOOD, Standing.UNREADABLE: Style.DOUBTFUL, Standing.TAMPERED: Style.BAD}
TOLD = {
    Standing.SOUND: "as it was written",
    Standing.UNREADABLE: "could not be read or checked in every part",
    Standing.TAMPERED: "somebody changed it",
}
WHAT_NOW = {
    Standing.SOUND: "",
    Standing.UNREADABLE: "Give the right keys (--audit-keys), or read it as the user who wrote it.",
    Standing.TAMPERED: "Keep a copy as it is, and look at who could write there.",
}


def run(options: argparse.Namespace) -> int:
    """Do what the second word says."""
    return _WHAT[options.what](options)


def _verify(options: argparse.Namespace) -> int:
    try:
        report = verify(options.path, read_keys(options), options.anchor)
    except AuditError as error:  # of the log itself, everything is in the report
        raise UsageError(error.message) from error
    if options.json:
        print(dumps(report_json(report)))
    else:
        print("\n".join(_rows(report)))
    return int(report.standing)


def _checkpoint(options: argparse.Namespace) -> int:
    keys = read_keys(options)
    report = verify(options.path, keys)
    if report.standing is not Standing.SOUND:
        sys.stderr.write(f"policyengine: no anchor is given for a log that is {report.standing.word}; see `verify`\n")
        return int(report.standing)
    log = AuditLog(options.path, keys)
    print(log.checkpoint())
    log.close()
    return Status.ALLOW


def _show(options: argparse.Namespace) -> int:
    for entry in entries(options.path, read_keys(options)):
        print(dumps({"at": entry.at, "segment": entry.segment, "seq": entry.seq, "record": entry.record}))
    return Status.ALLOW


_WHAT = {"verify": _verify, "checkpoint": _checkpoint, "show": _show}


def read_keys(options: argparse.Namespace) -> tuple[AuditKey, ...]:
    """Read the keys that `--audit-keys` names.

    Raises:
        UsageError: there are none that can be used.
    """
    try:
        return audit_keys_from_file(options.audit_keys or default_file())
    except (TokenError, AuditError) as error:
        raise UsageError(f"{error.message}; --audit-keys names the file of keys") from error


def report_json(report: Report) -> Json:
    """Give a report as the object that `--json` prints."""
    return {
        "path": report.path,
        "standing": report.standing.word,
        "records": report.records,
        "segments": [extent._asdict() for extent in report.segments],
        "problems": [problem._asdict() | {"standing": problem.standing.word} for problem in report.problems],
    }


def _rows(report: Report) -> Iterator[str]:
    paint = Paint(sys.stdout)
    standing = report.standing
    word = paint(standing.word, STYLES[standing])
    yield f"{word}  {paint(visible(report.path), Style.STRONG)}  {TOLD[standing]}"
    for extent in report.segments:
        times = f"{_time(extent.first)} to {_time(extent.last)}" if extent.first is not None else ""
        yield f"  {extent.records:>9} records  {visible(extent.name)}  {paint(times, Style.FAINT)}".rstrip()
    for problem in sorted(report.problems, key=lambda problem: -problem.standing):
        yield from _problem_rows(problem, paint)
    if WHAT_NOW[standing]:
        yield f"  {WHAT_NOW[standing]}"


def _problem_rows(problem: Problem, paint: Paint) -> Iterator[str]:
    place = problem.segment + (f":{problem.line}" if problem.line is not None else "")
    yield f"  {paint(problem.code, STYLES[problem.standing])}  {visible(place)}".rstrip()
    yield f"    {visible(problem.message)}"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
