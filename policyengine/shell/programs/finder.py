"""Finding a program's description by name."""

from __future__ import annotations

from collections.abc import Mapping

from policyengine.shell.programs.grammar import Program


class Programs:
    """All described programs; a description is decoded when it is first asked for."""

    __slots__ = ("_found", "_source")

    def __init__(self, source: Mapping[str, Mapping[str, object]]) -> None:
        self._source = source
        self._found: dict[str, Program | None] = {}

    def find(self, name: str) -> Program | None:
        """The description of a program by its base name, exact names before globs; None where nobody described it."""
        if name not in self._found:
            compiled = self._source.get(name)
            self._found[name] = None if compiled is None else Program(name, compiled)
        return self._found[name]
