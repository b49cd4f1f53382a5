"""Presidio as a guardrail provider, and as what cleans a text."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from policyengine.errors import RequestError, UsageError
from policyengine.policies.guardrails.presidio.client import Failure, Presidio
from policyengine.policies.guardrails.protocol import GuardrailDecision, GuardrailReason, GuardrailRequest

MAX_REASONS = 8


class PresidioProvider:
    """Refuses calls whose arguments hold entities of some kinds.

    Args:
        entities: Presidio's names of the kinds that are refused (`PERSON`, `US_SSN` …).
        settings: those of `Presidio`.

    Raises:
        UsageError: there are no kinds, or as for `Presidio`.
    """

    __slots__ = ("_kinds", "presidio")

    def __init__(self, entities: Iterable[str], **settings: Any) -> None:
        if isinstance(entities, str) or not (kinds := frozenset(entities)):
            raise UsageError("no kinds of entities, expected a list of names such as `PERSON`")
        self._kinds = kinds
        self.presidio = Presidio(**settings)

    @property
    def name(self) -> str:
        """Name it in findings and records."""
        return "presidio"

    def evaluate(self, request: GuardrailRequest) -> GuardrailDecision:
        """Look at every text among the arguments."""
        found = self.presidio.find("\n".join(_texts(request.tool_input)))
        if isinstance(found, Failure):
            return _no([GuardrailReason(code=found.code, message=found.message)])
        kinds = sorted({one.kind for one in found} & self._kinds)
        if not kinds:
            return GuardrailDecision(allow=True)
        return _no([GuardrailReason(code=f"pii.{kind}", message=f"the arguments hold {kind}") for kind in kinds])

    async def aevaluate(self, request: GuardrailRequest) -> GuardrailDecision:
        """Look in a thread: the process has its own deadline."""
        return await asyncio.to_thread(self.evaluate, request)

    def cleaned(self, text: str) -> str:
        """Redact the entities of the kinds that are refused.

        Raises:
            RequestError: there is no analysis, so the text must not be passed on; the code says why.
        """
        found = self.presidio.find(text)
        if isinstance(found, Failure):
            raise RequestError(found.code, found.message)
        pieces: list[str] = []
        last = 0
        for one in found:
            if one.kind in self._kinds and one.start >= last:
                pieces += (text[last : one.start], f"[redacted:presidio.{one.kind}]")
                last = one.end
            elif one.kind in self._kinds:
                last = max(last, one.end)
        return "".join([*pieces, text[last:]])


def _no(reasons: list[GuardrailReason]) -> GuardrailDecision:
    return GuardrailDecision(allow=False, reasons=tuple(reasons[:MAX_REASONS]))


def _texts(value: Any) -> Iterator[str]:
    """Every text in a call's arguments, keys included; numbers too, since a number may be a person's."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
