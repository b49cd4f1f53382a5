"""The ledger of hunts: `runs.jsonl`, a line for each, appended by `python -m fuzz --record FILE`.

`python -m fuzz.runs` prints their sum. `reader` is a digest of the reader's sources at the time, so that it shows which
runs the present reader has passed.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Final

from fuzz.hunt import Hunt

LEDGER: Final = Path(__file__).with_name("runs.jsonl")
_READER: Final = Path(__file__).parent.parent / "policyengine" / "shell"


def record(path: Path, hunt: Hunt, seconds: float) -> None:
    """Append one hunt's seed, numbers and time (wall clock, seconds)."""
    tally = hunt.tally
    line = {
        "seed": hunt.seed,
        "scripts": tally.scripts,
        "seconds": round(seconds),
        "executed": tally.executed,
        "pairs": len(tally.pairs),
        "excused": tally.excused,
        "findings": dict(tally.signatures),
        "reader": reader_digest(),
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def reader_digest() -> str:
    """A digest of the sources that read text, the interpreter of what was read left out."""
    digest = hashlib.sha256()
    for path in sorted([*_READER.glob("*.py"), *_READER.glob("nodes/*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def main() -> int:
    """Print the ledger and its sum."""
    runs = [json.loads(line) for line in LEDGER.read_text(encoding="utf-8").splitlines()]
    for run in runs:
        missed = sum(count for name, count in run["findings"].items() if name.startswith(("missed", "rejects")))
        print(
            f"seed {run['seed']}: {run['scripts']} scripts in {run['seconds']} s, {run['executed']} commands executed, "
            f"{missed} missed, {sum(run['findings'].values())} findings, reader {run['reader']}"
        )
    print(
        f"{len(runs)} runs: {sum(run['scripts'] for run in runs)} scripts in {sum(run['seconds'] for run in runs)} s, "
        f"{sum(run['executed'] for run in runs)} commands executed; reader now {reader_digest()}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
