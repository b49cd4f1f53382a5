"""The policy as hash tables: a decision looks up a handful of keys, however many lines there are.

The lines of a subject are sorted into tables by what they compare literally (tuple space search). `p, dev, *, tool,
mcp__github__*, *` compares the kind, the first thirteen characters of the name, and nothing else; all of dev's lines
with that pattern of comparisons are one table, whose key is just those pieces. Once all lines are there, every name
gets one tuple of tables: its own and those of the roles above it. Names with the same roles share it.

A line's number stands for its answer: positive where it allows, negative where it denies, 0 for no line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from operator import itemgetter
from typing import Any, TypeAlias

from policyengine.policies.rbac.globs import Glob, can_read, glob_of
from policyengine.policies.rbac.hierarchy import EVERYWHERE, NOWHERE, Hierarchy
from policyengine.policies.rbac.shape import Combining, Match, Shape, Term
from policyengine.records import NamedTuple

STAR = "*"
Parts: TypeAlias = Sequence[str]  # the fields of a request
Key: TypeAlias = Any  # a text, or a tuple of what is compared
Cut: TypeAlias = "tuple[int, int] | None"  # texts before the first and after the last wildcard; None without wildcards
_NEVER = {True: Combining.ALLOW_OVERRIDE, False: Combining.DENY_ONLY}  # denies → under which effect a line says nothing


class NotIndexable(Exception):
    """A line that this index cannot answer for as pycasbin does; caught where policies are loaded."""


class Index:
    """What a request is asked. It keeps nothing of what it is asked.

    Args:
        term: how the subject is compared.
        plans: a name's own tables, and those of the roles that it has whatever the domain.
        domains: domain → name → the tables of the roles that it has there.
        always: the tables that everybody has (lines whose subject is `*`, where that counts).
        subjects: every name that a line is about, or that has or is a role.
    """

    __slots__ = ("_always", "_domain", "_domains", "_plans", "_subject", "subjects")

    def __init__(
        self,
        term: Term,
        plans: Mapping[str, Tables],
        domains: Mapping[str, Mapping[str, Tables]],
        always: Tables,
        subjects: frozenset[str],
    ) -> None:
        self._subject = term.request
        self._domain = -1 if term.domain is None or not domains else term.domain
        self._plans = plans
        self._domains = domains
        self._always = always
        self.subjects = subjects

    def decide(self, parts: Parts) -> int:
        """Give the number of the line that answers a request: of several a denying one, 0 where there is none."""
        name = parts[self._subject]
        tables = self._plans.get(name, ())
        if self._always:
            tables += self._always
        if self._domain >= 0:
            there = self._domains.get(parts[self._domain])
            if there is not None:
                tables += there.get(name, ())
        answer = 0
        for key_of, prefixes, lines, globs in tables:
            key = key_of(parts)
            if prefixes:
                key = (key, *[parts[at][:length] for at, length in prefixes])
            found = lines.get(key, 0) if globs is None else globs.find(key, parts)
            if found:
                if found < 0:
                    return found
                answer = answer or found
        return answer


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
class _Table(NamedTuple):
    """Lines of one subject that compare the same pieces of the same fields.

    The key is what `key_of` picks of a request, with a prefix (position, length) of further fields where there are any.
    """

    key_of: Callable[[Parts], Key]
    prefixes: tuple[tuple[int, int], ...]
    lines: dict[Key, int]
    globs: _Globs | None  # holds the lines instead where they have globs


Tables: TypeAlias = tuple[_Table, ...]


class _Globs:
    """Lines with globs: found by the texts around the wildcards, then tested for what lies between."""

    __slots__ = ("_cuts", "lines")

    def __init__(self, cuts: tuple[tuple[int, int, Cut], ...]) -> None:
        self._cuts = cuts  # position in a request, in a line, and how much of it is around the wildcards
        self.lines: dict[Key, list[tuple[tuple[tuple[int, Glob], ...], int]]] = {}

    def add(self, key: Key, line: Sequence[str], number: int) -> None:
        globs = [(request, glob_of(line[policy])) for request, policy, _ in self._cuts]
        tests = tuple((request, glob) for request, glob in globs if glob is not None)
        whole = (key, *(_ends(line[policy], cut) for _, policy, cut in self._cuts))
        self.lines.setdefault(whole, []).append((tests, number))

    def find(self, key: Key, parts: Parts) -> int:
        names = {request: parts[request].rstrip("/") for request, _, _ in self._cuts}  # as `globs` reads them
        whole = (key, *[_ends(names[request], cut) for request, _, cut in self._cuts])
        answer = 0
        for tests, number in self.lines.get(whole, ()):
            if (not answer or number < 0) and all(glob.matches(names[request]) for request, glob in tests):
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
        self._shape = shape
        rest = [term for term in shape.terms if term is not self._lead]
        self._whole = [term for term in rest if term.match in (Match.ROLE, Match.EQUAL) and not _may_be_any(term)]
        self._stars = [term for term in rest if _may_be_any(term)]
        self._keys = [term for term in rest if term.match is Match.KEY]
        self._globs = [term for term in rest if term.match is Match.GLOB]
        self._patterns: dict[Key, _Pattern] = {}
        self._own: dict[str, dict[_Pattern, _Table]] = {}

    def add(self, line: Sequence[str], number: int) -> None:
        """Add a policy line (its fields without its type) of a number from 1.

        Raises:
            NotIndexable: it holds a glob that is not read here.
        """
        shape = self._shape
        name = line[self._lead.policy]
        tables = self._own.get(name)
        if tables is None:
            tables = self._own[name] = {}
        denies = shape.effect is not None and line[shape.effect] == "deny"
        if shape.combining is _NEVER[denies]:
            return
        pattern = self._pattern(line)
        table = tables.get(pattern)
        if table is None:
            table = tables[pattern] = pattern.table()
        key = pattern.key_of_line(line)
        if pattern.line_prefixes:
            key = (key, *[line[at][:length] for at, length in pattern.line_prefixes])
        number = -number if denies else number
        if table.globs is not None:
            table.globs.add(key, line, number)
        else:
            known = table.lines.get(key, 0)
            table.lines[key] = number if not known or number < 0 <= known else known

    def _pattern(self, line: Sequence[str]) -> _Pattern:
        """What a line compares: where wildcards of prefixes stand, which fields say `*`, how globs begin and end."""
        key: Key = tuple([line[term.policy].find(STAR) for term in self._keys])
        if self._stars or self._globs:
            key = (
                key,
                *[line[term.policy] == STAR for term in self._stars],
                *[_cut(line, term) for term in self._globs],
            )
        pattern = self._patterns.get(key)
        if pattern is None:
            pattern = self._patterns[key] = self._new_pattern(line)
        return pattern

    def _new_pattern(self, line: Sequence[str]) -> _Pattern:
        ends = [(term, line[term.policy].find(STAR)) for term in self._keys]
        whole = [
            *self._whole,
            *(term for term in self._stars if line[term.policy] != STAR),
            *(term for term, end in ends if end < 0),
        ]
        prefixes = [(term, end) for term, end in ends if end > 0]
        return _Pattern(whole, prefixes, [(term, _cut(line, term)) for term in self._globs])

    def build(self, roles: Mapping[str, Hierarchy]) -> Index | Choosing:
        """Make the index, with the hierarchies that the shape names."""
        lead, own = self._lead, {name: tuple(tables.values()) for name, tables in self._own.items()}
        hierarchy = roles[lead.roles] if lead.match is Match.ROLE else Hierarchy({})
        common = NOWHERE if lead.domain is None else EVERYWHERE if lead.everywhere else None
        plans, domains = dict(own), dict[str, Mapping[str, Tables]]()
        for domain in hierarchy.domains:
            above = _tables_above(hierarchy.all_above(domain), own)
            if domain == common:
                plans |= {name: own.get(name, ()) + tables for name, tables in above.items()}
            elif lead.domain is not None:
                domains[domain] = above
        always = own.get(STAR, ()) if lead.star else ()
        index = Index(lead, plans, domains, always, frozenset(own) | hierarchy.names)
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


class _Pattern:
    """Which pieces of a line are compared with which of a request."""

    __slots__ = ("_globs", "_key_of", "_prefixes", "key_of_line", "line_prefixes")

    def __init__(self, whole: list[Term], prefixes: list[tuple[Term, int]], globs: list[tuple[Term, Cut]]) -> None:
        self._key_of = _picker([term.request for term in whole])
        self.key_of_line = _picker([term.policy for term in whole])
        self._prefixes = tuple((term.request, length) for term, length in prefixes)
        self.line_prefixes = tuple((term.policy, length) for term, length in prefixes)
        self._globs = tuple((term.request, term.policy, cut) for term, cut in globs)

    def table(self) -> _Table:
        """Make an empty table."""
        return _Table(self._key_of, self._prefixes, {}, _Globs(self._globs) if self._globs else None)


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
