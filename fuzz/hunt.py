"""One round after another: generate and mutate, let bash run, read, compare; and make what is found small."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from fuzz.bash import Observation, Sandbox
from fuzz.choices import Pair, Replayed, Seeded
from fuzz.effects_oracle import judge, started_by
from fuzz.grammar import Sample, allowed_pairs, chain, generate, nest
from fuzz.minimise import shrink_choices, shrink_text
from fuzz.mutate import mutate, seeds
from fuzz.oddities import excused
from fuzz.oracles import Case, Finding, check
from fuzz.reading import Reader, Reading, read
from fuzz.splitting import check_split
from policyengine.shell.programs import Programs

GENERATED = 40  # scripts per round from the grammar
PLANNED = 140  # small scripts that nest a pair of productions that was not nested yet; once all were, longer chains
MUTATED = 70
CHAINS = (3, 4)  # lengths
SPLIT_EVERY = 6  # splitting is compared with parsing for one script in so many: it costs as much as all the rest
EFFECTS_EVERY = 8  # interpretation is asked for one generated script in so many
MAX_SAME = 2  # findings of one signature that are made small; the others are counted
MAX_KEPT = 30


class Trial(NamedTuple):
    """A script to try, and the decisions that made it."""

    case: Case
    taken: list[int]


@dataclass
class Found:
    """A finding made small."""

    case: Case
    finding: Finding
    seen: Observation
    reading: Reading


@dataclass
class Tally:
    """What a hunt has done so far."""

    scripts: int = 0
    executed: int = 0
    rejected: int = 0
    stalled: int = 0
    excused: int = 0
    pairs: Counter[Pair] = field(default_factory=Counter)
    signatures: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)


@dataclass
class Hunt:
    """One hunt: `reader` is under test, and with `programs` (descriptions of programs) the reported effects are too."""

    sandbox: Sandbox
    seed: int
    reader: Reader = read
    programs: Programs | None = None
    tally: Tally = field(default_factory=Tally)
    rounds: int = 0
    plans: Iterator[tuple[Sample, list[int]]] = field(init=False)

    def __post_init__(self) -> None:
        self.plans = self._planned()

    def round(self) -> None:
        """One batch: generated scripts, planned ones, and mutated ones."""
        trials = [self._nested(*_sampled(self._choices(at))) for at in range(GENERATED)]
        trials += [self._nested(*plan) for plan in islice(self.plans, PLANNED)]
        trials += [mutated(self._choices(GENERATED + at)) for at in range(MUTATED)]
        observations = self.sandbox.observe([trial.case.text for trial in trials], self.seed + self.rounds)
        for trial, seen in zip(trials, observations, strict=True):
            self._judge(trial, seen)
        self.rounds += 1

    def _choices(self, at: int) -> Seeded:
        return Seeded(f"{self.seed}:{self.rounds}:{at}")

    def _planned(self) -> Iterator[tuple[Sample, list[int]]]:
        """Scripts for every pair that was not nested yet, then for chains of productions without end."""
        pairs = sorted(allowed_pairs())
        random.Random(self.seed).shuffle(pairs)
        for pair in pairs:
            if pair not in self.tally.pairs and (plan := nest(pair)):
                yield plan
        choices = Seeded(f"{self.seed}:chains")
        while True:
            if plan := nest(chain(choices, CHAINS[choices.below(len(CHAINS))])):
                yield plan

    def _nested(self, sample: Sample, taken: list[int]) -> Trial:
        self.tally.pairs.update(sample.pairs)
        return Trial(_case(sample), taken)

    def _judge(self, trial: Trial, seen: Observation) -> None:
        case = trial.case
        self.tally.scripts += 1
        self.tally.executed += sum(len(run.executed) for run in seen.runs)
        self.tally.rejected += not (seen.valid_extglob if case.extglob else seen.valid)
        self.tally.stalled += seen.runs[1].status is None
        for finding in self._findings(case, seen, self.tally.scripts):
            if excused(case, finding):
                self.tally.excused += 1
                continue
            signature = _signature(finding, case)
            self.tally.signatures[signature] += 1
            if self.tally.signatures[signature] <= MAX_SAME and len(self.tally.found) < MAX_KEPT:
                self._minimise(trial, finding)

    def _findings(self, case: Case, seen: Observation, number: int) -> list[Finding]:
        """All that is wrong with the script of this number; what costs most is asked of some numbers only."""
        found = verdicts(self.reader, case, seen)
        if number % SPLIT_EVERY == 0:
            found += check_split(case.text, case.extglob)
        if number % EFFECTS_EVERY == 0 and self.programs and case.commands is not None and seen.valid:
            found += effects(case, seen, self.programs)
        return found

    def _minimise(self, trial: Trial, finding: Finding) -> None:
        seed = self.seed + self.rounds

        def fails(cases: Sequence[Case]) -> list[bool]:
            likely = [self._may_have(one, finding) for one in cases]
            texts = [one.text for one, may in zip(cases, likely, strict=True) if may]
            seen = iter(self.sandbox.observe(texts, seed))
            return [may and self._has(one, next(seen), finding) for one, may in zip(cases, likely, strict=True)]

        small = _smaller(trial, fails)
        seen = self.sandbox.observe([small.text], seed)[0]
        law = next((one for one in self._findings(small, seen, 0) if one.law == finding.law), finding)
        if all(one.case.text != small.text for one in self.tally.found):
            self.tally.found.append(Found(small, law, seen, self.reader(small.text, small.extglob)))

    def _may_have(self, case: Case, finding: Finding) -> bool:
        """What the reader alone can say, which spares bash most candidates."""
        if finding.law == "crash":
            return True
        return self.reader(case.text, case.extglob or "extglob on" in finding.detail).accepted != (
            finding.law == "rejects"
        )

    def _has(self, case: Case, seen: Observation, finding: Finding) -> bool:
        wanted = _signature(finding, case)
        same = [one for one in self._findings(case, seen, 0) if _signature(one, case) == wanted]
        return bool(same) and not all(excused(case, one) for one in same)


def findings(reader: Reader, case: Case, seen: Observation) -> list[Finding]:
    """Everything that the oracles have against a reader's view of one text, and against how it is split."""
    return verdicts(reader, case, seen) + check_split(case.text, case.extglob)


