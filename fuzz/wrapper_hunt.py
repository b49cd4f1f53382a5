"""Rounds of wrapper scripts: every template outermost in turn, tails nested at random."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fuzz.choices import Seeded
from fuzz.effects_oracle import MARKER, judge
from fuzz.wrapper_runs import WrapperSandbox
from fuzz.wrappers import Wrapped, Wrapping, programs
from policyengine.config import source_files
from policyengine.config.compiler import read_documents
from policyengine.config.specs import compile_descriptions
from policyengine.errors import LoadError
from policyengine.shell.programs import Programs

MAX_SHOWN = 40


@dataclass
class WrapperTally:
    """What the wrapper rounds have done so far. `admitted` counts, by template, what only an admission covered."""

    scripts: int = 0
    started: int = 0
    findings: int = 0
    admitted: Counter[str] = field(default_factory=Counter)
    idle: Counter[str] = field(default_factory=Counter)
    shown: list[str] = field(default_factory=list)


def described() -> Programs | None:
    """The shipped descriptions of programs; None, said aloud, where they do not load.

    No rules are compiled: they are not under test here. A program that happens to be called like a marker (`d2`) is
    left out.
    """
    try:
        known = compile_descriptions(read_documents(source_files())["commands"])
        return Programs({name: one for name, one in known.items() if not MARKER.fullmatch(name)})
    except LoadError as error:
        print(f"skipped: effects, since the shipped rules do not load: {error}")
        return None


def run_wrappers(seed: int, rounds: int) -> WrapperTally:
    """Run every template `rounds` times. Programs that this machine lacks are named."""
    here, lacking = programs()
    for name in sorted(lacking):
        print(f"skipped: wrapper `{name}` is not installed")
    tally = WrapperTally()
    known = described()
    if known is None:
        return tally
    wrapping = Wrapping(here)
    with WrapperSandbox(here) as sandbox:
        for number in range(rounds):
            scripts = [wrapping.write(Seeded(f"{seed}:{number}:{at}"), at) for at in range(len(wrapping.names))]
            for script, started in zip(scripts, sandbox.run([one.text for one in scripts]), strict=True):
                tally.scripts += 1
                tally.started += len(started)
                tally.idle.update([script.templates[0]] if not started else [])
                judged = judge(script.text, started, known)
                tally.admitted.update([script.templates[0]] if judged.admitted else [])
                _note(tally, script, [f"{one.law}: {one.detail}" for one in judged.findings])
    return tally


def _note(tally: WrapperTally, script: Wrapped, said: list[str]) -> None:
    tally.findings += len(said)
    if said and len(tally.shown) < MAX_SHOWN:
        tally.shown.append(f"wrapper {'/'.join(script.templates)} {script.text!r}: {'; '.join(said)}")
