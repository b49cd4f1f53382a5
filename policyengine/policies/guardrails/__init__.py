"""Guardrails: outside checkers of calls, and detectors of what text contains.

`Guardrail` makes a remote policy of a provider (`protocol`), which `load_provider` finds by its class's name. `content`
and `presidio` look at text. The names below are loaded when they are first used: who only looks at content has no use
for an event loop, which would cost a hook 30 ms.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policyengine.policies.guardrails.allowlist import AllowlistProvider
    from policyengine.policies.guardrails.guardrail import Guardrail
    from policyengine.policies.guardrails.loading import load_provider
    from policyengine.policies.guardrails.protocol import (
        GuardrailDecision,
        GuardrailProvider,
        GuardrailReason,
        GuardrailRequest,
    )

__all__ = [
    "AllowlistProvider",
    "Guardrail",
    "GuardrailDecision",
    "GuardrailProvider",
    "GuardrailReason",
    "GuardrailRequest",
    "load_provider",
]

_HOMES = {"AllowlistProvider": "allowlist", "Guardrail": "guardrail", "load_provider": "loading"}


def __getattr__(name: str) -> object:
    """Load a public name from its home (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    value: object = getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'protocol')}"), name)
    globals()[name] = value
    return value
