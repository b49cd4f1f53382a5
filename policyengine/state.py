"""What a run has done so far, as one frozen value that goes into a decision and comes out of it.

The host keeps it (in memory, or in a store with compare-and-swap on `version`); the engine keeps nothing. Every part is
bounded, and what is dropped at a bound makes later answers stricter, never milder: a forgotten file is one of unknown
text and of every forgotten taint, a forgotten read or promotion has to be earned again, restrictions merge to their
intersection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from policyengine.effects import (
    CLEAN,
    Contains,
    Effect,
    Facts,
    FileRead,
    FileWrite,
    Taint,
    Taints,
    Transfer,
    Where,
    WrittenFile,
)
from policyengine.model import Decision, Outcome

MAX_WRITTEN = 1024  # paths whose provenance is kept
MAX_TEXT = 64 * 1024  # characters of one file's text
MAX_TEXTS = 512 * 1024  # characters of all texts together
MAX_SHELL = 256  # variables, and functions, of a persistent shell
MAX_READS = 1024
MAX_PROMOTIONS = 1024
MAX_COUNTERS = 256
MAX_RESTRICTIONS = 64


class Label(StrEnum):
    """What a run carries with it from the moment it happened. Labels are never taken away."""

    UNTRUSTED = "untrusted"  # it has read content that strangers may have written
    SECRETS = "secrets"  # it has read secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """The run so far.

    Attributes:
        version: number of calls that have been decided; a store compares it before it writes.
        written: path → what this run knows of a file that it wrote or fetched; the oldest come first.
        digests: path → SHA-256, hex, of the text that was written there, also where that was too long to keep.
        forgotten: taints of the files that were dropped at `MAX_WRITTEN`; None while none was.
        cwd: working directory of a persistent shell, None where it is the context's, empty where it is not known.
        exports: exported variables of a persistent shell.
        functions: its functions, name → source text.
        labels: `Label` values and those that rules name.
        counters: name → how often (`calls`, `asks`, `denials`, and what policies count).
        reads: paths that this run has read, the oldest first.
        promotions: deferred tools that were promoted.
        restrictions: source (a skill, an operator) → the only tools that it leaves; all hold at once.
    """

    version: int = 0
    written: Mapping[str, WrittenFile] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    forgotten: Taints | None = None
    cwd: str | None = None
    exports: Mapping[str, str] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    counters: Mapping[str, int] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    promotions: frozenset[str] = frozenset()
    restrictions: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def written_at(self, path: str) -> WrittenFile | None:
        """Give what is known of a file that this run wrote; once some were forgotten, any other may be one of them."""
        known = self.written.get(path)
        if known is None and self.forgotten is not None:
            return WrittenFile(path, None, self.forgotten)
        return known


START = RunState()


def after(state: RunState, facts: Facts, decision: Decision) -> RunState:
    """The run once a call has been decided. What was denied did not happen; what is asked about may happen or not."""
    counted = _counted(state.counters, ("calls", _COUNTERS[decision.outcome]))
    moved = replace(state, version=state.version + 1, counters=counted)
    if decision.outcome is Outcome.DENY:
        return moved
    moved = replace(
        moved, labels=state.labels | _labels(facts.effects, decision), reads=_reads(state.reads, facts.effects)
    )
    if facts.cwd is not None:
        moved = replace(moved, cwd=facts.cwd if decision.outcome is Outcome.ALLOW else "")
    written = {file.path: file for file in facts.written}
    for effect in facts.effects:
        if isinstance(effect, FileWrite) and effect.where is Where.HERE and not (effect.unknown or effect.glob):
            written.setdefault(effect.path, WrittenFile(effect.path, None, effect.taint))
    return remember(moved, written.values(), sure=decision.outcome is Outcome.ALLOW) if written else moved


_COUNTERS: Mapping[Outcome, str] = {Outcome.ALLOW: "allowed", Outcome.ASK: "asked", Outcome.DENY: "denied"}


def _counted(counters: Mapping[str, int], names: Iterable[str]) -> Mapping[str, int]:
    counted = dict(counters)
    for name in names:
        counted[name] = counted.get(name, 0) + 1
    return counted


def _labels(effects: Iterable[Effect], decision: Decision) -> frozenset[str]:
    """Labels that the call gives: those of the rules that matched, and of secrets seen in its data."""
    labels = frozenset[str]().union(*(finding.labels for finding in decision.findings))
    secret = any(
        (isinstance(effect, FileWrite | Transfer) and Taint.SECRET in effect.taint)
        or (isinstance(effect, Contains) and effect.category == "secret")
        for effect in effects
    )
    return labels | {Label.SECRETS} if secret else labels


def _reads(known: tuple[str, ...], effects: Iterable[Effect]) -> tuple[str, ...]:
    found = [
        effect.path
        for effect in effects
        if isinstance(effect, FileRead) and effect.where is Where.HERE and not (effect.unknown or effect.glob)
    ]
    if not found:
        return known
    return tuple(dict.fromkeys((*known, *found)))[-MAX_READS:]


def remember(state: RunState, files: Iterable[WrittenFile], *, sure: bool) -> RunState:
    """The state after files were written; where that is not `sure`, each may hold its old text or the new one."""
    written, digests, forgotten = dict(state.written), dict(state.digests), state.forgotten
    for file in files:
        before = written.pop(file.path, None)
        digests.pop(file.path, None)
        written[file.path] = bounded = _merged(file, before, state, sure=sure)
        if bounded.text is not None or (file.text is not None and sure):
            digests[file.path] = hashlib.sha256((file.text or "").encode("utf-8", "surrogatepass")).hexdigest()
    while len(written) > MAX_WRITTEN:
        oldest = next(iter(written))
        forgotten = (forgotten or CLEAN) | written.pop(oldest).taint
        digests.pop(oldest, None)
    return replace(state, written=_without_old_texts(written), digests=digests, forgotten=forgotten)


def _merged(file: WrittenFile, before: WrittenFile | None, state: RunState, *, sure: bool) -> WrittenFile:
    """What may be in the file now, within `MAX_TEXT`."""
    text = file.text if file.text is not None and len(file.text) <= MAX_TEXT else None
    if sure:
        return WrittenFile(file.path, text, file.taint)
    before = before or state.written_at(file.path)
    same = before is not None and before.text == text
    return WrittenFile(file.path, text if same else None, file.taint | (before.taint if before else CLEAN))


def _without_old_texts(written: dict[str, WrittenFile]) -> Mapping[str, WrittenFile]:
    """Forget the texts, not the files, that were written longest ago, until `MAX_TEXTS` is kept."""
    total = sum(len(file.text or "") for file in written.values())
    for path, file in list(written.items()):
        if total <= MAX_TEXTS:
            break
        total -= len(file.text or "")
        written[path] = file._replace(text=None)
    return written
