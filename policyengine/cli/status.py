"""Exit statuses: the three answers of `check`, and the failures (numbers of sysexits.h)."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """What the process ends with."""

    ALLOW = 0  # also: everything went well
    ASK = 1  # also: `test` found failures
    DENY = 2  # also: every failure of a hook
    USAGE = 64  # an option or argument is wrong
    DATA = 65  # `decide` met lines that are no requests
    RULES = 66  # rules, descriptions, profiles or a bundle are missing or broken
    INTERNAL = 70  # a fault of ours
    IO = 74  # reading or writing failed
    INTERRUPTED = 130  # Ctrl-C, as a shell counts it
