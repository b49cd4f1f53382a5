"""What wrappers started, against the Execute effects that the interpretation reports.

Everything that ran is an Execute effect of that program whose arguments, where they are known, are the real ones;
or the
facts admit that they do not know (Opaque, or an Execute of unknown program or path). Admissions are counted, since
a reader that
admits everything would pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fuzz.oracles import Finding
from fuzz.trace import Run
from fuzz.wrapper_runs import Started
from fuzz.wrappers import NEEDED
from policyengine.effects import Cause, Effect, Execute, Opaque
from policyengine.shell.interpret import Situation, interpret
from policyengine.shell.programs import Programs

MARKER = re.compile(r"[medv]\d+")
_SITUATION = Situation(
    cwd="/w/0", home="/w", workspace=("/w",), env={"PATH": "/bin", "HOME": "/w", "LC_ALL": "C.UTF-8"}
)


class Judged(NamedTuple):
    """What the oracle has against one script; `admitted` are programs that ran and that only an admission covers."""

    findings: tuple[Finding, ...]
    admitted: tuple[str, ...]


def started_by(runs: tuple[Run, ...]) -> tuple[Started, ...]:
    """The markers that bash executed, in the terms of this oracle."""
    executed = {words for run in runs for words in run.executed if re.fullmatch(r"[mev]\d+", words[0])}
    return tuple(Started(words[0], words[1:]) for words in sorted(executed))


def judge(text: str, started: tuple[Started, ...], programs: Programs) -> Judged:
    """Compare one script's effects with what it started."""
    try:
        effects = interpret(text, _SITUATION, programs).effects
    except Exception as error:  # it may not raise
        return Judged((Finding("crash", f"{type(error).__name__}: {error}"[:200]),), ())
    admits = any(map(_admits, effects))
    unreported = [one for one in started if not any(_starts(effect, one) for effect in effects)]
    missed = () if admits else tuple(Finding("missed", " ".join((one.program, *one.arguments))) for one in unreported)
    return Judged((*missed, *_invented(effects)), tuple(one.program for one in unreported) if admits else ())


def _admits(effect: Effect) -> bool:
    """Whether an effect says that something is not known; that nobody described a marker program says nothing."""
    if isinstance(effect, Opaque):
        return effect.cause is not Cause.PROGRAM or effect.detail in NEEDED
    return isinstance(effect, Execute) and effect.unknown


def _starts(effect: Effect, started: Started) -> bool:
    return (
        isinstance(effect, Execute)
        and effect.program == started.program
        and _may_be(effect.arguments, started.arguments)
    )


_NUMBERED = re.compile(r"\$!|/dev/fd/[0-9]").search  # jobs and descriptors, whose numbers depend on the process


def _may_be(reported: tuple[str | None, ...], real: tuple[str, ...]) -> bool:
    """Whether real arguments can be the reported ones; one that is not known stands for any number."""
    reported = tuple(None if argument is not None and _NUMBERED(argument) else argument for argument in reported)
    if None not in reported:
        return reported == real
    possible = {0}
    for argument in reported:
        if argument is None:
            possible = set(range(min(possible), len(real) + 1))
        else:
            possible = {at + 1 for at in possible if at < len(real) and real[at] == argument}
        if not possible:
            return False
    return len(real) in possible


def _invented(effects: tuple[Effect, ...]) -> Iterator[Finding]:
    for effect in effects:
        if isinstance(effect, Execute) and re.fullmatch(r"d\d+", effect.program):
            yield Finding("invented", effect.program)
