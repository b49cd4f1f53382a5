"""Which skills are active in a run, and the bound on what they leave to it.

Only values and what can be said without a registry; `policies.skill.activation` says how they change. What is lost here
makes later answers stricter: `ceiling` stays when skills are dropped, and a skill that was declared stays declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from policyengine.records import NamedTuple, Record, replace

MAX_SKILLS = 64  # active at once
MAX_ENTRIES = 1024  # of one ceiling
MAX_OUTER = 16  # runs that a sub-agent's run lies in
NOTHING: Mapping[str, Any] = {}  # Any: of whatever a field holds; never written to

# Entries of `allowed-tools` as they are written; None where nothing is declared, which is no restriction.
Entries: TypeAlias = "tuple[str, ...] | None"


class ActiveSkill(NamedTuple):
    """A skill that the run has begun to load.

    `digest` is that of its file; empty where only the host's word says that it is active. `allowed` is what it leaves
    at most, as it was declared when it was loaded. `complete`: a load has ended well, and counts from the next reply
    on; `counts`: one has been counted. `first`: it was the one that restricted a run that nothing restricted.
    """

    digest: str
    allowed: Entries
    reply: int
    complete: bool = False
    counts: bool = False
    first: bool = False


class Slash(NamedTuple):
    """The skill that the newest message of the user names; `path` is empty where that could not be activated."""

    path: str
    digest: str
    allowed: Entries


class SkillState(Record):
    """The skills of a run.

    Attributes:
        agent: who acts, for the allowlists of agents; kept for the runs of sub-agents.
        run: the run in which the newest message of the user was heard.
        message: digest of that message.
        reply: number of model calls that have begun.
        slash: what it activated; then nothing else counts.
        loaded: canonical path → a skill that was loaded, the oldest first.
        held: how many there are; where that is not so, some were lost, and nothing is left to the run.
        ceiling: no call beyond these entries may run, whatever the registry says; None for no bound.
        before: the ceiling as it was when this reply began.
        outer: the skills of the runs that a sub-agent's run lies in; all of them bind it too.
    """

    agent: str = ""
    run: str = ""
    message: str = ""
    reply: int = 0
    slash: Slash | None = None
    loaded: Mapping[str, ActiveSkill] = NOTHING
    held: int = 0
    ceiling: Entries = None
    before: Entries = None
    outer: tuple[SkillState, ...] = ()

    @property
    def is_passive(self) -> bool:
        """Whether no skill has ever been active, here or in a run around this one."""
        return not (self.loaded or self.held or self.outer) and self.slash is None and self.ceiling is None


NO_SKILLS = SkillState()


def vouched(skills: SkillState, paths: Iterable[str]) -> SkillState:
    """Remember skills that the host says are active, so that no later context without them can lift what they restrict.

    One that finds no room any more leaves the run what it had, and nothing if that was everything.
    """
    return _remembered(skills, paths, complete=True)


def suspected(skills: SkillState, paths: Iterable[str]) -> SkillState:
    """Remember files that may be skills, though nobody can say so now: they restrict, and never add anything."""
    return _remembered(skills, paths, complete=False)


def _remembered(skills: SkillState, paths: Iterable[str], *, complete: bool) -> SkillState:
    new = [path for path in dict.fromkeys(paths) if path not in skills.loaded]
    if not new:
        return skills
    kept = new[: MAX_SKILLS - len(skills.loaded)]
    loaded = {**skills.loaded, **{path: ActiveSkill("", None, skills.reply, complete) for path in kept}}
    ceiling = () if skills.ceiling is None and len(kept) < len(new) else skills.ceiling
    return replace(skills, loaded=loaded, held=skills.held + len(kept), ceiling=ceiling)
