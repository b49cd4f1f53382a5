"""The policy as hash tables: a decision looks up a handful of keys, however many lines there are.

Lines are sorted into tables by what they compare literally (tuple space search). `p, dev, *, tool, mcp__github__*, *`
compares subject and kind literally, the first thirteen characters of the name, and nothing else; all lines with
that pattern of comparisons are one table, whose key is just those pieces. A decision goes through the subject and the
roles above it, and for each through the tables that hold a line of it.

A line's number stands for its answer: positive where it allows, negative where it denies, 0 for no line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from operator import itemgetter
from typing import Any, TypeAlias

from policyengine.policies.rbac.globs import Glob, can_read, glob_of
from policyengine.policies.rbac.hierarchy import EVERYWHERE, NOWHERE, Hierarchy
from policyengine.policies.rbac.shape import Combining, Match, Shape, Term

STAR = "*"
Key: TypeAlias = "str | tuple[Any, ...]"  # Any: texts, and for prefixes and globs tuples of texts
Slot: TypeAlias = "int | tuple[int, int] | None"  # how much is compared: a prefix, a head and a tail, or everything
_ANYTHING = 0  # a prefix without characters: nothing is compared
_NEVER = {True: Combining.ALLOW_OVERRIDE, False: Combining.DENY_ONLY}  # denies → under which effect a line says nothing


class NotIndexable(Exception):
    """A line that this index cannot answer for as pycasbin does; caught where policies are loaded."""


class Index:
    """Compiled lines under a shape. Fill it with `add`, then ask `decide`; it keeps nothing of what it is asked.

    Args:
        shape: what is compared.
        roles: the hierarchies that the shape names; they may be filled in until the first question.
        subject: position of the request's field that lines are gathered by; by default a role's.
    """

    __slots__ = ("_lead", "_others", "_plain", "_roles", "_shape", "_tables", "_tables_of", "_together")

    def __init__(self, shape: Shape, roles: dict[str, Hierarchy], subject: int | None = None) -> None:
        self._shape = shape
        literal = [term for match in (Match.ROLE, Match.EQUAL) for term in shape.terms if term.match is match]
        self._lead = next((term for term in literal if term.request == subject), literal[0])
        self._others = tuple(term for term in shape.terms if term.match is Match.ROLE and term is not self._lead)
        self._roles = roles
        self._tables: dict[tuple[Slot, ...], _Table] = {}
        self._tables_of: dict[str, tuple[_Table, ...]] = {}  # name → the tables that hold a line of it
        self._together: dict[tuple[_Table, ...], tuple[_Table, ...]] = {}  # equal tuples are kept once
        self._plain = not self._lead.star and self._lead.match is Match.EQUAL

    def add(self, line: Sequence[str], number: int) -> None:
        """Add a policy line (fields without its type) of a number from 1.

        Raises:
            NotIndexable: it holds a glob that is not read here.
        """
        shape, lead = self._shape, self._lead
        name = line[lead.policy]
        tables = self._tables_of.setdefault(name, ())
        denies = shape.effect is not None and line[shape.effect] == "deny"
        if shape.combining is _NEVER[denies]:
            return
        slots = tuple(_slot(term, line[term.policy]) if term is not lead else None for term in shape.terms)
        table = self._tables.get(slots)
        if table is None:
            table = self._tables[slots] = _table(shape.terms, slots)
        table.add(line, -number if denies else number)
        if table not in tables:
            more = (*tables, table)
            self._tables_of[name] = self._together.setdefault(more, more)

    @property
    def subjects(self) -> frozenset[str]:
        """Every name that a line is about, or that has or is a role."""
        hierarchy = self._roles.get(self._lead.roles) if self._lead.match is Match.ROLE else None
        return frozenset(self._tables_of) | (hierarchy.names if hierarchy else frozenset())

    def decide(self, values: Sequence[str]) -> int:
        """Give the number of the line that answers a request (its fields in the model's order).

        Of several, a denying one counts; 0 where there is none.
        """
        if not self._others:
            return self._decided(list(values))
        answer = 0
        for expanded in self._expanded(values):
            found = self._decided(expanded)
            if found < 0:
                return found
            answer = answer or found
        return answer

    def _decided(self, values: list[str]) -> int:
        position, tables_of = self._lead.request, self._tables_of
        answer = 0
        for name in self._names(self._lead, values):
            tables = tables_of.get(name)
            if tables is not None:
                values[position] = name
                for table in tables:
                    found = table.find(values)
                    if found < 0:
                        return found
                    if found:
                        answer = answer or found
        return answer

    def _names(self, term: Term, values: Sequence[str]) -> tuple[str, ...]:
        """What a line may say in a field: the request's own value, the roles above it, and `*` where that counts."""
        name = values[term.request]
        if self._plain:
            return (name,)
        names: tuple[str, ...] = (name,)
        if term.match is Match.ROLE:
            hierarchy = self._roles[term.roles]
            names += hierarchy.above(name, NOWHERE if term.domain is None else values[term.domain])
            if term.everywhere:
                names += hierarchy.above(name, EVERYWHERE)
        return (*names, STAR) if term.star else names

    def _expanded(self, values: Sequence[str]) -> Iterator[list[str]]:
        """The request with each name that a line may say instead in a field beside the leading one."""
        choices = [[(term.request, name) for name in dict.fromkeys(self._names(term, values))] for term in self._others]
        for chosen in product(*choices):
            changed = list(values)
            for position, name in chosen:
                changed[position] = name
            yield changed


def _slot(term: Term, said: str) -> Slot:
    """How much of a request's field a line compares."""
    if term.star and said == STAR and term.match is Match.EQUAL:
        return _ANYTHING
    if term.match is Match.KEY:
        star = said.find(STAR)
        return None if star < 0 else star
    if term.match is Match.GLOB:
        if not can_read(said):
            raise NotIndexable(said)
        glob = glob_of(said)
        return (-1, -1) if glob is None else (len(glob.head), len(glob.tail))
    return None


# ------------------------------------------------------------------------------------------------------------- tables
class _Table:
    """Lines that compare the same pieces of the same fields."""

    __slots__ = ("_key", "_lines", "_policy_key", "_prefixes")

    def __init__(self, terms: Sequence[Term], slots: Sequence[Slot]) -> None:
        whole = [term for term, slot in zip(terms, slots, strict=True) if slot is None]
        self._key = itemgetter(*(term.request for term in whole))
        self._policy_key = itemgetter(*(term.policy for term in whole))
        self._prefixes = tuple(
            (term.request, term.policy, slot)
            for term, slot in zip(terms, slots, strict=True)
            if isinstance(slot, int) and slot > _ANYTHING
        )
        self._lines: dict[Key, int] = {}

    def add(self, line: Sequence[str], number: int) -> None:
        key: Key = self._policy_key(line)
        if self._prefixes:
            key = (key, *(line[policy][:length] for _, policy, length in self._prefixes))
        known = self._lines.get(key, 0)
        self._lines[key] = number if not known or number < 0 <= known else known

    def find(self, values: Sequence[str]) -> int:
        key: Key = self._key(values)
        if self._prefixes:
            key = (key, *[values[request][:length] for request, _, length in self._prefixes])
        return self._lines.get(key, 0)


class _Globs:
    """Lines with globs: found by what stands before and after the wildcards, then tested for what lies between."""

    __slots__ = ("_cuts", "_key", "_lines", "_policy_key")

    def __init__(self, terms: Sequence[Term], slots: Sequence[Slot]) -> None:
        whole = [term for term, slot in zip(terms, slots, strict=True) if slot is None]
        self._key = itemgetter(*(term.request for term in whole))
        self._policy_key = itemgetter(*(term.policy for term in whole))
        self._cuts = tuple(
            (term.request, term.policy, _cutter(slot))
            for term, slot in zip(terms, slots, strict=True)
            if slot is not None and slot != _ANYTHING
        )
        self._lines: dict[Key, list[tuple[tuple[tuple[int, Glob], ...], int]]] = {}

    def add(self, line: Sequence[str], number: int) -> None:
        key = (self._policy_key(line), *(cut(line[policy]) for _, policy, cut in self._cuts))
        globs = [(request, glob_of(line[policy])) for request, policy, cut in self._cuts if cut.is_glob]
        tests = tuple((request, glob) for request, glob in globs if glob is not None)
        self._lines.setdefault(key, []).append((tests, number))

    def find(self, values: Sequence[str]) -> int:
        key = (self._key(values), *[cut(values[request]) for request, _, cut in self._cuts])
        answer = 0
        for tests, number in self._lines.get(key, ()):
            if (not answer or number < 0) and all(glob.matches(values[at].rstrip("/")) for at, glob in tests):
                if number < 0:
                    return number
                answer = number
        return answer


class _Cut:
    """Takes the piece of a field that a table's lines compare; None where the field is too short for them."""

    __slots__ = ("_head", "_tail", "is_glob")

    def __init__(self, head: int, tail: int, is_glob: bool) -> None:
        self._head, self._tail, self.is_glob = head, tail, is_glob

    def __call__(self, text: str) -> Key | None:
        if not self.is_glob:
            return text[: self._head]
        text = text.rstrip("/")
        if self._head < 0:
            return text
        if len(text) < self._head + self._tail:
            return None
        return (text[: self._head], text[len(text) - self._tail :])


def _cutter(slot: int | tuple[int, int]) -> _Cut:
    return _Cut(slot, 0, False) if isinstance(slot, int) else _Cut(*slot, True)


def _table(terms: Sequence[Term], slots: Sequence[Slot]) -> Any:  # Any: the two kinds share no base, only their methods
    return (_Globs if any(isinstance(slot, tuple) for slot in slots) else _Table)(terms, slots)
