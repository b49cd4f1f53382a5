"""Who may use what: Casbin's models and policies, compiled to an index. `shape` lists what compiles.

`config.rbac` loads; here are only values. One `Rbac` filters catalogues, decides calls and decides routes.
"""

from policyengine.policies.rbac.asking import SOURCES, Many, Source, one_by_one, picker
from policyengine.policies.rbac.building import Builder, NotIndexable
from policyengine.policies.rbac.catalogue import Catalogues, filtered
from policyengine.policies.rbac.hierarchy import DEPTH, NOWHERE, Hierarchy, Links, Roles
from policyengine.policies.rbac.index import Choosing, Index
from policyengine.policies.rbac.rbac import (
    INVOKE,
    PERMISSIONS,
    Answers,
    Lines,
    Rbac,
    RoutePermissions,
    route_permissions,
)
from policyengine.policies.rbac.shape import Combining, Match, Shape, Term
from policyengine.policy import DISCOVERY

__all__ = [
    "DEPTH", "DISCOVERY", "INVOKE", "NOWHERE", "PERMISSIONS", "SOURCES", "Answers", "Builder", "Catalogues",
    "Choosing", "Combining", "Hierarchy", "Index", "Lines", "Links", "Many", "Match", "NotIndexable", "Rbac",
    "Roles", "RoutePermissions", "Shape", "Source", "Term", "filtered", "one_by_one", "picker", "route_permissions",
]  # fmt: skip
