"""The provider that comes along: which tools may be called at all, by their exact names."""

from __future__ import annotations

from collections.abc import Iterable

from policyengine.errors import UsageError
from policyengine.policies.guardrails.protocol import GuardrailDecision, GuardrailReason, GuardrailRequest

ALLOWED = "oap.allowed"
NOT_ALLOWED = "oap.tool_not_allowed"


class AllowlistProvider:
    """Tools that may be called, and tools that may not.

    Args:
        allowed_tools: None where no list is configured; an empty one allows nothing.
        denied_tools: they win over the allowed ones.

    Raises:
        UsageError: a list is no list of names.
    """

    __slots__ = ("_allowed", "_denied")

    def __init__(self, allowed_tools: Iterable[str] | None = None, denied_tools: Iterable[str] | None = None) -> None:
        self._allowed = None if allowed_tools is None else _names(allowed_tools, "allowed_tools")
        self._denied = frozenset() if denied_tools is None else _names(denied_tools, "denied_tools")

    @property
    def name(self) -> str:
        """Name it in findings and records."""
        return "allowlist"

    def evaluate(self, request: GuardrailRequest) -> GuardrailDecision:
        """Say whether the tool may be called."""
        name = request.tool_name
        if (self._allowed is not None and name not in self._allowed) or name in self._denied:
            return GuardrailDecision(
                allow=False, reasons=(GuardrailReason(code=NOT_ALLOWED, message="the tool is not allowed"),)
            )
        return GuardrailDecision(allow=True, reasons=(GuardrailReason(code=ALLOWED),))

    async def aevaluate(self, request: GuardrailRequest) -> GuardrailDecision:
        """Say the same as `evaluate`."""
        return self.evaluate(request)


def _names(given: Iterable[str], argument: str) -> frozenset[str]:
    """A text would be a list of its letters."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise UsageError(f"`{argument}` is no list of names")
    names = list(given)
    if not all(isinstance(name, str) and name for name in names):
        raise UsageError(f"`{argument}` holds something that is no name")
    return frozenset(names)
