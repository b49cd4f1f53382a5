"""Kept-alive connections for threads: each query has one for itself, and a deadline that no server can stretch.

A socket's own timeout starts anew with every byte; here it is what is left until the end of the query.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from contextlib import suppress

from policyengine.policies.opa.exchange import CLOSED, Answer, Failure, Reply
from policyengine.policies.opa.failures import failure_of
from policyengine.policies.opa.server import Server

MAX_IDLE = 16  # connections that wait for the next query; more are closed
PIECE = 64 * 1024  # bytes read at once


class Connections:
    """Connections to one server, for any number of threads; a process that was forked opens its own."""

    __slots__ = ("_idle", "_process", "_server")

    def __init__(self, server: Server) -> None:
        self._server = server
        self._idle: list[socket.socket] = []
        self._process = os.getpid()

    def ask(self, query: bytes, end: float) -> Reply | Failure:
        """Send a query and wait for its answer until `end` (`time.monotonic`)."""
        try:
            waiting = self._waiting()
            answer = None if waiting is None else self._asked_again(waiting, query, end)
            return answer or self._asked(_connected(self._server, end), query, end)
        except OSError as error:
            return failure_of(error)

    def close(self) -> None:
        """Close the connections that wait."""
        while self._idle:
            self._idle.pop().close()

    def _waiting(self) -> socket.socket | None:
        """Take a connection on which nothing has happened since its last answer."""
        if self._process != os.getpid():
            self._process, self._idle = os.getpid(), []
        while self._idle:
            with suppress(IndexError):  # another thread took the last
                found = self._idle.pop()
                if not _has_news(found):
                    return found
                found.close()
        return None

    def _asked_again(self, connection: socket.socket, query: bytes, end: float) -> Reply | Failure | None:
        """Ask on a connection that has waited; None where the server closed it before anything came back."""
        try:
            answer = self._asked(connection, query, end)
        except ConnectionError:
            return None
        return None if answer is NOTHING else answer

    def _asked(self, connection: socket.socket, query: bytes, end: float) -> Reply | Failure:
        keep = False
        try:
            answer = _exchanged(connection, query, end)
            keep = isinstance(answer, Reply) and answer.keep and len(self._idle) < MAX_IDLE
            return answer
        finally:
            if keep:
                self._idle.append(connection)
            else:
                connection.close()


NOTHING = Failure(*CLOSED)  # told apart from an answer that was cut


def _exchanged(connection: socket.socket, query: bytes, end: float) -> Reply | Failure:
    connection.settimeout(_left(end))
    connection.sendall(query)
    answer = Answer()
    while True:
        connection.settimeout(_left(end))
        piece = connection.recv(PIECE)
        if not piece and answer.is_empty:
            return NOTHING
        outcome = answer.feed(piece)
        if outcome is not None:
            return outcome


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _has_news(connection: socket.socket) -> bool:
    """Whether the server has closed an idle connection, or sent what nobody asked for: it must answer no query."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


# ------------------------------------------------------------------------------------------------------------- connect
def _connected(server: Server, end: float) -> socket.socket:
    """Open a connection by the end of the query.

    Raises:
        OSError: there is none.
    """
    if server.unix:
        return _opened(socket.AF_UNIX, server.unix, end)
    failure: OSError | None = None
    for family, address in _resolved(server, end):
        try:
            connection = _opened(family, address, end)
        except OSError as error:
            failure = error
            continue
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection if server.tls is None else _wrapped(server, connection, end)
    raise failure or OSError("the name has no address")


Address = str | tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]


def _opened(family: int, address: Address, end: float) -> socket.socket:
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.settimeout(_left(end))
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def _wrapped(server: Server, connection: socket.socket, end: float) -> socket.socket:
    assert server.tls is not None
    try:
        connection.settimeout(_left(end))
        return server.tls.wrap_socket(connection, server_hostname=server.host)
    except OSError:
        connection.close()
        raise


def _resolved(server: Server, end: float) -> list[tuple[int, Address]]:
    """The addresses of a host. Looking a name up cannot be interrupted, so a thread does it that may be left behind."""
    numeric = _looked_up(server, socket.AI_NUMERICHOST)
    if numeric:
        return numeric
    found: list[tuple[int, Address]] = []
    thread = threading.Thread(target=lambda: found.extend(_looked_up(server, 0)), daemon=True)
    thread.start()
    thread.join(_left(end))
    if thread.is_alive():
        raise TimeoutError
    return found


def _looked_up(server: Server, flags: int) -> list[tuple[int, Address]]:
    try:
        found = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM, flags=flags)
    except OSError:
        return []
    return [(family, address) for family, _, _, _, address in found]
