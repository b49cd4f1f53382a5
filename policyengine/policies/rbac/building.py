"""From lines to tables: which pieces of a line are compared decides the table that it goes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias

from policyengine.policies.rbac.globs import can_read, glob_of
from policyengine.policies.rbac.hierarchy import EVERYWHERE, NOWHERE, Hierarchy
from policyengine.policies.rbac.index import STAR, Choosing, Cut, Cuts, Index, Key, Parts, Pieces, Table, Tables, ends
from policyengine.policies.rbac.shape import Combining, Match, Shape, Term
from policyengine.records import NamedTuple

_SAYS_NOTHING = {Combining.ALLOW_OVERRIDE: True, Combining.DENY_ONLY: False}  # whether such a line denies


class NotIndexable(Exception):
    """A line that this index cannot answer for as pycasbin does; caught where policies are loaded."""


class Builder:
    """Takes lines one by one and makes an index of them.

    Args:
        shape: what is compared.
        subject: position of the request's field that lines are gathered by; by default a role's.
    """

    def __init__(self, shape: Shape, subject: int | None = None) -> None:
        literal = [term for match in (Match.ROLE, Match.EQUAL) for term in shape.terms if term.match is match]
        self._lead = next((term for term in literal if term.request == subject), literal[0])
        self._others = tuple(term for term in literal if term.match is Match.ROLE and term is not self._lead)
        self._lead_at = self._lead.policy
        self._effect_at = -1 if shape.effect is None else shape.effect
        self._says_nothing = _SAYS_NOTHING.get(shape.combining)
        rest = [term for term in shape.terms if term is not self._lead]
        self._whole = [term for term in rest if term.match in (Match.ROLE, Match.EQUAL) and not _may_be_any(term)]
        self._stars = [term for term in rest if _may_be_any(term)]
        self._keys = [term for term in rest if term.match is Match.KEY]
        self._keys_at = [term.policy for term in self._keys]
        self._globs = [term for term in rest if term.match is Match.GLOB]
        self._patterns: dict[Key, _Pattern] = {}  # patterns repeat: there are few
        self._groups: dict[tuple[Term, ...], _Group] = {}
        self._own: dict[str, dict[_Group, _Open]] = {}

    def add(self, line: Sequence[str], number: int) -> None:
        """Add a policy line (its fields without its type) of a number from 1.

        Raises:
            NotIndexable: it holds a glob that is not read here.
        """
        name = line[self._lead_at]
        tables = self._own.get(name)
        if tables is None:
            tables = self._own[name] = {}
        denies = self._effect_at >= 0 and line[self._effect_at] == "deny"
        if denies is self._says_nothing:
            return
        pattern = self._pattern(line)
        table = tables.get(pattern.group)
        if table is None:
            table = tables[pattern.group] = pattern.group.table()
        table.add(line, -number if denies else number, pattern.prefix)

    def _pattern(self, line: Sequence[str]) -> _Pattern:
        """What a line compares: where wildcards of prefixes stand, which fields say `*`, how globs begin and end."""
        key: Key = tuple([line[at].find(STAR) for at in self._keys_at])
        if self._stars or self._globs:
            stars = [line[term.policy] == STAR for term in self._stars]
            key = (key, *stars, *[_cut(line, term) for term in self._globs])
        pattern = self._patterns.get(key)
        if pattern is None:
            pattern = self._patterns[key] = self._new_pattern(line)
        return pattern

    def _new_pattern(self, line: Sequence[str]) -> _Pattern:
        ends = [(term, line[term.policy].find(STAR)) for term in self._keys]
        prefixes = [(term, end) for term, end in ends if end > 0]
        whole = [*self._whole, *(term for term in self._stars if line[term.policy] != STAR)]
        if len(prefixes) > 1 or self._globs:
            whole += [term for term, end in ends if end < 0]
            return _Pattern(_Group(whole, prefixes, [(term, _cut(line, term)) for term in self._globs]), None)
        whole += [term for term, end in ends if end]
        group = self._groups.setdefault(tuple(whole), _Group(whole, [], []))
        return _Pattern(group, _prefix(*prefixes[0], whole) if prefixes else None)

    def build(self, roles: Mapping[str, Hierarchy]) -> Index | Choosing:
        """Make the index, with the hierarchies that the shape names."""
        lead, own = self._lead, {name: _closed(tables.values()) for name, tables in self._own.items()}
        hierarchy = roles[lead.roles] if lead.match is Match.ROLE else Hierarchy({})
        common = NOWHERE if lead.domain is None else EVERYWHERE if lead.everywhere else None
        plans: dict[str, Tables] = dict.fromkeys(hierarchy.names, ()) | own
        domains: dict[str, Mapping[str, Tables]] = {}
        for domain in hierarchy.domains:
            above = _tables_above(hierarchy.all_above(domain), own)
            if domain == common:
                plans |= {name: own.get(name, ()) + tables for name, tables in above.items()}
            elif lead.domain is not None:
                domains[domain] = above
        always = own.get(STAR, ()) if lead.star else ()
        index = Index(lead, plans, domains, always)
        return Choosing(index, self._others, roles) if self._others else index


def _may_be_any(term: Term) -> bool:
    """Whether a line that says `*` compares nothing. In a role it is one more name (`Choosing`)."""
    return term.star and term.match is Match.EQUAL


def _cut(line: Sequence[str], term: Term) -> Cut:
    said = line[term.policy]
    if not can_read(said):
        raise NotIndexable(said)
    glob = glob_of(said)
    return None if glob is None else (len(glob.head), len(glob.tail))


class _Group:
    """Which pieces of lines are compared with which of a request: the lines that share a table."""

    __slots__ = ("globs", "key_of", "key_of_line", "prefixes", "shared", "whole")

    def __init__(self, whole: list[Term], prefixes: list[tuple[Term, int]], globs: list[tuple[Term, Cut]]) -> None:
        self.whole = whole
        self.key_of = _picker([term.request for term in whole])
        self.key_of_line = _picker([term.policy for term in whole])
        self.prefixes = prefixes
        self.globs = globs
        self.shared: dict[Cuts, Cuts] = {}  # equal ones are kept once

    def table(self) -> _Open:
        """Make an empty table."""
        return _OpenPieces(self) if self.prefixes or self.globs else _OpenLines(self)


class _Prefix(NamedTuple):
    """A prefix that lines of a group compare: of which field, how long, and what picks the other fields."""

    policy: int
    length: int
    cut: tuple[int, int, Callable[[Parts], Key]]
    rest_of_line: Callable[[Parts], Key]


def _prefix(term: Term, length: int, whole: list[Term]) -> _Prefix:
    rest = [other for other in whole if other is not term]
    cut = (term.request, length, _picker([other.request for other in rest]))
    return _Prefix(term.policy, length, cut, _picker([other.policy for other in rest]))


class _Pattern(NamedTuple):
    """What a line compares: as its group does, and of one field perhaps a prefix."""

    group: _Group
    prefix: _Prefix | None


class _OpenLines:
    """A table that is being filled with lines of at most one prefix each."""

    __slots__ = ("_cuts", "_group", "_lines")

    def __init__(self, group: _Group) -> None:
        self._group = group
        self._cuts: Cuts = ()
        self._lines: dict[Key, int] = {}

    def add(self, line: Sequence[str], number: int, prefix: _Prefix | None) -> None:
        if prefix is None:
            key = self._group.key_of_line(line)
        else:
            key = (line[prefix.policy][: prefix.length], prefix.length, prefix.rest_of_line(line))
            if prefix.cut not in self._cuts:
                self._cuts = (*self._cuts, prefix.cut)
        known = self._lines.setdefault(key, number)
        if number < 0 < known:
            self._lines[key] = number

    def closed(self) -> Table:
        return self._group.key_of, self._group.shared.setdefault(self._cuts, self._cuts), self._lines


class _OpenPieces:
    """A table that is being filled with lines of several prefixes, or globs."""

    __slots__ = ("_group", "_pieces")

    def __init__(self, group: _Group) -> None:
        self._group = group
        self._pieces = Pieces(
            group.key_of,
            [(term.request, length) for term, length in group.prefixes],
            [(term.request, cut) for term, cut in group.globs],
        )

    def add(self, line: Sequence[str], number: int, _: _Prefix | None) -> None:
        group = self._group
        globs = [(term.request, glob_of(line[term.policy])) for term, _ in group.globs]
        key = (
            group.key_of_line(line),
            *(line[term.policy][:length] for term, length in group.prefixes),
            *(ends(line[term.policy], cut) for term, cut in group.globs),
        )
        tests = tuple((at, glob) for at, glob in globs if glob is not None)
        self._pieces.lines.setdefault(key, []).append((tests, number))

    def closed(self) -> Table:
        return self._pieces.find, (), {}


_Open: TypeAlias = "_OpenLines | _OpenPieces"


def _closed(tables: Iterable[_Open]) -> Tables:
    return tuple(table.closed() for table in tables)


def _picker(positions: list[int]) -> Callable[[Parts], Key]:
    return itemgetter(*positions) if positions else _nothing


def _nothing(_: Parts) -> Key:
    return ()


def _tables_above(above: Mapping[str, tuple[str, ...]], own: Mapping[str, Tables]) -> dict[str, Tables]:
    """The tables of the roles above each name; names with the same roles above share them."""
    shared: dict[tuple[str, ...], Tables] = {}
    found = {}
    for name, roles in above.items():
        tables = shared.get(roles)
        if tables is None:
            tables = shared[roles] = tuple(table for role in roles for table in own.get(role, ()))
        found[name] = tables
    return found
