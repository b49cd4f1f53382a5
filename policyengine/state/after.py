"""How a decided call changes the run.

A decision comes before its call. What was denied did not happen; what is asked about happens or not, so that afterwards
both are reckoned with. At a bound the oldest goes, and what is lost makes later answers stricter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from policyengine.effects import (
    CLEAN,
    Contains,
    Effect,
    Facts,
    FileRead,
    FileWrite,
    Taint,
    Transfer,
    Where,
    WrittenFile,
)
from policyengine.model import Decision, Outcome
from policyengine.state.run import (
    MAX_COUNTERS,
    MAX_PROMOTIONS,
    MAX_READS,
    MAX_RESTRICTIONS,
    MAX_TEXT,
    MAX_TEXTS,
    MAX_WRITTEN,
    Label,
    RunState,
)

COUNTERS: Mapping[Outcome, str] = {Outcome.ALLOW: "allowed", Outcome.ASK: "asked", Outcome.DENY: "denied"}


def after(state: RunState, facts: Facts, decision: Decision) -> RunState:
    """Give the run as it is once a call has been decided."""
    moved = count(replace(state, version=state.version + 1), "calls", COUNTERS[decision.outcome])
    if decision.outcome is Outcome.DENY:
        return moved
    sure = decision.outcome is Outcome.ALLOW
    moved = replace(
        moved,
        labels=state.labels | _labels(facts.effects, decision),
        reads=_reads(state.reads, facts.effects),
        cwd=state.cwd if facts.cwd is None else facts.cwd if sure else "",
    )
    written = _written(facts)
    return remember(moved, written.values(), sure=sure) if written else moved


def count(state: RunState, *names: str) -> RunState:
    """Count something once more. Beyond `MAX_COUNTERS` names, new ones share the counter `other`."""
    counters = dict(state.counters)
    for name in names:
        key = name if name in counters or len(counters) < MAX_COUNTERS else "other"
        counters[key] = counters.get(key, 0) + 1
    return replace(state, counters=counters)


def promote(state: RunState, tools: Iterable[str]) -> RunState:
    """Remember promoted tools; beyond `MAX_PROMOTIONS` a tool is not promoted, and stays hidden."""
    new = sorted(set(tools) - state.promotions)[: MAX_PROMOTIONS - len(state.promotions)]
    return replace(state, promotions=state.promotions | set(new))


def restrict(state: RunState, source: str, tools: Iterable[str]) -> RunState:
    """Leave only these tools as far as `source` goes; beyond `MAX_RESTRICTIONS` sources, all share one intersection."""
    restrictions = dict(state.restrictions)
    if source in restrictions or len(restrictions) < MAX_RESTRICTIONS:
        restrictions[source] = frozenset(tools)
        return replace(state, restrictions=restrictions)
    left = frozenset(tools).intersection(*restrictions.values())
    return replace(state, restrictions={"several": left})


def _labels(effects: Iterable[Effect], decision: Decision) -> frozenset[Label]:
    """Labels that the call gives: those of the rules that matched, and of secrets seen in its data."""
    named = {Label(label) for finding in decision.findings for label in finding.labels}
    return frozenset(named | {Label.SECRETS} if any(map(_is_secret, effects)) else named)


def _is_secret(effect: Effect) -> bool:
    match effect:
        case FileWrite() | Transfer():
            return Taint.SECRET in effect.taint
        case Contains():
            return effect.category == "secret"
        case _:
            return False


def _reads(known: tuple[str, ...], effects: Iterable[Effect]) -> tuple[str, ...]:
    found = [effect.path for effect in effects if isinstance(effect, FileRead) and _is_one_file(effect)]
    return tuple(dict.fromkeys((*known, *found)))[-MAX_READS:] if found else known


def _written(facts: Facts) -> dict[str, WrittenFile]:
    """What is written where, also where only the effect says that something is."""
    written = {file.path: file for file in facts.written}
    for effect in facts.effects:
        if isinstance(effect, FileWrite) and _is_one_file(effect) and effect.path not in written:
            written[effect.path] = WrittenFile(effect.path, None, effect.taint)
    return written


def _is_one_file(effect: FileRead | FileWrite) -> bool:
    return effect.where is Where.HERE and not (effect.unknown or effect.glob)


def remember(state: RunState, files: Iterable[WrittenFile], *, sure: bool) -> RunState:
    """Remember written files; where that is not `sure`, each may hold its old text or the new one."""
    written, digests, forgotten = dict(state.written), dict(state.digests), state.forgotten
    for file in files:
        before = state.written_at(file.path)
        written.pop(file.path, None)  # the latest stands last
        digests.pop(file.path, None)
        written[file.path] = _merged(file, before, sure=sure)
        if file.text is not None and sure:
            digests[file.path] = hashlib.sha256(file.text.encode("utf-8", "surrogatepass")).hexdigest()
    while len(written) > MAX_WRITTEN:
        oldest = next(iter(written))
        forgotten = (forgotten or CLEAN) | written.pop(oldest).taint
        digests.pop(oldest, None)
    return replace(state, written=_within_texts(written), digests=digests, forgotten=forgotten)


def _merged(file: WrittenFile, before: WrittenFile | None, *, sure: bool) -> WrittenFile:
    text = file.text if file.text is not None and len(file.text) <= MAX_TEXT else None
    if sure:
        return WrittenFile(file.path, text, file.taint)
    same = before is not None and before.text == text
    return WrittenFile(file.path, text if same else None, file.taint | (before.taint if before else CLEAN))


def _within_texts(written: dict[str, WrittenFile]) -> dict[str, WrittenFile]:
    """Forget the texts, not the files, that were written longest ago, until `MAX_TEXTS` is kept."""
    total = sum(len(file.text or "") for file in written.values())
    for path, file in list(written.items()):
        if total <= MAX_TEXTS:
            break
        total -= len(file.text or "")
        written[path] = file._replace(text=None)
    return written
