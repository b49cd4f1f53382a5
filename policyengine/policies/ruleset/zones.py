"""Which named zones a path belongs to: every pattern of every zone in one tree, walked once for each path.

A pattern is a glob over absolute paths: `*`, `?` within one component, `**` any number of them. `D/**` is what lies
below D, not D. A leading `~` is the home directory of the request and everybody's (`/home/*`, `/Users/*`, `/root`).
The walk is a set of states moved along the components, so it costs their number, whatever the path looks like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from policyengine.patterns import Test, glob_test
from policyengine.policies.ruleset.globs import is_glob, loosened, meets
from policyengine.records import NamedTuple

Names: TypeAlias = frozenset[str]
NONE: Names = frozenset()
# Where home directories are: the first component, and the others (`*`: anybody).
HOMES: Mapping[str, tuple[str, ...]] = {"home": ("*",), "Users": ("*",), "users": ("*",), "root": (), "var": ("root",)}
EXCEPT = "!"  # before a zone's name: the pattern takes paths out of it
MAX_GLOBS = 32  # components of one path with globs that are followed; from there on it may name anything below


class Wild(NamedTuple):
    """A component pattern with stars, and what follows it."""

    pattern: str
    test: Test
    node: Node


class Node:
    """A component of patterns: what may follow, and the zones of the patterns that end here.

    Components with stars are kept by how they begin (`heads`) or else end (`tails`), so that one comparison with all
    the beginnings and one with all the endings says that none matches.
    """

    __slots__ = ("below", "deep", "exact", "heads", "literal", "tails", "wild")

    def __init__(self) -> None:
        self.literal: dict[str, Node] = {}
        self.wild: list[Wild] = []
        self.heads: tuple[str, ...] = ()
        self.tails: tuple[str, ...] = ()
        self.deep: Node | None = None  # what follows `**/`
        self.exact: set[str] = set()
        self.below: set[str] = set()  # of patterns that end in `/**` here

    def add(self, parts: Sequence[str], zone: str) -> None:
        """Insert the rest of a pattern."""
        node = self
        for index, part in enumerate(parts):
            if part == "**" and index == len(parts) - 1:
                node.below.add(zone)
                return
            node = node._child(part)
        node.exact.add(zone)

    def _child(self, part: str) -> Node:
        if part == "**":
            self.deep = self.deep or Node()
            return self.deep
        if not is_glob(part):
            return self.literal.setdefault(part, Node())
        for wild in self.wild:
            if wild.pattern == part:
                return wild.node
        return self._add_wild(part)

    def _add_wild(self, part: str) -> Node:
        self.wild.append(Wild(part, glob_test(part), Node()))
        simple = part.replace("?", "*")
        head, tail = simple.partition("*")[0], simple.rpartition("*")[2]
        if head:
            self.heads += (head,)
        else:
            self.tails += (tail,)
        return self.wild[-1].node

    def matching(self, glob: Glob, test: Callable[[str], bool]) -> list[Node]:
        """Give the nodes to which a glob leads, by one of its tests."""
        literal = self.literal
        found = [literal[name] for name in glob.fitting(literal) if test(name)]
        return found + [wild.node for wild in self.wild if test(wild.pattern)]

    def everything(self) -> Iterator[Node]:
        """Visit the node and all that follow it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.literal.values()
            waiting += (wild.node for wild in node.wild)
            if node.deep:
                waiting.append(node.deep)


Start: TypeAlias = tuple[Node, int]


