"""`python -m fuzz.effects_run [--programs a,b] [--seconds N] [--json] [--verbose]`: run the examples, print the table.

With `--seconds` the first examples of all programs run before the second ones, and what is left when the time is over
is skipped and counted.

Exit status 0 if both thresholds hold, 1 if not, 2 (after a line that begins with `skipped: `) if this machine cannot
trace programs in namespaces of their own.
"""

from __future__ import annotations

import argparse
import json
import sys

from fuzz.effects_run.hunt import in_turn, run_examples
from fuzz.effects_run.report import as_json, holds, table
from fuzz.effects_run.root import missing
from fuzz.effects_run.tables import examples


def main() -> int:
    """Run, print, judge."""
    options = _options()
    why = missing()
    if why:
        print(f"skipped: {why}")
        return 2
    names = frozenset(filter(None, options.programs.split(",")))
    chosen = list(examples(names))
    results = run_examples(in_turn(chosen) if options.seconds else chosen, options.seconds or float("inf"))
    print(json.dumps(as_json(results)) if options.json else table(results, options.verbose))
    return 0 if holds(results) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz.effects_run", description=__doc__)
    parser.add_argument("--programs", default="", help="only these, separated by commas")
    parser.add_argument("--seconds", type=float, default=0.0, help="begin no example after so long; 0: run all")
    parser.add_argument("--json", action="store_true", help="the same as one JSON object")
    parser.add_argument("--verbose", action="store_true", help="what each table row excused, and failed runs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
