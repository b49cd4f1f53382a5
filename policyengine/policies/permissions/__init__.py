"""Permission rules of agent runtimes, judged on effects: deny and ask rules are policy, allow rules are grants.

`Permissions` is both: a policy that judges, and one who grants (`policyengine.policy.Grantor`). Files are read by
`policyengine.config.permissions`.
"""

from policyengine.policies.permissions.coverage import Means
from policyengine.policies.permissions.permissions import Permissions, Standing
from policyengine.policies.permissions.rules import Rule, Source
from policyengine.policies.permissions.syntax import About, ToolPattern, pattern_of

__all__ = ["About", "Means", "Permissions", "Rule", "Source", "Standing", "ToolPattern", "pattern_of"]
