"""What the active skills leave right now: each looked up anew, and none of them more than it had when it was loaded."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from policyengine.policies.skill.activation import Counting, Mode, cleared
from policyengine.policies.skill.entries import joined, narrowed
from policyengine.policies.skill.registry import Registry, Skill, problem_of
from policyengine.records import NamedTuple, Record
from policyengine.state import ActiveSkill, Entries, SkillState, Slash

REGISTRY_FAILED = "skill.registry-failed"
NONE_AUTHORISED = "skill.none-authorised"


class Source(StrEnum):
    """By what skills are active."""

    SLASH = "slash"
    SKILL_CONTEXT = "skill_context"
    PASSIVE = "passive"  # by nothing: skills that are only installed restrict nothing


class SkillRef(NamedTuple):
    """An active skill: its canonical path, and the SHA-256, hex, of its file as it is now."""

    id: str
    digest: str


class Resolved(Record):
    """What is left to a run, or to one of the runs around it.

    Attributes:
        source: by what skills are active.
        skills: the authorised ones.
        clauses: lists of entries; each has to admit a call, and none is no restriction.
        problem: a code where only framework-safe tools are left; then there are no clauses.
    """

    source: Source
    skills: tuple[SkillRef, ...] = ()
    clauses: tuple[tuple[str, ...], ...] = ()
    problem: str = ""

    @property
    def is_open(self) -> bool:
        """Whether nothing is restricted."""
        return not self.clauses and not self.problem


PASSIVE = Resolved(source=Source.PASSIVE)


class _Live(NamedTuple):
    """A skill that was loaded, and what it is now; None where it may not be active."""

    active: ActiveSkill
    skill: Skill | None

    @property
    def is_based(self) -> bool:
        """Whether a load of it ended in an earlier reply, or the host says so."""
        return self.active.counts or not self.active.digest

    @property
    def allowed(self) -> Entries:
        """What it leaves: as declared now, and never more than when it was loaded."""
        assert self.skill is not None
        return narrowed(self.active.allowed, self.skill.allowed)


def resolved(skills: SkillState, counting: Counting, agent: str) -> Resolved:
    """Resolve the skills of one run; its outer runs are for the caller. Passive skills ask no registry."""
    if skills.slash is None and (not skills.loaded or len(skills.loaded) != skills.held):
        if skills.ceiling is None and not skills.held:
            return PASSIVE
        return Resolved(source=Source.SKILL_CONTEXT, problem=NONE_AUTHORISED)
    source = Source.SKILL_CONTEXT if skills.slash is None else Source.SLASH
    registry = counting.registry
    try:
        if skills.slash is not None:
            return _by_slash(skills.slash, registry, agent)
        known = cleared(skills, counting)
        live = [_Live(active, _usable(registry, path, agent)) for path, active in known.loaded.items()]
    except Exception:  # whatever a registry raises: nothing is known
        return Resolved(source=source, problem=REGISTRY_FAILED)
    if not live and known.ceiling is None:
        return PASSIVE
    return _by_context(live, known.ceiling, counting.mode)


def _usable(registry: Registry, path: str, agent: str) -> Skill | None:
    skill = registry.find(path)
    return skill if problem_of(registry, skill, agent) is None else None


def _by_slash(slash: Slash, registry: Registry, agent: str) -> Resolved:
    """The user's skill alone."""
    skill = _usable(registry, slash.path, agent) if slash.path else None
    if skill is None:
        return Resolved(source=Source.SLASH, problem=NONE_AUTHORISED)
    allowed = narrowed(slash.allowed, skill.allowed)
    clauses = () if allowed is None else (allowed,)
    return Resolved(source=Source.SLASH, skills=(SkillRef(skill.path, skill.digest),), clauses=clauses)


def _by_context(live: list[_Live], ceiling: Entries, mode: Mode) -> Resolved:
    """The skills that were loaded. One that is not authorised is skipped while another one is.

    A load that has not ended well in an earlier reply never stands in for those that have; where there are no others,
    it only restricts, and has to be authorised itself.
    """
    based = [one for one in live if one.is_based]
    usable = [one for one in live if one.skill is not None]
    sound = all(one.skill is not None for one in live if not one.is_based)
    remaining = any(one.skill is not None for one in based) if based else sound
    if mode is Mode.INTERSECTION and any(one.skill is None and not one.active.digest for one in live):
        remaining = False  # of the others, the ceiling says so
    if not remaining:
        return Resolved(source=Source.SKILL_CONTEXT, problem=NONE_AUTHORISED)
    declaring = [(one, allowed) for one in usable if (allowed := one.allowed) is not None]
    clauses: list[tuple[str, ...]] = [] if ceiling is None else [ceiling]
    if mode is Mode.INTERSECTION:
        clauses += [allowed for _, allowed in declaring]
    elif clauses or declaring:
        clauses.append(_union(allowed for one, allowed in declaring if one.is_based or (one.active.first and sound)))
    return Resolved(
        source=Source.SKILL_CONTEXT,
        skills=_refs(usable),
        clauses=tuple(dict.fromkeys(clauses)),
    )


def _union(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    union: tuple[str, ...] = ()
    for entries in lists:
        union = joined(union, entries)
    return union


def _refs(live: Iterable[_Live]) -> tuple[SkillRef, ...]:
    refs = {one.skill.path: SkillRef(one.skill.path, one.skill.digest) for one in live if one.skill is not None}
    return tuple(refs.values())
