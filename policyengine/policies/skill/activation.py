"""How a run's skills change: by what the user writes, by model calls that begin, by loads that begin and end.

The bound on a run (`SkillState.ceiling`) grows in one place, `begun`: by skills whose load ended in an earlier reply,
where skills are united. A load that has only begun can restrict at once, so that nothing else in the same reply escapes
it; what it would add waits for the next. Nothing that is dropped, lost, edited or disabled takes a bound away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from policyengine.model import digest_of
from policyengine.policies.skill.entries import joined, narrowed
from policyengine.policies.skill.registry import FAILED, Problem, Registry, Skill, problem_of
from policyengine.policies.skill.slash import UserMessage, command_of
from policyengine.records import NamedTuple, Record, replace
from policyengine.state import ActiveSkill, Entries, SkillState, Slash
from policyengine.state.skills import MAX_OUTER, MAX_SKILLS

NOT_ACTIVATED = Slash("", "", ())


class Mode(StrEnum):
    """What several active skills leave together."""

    UNION = "union"  # what one of those that declare tools allows
    INTERSECTION = "intersection"  # what all of those that declare tools allow


class Heard(Record):
    """What a message of the user did.

    Attributes:
        skills: the run's skills from now on.
        skill: the skill that it activated.
        rest: the task, without the skill's name.
        problem: why a skill that it names could not be activated; the host answers so, and calls no model.
    """

    skills: SkillState
    skill: Skill | None = None
    rest: str = ""
    problem: Problem | None = None


def heard(skills: SkillState, message: UserMessage, run: str, registry: Registry) -> Heard:
    """Take note of the newest genuine message. The same message again changes nothing, also in a resumed run.

    Within a run, a message without a command leaves what an earlier one activated; in another run it ends that.
    """
    digest = digest_of((message.id, message.text))
    if digest == skills.message:
        return Heard(skills=replace(skills, run=run))
    known = replace(skills, message=digest, run=run)
    command = command_of(message.text)
    if command is None:
        stays = run != "" and run == skills.run
        return Heard(skills=known if stays else replace(known, slash=None))
    try:
        skill = registry.named(command.name)
        problem = problem_of(registry, skill, skills.agent)
    except Exception:  # whatever a registry raises: nothing is known
        skill, problem = None, FAILED
    if problem is not None or skill is None:
        return Heard(skills=replace(known, slash=NOT_ACTIVATED), rest=command.rest, problem=problem)
    slash = Slash(skill.path, skill.digest, skill.allowed)
    return Heard(skills=replace(known, slash=slash), skill=skill, rest=command.rest)


class Counting(NamedTuple):
    """How a load that has ended is reckoned with."""

    registry: Registry
    mode: Mode
    is_own: Callable[[str], bool]  # whether the run itself wrote a file: such a skill can only restrict


def begun(skills: SkillState, counting: Counting) -> SkillState:
    """Begin a reply: loads that ended before count from now on.

    A skill that is edited since, gone or not authorised does not count yet.
    """
    known = _cleared_if_possible(skills, counting)
    counted = _counted(known, known.loaded, counting)
    return replace(counted, reply=counted.reply + 1, before=counted.ceiling)


def _cleared_if_possible(skills: SkillState, counting: Counting) -> SkillState:
    try:
        return cleared(skills, counting)
    except Exception:  # whatever a registry raises: nothing is known, so what is suspected stays so
        return skills


def _counted(skills: SkillState, paths: Iterable[str], counting: Counting) -> SkillState:
    ceiling, loaded = skills.ceiling, dict(skills.loaded)
    for path in paths:
        active = skills.loaded[path]
        if not active.complete:
            continue
        skill, problem = _looked_up(counting.registry, path, skills.agent)
        if skill is None or problem is not None:
            ceiling = () if counting.mode is Mode.INTERSECTION and problem is not FAILED else ceiling
            continue
        if active.digest not in ("", skill.digest):
            continue
        own = counting.is_own(skill.path) or counting.is_own(path)
        widens = counting.mode is Mode.UNION and skill.widens and not own
        allowed = skill.allowed if widens else narrowed(active.allowed, skill.allowed)
        if widens and ceiling is not None and allowed is not None:
            ceiling = joined(ceiling, allowed)
        else:
            ceiling = _restricted(ceiling, allowed, counting.mode)
        loaded[path] = ActiveSkill(skill.digest, allowed, active.reply, counts=True)
    return replace(skills, loaded=loaded, ceiling=ceiling)


def _looked_up(registry: Registry, path: str, agent: str) -> tuple[Skill | None, Problem | None]:
    try:
        skill = registry.find(path)
        return skill, problem_of(registry, skill, agent)
    except Exception:  # whatever a registry raises: nothing is known, so a load waits
        return None, FAILED


def _restricted(ceiling: Entries, allowed: Entries, mode: Mode) -> Entries:
    """The bound once a skill restricts the run: the first one does so always, others in an intersection."""
    return narrowed(ceiling, allowed) if ceiling is None or mode is Mode.INTERSECTION else ceiling


def attempted(skills: SkillState, found: Iterable[Skill], counting: Counting) -> SkillState:
    """Begin to load skills: what they declare restricts a run that nothing restricted, and adds nothing yet.

    What the host alone has named so far sets its bound first, as it is older.
    """
    if skills.ceiling is None:
        skills = _counted(skills, [path for path, active in skills.loaded.items() if not active.digest], counting)
    ceiling, loaded, held = skills.ceiling, dict(skills.loaded), skills.held
    for skill in found:
        known = loaded.get(skill.path)
        if known is not None and known.digest == skill.digest:
            continue
        allowed = skill.allowed if known is None else narrowed(known.allowed, skill.allowed)
        first = ceiling is None and allowed is not None
        ceiling = _restricted(ceiling, _usable(skill, allowed, skills.agent, counting), counting.mode)
        if known is not None:
            loaded[skill.path] = known._replace(digest=skill.digest, allowed=allowed, complete=False)
        elif len(loaded) < MAX_SKILLS:  # beyond, what it restricts is in the ceiling, and it adds nothing
            loaded[skill.path] = ActiveSkill(skill.digest, allowed, skills.reply, first=first)
            held += 1
    return replace(skills, loaded=loaded, held=held, ceiling=ceiling)


def _usable(skill: Skill, allowed: Entries, agent: str, counting: Counting) -> Entries:
    """What a skill leaves that is about to be loaded: in an intersection, nothing where it may not be active."""
    if counting.mode is Mode.UNION:
        return allowed
    try:
        return allowed if problem_of(counting.registry, skill, agent) is None else ()
    except Exception:  # whatever a registry raises: nothing is known, and evaluating will say so
        return allowed


def cleared(skills: SkillState, counting: Counting) -> SkillState:
    """Say of files that were suspected whether they are skills: their loads have begun; the others are forgotten.

    Raises:
        Exception: whatever the registry raises.
    """
    suspects = [path for path, active in skills.loaded.items() if not (active.digest or active.complete)]
    if not suspects:
        return skills
    found = [skill for path in suspects if (skill := counting.registry.find(path)) is not None]
    known = {path: active for path, active in skills.loaded.items() if path not in suspects}
    return attempted(replace(skills, loaded=known, held=skills.held - len(suspects)), found, counting)


def completed(skills: SkillState, found: Iterable[Skill]) -> SkillState:
    """End loads well: they count from the next reply on, if the file is still the one whose load began."""
    loaded = dict(skills.loaded)
    for skill in found:
        known = loaded.get(skill.path)
        if known is not None and known.digest == skill.digest:
            loaded[skill.path] = known._replace(complete=True)
    return replace(skills, loaded=loaded)


def lost(skills: SkillState) -> SkillState:
    """Leave nothing to a run whose earlier state is gone, until the user names a skill or another run begins."""
    return replace(skills, ceiling=skills.ceiling or (), before=())


def inherited(skills: SkillState, agent: str) -> SkillState:
    """Give the skills of a sub-agent's run: none of its own, and all that binds its parent (`agent`) binds it.

    Beyond `MAX_OUTER` runs nothing is left to it.
    """
    outer = (*skills.outer, replace(skills, agent=agent, outer=()))
    if len(outer) > MAX_OUTER:
        return SkillState(ceiling=(), before=(), outer=skills.outer)
    return SkillState(outer=outer)
