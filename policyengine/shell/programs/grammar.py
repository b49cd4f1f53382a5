"""A compiled description, decoded for reading."""

from __future__ import annotations

from collections.abc import Mapping


class Program:
    """One program's argument grammar."""

    __slots__ = ("compiled", "name")

    def __init__(self, name: str, compiled: Mapping[str, object]) -> None:
        self.name = name
        self.compiled = compiled
