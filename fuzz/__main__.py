"""`python -m fuzz --minutes N [--seed S]`: corpus, canary, hunt, second opinions, wrappers; non-zero on any finding."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from pathlib import Path

from fuzz.bash import Sandbox, missing
from fuzz.canary import BROKEN, canary_cases, caught
from fuzz.choices import Seeded
from fuzz.corpus import keep, rows
from fuzz.grammar import allowed_pairs, generate
from fuzz.hunt import Found, Hunt, findings
from fuzz.opinions import Comparison, ask, opinions
from fuzz.reading import read
from fuzz.runs import record
from fuzz.wrapper_hunt import described, run_wrappers

WRAPPER_ROUNDS = 1
OPINION_SCRIPTS = 400
PROGRESS_SECONDS = 20.0


def main() -> int:
    """Run everything; 0 if nothing was found, 1 if something was, 2 if this machine cannot contain bash."""
    options = _options()
    why = missing()
    if why:
        print(f"skipped: {why}")
        return 2
    print(f"seed {options.seed}", flush=True)
    with Sandbox() as sandbox:
        faults = run_corpus(sandbox) + run_canary(sandbox)
        hunt = Hunt(sandbox, options.seed, programs=described())
        start = time.monotonic()
        _hunt(hunt, options)
        _report(hunt)
        if options.record:
            record(options.record, hunt, time.monotonic() - start)
        faults += run_opinions(options.seed)
    faults += sum(hunt.tally.signatures.values()) + _wrappers(options.seed)
    print(f"findings {faults}")
    return 1 if faults else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=4.0, help="how long to hunt")
    parser.add_argument("--scripts", type=int, default=10**9, help="end after so many scripts")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="decides every script")
    parser.add_argument("--record", type=Path, help="append seed, numbers and time of the hunt to this file")
    parser.add_argument("--keep", action="store_true", help="append what is found to the corpus")
    return parser.parse_args()


def run_corpus(sandbox: Sandbox) -> int:
    """Re-run every kept row; the number that still breaks a law without an explanation."""
    kept = rows()
    seen = sandbox.observe([row.case.text for row in kept], seed=1) if kept else []
    broken = [
        (row, finding)
        for row, observation in zip(kept, seen, strict=True)
        if not row.explained
        for finding in findings(read, row.case, observation)
    ]
    for row, finding in broken:
        print(f"corpus {row.id}: {finding.law}: {finding.detail}")
    print(f"corpus: {len(kept)} rows, {len({row.id for row, _ in broken})} broken", flush=True)
    return len(broken)


def run_canary(sandbox: Sandbox) -> int:
    """Let the oracles judge readers that are broken on purpose; the number that they let pass."""
    cases = canary_cases()
    counts = caught(cases, sandbox.observe([case.text for case in cases], seed=1))
    for name, count in counts.items():
        print(
            f"canary: a reader that {name} is {f'caught in {count}' if count else 'NOT CAUGHT in any'} of {len(cases)}"
        )
    return sum(not counts[name] for name in BROKEN)


def _hunt(hunt: Hunt, options: argparse.Namespace) -> None:
    allowed = len(allowed_pairs())
    start = shown = time.monotonic()
    while time.monotonic() - start < options.minutes * 60 and hunt.tally.scripts < options.scripts:
        before = len(hunt.tally.found)
        hunt.round()
        for found in hunt.tally.found[before:]:
            _show(found, keep(found.case, found.finding, found.seen, found.reading) if options.keep else "not kept")
        if time.monotonic() - shown > PROGRESS_SECONDS:
            shown = time.monotonic()
            tally = hunt.tally
            print(
                f"{shown - start:6.0f} s  {tally.scripts} scripts  {tally.executed} commands run  "
                f"{len(tally.pairs)} of {allowed} pairs  {sum(tally.signatures.values())} findings",
                flush=True,
            )


def _report(hunt: Hunt) -> None:
    tally = hunt.tally
    allowed = allowed_pairs()
    print(
        f"scripts {tally.scripts}, commands executed {tally.executed}, rejected by bash {tally.rejected}, "
        f"stalled {tally.stalled}, excused by oddities of bash {tally.excused}"
    )
    print(f"pairs of productions nested: {len(allowed & tally.pairs.keys())} of {len(allowed)}")
    for signature, count in tally.signatures.most_common():
        print(f"  {count:6} x {signature}")


def _wrappers(seed: int) -> int:
    """Run every wrapper template for real; the number of findings."""
    tally = run_wrappers(seed, WRAPPER_ROUNDS)
    print(
        f"wrappers: {tally.scripts} scripts started {tally.started} programs, {tally.findings} findings, "
        f"only admitted in {dict(tally.admitted)}; nothing started by {dict(tally.idle)}"
    )
    for line in tally.shown:
        print(f"  {line}")
    return tally.findings


def run_opinions(seed: int) -> int:
    """Compare with second opinions; the number of commands that only they see."""
    samples = [generate(Seeded(f"opinion:{seed}:{at}")) for at in range(OPINION_SCRIPTS)]
    faults = 0
    for name, opinion in opinions().items():
        comparison = Comparison()
        for sample in samples:
            theirs = ask(opinion, sample.text)
            reading = read(sample.text, sample.extglob)
            if theirs is not None and reading.accepted:
                ours = frozenset(str(one.words[0]) for one in reading.commands if one.words)
                comparison.add(sample.text, sample.commands, theirs, ours & sample.commands)
        print(
            f"second opinion {name}: reads {comparison.read} of {len(samples)}, agrees in {comparison.agreed}, "
            f"lacks commands in {comparison.fewer}, takes data for commands in {comparison.mistaken}, "
            f"sees more than we do in {len(comparison.more)}"
        )
        for text in comparison.more[:3]:
            print(f"  {text!r}")
        faults += len(comparison.more)
    return faults


def _show(found: Found, name: str) -> None:
    case = found.case
    known = case.commands
    print(f"\n{found.finding.law}: {found.finding.detail}  [{name}]")
    print(f"  text {case.text!r} extglob={case.extglob} commands={None if known is None else sorted(known)}")
    print(f"  bash valid={found.seen.valid} ran={sorted(' '.join(words) for words in found.seen.executed)[:8]!r}")
    said = found.reading.error or found.reading.crashed or [one.words for one in found.reading.commands][:8]
    print(f"  reader {said!r}"[:600], flush=True)


if __name__ == "__main__":
    sys.exit(main())
