"""What a token carries about skills, so that what was left when the model was called bounds what it may do.

The live answer is always given as well, and the stricter one counts: a token can narrow, never widen, and what is
disabled after it was signed is disabled at once.
"""

from __future__ import annotations

from policyengine.policies.skill.resolving import SkillRef, Source
from policyengine.records import Record


class SkillClaims(Record):
    """The skills of a run at one moment.

    Attributes:
        source: by what skills are active.
        skills: the active ones with the hashes of their files.
        names: the tools that are left, framework-safe ones included; None where nothing is restricted.
    """

    source: Source
    skills: tuple[SkillRef, ...] = ()
    names: frozenset[str] | None = None
