"""Servers to ask: the real OPA, and impostors that answer as they please."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from policyengine.cli.opa import program
from policyengine.effects import Facts
from policyengine.model import (
    ANONYMOUS,
    Context,
    Principal,
    Request,
    Resource,
    ResourceKind,
    Verdict,
    freeze_object,
)
from policyengine.policies.opa import Opa, Server
from policyengine.state import START

__all__ = ["program"]

RULES = Path(__file__).parents[3] / "rules" / "opa"
MISSING = "the OPA server is missing: set POLICYENGINE_OPA, or put `opa` beside the interpreter or on PATH"
START_SECONDS = 20


def call(tool: str = "bash", principal: Principal = ANONYMOUS, **arguments: Any) -> Request:
    """A request for a call of a tool."""
    return Request(
        principal=principal,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, tool),
        arguments=freeze_object(arguments),
        context=Context(),
    )


def code(verdict: Verdict) -> str:
    """The code of a verdict's only finding; empty for an allowed call."""
    return ",".join(finding.code for finding in verdict.findings)


def asked(policy: Opa, request: Request | None = None) -> Verdict:
    """What a policy says to a call of which nothing is known."""
    return policy.evaluate(request or call(), Facts(), START)


def free_port() -> int:
    """A port that nobody listens on, for the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Real:
    """The real server, on the loopback address."""

    def __init__(self, program: str, folder: Path, *files: Path, port: int = 0) -> None:
        folder.mkdir(exist_ok=True)
        self.server = Server(port=port or free_port())
        self.unix = folder / "opa.sock"
        log = (folder / "opa.log").open("wb")
        self.process = subprocess.Popen(
            [program, "run", "--server", "--v1-compatible", "--disable-telemetry", "--log-level", "error",
             "--addr", f"127.0.0.1:{self.server.port}", "--addr", f"unix://{self.unix}", *map(str, files)],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        log.close()

    def wait(self) -> None:
        """Wait until it answers."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            assert self.process.poll() is None, "the server ended at once"
            with suppress(OSError), urllib.request.urlopen(f"http://{self.server.authority}/health", timeout=1) as one:
                if one.status == 200:
                    return
            time.sleep(0.02)
        raise AssertionError("the server did not start")

    def stop(self) -> None:
        """Kill it; it is not asked to finish."""
        self.process.kill()
        self.process.wait()


@contextmanager
def running(program: str, folder: Path, *files: Path, port: int = 0) -> Iterator[Real]:
    """The real server while the block runs."""
    real = Real(program, folder, *files, port=port)
    try:
        real.wait()
        yield real
    finally:
        real.stop()


Behaviour = Callable[[socket.socket, threading.Event], None]  # the event is set when the test is over


@contextmanager
def impostor(behaviour: Behaviour) -> Iterator[Server]:
    """A server of which every connection behaves so, in a thread of its own."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()
    threads: list[threading.Thread] = []

    def serve() -> None:
        while not over.is_set():
            with suppress(OSError):
                connection, _ = listener.accept()
                thread = threading.Thread(target=handle, args=(connection,))
                threads.append(thread)
                thread.start()

    def handle(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            behaviour(connection, over)

    accepting = threading.Thread(target=serve)
    accepting.start()
    try:
        yield Server(port=listener.getsockname()[1])
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for thread in threads:
            thread.join()


def query(connection: socket.socket) -> bytes:
    """Read one whole query; empty where the client went away."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def says(*answers: bytes) -> Behaviour:
    """Answer each query on a connection with the next of these bytes, then close it."""

    def behave(connection: socket.socket, over: threading.Event) -> None:
        for answer in answers:
            if query(connection):
                connection.sendall(answer)

    return behave


def http(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """An answer of HTTP/1.1."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
