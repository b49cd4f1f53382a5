"""Finding a program's description by its name."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping

from policyengine.patterns import lazily
from policyengine.shell.programs.decoding import Compiled, is_glob
from policyengine.shell.programs.grammar import Program


class Programs:
    """All described programs: compiled descriptions by name, decoded when first asked for.

    A name may be a glob (`python3.*`); `{"=": name}` says that it is another name of that program.
    """

    __slots__ = ("_decoded", "_glob", "_globs", "_source")

    def __init__(self, source: Mapping[str, Compiled]) -> None:
        self._source = source
        self._globs = glob_names(source)
        self._glob = lazily("|".join(map(fnmatch.translate, self._globs)) or r"(?!)")  # all of them in one go
        self._decoded: dict[str, Program] = {}  # by described name, so that hostile names cannot make it grow

    def find(self, name: str) -> Program | None:
        """Return a program's grammar by its base name, exact names before globs; None where nobody described it."""
        program = self._decoded.get(name)
        if program is not None:
            return program
        key = name if name in self._source else self._glob_for(name)
        return None if key is None else self._decode(key)

    def _glob_for(self, name: str) -> str | None:
        if self._glob.match(name) is None:
            return None
        return next(glob for glob in self._globs if fnmatch.fnmatchcase(name, glob))

    def _decode(self, key: str) -> Program:
        if key not in self._decoded:
            compiled = self._source[key]
            same = compiled.get("=")
            self._decoded[key] = Program(key, compiled) if same is None else self._decode(same)
        return self._decoded[key]


def glob_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return those program names that are globs, the most particular (longest) first."""
    return tuple(sorted(filter(is_glob, names), key=lambda name: (-len(name), name)))
