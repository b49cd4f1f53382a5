"""What a rule sees while one call is judged: its effects, and the zones of their paths and hosts here and now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from policyengine.effects import Effect
from policyengine.model import Context
from policyengine.policies.ruleset.globs import is_glob
from policyengine.policies.ruleset.hosts import Hosts
from policyengine.policies.ruleset.zones import (
    EXCEPT,
    NONE,
    Names,
    Tree,
    Walked,
    certain,
    may_lie_in,
    parts_of,
    possible,
)
from policyengine.records import NamedTuple

# Zones that come from the request's context. `temp` is where POSIX systems and macOS keep temporary files.
BUILTIN = frozenset({"workspace", "temp", "home", "cwd"})
TEMP = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders", "/dev/shm")  # noqa: S108  names, not files
PathPatterns: TypeAlias = "Mapping[str, tuple[Sequence[str], Sequence[str]]]"  # zone → patterns, exceptions


_ANY = "\0"  # stands for directories of any name, in which only patterns that float go on


class Zones:
    """The named places of a rule set, made ready when they are first looked at."""

    __slots__ = ("_folded", "_paths", "_tree", "hosts")

    def __init__(self, paths: PathPatterns, hosts: Mapping[str, Sequence[str]]) -> None:
        self._paths = paths
        self._tree: Tree | None = None
        self._folded: Tree | None = None
        self.hosts = Hosts(hosts)

    def tree(self, folds: bool) -> Tree:
        """Give the patterns, in lower case for a file system that folds case."""
        if folds:
            self._folded = self._folded or Tree(
                {name: (_lower(ins), _lower(outs)) for name, (ins, outs) in self._paths.items()}
            )
            return self._folded
        self._tree = self._tree or Tree(self._paths)
        return self._tree


def _lower(patterns: Sequence[str]) -> list[str]:
    return [pattern.lower() for pattern in patterns]


class Surroundings(NamedTuple):
    """Directories that zones depend on.

    Attributes:
        home: components of the home directory.
        roots: directories of the built-in zones with the zones' names.
        filed: the same under each directory's first component.
    """

    home: list[str]
    roots: list[tuple[str, str]]
    filed: dict[str, list[tuple[str, str]]]


@lru_cache(maxsize=64)
def surroundings(home: str, cwd: str, workspace: tuple[str, ...], folds: bool) -> Surroundings:
    """Name the directories of a context; hosts send the same few with every request."""
    named = [(root, "workspace") for root in workspace]
    named += [(home, "home"), (cwd, "cwd"), *((root, "temp") for root in TEMP)]
    cased = [(_normal(root.lower() if folds else root), name) for root, name in named if root]
    filed: dict[str, list[tuple[str, str]]] = {}
    for root, name in cased:
        filed.setdefault(root.split("/")[1], []).append((root, name))
    return Surroundings(parts_of(home.lower() if folds else home), cased, filed)


def _normal(root: str) -> str:
    return "/" + "/".join(parts_of(root))


class Places(NamedTuple):
    """Where a path is: in these zones as a whole, and touching these.

    `sure` holds all that is certain, exceptions included; `walked` is where the path may lead.
    """

    inside: Names
    touched: Names
    sure: set[str]
    walked: Walked


NOWHERE = Places(NONE, NONE, set(), Walked(set(), []))


class Sight:
    """One call as rules see it. Zones of a path are looked up once for each call."""

    __slots__ = ("_around", "_context", "_found", "_hosts", "_known", "_zones", "effects")

    def __init__(self, zones: Callable[[], Zones], context: Context, effects: Sequence[Effect]) -> None:
        self.effects = effects
        self._zones = zones
        self._context = context
        self._around: Surroundings | None = None
        self._known: dict[tuple[str, bool, bool], Places] = {}
        self._hosts: dict[str, Names] = {}
        self._found: dict[Callable[[Sight], list[Effect]], list[Effect]] = {}

    def once(self, search: Callable[[Sight], list[Effect]]) -> list[Effect]:
        """Give the answer of a search among the effects, which is done once in a call."""
        found = self._found.get(search)
        if found is None:
            found = self._found[search] = search(self)
        return found

    def hosts(self, host: str) -> Names:
        """Name the zones of a host."""
        known = self._hosts.get(host)
        if known is None:
            known = self._hosts[host] = self._zones().hosts.zones_of(host)
        return known

    def inside(self, path: str, unknown: bool, glob: bool) -> Names:
        """Name the zones in which everything lies that the path may name."""
        return self._places(path, unknown, glob).inside

    def touched(self, path: str, unknown: bool, glob: bool) -> Names:
        """Name the zones to which something belongs that the path may name."""
        return self._places(path, unknown, glob).touched

    def swept(self, path: str, unknown: bool, glob: bool) -> Names:
        """Name the zones touched where a directory is meant with what is in it."""
        places = self._places(path, unknown, glob)
        below = places.walked.below()
        return places.touched if below <= places.touched else places.touched | _unexcepted(below, places.sure)

    def ended(self, path: str, tail: str) -> Names:
        """Name the zones of what ends like this, in some directory: in the home directory if it may begin like that."""
        around, tree = self._surrounding(), self._zones().tree(self._folds)
        parts = [_ANY, *parts_of(tail.lower() if self._folds else tail)]
        starts = [(tree.root, 0)]
        if "/".join(["", *around.home, ""]).startswith(path[: path.rfind("/") + 1]):
            starts.append((tree.home, 1))
        found = certain(starts, parts).exact() if ".." not in parts else set()
        return _minus(found, found, tree.exceptions)

    def apart(self, path: str, unknown: bool, glob: bool, zones: Names) -> bool:
        """Whether the path is outside of the zones, wherever its unknown end may lead."""
        return zones.isdisjoint(self.inside(path, unknown, glob)) and (not unknown or self._leads_away(path, zones))

    def _leads_away(self, path: str, zones: Names) -> bool:
        start = (path.lower() if self._folds else path)[: path.rfind("/") + 1]
        roots = self._surrounding().roots
        return (
            len(start) > 1
            and path[0] == "/"
            and not any(name in zones and f"{at}/".startswith(start) for at, name in roots)
        )

    def _places(self, path: str, unknown: bool, glob: bool) -> Places:
        key = (path, unknown, glob)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._look_up(path, unknown, glob and is_glob(path))
        return known

    def _look_up(self, path: str, unknown: bool, glob: bool) -> Places:
        if path[:1] != "/":
            return NOWHERE
        around = self._surrounding()
        tree = self._zones().tree(self._folds)
        if self._folds:
            path = path.lower()
        if unknown:
            path = path[: path.rindex("/") + 1]
        parts = parts_of(path)
        walked = certain(tree.starts(parts, around.home), parts)
        sure = walked.below() if unknown else walked.exact()
        for root, name in (*around.filed.get(parts[0] if parts else "", ()), *around.filed.get("", ())):
            if path.startswith(root) and _lies_in(path, root, unknown):
                sure.add(name)
        if not glob or unknown:
            names = _minus(sure, sure, tree.exceptions)
            return Places(names, names, sure, walked)
        walked = possible(tree.possible_starts(parts, around.home), parts)
        perhaps = walked.exact() | sure
        perhaps.update(name for root, name in around.roots if may_lie_in(parts, parts_of(root)))
        return Places(_minus(sure, perhaps, tree.exceptions), _minus(perhaps, sure, tree.exceptions), sure, walked)

    @property
    def _folds(self) -> bool:
        return self._context.platform == "darwin"

    def _surrounding(self) -> Surroundings:
        if self._around is None:
            context = self._context
            self._around = surroundings(context.home, context.cwd, context.workspace, self._folds)
        return self._around


def _minus(zones: set[str], taken: set[str], exceptions: Names) -> Names:
    """The zones among names, without those that an exception among `taken` takes out."""
    if zones.isdisjoint(exceptions) and taken.isdisjoint(exceptions):
        return frozenset(zones)
    return _unexcepted(zones, taken)


def _unexcepted(zones: set[str], taken: set[str]) -> Names:
    return frozenset(zone for zone in zones if zone[0] != EXCEPT and EXCEPT + zone not in taken)


def _lies_in(path: str, root: str, unknown: bool) -> bool:
    """Whether a path that begins with a directory's is in it; an unknown one has to lead into it for certain."""
    if len(path) == len(root):
        return not unknown or root == "/"
    return root == "/" or path[len(root)] == "/"
