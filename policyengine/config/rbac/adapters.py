"""Any pycasbin adapter as a source of policy lines, and a host's own Enforcer.

An adapter writes into a model. It is given one that only takes note, and has every type of line, so that what pycasbin
would drop without a word arrives and is refused. casbin itself is not imported for that.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any, Protocol

from policyengine.config.rbac.lines import RowLines
from policyengine.errors import LoadError

_ROLE_MANAGERS = "casbin.rbac.default_role_manager.role_manager"  # their own functions compare names


class Adapter(Protocol):
    """What pycasbin calls an adapter, as far as it is needed."""

    def load_policy(self, model: Any) -> Any:
        """Write every line into the model; an asynchronous adapter gives a coroutine."""


def rows_of(adapter: Adapter) -> RowLines:
    """Have an adapter hand over its lines.

    Raises:
        LoadError: it fails, is filtered, or hands over what is not text.
    """
    name = type(adapter).__name__
    if _is_filtered(adapter):
        raise LoadError("an adapter that is filtered, and would leave lines out", file=name, expected="all lines")
    notes = _Notes()
    try:
        pending = adapter.load_policy(notes)
        if inspect.isawaitable(pending):
            asyncio.run(_awaited(pending))
    except Exception as error:  # an adapter raises whatever its storage does
        raise LoadError(f"the adapter failed: {error}", file=name, expected="an adapter that can be read") from error
    for number, (kind, fields) in enumerate(notes.rows, 1):
        if not isinstance(kind, str) or not kind or not all(isinstance(field, str) for field in fields):
            raise LoadError("a field that is no text", file=name, line=number, expected="texts")
    return RowLines(notes.rows, name)


async def _awaited(pending: Any) -> None:
    await pending


def _is_filtered(adapter: Any) -> bool:
    ask = getattr(adapter, "is_filtered", None)  # adapters without filters do not have it
    return bool(ask()) if callable(ask) else False


class _Notes:
    """A model that notes the rows: it takes every way in which pycasbin's adapters write."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, list[Any]]] = []
        self.model = self

    def __getitem__(self, section: str) -> _Section:
        return _Section(self)

    def __contains__(self, section: object) -> bool:
        return True

    def keys(self) -> _Notes:
        """Say that every section is there."""
        return self

    def __iter__(self) -> Iterator[str]:
        return iter(("p", "g"))

    def add_policy(self, section: str, kind: str, fields: list[Any]) -> bool:
        """Note a row."""
        self.rows.append((kind, list(fields)))
        return True

    def add_policies(self, section: str, kind: str, rows: list[list[Any]]) -> bool:
        """Note rows of one type."""
        self.rows += [(kind, list(fields)) for fields in rows]
        return True


class _Section:
    """A section of `_Notes`: every type of line is in it."""

    def __init__(self, notes: _Notes) -> None:
        self._notes = notes

    def __getitem__(self, kind: str) -> _Assertion:
        return _Assertion(self._notes, kind)

    def __contains__(self, kind: object) -> bool:
        return True

    def keys(self) -> _Section:
        """Say that every type is there."""
        return self


class _Assertion:
    """The lines of one type; `policy` is where adapters append."""

    def __init__(self, notes: _Notes, kind: str) -> None:
        self._notes, self._kind = notes, kind
        self.policy = self
        self.policy_map: dict[str, int] = {}  # adapters number their rows in it

    def append(self, fields: list[Any]) -> None:
        """Note a row."""
        self._notes.rows.append((self._kind, list(fields)))

    def __len__(self) -> int:
        return len(self._notes.rows)


def parts_of(enforcer: Any) -> tuple[str, RowLines]:
    """Take model and lines out of a pycasbin Enforcer that a host has already.

    Raises:
        LoadError: it is disabled, or does things that its model does not say (functions registered in code).
    """
    name = type(enforcer).__name__
    if enforcer.enabled is not True:
        raise LoadError("an Enforcer that is disabled: it allows everything", file=name, expected="an enabled one")
    _refuse_functions(enforcer, name)
    model = enforcer.get_model()
    rows = [
        (kind, list(fields)) for section in ("p", "g") if section in model.keys()  # noqa: SIM118  no mapping
        for kind, assertion in model[section].items() for fields in assertion.policy
    ]  # fmt: skip
    return str(model.to_text()), RowLines(rows, name)


def _refuse_functions(enforcer: Any, name: str) -> None:
    """Refuse functions that were registered in code: of matchers, and of role managers."""
    functions = [function.__module__ for function in enforcer.fm.get_functions().values()]
    if not all(module.startswith("casbin.") for module in functions):
        raise LoadError("functions of its own, which no file can give", file=name, expected="Casbin's functions")
    managers = [*enforcer.rm_map.values(), *enforcer.cond_rm_map.values()]
    for function in (getattr(one, key, None) for one in managers for key in ("matching_func", "domain_matching_func")):
        if function is not None and function.__module__ != _ROLE_MANAGERS:
            raise LoadError("roles by patterns, which no file can ask for", file=name, expected="roles by name")