def effects(case: Case, seen: Observation, programs: Programs) -> list[Finding]:
    """What ran and is not among the effects of a script. There are no users in the sandbox, so no `~user` either."""
    if "~" in case.text:
        return []
    judged = judge(case.text, started_by(seen.runs), programs)
    return [Finding(f"effects {law}", detail) for law, detail in judged.findings]


def verdicts(reader: Reader, case: Case, seen: Observation) -> list[Finding]:
    """Everything that the oracles have against a reader's view of one text."""
    plain = reader(case.text, False)
    extended = reader(case.text, True) if _has_extglob(case.text) or case.extglob else plain
    return check(case, seen, plain, extended)


def generated(choices: Seeded) -> Trial:
    """A script of the grammar."""
    sample, taken = _sampled(choices)
    return Trial(_case(sample), taken)


def _sampled(choices: Seeded) -> tuple[Sample, list[int]]:
    return generate(choices), choices.taken


def mutated(choices: Seeded) -> Trial:
    """A mutated script: one in two from the grammar, the rest real-looking."""
    text = generate(choices).text if choices.below(2) else seeds()[choices.below(len(seeds()))]
    text = mutate(text, choices)
    return Trial(Case(text, "shopt -s extglob" in text, None), choices.taken)


def _smaller(trial: Trial, fails: Callable[[Sequence[Case]], list[bool]]) -> Case:
    case = trial.case
    if case.commands is None:
        text = shrink_text(case.text, lambda texts: fails([case._replace(text=one) for one in texts]))
        return case._replace(text=text)
    best = shrink_choices(trial.taken, lambda many: fails([_replayed(one) for one in many]))
    return _replayed(best)


def _replayed(recording: Sequence[int]) -> Case:
    return _case(generate(Replayed(recording)))


def _case(sample: Sample) -> Case:
    return Case(sample.text, sample.extglob, sample.commands)


def _has_extglob(text: str) -> bool:
    return re.search(r"[?*+@!]\\?\n?\(", text) is not None


def _signature(finding: Finding, case: Case) -> str:
    """Findings that are probably of one cause."""
    detail = finding.detail if finding.law in ("rejects", "crash", "split") else ""
    kind = "mutated" if case.commands is None else "generated"
    return f"{finding.law} {kind} {re.sub(r'[0-9]+|<.*?>|`.*?`|repr.*', '', detail)[:60]}"
