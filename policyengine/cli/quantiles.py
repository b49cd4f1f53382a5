"""Quantiles of measured times, and what a case of a benchmark costs."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TypeVar

from policyengine.records import NamedTuple

Number = TypeVar("Number", int, float)


def median_and_p99(ascending: Sequence[Number]) -> tuple[Number, Number]:
    """The median and the 99th percentile by nearest rank, rounded up: of a few times the latter is the longest.

    Args:
        ascending: at least one time, in ascending order.
    """
    p50, p99 = (ascending[ceil(share * len(ascending)) - 1] for share in (0.5, 0.99))
    return p50, p99


class Cost(NamedTuple):
    """What a case costs: microseconds, and how many samples say so."""

    p50_us: float
    p99_us: float
    n: int


def cost_of(ascending: Sequence[float], digits: int) -> Cost:
    """Say what samples in nanoseconds, in ascending order, amount to; `digits` are kept behind the point."""
    p50, p99 = median_and_p99(ascending)
    return Cost(round(p50 / 1000, digits), round(p99 / 1000, digits), len(ascending))