class Tree:
    """The patterns of all zones: `root` from `/`, `home` from a home directory, `exceptions` those that take out."""

    __slots__ = ("exceptions", "home", "root")

    def __init__(self, zones: Mapping[str, tuple[Iterable[str], Iterable[str]]]) -> None:
        self.root = Node()
        self.home = Node()
        self.exceptions = frozenset(EXCEPT + zone for zone in zones)
        for zone, (patterns, exceptions) in zones.items():
            for pattern in patterns:
                self._add(pattern, zone)
            for pattern in exceptions:
                self._add(pattern, EXCEPT + zone)

    def _add(self, pattern: str, zone: str) -> None:
        parts = parts_of(pattern)
        if parts[:1] == ["~"]:
            self.home.add(parts[1:], zone)
        else:
            self.root.add(parts, zone)

    def starts(self, parts: Sequence[str], home: Sequence[str]) -> list[Start]:
        """From which node to walk at which component: the root, and every home directory that the path is in."""
        found = [(self.root, 0)]
        rest = HOMES.get(parts[0]) if parts else None
        if rest == () or (rest and len(parts) > 1 and rest[0] in ("*", parts[1])):
            found.append((self.home, 1 + len(rest)))
        if home and parts[: len(home)] == home and found[-1][1] != len(home):
            found.append((self.home, len(home)))
        return found

    def possible_starts(self, parts: Sequence[str], home: Sequence[str]) -> list[Start]:
        """The same for a glob: every home directory that the path may be in."""
        homes = [home, *((first, *rest) for first, rest in HOMES.items())]
        lengths = {len(start) for start in homes if start and may_lie_in(parts, start)}
        return [(self.root, 0), *((self.home, length) for length in lengths)]


def parts_of(path: str) -> list[str]:
    """Split a path or pattern into its components."""
    return [part for part in path.split("/") if part]


def may_lie_in(parts: Sequence[str], start: Sequence[str]) -> bool:
    """Whether a path, some of whose components are globs, may begin with these names (`*`: any)."""
    return len(parts) >= len(start) and all(map(_may_be, parts, start))


def _may_be(have: str, want: str) -> bool:
    return want in (have, "*") or (is_glob(have) and Glob(have).may_name(want))


class Glob:
    """A component of a path, mostly a shell's glob, made ready to be compared with many names."""

    __slots__ = ("_bare", "_digit", "_head", "_loose", "_plain", "_test", "_visible")

    def __init__(self, segment: str) -> None:
        self._loose = loosened(segment)
        self._test = glob_test(self._loose)
        self._head = self._loose.partition("*")[0]
        self._visible = segment[0] in "*?["
        ending = segment.lstrip("*?").lstrip(".")
        self._bare = segment[0] in "*?" and (ending.isalnum() or not segment.rpartition(".")[0].strip("*?"))
        self._plain = not self._loose.strip("*?." if self._visible else "*?")
        self._digit = self._loose.partition("*")[0].find("?") if segment.partition("[")[2][:4] == "0-9]" else -1

    def fitting(self, names: Iterable[str]) -> list[str]:
        """Give the names, none of them a glob, that it could match; `may_name` and `points_at` are about them."""
        return list(filter(self._test, names))

    def may_name(self, name: str) -> bool:
        """Whether it may name this; a leading dot is only named by a dot (bash manual 3.5.8, dotglob off)."""
        if self._visible and name[:1] == ".":
            return False
        return meets(self._loose, name) if is_glob(name) else self._test(name)

    def points_at(self, name: str) -> bool:
        """Whether it names this on purpose: where both are globs, they share letters of their own.

        `a.p*` points at `*.pem`; `*.md` could meet `login.keychain*` only in a name that nobody uses, and does not. An
        ending alone points at no name that has more than it: `*.json` is not about `logins.json`. A glob without
        letters (`[a-z]*`) points at nothing, as `*` does not, and `.[0-9]*` at no `.env`.
        """
        if self._plain or not self.may_name(name) or (self._bare and name.rpartition(".")[0].strip("*")):
            return False
        letters = name.replace("*", "")
        fits = self._digit < 0 or letters[self._digit : self._digit + 1].isdigit()
        if not is_glob(name):
            return fits
        return glob_test(name)(self._loose) or (fits and self._test(letters)) or _runs_into(self._head, letters, name)


