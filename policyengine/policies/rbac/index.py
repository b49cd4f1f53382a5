"""The policy as hash tables: a decision looks up a handful of keys, however many lines there are.

The lines of a subject are sorted into tables by what they compare literally (tuple space search). `p, dev, *, tool,
mcp__github__*, *` compares the kind, the first thirteen characters of the name, and nothing else; all of dev's lines
that compare the kind and some of the name are one table, whose keys are just those pieces. Once all lines are there,
every name gets one plan: its own tables and those of the roles above it. Names with the same roles share it, and the
plan of one table is that table: with a million lines, each object on the way is memory that has to be waited for.

A line's number stands for its answer: positive where it allows, negative where it denies, 0 for no line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product, repeat
from typing import Any, TypeAlias

from policyengine.policies.rbac.asking import SUBJECT, Many, one_by_one
from policyengine.policies.rbac.globs import Glob
from policyengine.policies.rbac.hierarchy import EVERYWHERE, NOWHERE, Hierarchy
from policyengine.policies.rbac.keys import KeyOf, Parts, Way
from policyengine.policies.rbac.shape import Term

STAR = "*"
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
        self, term: Term, plans: Mapping[str, Plan], domains: Mapping[str, Mapping[str, Plan]], always: Plan
    ) -> None:
        self._subject = term.request
        self._domain = -1 if term.domain is None or not domains else term.domain
        self._plans = plans
        self._domains = domains
        self._always = always
        self._is_plain = self._domain < 0 and always is NOTHING  # so that a name's plan is all there is
        self.subjects = plans.keys()

    def decide(self, parts: Parts) -> int:
        """Give the number of the line that answers a request: of several a denying one, 0 where there is none."""
        if self._is_plain:
            return self._plans.get(parts[self._subject], NOTHING).decide(parts)
        return Several(self._tables(parts[self._subject], parts)).decide(parts)

    def decide_each(self, subjects: Sequence[str], asked: Many) -> list[int]:
        """Answer many requests at once, each under all these names; what the requests share is looked up once.

        Args:
            subjects: names; a line that denies one of them comes before every line that allows.
            asked: the requests.
        """
        if self._subject != SUBJECT:
            return one_by_one(self.decide, subjects, asked)
        tables = {id(table): table for name in subjects for table in self._tables(name, asked.parts)}
        answers: list[int] = []
        for table in tables.values():
            for column in table.columns(asked):
                if any(column):
                    answers = _stricter(answers, column) if answers else column
        return answers or [0] * len(asked.names)

    def _tables(self, name: str, parts: Parts) -> tuple[Table | Pieces, ...]:
        """The tables of a subject, in the domain of a request."""
        tables = tables_of(self._plans.get(name, NOTHING)) + tables_of(self._always)
        if self._domain >= 0:
            there = self._domains.get(parts[self._domain])
            if there is not None:
                tables += tables_of(there.get(name, NOTHING))
        return tables


def _stricter(answers: Sequence[int], others: Sequence[int]) -> list[int]:
    """Of each two lines the first that denies, else the first that answers."""
    if min(others) >= 0:
        return [old or new for old, new in zip(answers, others, strict=True)]
    return [new if new and (not old or new < 0 < old) else old for old, new in zip(answers, others, strict=True)]


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

    def decide_each(self, subjects: Sequence[str], asked: Many) -> list[int]:
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
# In a dict of texts alone, CPython keeps the hash of a key in the text itself, so that each key that is passed by in a
# search has to be looked into; with something else in it, the hashes stand side by side.
NO_KEY = None


class Table(dict[str | None, int]):
    """Lines of one subject that compare the same fields, at most one of them by a prefix: key → number.

    Attributes:
        ways: to the keys that lines here have.
        key_makers: those of `ways`.
    """

    __slots__ = ("key_makers", "ways")

    ways: tuple[Way, ...]
    key_makers: tuple[KeyOf, ...]

    def decide(self, parts: Parts) -> int:
        """Give the number of the line here that answers a request."""
        answer = 0
        for key_of in self.key_makers:
            found = self.get(key_of(parts), 0)
            if found:
                if found < 0:
                    return found
                answer = found
        return answer

    def columns(self, asked: Many) -> Iterator[list[int]]:
        """Give the lines here that answer many requests, by each way."""
        return (list(map(self.get, way.keys(asked), repeat(0))) for way in self.ways)


class Pieces:
    """Lines that compare several prefixes, or globs: found by the literal pieces, then tested for what lies between."""

    __slots__ = ("_globs", "_picked", "_prefixes", "lines")

    def __init__(
        self, picked: Callable[[Parts], Any], prefixes: Sequence[tuple[int, int]], globs: Sequence[tuple[int, Cut]]
    ) -> None:
        self._picked = picked  # takes out what is compared whole
        self._prefixes = prefixes  # position in a request, length
        self._globs = globs  # position in a request, how much is around the wildcards
        self.lines: dict[Any, list[tuple[tuple[tuple[int, Glob], ...], int]]] = {}  # by pieces

    def decide(self, parts: Parts) -> int:
        """Give the number of the line here that answers a request."""
        names = {at: parts[at].rstrip("/") for at, _ in self._globs}  # as `globs` reads them
        key = (
            self._picked(parts),
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

    def columns(self, asked: Many) -> Iterator[list[int]]:
        """Give the lines here that answer many requests."""
        yield list(map(self.decide, asked.requests()))


def ends(text: str, cut: Cut) -> Any:
    """The pieces of a text that stand around the wildcards; None where it is too short for them."""
    if cut is None:
        return text
    head, tail = cut
    return (text[:head], text[len(text) - tail :]) if len(text) >= head + tail else None


class Several(tuple["Table | Pieces", ...]):
    """The tables of a name, where they are not one."""

    __slots__ = ()

    def decide(self, parts: Parts) -> int:
        """Give the number of the line that answers a request."""
        answer = 0
        for table in self:
            found = table.decide(parts)
            if found < 0:
                return found
            answer = answer or found
        return answer


Plan: TypeAlias = "Table | Pieces | Several"
NOTHING = Several()


def plan_of(tables: Sequence[Table | Pieces]) -> Plan:
    """Give the plan of these tables."""
    return tables[0] if len(tables) == 1 else Several(tables) if tables else NOTHING


def tables_of(plan: Plan) -> tuple[Table | Pieces, ...]:
    """Give the tables of a plan."""
    return plan if isinstance(plan, Several) else (plan,)
