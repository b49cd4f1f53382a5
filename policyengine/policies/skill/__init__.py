"""What active skills leave of the tools: `allowed-tools`, after a skill was really activated.

Here are only values; `config.skills` reads files and folders.
"""

from policyengine.policies.skill.activation import Heard, Mode
from policyengine.policies.skill.claims import SkillClaims
from policyengine.policies.skill.discovery import Discovery, discovered
from policyengine.policies.skill.entries import Covers, Reading
from policyengine.policies.skill.registry import Problem, Registry, Skill
from policyengine.policies.skill.resolving import SkillRef, Source
from policyengine.policies.skill.skill import DELEGATING, FRAMEWORK, LOADERS, Loading, SkillPolicy
from policyengine.policies.skill.slash import RESERVED, Command, UserMessage, command_of, newest

__all__ = [
    "DELEGATING",
    "FRAMEWORK",
    "LOADERS",
    "RESERVED",
    "Command",
    "Covers",
    "Discovery",
    "Heard",
    "Loading",
    "Mode",
    "Problem",
    "Reading",
    "Registry",
    "Skill",
    "SkillClaims",
    "SkillPolicy",
    "SkillRef",
    "Source",
    "UserMessage",
    "command_of",
    "discovered",
    "newest",
]
