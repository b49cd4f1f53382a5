"""Small logs to look at, and to spoil."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from policyengine.audit import AuditKey, AuditLog, Report, Standing, entries, verify
from policyengine.audit.log import MANIFEST

KEY = AuditKey("k1", b"\x11" * 32)
OTHER = AuditKey("k2", b"\x22" * 32)
KEYS = (KEY,)
Lines = list[bytes]


def written(folder: Path, segments: int = 2, records: int = 5) -> Path:
    """A folder of some segments, each with its opening record and some more."""
    logs = [AuditLog(folder, KEYS) for _ in range(segments)]
    for number in range(records):
        for index, log in enumerate(logs):
            log.append({"type": "test", "number": number, "log": index})
    for log in logs:
        log.close()
    return folder


def segments_of(folder: Path) -> list[Path]:
    """The files of a folder's segments."""
    return sorted(path for path in folder.glob("*.jsonl") if path.stem != MANIFEST)


def head_of(segment: Path) -> Path:
    """The file of a segment's head."""
    return segment.parent / "heads" / f"{segment.stem}.head"


def change(file: Path, by: Callable[[Lines], Iterable[bytes]]) -> None:
    """Change the lines of a file."""
    file.write_bytes(b"".join(by(file.read_bytes().splitlines(keepends=True))))


def codes(report: Report) -> list[str]:
    """The codes that a report has, each once."""
    return sorted({problem.code for problem in report.problems})


def found(path: Path, *anchors: str) -> tuple[Standing, list[str]]:
    """What `verify` says."""
    report = verify(path, KEYS, anchors)
    return report.standing, codes(report)


def numbers(path: Path) -> list[int]:
    """The `number` of each record of a log, in order."""
    return [entry.record["number"] for entry in entries(path, KEYS) if "number" in entry.record]
