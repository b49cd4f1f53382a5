"""Findings kept for good, re-run before anything else: `rows.jsonl`, one JSON object a line.

Fields: `id`; `text`; `extglob` (whether the text turns extended globs on itself); `commands` (the markers known to be
commands, null where the text is not the grammar's own); `law` and `detail` (what was broken when it was found);
`bash` (whether
`bash -n` accepts, and what ran); `reader` (what the reader said then). A row with `explained` is a place where bash
itself is
odd: the reader may differ there, for the reason given.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final, NamedTuple

from fuzz.bash import Observation
from fuzz.oracles import Case, Finding
from fuzz.reading import Reading

ROWS: Final = Path(__file__).parent / "rows.jsonl"


class Row(NamedTuple):
    """One kept text."""

    id: str
    case: Case
    explained: str


def rows() -> list[Row]:
    """All rows of the corpus."""
    return [_row(json.loads(line)) for line in ROWS.read_text(encoding="utf-8").splitlines() if line]


def _row(record: dict[str, object]) -> Row:
    known = record["commands"]
    commands = frozenset(map(str, known)) if isinstance(known, list) else None
    case = Case(str(record["text"]), bool(record["extglob"]), commands)
    return Row(str(record["id"]), case, str(record.get("explained", "")))


def keep(case: Case, finding: Finding, seen: Observation, reading: Reading) -> str:
    """Append a finding, unless its text is there already; its id."""
    name = f"{finding.law}-{hashlib.sha256(case.text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    if not any(row.id == name for row in rows()):
        record = {
            "id": name,
            "text": case.text,
            "extglob": case.extglob,
            "commands": None if case.commands is None else sorted(case.commands),
            "law": finding.law,
            "detail": finding.detail,
            "bash": {"valid": seen.valid, "ran": sorted(" ".join(words) for words in seen.executed)[:20]},
            "reader": reading.error
            or reading.crashed
            or [" ".join(map(str, one.words)) for one in reading.commands][:20],
        }
        with ROWS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return name
