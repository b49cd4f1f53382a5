"""The parts of a decoded grammar: options, operands, templates, overlays."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from functools import cache

from policyengine.effects import Where
from policyengine.records import NamedTuple
from policyengine.shell.programs.reading import Field
from policyengine.shell.programs.vocabulary import EFFECTLESS_ROLES, PLURAL_ROLES, TAIL_ROLES


@cache  # as many as the descriptions hold
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(glob))


def glob_matches(glob: str, text: str) -> bool:
    """Whether a whole text matches a glob; the glob is compiled when it is first asked for."""
    return _pattern(glob).match(text) is not None


class Reference(NamedTuple):
    """What a `$…` of a template refers to: `kind` is operand|operands|value|key|option|role|text."""

    kind: str
    number: int = 0  # zero-based index of the operand, or of the first of several
    name: str = ""  # canonical spelling of the option, or the role; of a text the characters after its last part
    parts: tuple[Joined, ...] = ()  # of a text

    @property
    def plural(self) -> bool:
        """Whether the template gives one effect for each value referred to."""
        if self.kind == "text":
            return any(part.reference.plural for part in self.parts)
        return self.kind == "operands" or (self.kind == "role" and self.name in PLURAL_ROLES)


class Joined(NamedTuple):
    """A reference inside a text: the characters before it, and how it is changed (`texts.changed`)."""

    before: str
    reference: Reference
    change: str


class Template(NamedTuple):
    """An effect with holes: fields with one value, and fields with each of many (all the same reference)."""

    kind: str
    constants: Mapping[str, Field]
    single: tuple[tuple[str, Reference], ...]
    plural: tuple[str, ...]
    many: Reference | None


class Option(NamedTuple):
    """What one option means. `takes` is the number of value words; `optional` ones are only ever attached."""

    name: str = ""
    takes: int = 0
    optional: bool = False
    digits: bool = False  # digits may be attached, and a bundle goes on after them
    roles: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    templates: tuple[Template, ...] = ()
    until: frozenset[str] = frozenset()
    appends: bool = False  # paths are put behind the words up to there, where these have no place for them
    keys: Keys | None = None
    split: str = ""
    before: str = ""
    stop: bool = False
    first: bool = False
    where: Where = Where.HERE
    trivial: bool = False  # nothing but words to skip


class Keys(NamedTuple):
    """Meanings of `KEY=VALUE` by lower-case key: named ones, then globs, the longest first."""

    named: Mapping[str, Option]
    globs: tuple[tuple[str, Option], ...]

    def find(self, key: str) -> Option | None:
        """Return the meaning of a key, None where it is not described."""
        found = self.named.get(key)
        return found or next((option for glob, option in self.globs if glob_matches(glob, key)), None)


class Operand(NamedTuple):
    """One element of the list of operand roles; `quantity` is `""` exactly one, `"?"` optional, `"..."` any number."""

    role: str
    quantity: str = ""
    where: Where = Where.HERE
    join: str = ""
    hole: str = ""
    until: frozenset[str] = frozenset()

    @property
    def tail(self) -> bool:
        """Whether it takes all the words that remain."""
        return self.join != "" or self.role in TAIL_ROLES


class Roles(NamedTuple):
    """What the operands of a call are.

    Attributes:
        each: for every operand the roles that it may have; none for the words of a tail.
        tails: index of the operand where a tail may begin, and its description.
        excess: the first operand that the description has no room for, or None.
    """

    each: Sequence[Sequence[Operand]]
    tails: Sequence[tuple[int, Operand]] = ()
    excess: int | None = None


class Elements:
    """A list of operand roles, with what follows from it for small numbers of operands."""

    __slots__ = ("assign", "cache", "items", "silent", "tail_at", "uniform")

    def __init__(self, items: tuple[Operand, ...]) -> None:
        first = items[0] if items else None
        self.assign = first if first is not None and first.role == "assign" else None
        self.items = items[1:] if self.assign else items  # without the assignments
        only = first if len(items) == 1 else None
        self.uniform = only if only and only.quantity == "..." and not only.tail and not self.assign else None
        self.silent = self.uniform is not None and self.uniform.role in EFFECTLESS_ROLES
        self.tail_at = next((index for index, operand in enumerate(items) if operand.tail), -1)
        self.cache: dict[int, Roles] = {}  # by number of operands, small ones only


class Condition(NamedTuple):
    """When an overlay holds: all `flags` set, at least `least` operands, none of the `match` entries failing."""

    flags: frozenset[str]
    absent: frozenset[str]
    least: int
    below: int  # fewer operands than this; 0 says nothing
    given: frozenset[str]  # options without a value of which `match` must fail
    match: tuple[tuple[Reference, tuple[Glob, ...]], ...]


class Glob(NamedTuple):
    """A glob, and the literal text that it begins with (to judge texts of which only a prefix is known)."""

    text: str
    literal: str
    open: bool  # something follows the literal text


class Overlay(NamedTuple):
    """What changes under a condition."""

    condition: Condition
    elements: Elements | None
    roles: Mapping[str, str]
    templates: tuple[Template, ...]
    uses: tuple[tuple[str, Reference], ...]
    sets: tuple[str, ...]
    output: str
    input: str

    def mild(self) -> Overlay:
        """What holds of it where its `match` is not certain: what it adds, not what it changes."""
        return self._replace(elements=None, roles={})


FLAG = Option(trivial=True)
HELP = Option(sets=("help",))
VALUE = Option(takes=1, trivial=True)
ANY_DATA = (Operand("data", "..."),)
