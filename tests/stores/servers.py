"""A real Redis server on the loopback address, which can be killed and started again on the same files."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

import redis

MISSING = "`redis-server` is not on PATH"
START_SECONDS = 20
KEEPS = ("--appendonly", "yes", "--appendfsync", "always")


def program() -> str | None:
    """Where the server's program is."""
    return shutil.which("redis-server")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """A server with its files in a folder."""

    def __init__(self, folder: Path, *settings: str) -> None:
        self._folder, self._settings = folder, settings
        folder.mkdir(exist_ok=True)
        self.port = _free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        found = program()
        assert found is not None
        with (self._folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                [found, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder), *self._settings],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        until = time.monotonic() + START_SECONDS
        with redis.Redis(port=self.port, socket_timeout=1) as client:
            while True:
                try:
                    client.ping()
                    return
                except redis.RedisError:
                    assert time.monotonic() < until, "the server did not start"
                    time.sleep(0.02)

    def kill(self) -> None:
        """End it without a warning."""
        self._process.kill()
        self._process.wait()
