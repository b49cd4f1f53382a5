"""A provider as a remote policy: asked about calls that nothing else denies, about a copy, and by a deadline.

A provider is somebody else's code. Synchronous code cannot be interrupted, so it runs in a thread that is left behind
when it is late; after `MAX_STUCK` of them no more are started until one returns.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from policyengine.effects import Facts
from policyengine.errors import UsageError
from policyengine.model import Outcome, Request, ResourceKind, Verdict
from policyengine.policies.guardrails.answers import answered, failed
from policyengine.policies.guardrails.protocol import GuardrailProvider, GuardrailRequest, request_for
from policyengine.state import RunState

SHARE = 0.9  # of the deadline that the provider may take; the rest is for naming what was late
MAX_STUCK = 8


class Guardrail:
    """A provider's opinion about every call of a tool.

    Args:
        provider: the checker.
        deadline: seconds that it may take.
        passport: who the agent is to the provider; the agent's name where None.
        control_flow: exceptions by which the host's runtime interrupts a run (LangGraph's `GraphBubbleUp`): they
            pass through, as everything that is no `Exception` does.

    Raises:
        UsageError: the provider has no name, or the deadline cannot be used.
    """

    __slots__ = ("_control_flow", "_passport", "_provider", "_stuck", "deadline", "name")

    def __init__(
        self,
        provider: GuardrailProvider,
        *,
        deadline: float = 5.0,
        passport: str | None = None,
        control_flow: tuple[type[Exception], ...] = (),
    ) -> None:
        if not 0 < deadline <= 600:
            raise UsageError(f"`{deadline}` is no deadline, expected up to 600 seconds")
        self.name = checked_name(provider)
        self.deadline = deadline
        self._provider = provider
        self._passport = passport
        self._control_flow = control_flow
        self._stuck = threading.BoundedSemaphore(MAX_STUCK)

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Ask the provider, in a thread that may be late."""
        del facts, state
        end = time.monotonic() + self.deadline * SHARE
        asked = self._asked(request)
        if isinstance(asked, Verdict):
            return asked
        return self._waited(lambda: self._told(self._provider.evaluate(asked)), end)

    async def aevaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Ask the provider's asynchronous twin, or its synchronous face in a thread where it has no twin."""
        del facts, state
        end = time.monotonic() + self.deadline * SHARE
        asked = self._asked(request)
        if isinstance(asked, Verdict):
            return asked
        ask: Callable[[GuardrailRequest], Any] | None = getattr(self._provider, "aevaluate", None)  # may be missing
        if ask is None:
            return await self._threaded(lambda: self._told(self._provider.evaluate(asked)), end)
        return await self._awaited(ask, asked, end)

    def _asked(self, request: Request) -> GuardrailRequest | Verdict:
        """What to ask; or the answer, where there is no call of a tool to ask about."""
        if request.resource.kind is not ResourceKind.TOOL or request.arguments is None:
            return Verdict(policy=self.name, outcome=Outcome.ALLOW)
        now = request.context.now
        try:
            return request_for(request, time.time() if now is None else now, self._passport)
        except (ValueError, OverflowError, OSError):  # a time that no calendar has
            return failed(self.name, "unaskable", f"The call cannot be shown to the guardrail {self.name}.")

    def _told(self, answer: object) -> Verdict:
        return answered(self.name, answer)

    def _raised(self, error: BaseException) -> Verdict:
        """What an exception means.

        Raises:
            BaseException: that same one, where it interrupts the run.
        """
        if isinstance(error, self._control_flow) or not isinstance(error, Exception):
            raise error
        return failed(self.name, "raised", f"The guardrail {self.name} failed ({type(error).__name__}).")

    def _late(self) -> Verdict:
        return failed(self.name, "timeout", f"The guardrail {self.name} did not answer in time.")

    def _waited(self, ask: Callable[[], Verdict], end: float) -> Verdict:
        """Run in a thread and wait until `end` (`time.monotonic`)."""
        answers: SimpleQueue[Verdict | BaseException] = SimpleQueue()
        refused = self._started(ask, answers.put)
        if refused is not None:
            return refused
        try:
            answer = answers.get(timeout=max(end - time.monotonic(), 0))
        except Empty:
            return self._late()
        return self._raised(answer) if isinstance(answer, BaseException) else answer

    async def _threaded(self, ask: Callable[[], Verdict], end: float) -> Verdict:
        """Run in a thread and await what comes of it until `end`."""
        loop = asyncio.get_running_loop()
        answers: asyncio.Queue[Verdict | BaseException] = asyncio.Queue()

        def put(answer: Verdict | BaseException) -> None:
            with suppress(RuntimeError):  # the loop was closed in the meantime, and nobody waits
                loop.call_soon_threadsafe(answers.put_nowait, answer)

        refused = self._started(ask, put)
        if refused is not None:
            return refused
        try:
            answer = await asyncio.wait_for(answers.get(), max(end - time.monotonic(), 0))
        except TimeoutError:
            return self._late()
        return self._raised(answer) if isinstance(answer, BaseException) else answer

    def _started(self, ask: Callable[[], Verdict], put: Callable[[Verdict | BaseException], None]) -> Verdict | None:
        """Start a thread that asks with the caller's context variables; a verdict where none can be started."""
        if not self._stuck.acquire(blocking=False):
            return failed(self.name, "stuck", f"The guardrail {self.name} still hangs over earlier calls.")

        def run() -> None:
            try:
                put(ask())
            except BaseException as error:  # judged by whoever waits
                put(error)
            finally:
                self._stuck.release()

        try:
            threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
        except RuntimeError:  # there can be no more threads
            self._stuck.release()
            return failed(self.name, "stuck", f"The guardrail {self.name} cannot be asked: there are too many threads.")
        return None

    async def _awaited(self, ask: Callable[[GuardrailRequest], Any], asked: GuardrailRequest, end: float) -> Verdict:
        """Await in a task of its own: one that does not end when it is cancelled is left behind."""

        async def answer() -> Verdict:
            given: Awaitable[object] | object = ask(asked)
            return self._told(await given if inspect.isawaitable(given) else None)

        task = asyncio.ensure_future(answer())
        try:
            await asyncio.wait({task}, timeout=max(end - time.monotonic(), 0))
        finally:
            if not task.done():
                task.cancel()
                task.add_done_callback(_ignored)
        if not task.done():
            return self._late()
        if task.cancelled():
            raise asyncio.CancelledError
        error = task.exception()
        return task.result() if error is None else self._raised(error)


def _ignored(task: asyncio.Task[Verdict]) -> None:
    """Look at what a task left behind ended with, or the loop would report it as forgotten."""
    if not task.cancelled():
        task.exception()


def checked_name(provider: object) -> str:
    """Give a provider's name.

    Raises:
        UsageError: it has none, or one that no record can hold.
    """
    try:
        name: object = getattr(provider, "name", None)  # somebody else's object
    except Exception as error:
        raise UsageError(f"the name of a guardrail provider cannot be read ({type(error).__name__})") from error
    if not isinstance(name, str) or not name.isascii() or not name.isprintable() or not 0 < len(name) <= 100:
        raise UsageError("a guardrail provider has no name, expected up to 100 printable characters")
    return name
