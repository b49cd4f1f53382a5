"""The machine's clock, for engines whose policies may be late."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class SystemClock:
    """Monotonic time, and waiting on the running event loop."""

    __slots__ = ()

    def seconds(self) -> float:
        """Read a clock that only goes forward."""
        return time.monotonic()

    async def within(self, answer: Awaitable[T], seconds: float) -> T:
        """Wait for an answer at most so long; TimeoutError after that."""
        import asyncio  # noqa: PLC0415  30 ms that only asynchronous hosts have already paid

        return await asyncio.wait_for(answer, seconds)
