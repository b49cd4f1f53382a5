"""Which tools, models or skills of a catalogue a principal may see: the same judgement as about a call.

It has to run before a catalogue of deferred tools is built from the rest: what is not in one cannot be promoted.
"""

from __future__ import annotations

from collections.abc import Iterable

from policyengine.model import Outcome, Principal, Resource, ResourceKind
from policyengine.policies.rbac.rbac import INVOKE, Rbac
from policyengine.principal import exposure_key

MAX_KEPT = 256  # catalogues; then all are made anew


def filtered(
    policy: Rbac,
    principal: Principal,
    names: Iterable[str],
    kind: ResourceKind = ResourceKind.TOOL,
    action: str = INVOKE,
) -> tuple[str, ...]:
    """Keep what a principal may use, in order. For whole catalogues, a framework's own tools included.

    It can only remove. A name that is no text, or that cannot be judged, is removed too.
    """
    return tuple(name for name in names if _may_use(policy, principal, kind, name, action))


def _may_use(policy: Rbac, principal: Principal, kind: ResourceKind, name: str, action: str) -> bool:
    try:
        return type(name) is str and policy.judge(principal, Resource(kind, name), action).outcome is Outcome.ALLOW
    except Exception:  # what cannot be judged is not seen
        return False


class Catalogues:
    """Filtered catalogues, kept under everything that they depend on: the whole principal, the policy, the names."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}

    def filtered(
        self,
        policy: Rbac,
        principal: Principal,
        names: Iterable[str],
        kind: ResourceKind = ResourceKind.TOOL,
        action: str = INVOKE,
    ) -> tuple[str, ...]:
        """Answer as the function of this name does.

        Raises:
            RequestError: an attribute of the principal has no canonical form.
        """
        catalogue = tuple(names)
        key = (exposure_key(principal, policy.digest, kind.value, action), catalogue)
        found = self._kept.get(key)
        if found is None:
            found = filtered(policy, principal, catalogue, kind, action)
            kept = self._kept if len(self._kept) < MAX_KEPT else {}
            kept[key] = found
            self._kept = kept
        return found
