"""Rules over effects and requests, read from files and compiled: one policy for all of them."""

from policyengine.policies.ruleset.ruleset import Profile, RuleSet
from policyengine.policies.ruleset.sight import Zones

__all__ = ["Profile", "RuleSet", "Zones"]
