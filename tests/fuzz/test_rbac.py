"""Our roles answer as pycasbin does; and the comparison notices an index that does not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from fuzz.rbac import compared
from fuzz.rbac_worlds import FAULTS
from policyengine.config.rbac import loading
from policyengine.policies.rbac import Builder, Hierarchy, Links
from policyengine.policies.rbac.globs import Glob

DECISIONS = 50_000 if "CI" in os.environ else 5_000


def test_random_worlds_are_answered_as_pycasbin_answers_them() -> None:
    counts, differences = compared(DECISIONS, seed=1)
    assert differences == []
    assert counts["by the index"] > DECISIONS / 2
    assert counts["by an Enforcer"] > 0
    assert min(counts["answered True"], counts["answered False"]) > DECISIONS / 10
    assert {name.removeprefix("refused: ") for name in counts if name.startswith("refused")} <= set(FAULTS)


def _one_deeper(links: Links, depth: int) -> Hierarchy:
    return Hierarchy(links, depth + 1)


def _one_flatter(links: Links, depth: int) -> Hierarchy:
    return Hierarchy(links, depth - 1)


def _without_denials(builder: Builder, columns: Sequence[Sequence[str]], numbers: Iterable[int]) -> None:
    lines = list(zip(zip(*columns, strict=True), numbers, strict=True))
    kept = [(line, number) for line, number in lines if line[-1] != "deny"] or lines[:1]
    _ADD(builder, list(zip(*(line for line, _ in kept), strict=True)), [number for _, number in kept])


def _without_prefixes(builder: Builder, columns: Sequence[Sequence[str]], numbers: Iterable[int]) -> None:
    _ADD(builder, [[field.replace("*", "+") for field in column] for column in columns], numbers)


_ADD: Callable[[Builder, Sequence[Sequence[str]], Iterable[int]], None] = Builder.add


@pytest.mark.parametrize(
    ("place", "name", "broken"),
    [
        (loading, "Hierarchy", _one_deeper),
        (loading, "Hierarchy", _one_flatter),
        (Builder, "add", _without_denials),
        (Builder, "add", _without_prefixes),
        (Glob, "matches", lambda glob, name: True),
    ],
    ids=["one deeper", "one flatter", "no denials", "no prefixes", "globs match all"],
)
def test_the_comparison_notices_a_broken_index(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, broken: Any
) -> None:
    monkeypatch.setattr(place, name, broken)
    assert compared(4_000, seed=2)[1] != []
