"""The policy as hash tables: a decision looks up a handful of keys, however many lines there are.

The lines of a subject are sorted into tables by what they compare literally (tuple space search). `p, dev, *, tool,
mcp__github__*, *` compares the kind, the first thirteen characters of the name, and nothing else; all of dev's lines
with that pattern of comparisons are one table, whose key is just those pieces. Once all lines are there, every name
gets one tuple of tables: its own and those of the roles above it. Names with the same roles share it.

A line's number stands for its answer: positive where it allows, negative where it denies, 0 for no line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from operator import itemgetter
from typing import Any, TypeAlias

from policyengine.policies.rbac.asking import SUBJECT, one_by_one
from policyengine.policies.rbac.globs import Glob, can_read, glob_of
from policyengine.policies.rbac.hierarchy import EVERYWHERE, NOWHERE, Hierarchy
from policyengine.policies.rbac.shape import Combining, Match, Shape, Term
from policyengine.records import NamedTuple

STAR = "*"
Parts: TypeAlias = Sequence[str]  # the fields of a request
Key: TypeAlias = Any  # a text, or a tuple of what is compared
Cut: TypeAlias = "tuple[int, int] | None"  # texts before the first and after the last wildcard; None without wildcards
_SAYS_NOTHING = {Combining.ALLOW_OVERRIDE: True, Combining.DENY_ONLY: False}  # whether such a line denies


class NotIndexable(Exception):
    """A line that this index cannot answer for as pycasbin does; caught where policies are loaded."""


class Index:
    """What a request is asked. It keeps nothing of what it is asked.

    Args:
        term: how the subject is compared.
        plans: every name that a line is about, or that has or is a role → its own tables, and those of the roles that
            it has whatever the domain.
        domains: domain → name → the tables of the roles that it has there.
        always: the tables that everybody has (lines whose subject is `*`, where that counts).

    Attributes:
        subjects: the names of `plans`: looked up where the plan just was, they cost a miss of no cache.
    """

    __slots__ = ("_always", "_domain", "_domains", "_plans", "_subject", "subjects")

    def __init__(
        self,
        term: Term,
        plans: Mapping[str, Tables],
        domains: Mapping[str, Mapping[str, Tables]],
        always: Tables,
    ) -> None:
        self._subject = term.request
        self._domain = -1 if term.domain is None or not domains else term.domain
        self._plans = plans
        self._domains = domains
        self._always = always
        self.subjects = plans.keys()

    def decide(self, parts: Parts) -> int:
        """Give the number of the line that answers a request: of several a denying one, 0 where there is none."""
        answer = 0
        for key_of, cuts, lines in self._tables(parts[self._subject], parts):
            found = lines.get(key_of(parts), 0) if lines else key_of(parts)
            if found < 0:
                return found
            for at, length, rest_of in cuts:
                cut = lines.get((parts[at][:length], length, rest_of(parts)))
                if cut:
                    if cut < 0:
                        return cut
                    found = cut
            answer = answer or found
        return answer

    def decide_each(self, subjects: Sequence[str], asked: Sequence[Parts]) -> list[int]:
        """Answer many requests at once, each under all these names; what the requests share is looked up once.

        Args:
            subjects: names; a line that denies one of them comes before every line that allows.
            asked: requests of one domain. Their subjects do not count.
        """
        if self._subject != SUBJECT:
            return one_by_one(self.decide, subjects, asked)
        tables = {id(table): table for name in subjects for table in self._tables(name, asked[0])} if asked else {}
        answers = [0] * len(asked)
        for table in tables.values():
            for column in _columns(table, asked):
                answers = [
                    new if new and (not old or new < 0 < old) else old for old, new in zip(answers, column, strict=True)
                ]
        return answers

    def _tables(self, name: str, parts: Parts) -> Tables:
        """The tables of a subject, in the domain of a request."""
        tables = self._plans.get(name, ())
        if self._always:
            tables += self._always
        if self._domain >= 0:
            there = self._domains.get(parts[self._domain])
            if there is not None:
                tables += there.get(name, ())
        return tables


def _columns(table: Table, asked: Sequence[Parts]) -> Iterator[Iterable[int]]:
    """The lines of one table that answer requests, by each way in which it is asked."""
    key_of, cuts, lines = table
    find = lines.get
    yield [find(key_of(parts), 0) for parts in asked] if lines else map(key_of, asked)
    for at, length, rest_of in cuts:
        yield [find((parts[at][:length], length, rest_of(parts)), 0) for parts in asked]


class Choosing:
    """An index under a shape with several fields that are roles: every combination of their names is asked about."""

    __slots__ = ("_index", "_roles", "_terms", "subjects")

    def __init__(self, index: Index, terms: Sequence[Term], roles: Mapping[str, Hierarchy]) -> None:
        self._index = index
        self._terms = terms
        self._roles = roles
        self.subjects = index.subjects

    def decide(self, parts: Parts) -> int:
        """Answer as `Index.decide` does."""
        answer = 0
        for changed in self._combinations(parts):
            found = self._index.decide(changed)
            if found < 0:
                return found
            answer = answer or found
        return answer

    def decide_each(self, subjects: Sequence[str], asked: Sequence[Parts]) -> list[int]:
        """Answer as `Index.decide_each` does."""
        return one_by_one(self.decide, subjects, asked)

    def _combinations(self, parts: Parts) -> Iterator[list[str]]:
        choices = [[(term.request, name) for name in self._names(term, parts)] for term in self._terms]
        for chosen in product(*choices):
            changed = list(parts)
            for position, name in chosen:
                changed[position] = name
            yield changed

    def _names(self, term: Term, parts: Parts) -> dict[str, None]:
        """What a line may say in a field: the request's own value, the roles above it, and `*` where that counts."""
        name, hierarchy = parts[term.request], self._roles[term.roles]
        above = hierarchy.above(name, NOWHERE if term.domain is None else parts[term.domain])
        everywhere = hierarchy.above(name, EVERYWHERE) if term.everywhere else ()
        return dict.fromkeys((name, *above, *everywhere, *([STAR] if term.star else ())))


