"""Names and other personal data without a shape, found by Microsoft Presidio (the extra `presidio`).

The analysis runs in a process of its own, which is killed when it is late: `Presidio` asks it, `PresidioProvider` is a
guardrail provider that refuses calls by what it finds.
"""

from policyengine.policies.guardrails.presidio.client import Entity, Failure, Presidio
from policyengine.policies.guardrails.presidio.provider import PresidioProvider

__all__ = ["Entity", "Failure", "Presidio", "PresidioProvider"]
