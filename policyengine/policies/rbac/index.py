"""The policy as hash tables: a decision looks up a handful of keys, however many lines there are.

The lines of a subject are sorted into tables by what they compare literally (tuple space search). `p, dev, *, tool,
mcp__github__*, *` compares the kind, the first thirteen characters of the name, and nothing else; all of dev's lines
with that pattern of comparisons are one table, whose key is just those pieces. Once all lines are there, every name
gets one tuple of tables: its own and those of the roles above it. Names with the same roles share it.

A line's number stands for its answer: positive where it allows, negative where it denies, 0 for no line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product, repeat
from operator import itemgetter
from typing import Any, TypeAlias

from policyengine.policies.rbac.asking import SUBJECT, one_by_one
from policyengine.policies.rbac.globs import Glob
from policyengine.policies.rbac.hierarchy import EVERYWHERE, NOWHERE, Hierarchy
from policyengine.policies.rbac.shape import Term

STAR = "*"
Parts: TypeAlias = Sequence[str]  # the fields of a request
Key: TypeAlias = Any  # a text, or a tuple of what is compared
Cut: TypeAlias = "tuple[int, int] | None"  # texts before the first and after the last wildcard; None without wildcards


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

    __slots__ = ("_always", "_domain", "_domains", "_is_plain", "_plans", "_subject", "subjects")

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
        self._is_plain = self._domain < 0 and not always  # so that a name's tables are its plan
        self.subjects = plans.keys()

    def decide(self, parts: Parts) -> int:
        """Give the number of the line that answers a request: of several a denying one, 0 where there is none."""
        answer, name = 0, parts[self._subject]
        for key_of, cuts, lines in self._plans.get(name, ()) if self._is_plain else self._tables(name, parts):
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
        answers: list[int] = []
        for table in tables.values():
            for column in _columns(table, asked):
                if any(column):
                    answers = list(map(_stricter, answers, column)) if answers else column
        return answers or [0] * len(asked)

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


def _columns(table: Table, asked: Sequence[Parts]) -> Iterator[list[int]]:
    """The lines of one table that answer requests, by each way in which it is asked."""
    key_of, cuts, lines = table  # each step is a loop in C: catalogues are long
    yield list(map(lines.get, map(key_of, asked), repeat(0)) if lines else map(key_of, asked))
    for at, length, rest_of in cuts:
        beginnings = map(itemgetter(slice(length)), map(itemgetter(at), asked))
        yield list(map(lines.get, zip(beginnings, repeat(length), map(rest_of, asked)), repeat(0)))


def _stricter(old: int, new: int) -> int:
    """Of two lines the first that denies, else the first that answers."""
    return new if new and (not old or new < 0 < old) else old


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


class Pieces:
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
        """Find the line that answers a request."""
        names = {at: parts[at].rstrip("/") for at, _ in self._globs}  # as `globs` reads them
        key = (
            self._key_of(parts),
            *[parts[at][:length] for at, length in self._prefixes],
            *[ends(names[at], cut) for at, cut in self._globs],
        )
        answer = 0
        for tests, number in self.lines.get(key, ()):
            if (not answer or number < 0) and all(glob.matches(names[at]) for at, glob in tests):
                if number < 0:
                    return number
                answer = number
        return answer


def ends(text: str, cut: Cut) -> Key:
    """The pieces of a text that stand around the wildcards; None where it is too short for them."""
    if cut is None:
        return text
    head, tail = cut
    return (text[:head], text[len(text) - tail :]) if len(text) >= head + tail else None