def _runs_into(head: str, letters: str, name: str) -> bool:
    """Whether the beginning of one glob ends in letters with which a name that begins with a star goes on."""
    if name[:1] != "*" or letters[:1] not in head:
        return False
    shared = len(head.rstrip("."))  # a dot alone is in every name
    return any(letters.startswith(head[start:]) for start in range(max(len(head) - len(letters), 0), shared))


class Walked(NamedTuple):
    """Where a path leads: zones that it enters on its way, and the nodes at which it ends."""

    entered: set[str]
    ends: list[Node]

    def exact(self) -> set[str]:
        """Give the zones of what the path names."""
        found = self.entered.copy()
        for node in self.ends:
            found |= node.exact
        return found

    def below(self) -> set[str]:
        """Give the zones of what lies below it."""
        found = self.entered.copy()
        for node in self.ends:
            found |= node.below
        return found


def certain(starts: Iterable[Start], parts: Sequence[str]) -> Walked:
    """Walk components as text: everything that a glob among them names is where its text leads."""
    walked = Walked(set(), [])
    for start, first in starts:
        active = [start]
        deep = [start.deep] if start.deep else []
        for part in parts[first:] if first else parts:
            active = _text_step(active + deep if deep else active, part, walked.entered)
            if active:
                deep += [node.deep for node in active if node.deep]
            elif not deep:
                break
        walked.ends.extend(active)
    return walked


def _text_step(active: Sequence[Node], part: str, found: set[str]) -> list[Node]:
    after = []
    for node in active:
        if node.below:
            found |= node.below
        child = node.literal.get(part)
        if child is not None:
            after.append(child)
        if node.wild and (part.endswith(node.tails) or part.startswith(node.heads)):
            after += [wild.node for wild in node.wild if wild.test(part) and _covers(wild.pattern, part)]
    return after


def _covers(pattern: str, part: str) -> bool:
    """Whether a pattern that matches a component's text also covers all that this names when it is a glob."""
    return "?" not in pattern or pattern == part or not is_glob(part)


def possible(starts: Iterable[Start], parts: Sequence[str]) -> Walked:
    """Walk components, some of them globs, to everything that they may name.

    The beginning of a pattern that floats (`**/x`) has to be pointed at: `cat *` reads a directory, as `grep -r` does,
    and is not about the keys that may be in it. `D/*` names all of D, so D as well.
    """
    parts = _bounded(parts)
    walked = Walked(set(), [])
    last = len(parts) - 1
    for start, first in starts:
        active = [start]
        deep = [start.deep] if start.deep else []
        anywhere: list[Node] = []  # what `**` leads to: as with a pattern that floats, it has to be pointed at
        for index in range(first, len(parts)):
            part = parts[index]
            if index == last and not part.strip("*"):
                walked.entered.update(*(node.exact for node in active))
            if part == "**":
                walked.entered.update(*(node.below for node in active))
                anywhere = _all_below([*active, *anywhere])
                active = [] if index < last else anywhere
                continue
            glob = Glob(part)
            pointed = [node for start in anywhere for node in start.matching(glob, glob.points_at)]
            active = _glob_step(active, deep, part, walked.entered) + pointed
            deep += [node.deep for node in active if node.deep]
        walked.ends.extend(active)
    return walked


def _all_below(nodes: Iterable[Node]) -> list[Node]:
    return list({id(after): after for node in nodes for after in node.everything()}.values())


def _bounded(parts: Sequence[str]) -> Sequence[str]:
    globs = [index for index, part in enumerate(parts) if is_glob(part)]
    return parts if len(globs) <= MAX_GLOBS else [*parts[: globs[MAX_GLOBS]], "**"]


def _glob_step(active: Sequence[Node], deep: Sequence[Node], part: str, found: set[str]) -> list[Node]:
    if not is_glob(part):
        return _text_step([*active, *deep], part, found)
    found.update(*(node.below for node in active))
    glob = Glob(part)
    after = [node for start in active for node in start.matching(glob, glob.may_name)]
    if part.strip("*"):
        found.update(*(node.below for node in deep))
        after += [node for start in deep for node in start.matching(glob, glob.points_at)]
    return after
