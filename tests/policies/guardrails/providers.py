"""Providers of every kind, good and bad."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

from policyengine.policies.guardrails import GuardrailDecision, GuardrailRequest

YES = GuardrailDecision(allow=True)


class Provider:
    """Does the same in both faces."""

    name = "tested"

    def __init__(self, answer: Callable[[GuardrailRequest], Any]) -> None:
        self.answer = answer
        self.asked: list[GuardrailRequest] = []

    def evaluate(self, request: GuardrailRequest) -> Any:
        self.asked.append(request)
        return self.answer(request)

    async def aevaluate(self, request: GuardrailRequest) -> Any:
        return self.evaluate(request)


class Blocking:
    """Has only the synchronous face."""

    name = "blocking"

    def __init__(self, answer: Callable[[GuardrailRequest], Any]) -> None:
        self.evaluate = answer


class Hanging:
    """Does not answer before the test is over; its coroutine does not even end when it is cancelled."""

    name = "hanging"

    def __init__(self) -> None:
        self.over = threading.Event()

    def evaluate(self, request: GuardrailRequest) -> GuardrailDecision:
        self.over.wait(30)
        return YES

    async def aevaluate(self, request: GuardrailRequest) -> GuardrailDecision:
        for _ in range(200):
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue
            if self.over.is_set():
                break
        return YES


class Plain:
    """Not a decision of ours, but of its shape."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Trap:
    """Raises when it is looked at."""

    @property
    def allow(self) -> bool:
        raise ValueError("a trap")


class Truthy:
    """Claims to be true and equal to everything."""

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Loaded:
    """Can be loaded by its name."""

    name = "loaded"

    def __init__(self, limit: int = 1, framework: str = "") -> None:
        self.limit, self.framework = limit, framework

    def evaluate(self, request: GuardrailRequest) -> GuardrailDecision:
        return GuardrailDecision(allow=len(request.tool_input) <= self.limit)

    async def aevaluate(self, request: GuardrailRequest) -> GuardrailDecision:
        return self.evaluate(request)


class Anything(Loaded):
    """Takes whatever it is given."""

    def __init__(self, **given: Any) -> None:
        super().__init__()
        self.given = given


class Nameless(Loaded):
    name = ""


class Faceless:
    name = "faceless"


class Failing(Loaded):
    def __init__(self) -> None:
        raise RuntimeError("no")


def endless() -> Iterator[int]:
    while True:
        yield 1


NOT_A_CLASS = Loaded()
