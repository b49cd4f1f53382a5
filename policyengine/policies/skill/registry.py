"""What a registry of skills answers; `config.skills` has the one that reads folders.

A skill is known by its canonical path (symbolic links resolved), never by its name: whoever may add a skill could take
the name of another. A registry is asked anew for every answer, so that what is disabled or edited meanwhile counts at
once; whatever it raises means that nothing is known.
"""

from __future__ import annotations

from typing import Protocol

from policyengine.records import Record
from policyengine.state import Entries


class Skill(Record):
    """A skill as it is now.

    Attributes:
        path: canonical path of its SKILL.md.
        name: as its front matter has it, or its folder's.
        digest: SHA-256, hex, of the file's bytes.
        allowed: entries of `allowed-tools`; None where it declares none, empty where it leaves nothing.
        enabled: whether it may be active at all.
        refused: why the file cannot be read as a skill; then it can only restrict, and `allowed` is empty.
        widens: whether what it declares may be added to what others leave; a skill of the project can only restrict.
    """

    path: str
    name: str
    digest: str
    allowed: Entries
    enabled: bool = True
    refused: str = ""
    widens: bool = True


class Registry(Protocol):
    """Skills, resolved when they are asked for."""

    def find(self, path: str) -> Skill | None:
        """Give the skill at a path, as the agent or an earlier answer names it; None where there is none."""

    def named(self, name: str) -> Skill | None:
        """Give the skill that a person means by a name; None where there is none, or where it is not one skill's."""

    def permits(self, skill: Skill, agent: str) -> bool:
        """Say whether an agent's allowlist lets it use a skill that has just been found."""


class Problem(Record):
    """Why a skill cannot be active: a code, and what a person is told."""

    code: str
    message: str


FAILED = Problem(code="skill.registry-failed", message="The skills could not be looked up.")
UNKNOWN = Problem(code="skill.not-installed", message="There is no such skill.")
DISABLED = Problem(code="skill.disabled", message="The skill is installed, but disabled.")
NOT_FOR_AGENT = Problem(code="skill.not-for-agent", message="The skill is not available for this agent.")
UNREADABLE = Problem(code="skill.unreadable", message="The skill's file cannot be read safely.")


def problem_of(registry: Registry, skill: Skill | None, agent: str) -> Problem | None:
    """Say why a skill may not be active for an agent; None where it may.

    Raises:
        Exception: whatever the registry raises.
    """
    if skill is None:
        return UNKNOWN
    if not skill.enabled:
        return DISABLED
    if not registry.permits(skill, agent):
        return NOT_FOR_AGENT
    return UNREADABLE if skill.refused else None