# ------------------------------------------------------------------------------------------------------------- tables
# Lines of one subject that compare the same fields, as `Index.decide` takes them apart: what picks the key of a
# request, the cuts, and the lines. A cut is for lines that compare a prefix of one field; their key has the prefix,
# its length, and what is picked of the other fields. Without lines, the first part is a function that finds the line.
Cuts: TypeAlias = tuple[tuple[int, int, Callable[[Parts], Key]], ...]
Table: TypeAlias = tuple[Callable[[Parts], Any], Cuts, dict[Key, int]]
Tables: TypeAlias = tuple[Table, ...]


class _Pieces:
    """Lines that compare several prefixes, or globs: found by the literal pieces, then tested for what lies between."""

    __slots__ = ("_globs", "_key_of", "_prefixes", "lines")

    def __init__(
        self, key_of: Callable[[Parts], Key], prefixes: Sequence[tuple[int, int]], globs: Sequence[tuple[int, Cut]]
    ) -> None:
        self._key_of = key_of
        self._prefixes = prefixes  # position in a request, length
        self._globs = globs  # position in a request, how much is around the wildcards
        self.lines: dict[Key, list[tuple[tuple[tuple[int, Glob], ...], int]]] = {}

    def find(self, parts: Parts) -> int:
        names = {at: parts[at].rstrip("/") for at, _ in self._globs}  # as `globs` reads them
        key = (
            self._key_of(parts),
            *[parts[at][:length] for at, length in self._prefixes],
            *[_ends(names[at], cut) for at, cut in self._globs],
        )
        answer = 0
        for tests, number in self.lines.get(key, ()):
            if (not answer or number < 0) and all(glob.matches(names[at]) for at, glob in tests):
                if number < 0:
                    return number
                answer = number
        return answer


def _ends(text: str, cut: Cut) -> Key:
    """The pieces of a text that stand around the wildcards; None where it is too short for them."""
    if cut is None:
        return text
    head, tail = cut
    return (text[:head], text[len(text) - tail :]) if len(text) >= head + tail else None


# ------------------------------------------------------------------------------------------------------------ building
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
        self._pieces = _Pieces(
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
            *(_ends(line[term.policy], cut) for term, cut in group.globs),
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
