"""Kept-alive connections for event loops, with the same answers as `blocking` gives to threads."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from policyengine.policies.opa.exchange import CLOSED, Answer, Failure, Reply
from policyengine.policies.opa.failures import TIMEOUT, failure_of
from policyengine.policies.opa.server import Server

MAX_IDLE = 64  # connections of one loop that wait for the next query; more are closed


class Connections:
    """Connections to one server, for every loop its own."""

    __slots__ = ("_idle", "_server")

    def __init__(self, server: Server) -> None:
        self._server = server
        self._idle: WeakKeyDictionary[asyncio.AbstractEventLoop, list[_Channel]] = WeakKeyDictionary()

    async def ask(self, query: bytes, seconds: float) -> Reply | Failure:
        """Send a query and wait for its answer at most so long."""
        try:
            async with asyncio.timeout(seconds):
                return await self._ask(query)
        except TimeoutError:
            return TIMEOUT
        except OSError as error:
            return failure_of(error)

    def close(self) -> None:
        """Close the connections of the running loop that wait."""
        idle = self._of_this_loop()
        while idle:
            idle.pop().close()

    def _of_this_loop(self) -> list[_Channel]:
        return self._idle.setdefault(asyncio.get_running_loop(), [])

    async def _ask(self, query: bytes) -> Reply | Failure:
        idle = self._of_this_loop()
        while idle:
            channel = idle.pop()
            if channel.is_quiet:
                answer = await self._asked(channel, query)
                if not channel.gave_nothing:
                    return answer
            channel.close()
        return await self._asked(await _connected(self._server), query)

    async def _asked(self, channel: _Channel, query: bytes) -> Reply | Failure:
        keep = False
        try:
            answer = await channel.ask(query)
            idle = self._of_this_loop()
            keep = isinstance(answer, Reply) and answer.keep and channel.is_quiet and len(idle) < MAX_IDLE
            if keep:
                idle.append(channel)
            return answer
        finally:
            if not keep:
                channel.close()


class _Channel(asyncio.Protocol):
    """One connection: what arrives belongs to the query that waits, or shows that the connection is of no more use."""

    def __init__(self) -> None:
        self.is_quiet = True  # open, and nothing has arrived that nobody asked for
        self.gave_nothing = False  # the last query found the connection closed
        self._transport: asyncio.Transport | None = None
        self._answer = Answer()
        self._waiting: asyncio.Future[Reply | Failure] | None = None

    async def ask(self, query: bytes) -> Reply | Failure:
        """Send a query and wait for its answer."""
        assert self._transport is not None
        self._answer, self.gave_nothing = Answer(), False
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(query)
        return await self._waiting

    def close(self) -> None:
        """Drop the connection, and whatever is still to be sent."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way to send."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Add to the answer that is waited for."""
        if self._waiting is None or self._waiting.done():
            self.is_quiet = False
            self.close()
            return
        self._settle(self._answer.feed(data))

    def eof_received(self) -> None:
        """Take the end of the stream for the end of the connection."""
        self._ended()

    def connection_lost(self, error: Exception | None) -> None:
        """End the query that waits."""
        self._ended()

    def _ended(self) -> None:
        self.is_quiet = False
        if self._waiting is not None and not self._waiting.done():
            self.gave_nothing = self._answer.is_empty
            self._settle(CLOSED if self.gave_nothing else self._answer.feed(b""))

    def _settle(self, outcome: Reply | Failure | None) -> None:
        if outcome is not None and self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(outcome)


async def _connected(server: Server) -> _Channel:
    """Open a connection.

    Raises:
        OSError: there is none.
    """
    loop = asyncio.get_running_loop()
    if server.unix:
        return (await loop.create_unix_connection(_Channel, server.unix))[1]
    name = server.host if server.tls is not None else None
    return (await loop.create_connection(_Channel, server.host, server.port, ssl=server.tls, server_hostname=name))[1]
