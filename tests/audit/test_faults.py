"""Every call to the system fails once, each way that it can: the caller is told, and what was acknowledged is there."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policyengine.audit import AuditLog, Durability, Standing, verify
from policyengine.errors import AuditError
from tests.audit.logs import KEYS, numbers

CALLS = ("open", "mkdir", "stat", "fstat", "listdir", "read", "pread", "write", "pwrite", "fsync", "fdatasync",
         "ftruncate")  # fmt: skip
MOST_CALLS = 400  # of one scenario


class _Failing:
    """Lets one of the calls fail: the one with a number, counted from 0."""

    def __init__(self, patched: pytest.MonkeyPatch, number: int, error: int) -> None:
        self.count = 0
        self._number, self._error = number, error
        for name in CALLS:
            patched.setattr(os, name, self._wrapped(getattr(os, name)))
        patched.setattr(fcntl, "flock", self._wrapped(fcntl.flock))

    def _wrapped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any, **named: Any) -> Any:
            self.count += 1
            if self.count - 1 == self._number:
                raise OSError(self._error, os.strerror(self._error))
            return real(*values, **named)

        return call


def _scenario(path: Path, durability: Durability) -> list[int]:
    """Open, append, open again, append; the numbers of what was acknowledged."""
    kept: list[int] = []
    for start in (0, 10):
        try:
            log = AuditLog(path, KEYS, durability=durability)
        except AuditError:
            continue
        for number in range(start, start + 3):
            try:
                log.append({"type": "test", "number": number})
                kept.append(number)
            except AuditError:
                continue
        log.close()
    return kept


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EMFILE], ids=["io", "full", "files"])
@pytest.mark.parametrize("place", ["log", "audit.jsonl"])
@pytest.mark.parametrize("durability", list(Durability))
def test_whichever_call_fails_nothing_that_was_acknowledged_is_lost(
    tmp_path: Path, durability: Durability, place: str, error: int
) -> None:
    for number in range(MOST_CALLS):
        path = tmp_path / f"{number}" / place
        path.parent.mkdir()
        with pytest.MonkeyPatch.context() as patched:
            failing = _Failing(patched, number, error)
            kept = _scenario(path, durability)
        later = AuditLog(path, KEYS)
        later.append({"type": "test", "number": 99})
        later.close()
        assert verify(path, KEYS).standing is Standing.SOUND, f"call {number}: {verify(path, KEYS).problems}"
        assert set(kept) | {99} <= set(numbers(path)), f"call {number}"
        if failing.count <= number:
            return
    pytest.fail(f"more than {MOST_CALLS} calls")
