"""What a runtime's tools mean: their arguments by role, compiled from `rules/tools.yaml`, which states the format."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from policyengine.records import NamedTuple

Compiled: TypeAlias = Mapping[str, Any]  # plain data out of a bundle, whose shape `config.tools` has checked


class Argument(NamedTuple):
    """One argument: its role, its default, and the roles of its items' keys where it is a list of objects."""

    role: str
    default: str | None = None
    items: Mapping[str, str] | None = None


class Arguments(dict[str, Argument]):
    """Arguments by name, in the description's order."""

    __slots__ = ("lasting",)

    def __init__(self, meanings: Mapping[str, Argument] = {}) -> None:
        super().__init__(meanings)
        self.lasting = any(meaning.default is not None for meaning in meanings.values())

    def order(self, given: Mapping[str, object]) -> Sequence[str]:
        """Name those that are given or have a default, those first that say where the call happens."""
        if len(given) == 1 and not self.lasting:
            return [name for name in given if name in self]
        names = [name for name, meaning in self.items() if name in given or meaning.default is not None]
        if len(names) > 1:
            names.sort(key=lambda name: self[name].role != "chdir")
        return names


class Tool(NamedTuple):
    """A described tool.

    Attributes:
        name: the described name (not one of its further names or globs).
        arguments: argument name → meaning.
        needs: names of which at least one must be given.
        use: category of a `tool.use` effect, empty for none.
        opaque: what the tool does is not known beyond its arguments.
        by: argument whose text selects one of `modes`; empty for none.
        modes: text of that argument → the meaning of the other arguments in that mode.
    """

    name: str
    arguments: Arguments = Arguments()
    needs: tuple[str, ...] = ()
    use: str = ""
    opaque: bool = False
    by: str = ""
    modes: Mapping[str, Arguments] = {}


class Tools:
    """All described tools; a description is decoded when it is first asked for."""

    __slots__ = ("_decoded", "_globs", "_source")

    def __init__(self, source: Mapping[str, Compiled]) -> None:
        self._source = source
        self._globs = [name for name in source if "*" in name or "?" in name]
        self._decoded: dict[str, Tool] = {}

    def find(self, name: str) -> Tool | None:
        """Return a tool's description, exact names before globs; None where nobody described it."""
        known = self._decoded.get(name)
        if known is not None:
            return known
        key = (
            name
            if name in self._source
            else next((glob for glob in self._globs if fnmatch.fnmatchcase(name, glob)), None)
        )
        if key is None:
            return None
        compiled = self._source[key]
        meant = compiled.get("=", key)
        if meant not in self._decoded:
            self._decoded[meant] = _tool(meant, compiled if meant == key else self._source[meant])
        if key == name:  # not the names that a glob stands for: there is no end to them
            self._decoded[name] = self._decoded[meant]
        return self._decoded[meant]


def _tool(name: str, compiled: Compiled) -> Tool:
    return Tool(
        name=name,
        arguments=_arguments(compiled.get("a", {})),
        needs=tuple(compiled.get("n", ())),
        use=compiled.get("u", ""),
        opaque=bool(compiled.get("o", False)),
        by=compiled.get("b", ""),
        modes={mode: _arguments(inner) for mode, inner in compiled.get("m", {}).items()},
    )


def _arguments(compiled: Mapping[str, Any]) -> Arguments:
    return Arguments(
        {
            name: Argument(given) if isinstance(given, str) else Argument(given["r"], given.get("d"), given.get("i"))
            for name, given in compiled.items()
        }
    )
