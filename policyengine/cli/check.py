"""`policyengine check`: one command, one answer, and the exit status says which."""

from __future__ import annotations

import argparse
import sys

from policyengine.cli.core import Judged, judge
from policyengine.cli.paint import Paint
from policyengine.cli.source import Source
from policyengine.cli.view import finding_rows, outcome_rows
from policyengine.cli.wire import decision_json, dumps


def run(options: argparse.Namespace) -> int:
    """Print the decision; the status is its outcome (0 allow, 1 ask, 2 deny)."""
    judged = judge(options)
    if options.json:
        print(dumps(decision_json(None, judged.decision, judged.micros)))
    else:
        print("\n".join(_rows(judged)))
    return int(judged.decision.outcome)


def _rows(judged: Judged) -> list[str]:
    paint, source = Paint(sys.stdout), Source(judged.text)
    rows = list(outcome_rows(judged.decision, source, paint))
    for finding in judged.decision.findings:
        rows += ["", *(f"  {row}" for row in finding_rows(finding, source, paint))]
    return rows
