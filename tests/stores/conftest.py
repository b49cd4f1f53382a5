"""Stores of every kind, each empty, with a way to open the same one again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.stores.servers import KEEPS, MISSING, Server, program


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if program() is None:
        pytest.skip(MISSING)
    started = Server(tmp_path_factory.mktemp("redis"), *KEEPS)
    yield started
    started.kill()


@pytest.fixture(params=["sqlite", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Where a store that outlives its process is: `sqlite:PATH`, or a Redis server's address."""
    if request.param == "sqlite":
        return lambda: f"sqlite:{tmp_path / 'store.db'}"
    found: Server = request.getfixturevalue("server")
    return lambda: found.url
