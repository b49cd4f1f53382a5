"""Stores in one Redis server, for several machines.

A server that may forget is refused when a store is made: one that evicts keys (`maxmemory-policy`), and one that
keeps no append-only file, since after its restart every approval could be used again. With `appendfsync everysec` a
loss of the server's power, and with replicas a failover, may still take the last second back. Each call waits a bounded
time and is sent once: a lost reply counts as used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from policyengine.errors import RequestError, StoreError
from policyengine.state import START, RunState, from_json, to_json
from policyengine.stores.store import GRACE, Reach, check_newer, check_scope, checked_end, conflict

SECONDS = 2.0  # how long one call may take
PREFIX = "policyengine:"
# Replaces a state if its version is the expected one; a state that is not there has version 0.
_SAVE = """
local version = redis.call('HGET', KEYS[1], 'version') or '0'
if version ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'state', ARGV[3])
return 1
"""


def connect(url: str, *, seconds: float = SECONDS) -> Redis:
    """Make a client that waits so long for each call, and sends it once.

    Args:
        url: `redis://`, `rediss://` (TLS) or `unix://`, as the redis package documents it.
        seconds: how long one call may take.

    Raises:
        StoreError: the address is none.
    """
    with _refusing():
        client = Redis.from_url(
            url, socket_timeout=seconds, socket_connect_timeout=seconds, retry=Retry(NoBackoff(), 0)
        )
    return client


def check_memory(client: Redis) -> None:
    """Refuse a server that may forget.

    Raises:
        StoreError: it may (`store.evicting`, `store.volatile`), or it does not answer.
    """
    with _refusing():
        told: dict[str, Any] = client.info()  # Any: numbers and texts of the server's
    if told.get("maxmemory") and told.get("maxmemory_policy") != "noeviction":
        raise StoreError("store.evicting", "the server drops keys when its memory is full: set `noeviction`")
    if not told.get("aof_enabled"):
        raise StoreError("store.volatile", "the server forgets when it restarts: set `appendonly yes`")


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError, ValueError) as error:
        raise StoreError("store.unavailable", f"the Redis server cannot be asked ({type(error).__name__})") from error


class RedisApprovals:
    """Used approvals of all machines that share a server."""

    reach = Reach.FLEET

    def __init__(self, client: Redis, *, prefix: str = PREFIX, clock: Callable[[], float] = time.time) -> None:
        check_memory(client)
        self._client = client
        self._prefix = f"{prefix}spent:"
        self._clock = clock

    def spend(self, jti: str, until: float) -> bool:
        """Use an approval up (`Approvals.spend`); the server drops it some time after its end."""
        end, now = checked_end(jti, until), self._clock()
        if not now < end:  # also where the clock shows no time
            return False
        milliseconds = int((end - now + GRACE) * 1000)
        with _refusing():
            return self._client.set(self._prefix + jti, "", nx=True, px=milliseconds) is True


class RedisRunStates:
    """Run states of all machines that share a server."""

    reach = Reach.FLEET

    def __init__(self, client: Redis, *, prefix: str = PREFIX) -> None:
        check_memory(client)
        self._client = client
        self._prefix = f"{prefix}state:"

    def load(self, scope_id: str) -> RunState:
        """Give the state that was saved last (`RunStates.load`)."""
        check_scope(scope_id)
        with _refusing():
            text = self._client.hget(self._key(scope_id), "state")
        if text is None:
            return START
        try:
            return from_json(text.decode("ascii") if isinstance(text, bytes) else str(text))
        except (RequestError, UnicodeDecodeError) as error:
            raise StoreError("store.corrupt", "the stored state cannot be read") from error

    def save(self, scope_id: str, expected_version: int, state: RunState) -> None:
        """Replace a state (`RunStates.save`)."""
        check_scope(scope_id)
        check_newer(expected_version, state)
        with _refusing():
            saved = self._client.eval(
                _SAVE, 1, self._key(scope_id), str(expected_version), str(state.version), to_json(state)
            )
        if saved != 1:
            raise conflict(expected_version)

    def forget(self, scope_id: str) -> None:
        """Drop the state of a run that has ended (`RunStates.forget`)."""
        with _refusing():
            self._client.delete(self._key(scope_id))

    def _key(self, scope_id: str) -> str:
        return self._prefix + scope_id
