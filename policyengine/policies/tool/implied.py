"""Which side effects a call has, by what its analysis says that it does; nothing here knows what a tool declares.

Only what is certain counts. `external_service` and `payment` are seldom seen from outside: they are what tools declare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from policyengine.effects import (
    Cloud,
    Connect,
    Container,
    Database,
    Effect,
    Exhaust,
    FileAttribute,
    FileDelete,
    FileWrite,
    Package,
    Persist,
    System,
    Transfer,
    UseTool,
    VersionControl,
)
from policyengine.policies.tool.metadata import SideEffect

SideEffects: TypeAlias = frozenset[SideEffect]
NONE: SideEffects = frozenset()
_WRITES = frozenset({SideEffect.WRITES_FILES})
_NETWORK = frozenset({SideEffect.NETWORK})
_DESTROYS = frozenset({SideEffect.DESTRUCTIVE})
_OUTWARD = frozenset({SideEffect.NETWORK, SideEffect.EXTERNAL_SERVICE})
_INSTALLS = frozenset({SideEffect.INSTALLS_DEPENDENCIES})

_PACKAGES: Mapping[str, SideEffects] = {
    "install": _INSTALLS, "upgrade": _INSTALLS, "remove": _INSTALLS, "run": _INSTALLS,
    "publish": _OUTWARD, "download": _NETWORK,
}  # fmt: skip
_REPOSITORIES: Mapping[str, SideEffects] = {
    "fetch": _NETWORK, "clone": _NETWORK | _WRITES, "push": _OUTWARD,
    "force-push": _OUTWARD | _DESTROYS, "delete-remote": _OUTWARD | _DESTROYS,
    "delete-repository": _OUTWARD | _DESTROYS, "discard": _DESTROYS, "clean": _DESTROYS,
    "review": _OUTWARD, "issue": _OUTWARD, "release": _OUTWARD, "publish": _OUTWARD,
}  # fmt: skip
_CLOUDS: Mapping[str, SideEffects] = {"delete": _OUTWARD | _DESTROYS, "blind": _OUTWARD | _DESTROYS}
_CONTAINERS: Mapping[str, SideEffects] = {"push": _OUTWARD, "pull": _NETWORK, "prune": _DESTROYS}
_DATABASES: Mapping[str, SideEffects] = {"destroy": _DESTROYS}
_TOOLS: Mapping[str, SideEffects] = {"browser": _NETWORK, "search": _NETWORK}
_SYSTEMS: Mapping[str, SideEffects] = {"wipe": _DESTROYS, "format": _DESTROYS}

# Any: each function is called with the effect of its own kind
_BY_KIND: Mapping[type[Effect], Callable[[Any], SideEffects]] = {
    FileWrite: lambda effect: _WRITES,
    FileAttribute: lambda effect: _WRITES,
    Persist: lambda effect: _WRITES,
    FileDelete: lambda effect: _WRITES | _DESTROYS if effect.recursive else _WRITES,
    Connect: lambda effect: _NETWORK,
    Transfer: lambda effect: _NETWORK,
    Package: lambda effect: _PACKAGES.get(effect.action, NONE),
    VersionControl: lambda effect: _REPOSITORIES.get(effect.action, _WRITES),
    Cloud: lambda effect: _CLOUDS.get(effect.action, _OUTWARD),
    Container: lambda effect: _CONTAINERS.get(effect.action, NONE),
    Database: lambda effect: _DATABASES.get(effect.action, NONE),
    System: lambda effect: _SYSTEMS.get(effect.action, NONE),
    UseTool: lambda effect: _TOOLS.get(effect.category, NONE),
    Exhaust: lambda effect: _DESTROYS,
}


def implied(effect: Effect) -> SideEffects:
    """Give the side effects that a call has because of one of its effects, on whichever machine that happens."""
    said = _BY_KIND.get(type(effect))
    return NONE if said is None else said(effect)
