"""Guardrails: outside checkers of calls, and detectors of what text contains.

`Guardrail` makes a remote policy of a provider (`protocol`), which `load_provider` finds by its class's name.
"""

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
