"""pycasbin's own Enforcer, for models that do not compile; the only place that imports casbin for a decision.

Its role managers note every name that they are asked about; ours answer the same and note nothing. One lock for each
policy: an Enforcer keeps its functions in a place that all its calls share.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import casbin
from casbin.model import Model as CasbinModel
from casbin.persist import Adapter
from casbin.rbac.default_role_manager import RoleManager

from policyengine.config.rbac.conf import Model
from policyengine.config.rbac.lines import Row
from policyengine.errors import LoadError
from policyengine.policies.rbac import Combining, Many, one_by_one


class Enforced:
    """Policy lines behind a real Enforcer.

    Args:
        model: how they are asked.
        rows: the lines, checked.
        depth: names in a chain of roles, as in `Hierarchy`.
        pick: takes the fields of a request out of what is asked.

    Raises:
        LoadError: pycasbin refuses the model or the lines.
    """

    def __init__(
        self, model: Model, rows: Sequence[Row], depth: int, pick: Callable[[Sequence[str]], Sequence[str]]
    ) -> None:
        self._lock = threading.Lock()
        self._pick = pick
        self._numbers = {tuple(fields): number for number, kind, fields in reversed(rows) if kind == "p"}
        self._effect = model.effect
        self._denials_count = model.combining is not Combining.ALLOW_OVERRIDE
        try:
            parsed = CasbinModel()
            parsed.load_model_from_text(model.text)
            enforcer = casbin.Enforcer(parsed)
            enforcer.rm_map = {
                name: _Roles(depth) if size == 2 else _Domains(depth) for name, size in model.roles.items()
            }
            enforcer.set_adapter(_Rows(rows))
            enforcer.load_policy()
        except Exception as error:  # pycasbin raises whatever comes up
            raise LoadError(
                f"pycasbin refuses it: {error}", file=model.file, expected="a model for pycasbin"
            ) from error
        self._enforcer = enforcer

    def decide(self, parts: Sequence[str]) -> int:
        """Give the number of the line that answers, as `Index.decide` does. What pycasbin raises is raised."""
        values = self._pick(parts)
        with self._lock:
            allowed, line = self._enforcer.enforce_ex(*values)
        number = self._numbers.get(tuple(line), 1)
        if allowed:
            return number
        denies = line and self._denials_count and (self._effect is None or line[self._effect] == "deny")
        return -number if denies else 0

    def decide_each(self, subjects: Sequence[str], asked: Many) -> list[int]:
        """Answer as `Index.decide_each` does."""
        return one_by_one(self.decide, subjects, asked)


class _Rows(Adapter):  # type: ignore[misc]  # pycasbin has no types
    """Hands over rows that have been read and checked."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def load_policy(self, model: Any) -> None:
        for _, kind, fields in self._rows:
            model.model[kind[0]][kind].policy.append(list(fields))


class _Roles(RoleManager):  # type: ignore[misc]  # pycasbin has no types
    """The default role manager, without noting the names that it is asked about."""

    def has_link(self, name1: str, name2: str, *domain: str) -> bool:
        if self.max_hierarchy_level <= 0:
            return False
        user = self.all_roles.get(name1)
        return name1 == name2 if user is None else self._has_link(name2, [user], self.max_hierarchy_level)


class _Domains(RoleManager):  # type: ignore[misc]  # pycasbin has no types
    """A role manager for each domain that has links; the default one keeps one for every domain that is asked about."""

    def __init__(self, depth: int) -> None:
        super().__init__(depth)
        self._managers: dict[str, _Roles] = {}

    def clear(self) -> None:
        self._managers = {}

    def add_link(self, name1: str, name2: str, *domain: str) -> None:
        self._managers.setdefault(_only(domain), _Roles(self.max_hierarchy_level)).add_link(name1, name2)

    def has_link(self, name1: str, name2: str, *domain: str) -> bool:
        manager = self._managers.get(_only(domain))
        if manager is None:
            return name1 == name2 and self.max_hierarchy_level > 0
        return manager.has_link(name1, name2)

    def print_roles(self) -> None:
        """Log nothing."""


def _only(domain: tuple[str, ...]) -> str:
    if len(domain) > 1:
        raise RuntimeError("a role has one domain")
    return domain[0] if domain else ""
