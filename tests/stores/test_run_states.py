"""Of two that follow up the same state, one wins and the other is told."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from policyengine.effects import Taint, WrittenFile
from policyengine.errors import StoreError
from policyengine.records import replace
from policyengine.state import START, Label, RunState
from policyengine.stores import MemoryRunStates, RunStates
from tests.stores.opening import fresh_ids, run_states

BUSY = replace(
    START,
    version=1,
    written={"/w/ä": WrittenFile("/w/ä", "rm -rf x\ud800", frozenset({Taint.FETCHED}))},
    labels=frozenset({Label.UNTRUSTED}),
    restrictions={"skill": frozenset({"Read"})},
)


def _at(version: int) -> RunState:
    return replace(START, version=version)


def _laws(store: RunStates) -> None:
    [scope, other] = fresh_ids(2)
    assert store.load(scope) == START
    store.save(scope, 0, BUSY)
    assert store.load(scope) == BUSY
    assert store.load(other) == START
    assert _code(store, scope, 0, _at(1)) == "store.conflict"
    assert _code(store, scope, 2, _at(3)) == "store.conflict"
    assert _code(store, other, 5, _at(6)) == "store.conflict", "a state that is lost is no state to follow up"
    assert _code(store, scope, 1, _at(1)) == "store.not-newer"
    assert _code(store, "", 0, _at(1)) == "store.scope"
    assert _code(store, "\0", 0, _at(1)) == "store.scope"
    assert store.load(scope) == BUSY
    store.save(scope, 1, _at(4))
    assert store.load(scope).version == 4
    store.forget(scope)
    assert store.load(scope) == START


def _code(store: RunStates, scope: str, expected: int, state: RunState) -> str:
    with pytest.raises(StoreError) as caught:
        store.save(scope, expected, state)
    return caught.value.code


def test_memory_compares_before_it_replaces() -> None:
    _laws(MemoryRunStates())


def test_a_shared_store_compares_before_it_replaces(place: Callable[[], str]) -> None:
    with run_states(place()) as store:
        _laws(store)


def test_a_state_is_there_for_the_next_process(place: Callable[[], str]) -> None:
    [scope] = fresh_ids(1)
    with run_states(place()) as store:
        store.save(scope, 0, BUSY)
    with run_states(place()) as store:
        assert store.load(scope) == BUSY


def test_of_concurrent_writers_one_wins_each_round(place: Callable[[], str]) -> None:
    [scope] = fresh_ids(1)
    with run_states(place()) as store, ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(lambda _: _rounds(store, scope), range(16))) == store.load(scope).version


def _rounds(store: RunStates, scope: str) -> int:
    won = 0
    for _ in range(5):
        version = store.load(scope).version
        try:
            store.save(scope, version, _at(version + 1))
            won += 1
        except StoreError as error:
            assert error.code == "store.conflict"
    return won
