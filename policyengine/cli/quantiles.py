"""Quantiles of measured times."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TypeVar

Number = TypeVar("Number", int, float)


def median_and_p99(ascending: Sequence[Number]) -> tuple[Number, Number]:
    """The median and the 99th percentile by nearest rank, rounded up: of a few times the latter is the longest.

    Args:
        ascending: at least one time, in ascending order.
    """
    p50, p99 = (ascending[ceil(share * len(ascending)) - 1] for share in (0.5, 0.99))
    return p50, p99
