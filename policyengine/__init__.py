"""A decision engine for agent runtimes: which tools may be seen, which calls may run, and why.

    engine = ready(profile="workstation").engine()
    decision, state = engine.decide(request, START)

The names below are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policyengine.config import Ready, load, ready
    from policyengine.engine import Engine
    from policyengine.errors import (
        BundleError,
        LoadError,
        ParseError,
        PolicyEngineError,
        RequestError,
        UsageError,
    )
    from policyengine.model import (
        ANONYMOUS,
        Context,
        Control,
        Decision,
        Finding,
        Grant,
        Obligation,
        Outcome,
        Principal,
        Request,
        Resource,
        ResourceKind,
        Severity,
        ShellKind,
        Tier,
        Verdict,
        freeze_object,
    )
    from policyengine.policy import Policy, RemotePolicy
    from policyengine.state import START, RunState

__all__ = [
    "ANONYMOUS", "START", "BundleError", "Context", "Control", "Decision", "Engine",
    "Finding", "Grant", "LoadError", "Obligation", "Outcome", "ParseError", "Policy",
    "PolicyEngineError", "Principal", "Ready", "RemotePolicy", "Request", "RequestError", "Resource",
    "ResourceKind", "RunState", "Severity", "ShellKind", "Tier", "UsageError", "Verdict",
    "freeze_object", "load", "ready",
]  # fmt: skip

_HOMES = {
    "config": ("Ready", "load", "ready"),
    "engine": ("Engine",),
    "errors": ("BundleError", "LoadError", "ParseError", "PolicyEngineError", "RequestError", "UsageError"),
    "policy": ("Policy", "RemotePolicy"),
    "state": ("START", "RunState"),
}  # every other name is the model's


def __getattr__(name: str) -> object:
    """Load a public name from its home (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    home = next((home for home, names in _HOMES.items() if name in names), "model")
    value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Name what is public."""
    return sorted(__all__)
