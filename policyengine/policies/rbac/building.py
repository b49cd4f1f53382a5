"""From lines to tables: which pieces of a line are compared decides the table that it goes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, TypeAlias

from policyengine.policies.rbac.asking import NAME, OBJECT
from policyengine.policies.rbac.globs import can_read, glob_of
from policyengine.policies.rbac.hierarchy import EVERYWHERE, NOWHERE, Hierarchy
from policyengine.policies.rbac.index import (
    NO_KEY,
    NOTHING,
    STAR,
    Choosing,
    Cut,
    Index,
    Pieces,
    Plan,
    Table,
    ends,
    plan_of,
    tables_of,
)
from policyengine.policies.rbac.keys import AROUND_POSITION, BETWEEN, NO_FIELDS, KeyOf, Parts, Way, key_maker, way_of
from policyengine.policies.rbac.shape import Combining, Match, Shape, Term

_SAYS_NOTHING = {Combining.ALLOW_OVERRIDE: True, Combining.DENY_ONLY: False}  # whether such a line denies
Column: TypeAlias = Sequence[str]


class NotIndexable(Exception):
    """A line that this index cannot answer for as pycasbin does; caught where policies are loaded."""


class Builder:
    """Takes lines, many at a time, and makes an index of them.

    Args:
        shape: what is compared.
        subject: position of the request's field that lines are gathered by; by default a role's.
    """

    def __init__(self, shape: Shape, subject: int | None = None) -> None:
        literal = [term for match in (Match.ROLE, Match.EQUAL) for term in shape.terms if term.match is match]
        self._lead = next((term for term in literal if term.request == subject), literal[0])
        self._others = tuple(term for term in literal if term.match is Match.ROLE and term is not self._lead)
        self._effect_at = shape.effect
        self._says_nothing = _SAYS_NOTHING.get(shape.combining)
        rest = [term for term in shape.terms if term is not self._lead]
        self._rest_at = [term.policy for term in rest]
        self._whole = [term for term in rest if term.match in (Match.ROLE, Match.EQUAL) and not _may_be_any(term)]
        self._stars = [term for term in rest if _may_be_any(term)]
        self._keys = [term for term in rest if term.match is Match.KEY]
        self._globs = [term for term in rest if term.match is Match.GLOB]
        self._patterns: dict[Any, _LinesPattern | _PiecesPattern] = {}  # patterns repeat: there are few
        self._groups: dict[tuple[Term, ...], _Tables] = {}  # by what is compared
        self._names: set[str] = set()

    def add(self, columns: Sequence[Column], numbers: Iterable[int]) -> None:
        """Add policy lines of these numbers, from 1 up.

        Args:
            columns: the first fields of all lines (after the type), their second fields, and so on.
            numbers: of the lines.

        Raises:
            NotIndexable: one holds a glob that is not read here, or a character that keys are made with.
        """
        _check_marks(columns[at] for at in self._rest_at)
        patterns, says_nothing = self._patterns, self._says_nothing
        names, keys = columns[self._lead.policy], self._pattern_keys(columns)
        self._names.update(names)
        effects = repeat("allow") if self._effect_at is None else columns[self._effect_at]
        lines = zip(*columns, strict=True)
        for name, key, effect, line, number in zip(names, keys, effects, lines, numbers):  # noqa: B905  some are endless
            denies = effect == "deny"
            if denies is not says_nothing:
                pattern = patterns.get(key)
                if pattern is None:
                    pattern = patterns[key] = self._new_pattern(line)
                pattern.add(name, line, -number if denies else number)

    def _pattern_keys(self, columns: Sequence[Column]) -> Iterable[Any]:
        """What each line compares: where wildcards of prefixes stand, which fields say `*`, how globs begin and end."""
        compared: list[Iterable[Any]] = [map(str.find, columns[term.policy], repeat(STAR)) for term in self._keys]
        compared += [map(STAR.__eq__, columns[term.policy]) for term in self._stars]
        compared += [map(_cut, columns[term.policy]) for term in self._globs]
        return zip(*compared, strict=True) if compared else repeat(())

    def _new_pattern(self, line: Sequence[str]) -> _LinesPattern | _PiecesPattern:
        ends = [(term, line[term.policy].find(STAR)) for term in self._keys]
        prefixes = [(term, end) for term, end in ends if end > 0]
        whole = [*self._whole, *(term for term in self._stars if line[term.policy] != STAR)]
        if len(prefixes) > 1 or self._globs:
            whole += [term for term, end in ends if end < 0]
            return _PiecesPattern(whole, prefixes, [(term, _cut(line[term.policy])) for term in self._globs])
        whole += [term for term, end in ends if end]
        group = self._groups.setdefault(tuple(whole), _Tables())
        return _LinesPattern(group, whole, *(prefixes[0] if prefixes else (None, None)))

    def build(self, roles: Mapping[str, Hierarchy]) -> Index | Choosing:
        """Make the index, with the hierarchies that the shape names."""
        lead, own = self._lead, self._own()
        hierarchy = roles[lead.roles] if lead.match is Match.ROLE else Hierarchy({})
        common = NOWHERE if lead.domain is None else EVERYWHERE if lead.everywhere else None
        domains = {domain: _plans_above(hierarchy, domain, own) for domain in hierarchy.domains}
        plans = {} if common is None else domains.pop(common, {})
        for name, tables in own.items():
            plans[name] = plan_of((*tables, *tables_of(plans.get(name, NOTHING))))
        for name in hierarchy.names():
            plans.setdefault(name, NOTHING)
        always = plan_of(own.get(STAR, ())) if lead.star else NOTHING
        index = Index(lead, plans, {} if lead.domain is None else domains, always)
        return Choosing(index, self._others, roles) if self._others else index

    def _own(self) -> dict[str, list[Table | Pieces]]:
        """The tables of each name that a line is about."""
        own: dict[str, list[Table | Pieces]] = {name: [] for name in self._names}
        pieces = [one.named for one in self._patterns.values() if isinstance(one, _PiecesPattern)]
        named: list[Mapping[str, Table | Pieces]] = [*pieces, *(tables.named for tables in self._groups.values())]
        for tables in named:
            for name, table in tables.items():
                own[name].append(table)
        return own


def _may_be_any(term: Term) -> bool:
    """Whether a line that says `*` compares nothing. In a role it is one more name (`Choosing`)."""
    return term.star and term.match is Match.EQUAL


def _check_marks(columns: Iterable[Column]) -> None:
    for column in columns:
        text = "".join(column)
        if BETWEEN in text or AROUND_POSITION in text:
            raise NotIndexable(text)


def _cut(said: str) -> Cut:
    if not can_read(said):
        raise NotIndexable(said)
    glob = glob_of(said)
    return None if glob is None else (len(glob.head), len(glob.tail))


class _Tables:
    """Tables of lines that compare the same fields, one for each subject. Equal tuples of ways are kept once."""

    __slots__ = ("_shared", "named")

    def __init__(self) -> None:
        self.named: dict[str, Table] = {}
        self._shared: dict[tuple[Way, ...], tuple[tuple[Way, ...], tuple[KeyOf, ...]]] = {}

    def opened(self, name: str, way: Way) -> Table:
        """Give the table of a name that can be asked in this way."""
        table = self.named.get(name)
        if table is None:
            table = self.named[name] = Table({NO_KEY: 0})
            ways: tuple[Way, ...] = (way,)
        else:
            ways = (*table.ways, way)
        table.ways, table.key_makers = self._shared.setdefault(ways, (ways, tuple(one.key_of for one in ways)))
        return table


class _LinesPattern:
    """What a line compares that compares at most one prefix."""

    __slots__ = ("_key_of_line", "_named", "_tables", "_way")

    def __init__(self, tables: _Tables, whole: Sequence[Term], prefix: Term | None, length: int | None) -> None:
        self._tables = tables
        self._named = tables.named
        # The field that tells resources apart comes last, so that a catalogue's keys have their beginning in common.
        last = prefix or max(whole, key=lambda term: term.request in (NAME, OBJECT), default=None)
        if last is None:
            self._way = NO_FIELDS
            self._key_of_line = NO_FIELDS.key_of
        else:
            others = [term for term in whole if term is not last]
            self._way = way_of([term.request for term in others], last.request, length)
            self._key_of_line = key_maker([term.policy for term in others], last.policy, length, last.request)

    def add(self, name: str, line: Parts, number: int) -> None:
        """Add a line to the table of its subject."""
        table = self._named.get(name)
        if table is None or self._way not in table.ways:
            table = self._tables.opened(name, self._way)
        known = table.setdefault(self._key_of_line(line), number)
        if number < 0 < known:
            table[self._key_of_line(line)] = number


class _PiecesPattern:
    """What a line compares that compares several prefixes, or globs. Lines share a table that compare the same."""

    __slots__ = ("_globs", "_picked", "_picked_of_line", "_prefixes", "named")

    def __init__(self, whole: Sequence[Term], prefixes: list[tuple[Term, int]], globs: list[tuple[Term, Cut]]) -> None:
        self.named: dict[str, Pieces] = {}
        self._picked = _picker([term.request for term in whole])
        self._picked_of_line = _picker([term.policy for term in whole])
        self._prefixes = prefixes
        self._globs = globs

    def add(self, name: str, line: Parts, number: int) -> None:
        """Add a line to the table of its subject."""
        pieces = self.named.get(name)
        if pieces is None:
            pieces = self.named[name] = self._table()
        globs = [(term.request, glob_of(line[term.policy])) for term, _ in self._globs]
        key = (
            self._picked_of_line(line),
            *(line[term.policy][:length] for term, length in self._prefixes),
            *(ends(line[term.policy], cut) for term, cut in self._globs),
        )
        tests = tuple((at, glob) for at, glob in globs if glob is not None)
        pieces.lines.setdefault(key, []).append((tests, number))

    def _table(self) -> Pieces:
        return Pieces(
            self._picked,
            [(term.request, length) for term, length in self._prefixes],
            [(term.request, cut) for term, cut in self._globs],
        )


def _picker(positions: list[int]) -> Callable[[Parts], Any]:
    return itemgetter(*positions) if positions else _nothing


def _nothing(_: Parts) -> Any:
    return ()


def _plans_above(hierarchy: Hierarchy, domain: str, own: Mapping[str, Sequence[Table | Pieces]]) -> dict[str, Plan]:
    """The plans of the roles above each name; names with the same roles above share them."""
    shared: dict[tuple[str, ...], Plan] = {}
    plans: dict[tuple[str, ...], Plan] = {}
    for direct, roles in hierarchy.reached(domain).items():
        if roles not in shared:
            shared[roles] = plan_of([table for role in roles for table in own.get(role, ())])
        plans[direct] = shared[roles]
    direct_of = hierarchy.directly(domain)
    return dict(zip(direct_of, map(plans.__getitem__, direct_of.values()), strict=True))
