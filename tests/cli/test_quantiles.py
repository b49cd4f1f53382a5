"""Quantiles by nearest rank."""

from __future__ import annotations

import pytest

from policyengine.cli.quantiles import median_and_p99


@pytest.mark.parametrize(
    ("ascending", "expected"),
    [([7], (7, 7)), ([1, 9], (1, 9)), ([1, 2, 9], (2, 9)), (range(1, 101), (50, 99)), (range(1, 1001), (500, 990))],
)
def test_the_99th_percentile_of_few_is_the_longest(ascending: list[int], expected: tuple[int, int]) -> None:
    assert median_and_p99(ascending) == expected
