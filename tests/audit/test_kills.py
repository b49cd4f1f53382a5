"""Writers are killed at random points: what was acknowledged is there. `python -m fuzz.audit_kills` does 100 runs."""

from __future__ import annotations

import random
from pathlib import Path

from fuzz.audit_kills import Figures, run


def test_nothing_that_was_acknowledged_is_lost_when_writers_are_killed(tmp_path: Path) -> None:
    figures = Figures()
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        run(tmp_path / str(number), 4, random.Random(f"check {number}"), figures)
    assert figures.wrong == []
    assert (figures.runs, figures.kills) == (2, 12)
    assert figures.acknowledged > 0
