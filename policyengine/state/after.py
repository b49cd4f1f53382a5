"""How a decided call changes the run.

A decision comes before its call. What was denied did not happen; what is asked about happens or not, so that afterwards
both are reckoned with. At a bound the oldest goes, and what is lost makes later answers stricter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from policyengine.effects import (
    CLEAN,
    HOLE,
    Contains,
    Effect,
    Facts,
    FileDelete,
    FileRead,
    FileWrite,
    Left,
    Taint,
    Taints,
    Transfer,
    Where,
    WrittenFile,
)
from policyengine.model import Decision, Outcome
from policyengine.records import NamedTuple, replace
from policyengine.state.run import (
    MAX_COUNTERS,
    MAX_LINKS,
    MAX_PROMOTIONS,
    MAX_READS,
    MAX_RESTRICTIONS,
    MAX_SHELL,
    MAX_TEXT,
    MAX_TEXTS,
    MAX_TREES,
    MAX_WRITTEN,
    Label,
    RunState,
)
from policyengine.state.skills import vouched

COUNTERS: Mapping[Outcome, str] = {Outcome.ALLOW: "allowed", Outcome.ASK: "asked", Outcome.DENY: "denied"}


def after(state: RunState, facts: Facts, decision: Decision) -> RunState:
    """Give the run as it is once a call has been decided."""
    counters = _counted(state.counters, ("calls", COUNTERS[decision.outcome]))
    version = state.version + 1
    said = () if decision.request is None else decision.request.context.active_skills
    skills = vouched(state.skills, said) if said else state.skills
    if decision.outcome is Outcome.DENY:
        return replace(state, version=version, counters=counters, skills=skills)
    sure = decision.outcome is Outcome.ALLOW
    written = _written(facts)
    files = _remembered(state, written.values(), sure=sure) if written else Files.of(state)
    left = _left(state, facts, sure=sure) if facts.left is not None or state.links else _Left.of(state)
    if left.forgotten is not None:
        files = files._replace(forgotten=(files.forgotten or CLEAN) | left.forgotten)
    return RunState(  # in one step, since `replace` on the hot path costs as much as judging an effect
        version=version,
        written=files.written,
        digests=files.digests,
        forgotten=files.forgotten,
        cwd=state.cwd if facts.cwd is None else facts.cwd if sure else "",
        exports=left.exports,
        functions=left.functions,
        aliases=left.aliases,
        trees=left.trees,
        links=left.links,
        labels=_labels(state.labels, facts.effects, decision),
        counters=counters,
        reads=_reads(state.reads, facts.effects, version),
        promotions=state.promotions,
        restrictions=state.restrictions,
        skills=skills,
    )


def count(state: RunState, *names: str) -> RunState:
    """Count something once more. Beyond `MAX_COUNTERS` names, new ones share the counter `other`."""
    return replace(state, counters=_counted(state.counters, names))


def _counted(counters: Mapping[str, int], names: Iterable[str]) -> Mapping[str, int]:
    counted = dict(counters)
    for name in names:
        key = name if name in counted or len(counted) < MAX_COUNTERS else "other"
        counted[key] = counted.get(key, 0) + 1
    return counted


def promote(state: RunState, tools: Iterable[str]) -> RunState:
    """Remember promoted tools; beyond `MAX_PROMOTIONS` a tool is not promoted, and stays hidden."""
    new = sorted(set(tools) - state.promotions)[: MAX_PROMOTIONS - len(state.promotions)]
    return replace(state, promotions=state.promotions | set(new))


def restrict(state: RunState, source: str, tools: Iterable[str]) -> RunState:
    """Leave only these tools of what `source` left; beyond `MAX_RESTRICTIONS` sources, all share one intersection."""
    restrictions, named = dict(state.restrictions), frozenset(tools)
    if source in restrictions or len(restrictions) < MAX_RESTRICTIONS:
        restrictions[source] = named & restrictions.get(source, named)
        return replace(state, restrictions=restrictions)
    left = named.intersection(*restrictions.values())
    return replace(state, restrictions={"several": left})


def _labels(known: frozenset[Label], effects: Iterable[Effect], decision: Decision) -> frozenset[Label]:
    """Labels after the call: those of the rules that matched are added, and of secrets seen in its data."""
    named = {Label(label) for finding in decision.findings for label in finding.labels}
    if any(map(_is_secret, effects)):
        named.add(Label.SECRETS)
    return known | named if named else known


def _is_secret(effect: Effect) -> bool:
    kind = type(effect)
    if kind is FileWrite or kind is Transfer:
        return Taint.SECRET in effect.taint  # type: ignore[union-attr]  # mypy does not narrow by `type(x) is`
    return isinstance(effect, Contains) and effect.category == "secret"


def _reads(known: Mapping[str, int], effects: Iterable[Effect], version: int) -> Mapping[str, int]:
    found = [effect.path for effect in effects if type(effect) is FileRead and _is_one_file(effect)]
    if not found:
        return known
    reads = dict(known)
    for path in found:
        reads.pop(path, None)  # the latest stands last
        reads[path] = version
    while len(reads) > MAX_READS:
        del reads[next(iter(reads))]
    return reads


class _Left(NamedTuple):
    """What calls left beside files, and the taints of the trees that were dropped at `MAX_TREES`."""

    trees: Mapping[str, Taints]
    links: Mapping[str, str]
    exports: Mapping[str, str]
    functions: Mapping[str, str]
    aliases: Mapping[str, str]
    forgotten: Taints | None = None

    @classmethod
    def of(cls, state: RunState) -> _Left:
        """Take them from a state."""
        return cls(state.trees, state.links, state.exports, state.functions, state.aliases)


def _left(state: RunState, facts: Facts, *, sure: bool) -> _Left:
    """What there is for the next call; of a shell it is what may be there still."""
    new = facts.left or Left()
    trees, forgotten = {**state.trees, **new.trees}, None
    while len(trees) > MAX_TREES:
        forgotten = (forgotten or CLEAN) | trees.pop(next(iter(trees)))
    links = {**state.links, **new.links}
    if sure:
        for effect in facts.effects:
            if type(effect) is FileDelete and not (effect.unknown or effect.glob) and effect.path not in new.links:
                links.pop(effect.path, None)
    return _Left(
        trees,
        _latest(links, MAX_LINKS),
        _latest({**state.exports, **new.exports}, MAX_SHELL),
        _latest({**state.functions, **new.functions}, MAX_SHELL),
        _latest({**state.aliases, **new.aliases}, MAX_SHELL),
        forgotten,
    )


def _latest(known: dict[str, str], most: int) -> dict[str, str]:
    return known if len(known) <= most else dict(list(known.items())[-most:])


def _written(facts: Facts) -> Mapping[str, WrittenFile]:
    """What is written where, also where only the effect says that something is."""
    written = {file.path: file for file in facts.written}
    for effect in facts.effects:
        if type(effect) is FileWrite and effect.path not in written and _is_one_file(effect):
            written[effect.path] = WrittenFile(effect.path, None, effect.taint)
    return written


def _is_one_file(effect: FileRead | FileWrite) -> bool:
    return effect.where is Where.HERE and not (effect.unknown or effect.glob)


class Files(NamedTuple):
    """What a run knows of the files that it wrote: the part of its state that changes together."""

    written: Mapping[str, WrittenFile]
    digests: Mapping[str, str]
    forgotten: Taints | None

    @classmethod
    def of(cls, state: RunState) -> Files:
        """Take them from a state."""
        return cls(state.written, state.digests, state.forgotten)


def remember(state: RunState, files: Iterable[WrittenFile], *, sure: bool) -> RunState:
    """Remember written files; where that is not `sure`, each may hold its old text or the new one."""
    return replace(state, **_remembered(state, files, sure=sure)._asdict())


def _remembered(state: RunState, files: Iterable[WrittenFile], *, sure: bool) -> Files:
    written, digests, forgotten = dict(state.written), dict(state.digests), state.forgotten
    for file in files:
        before = state.written_at(file.path)
        written.pop(file.path, None)  # the latest stands last
        digests.pop(file.path, None)
        written[file.path] = _merged(file, before, sure=sure)
        if file.text is not None and sure and HOLE not in file.text:
            digests[file.path] = hashlib.sha256(file.text.encode("utf-8", "surrogatepass")).hexdigest()
    while len(written) > MAX_WRITTEN:
        oldest = next(iter(written))
        forgotten = (forgotten or CLEAN) | written.pop(oldest).taint
        digests.pop(oldest, None)
    return Files(_within_texts(written), digests, forgotten)


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
