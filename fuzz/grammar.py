"""A grammar of bash 5.2 that writes scripts and knows what is code in them.

A production is a template: text with holes in guillemets. A hole in lower case is filled by a production of that
category; the others are:

    M E V D      a fresh marker: a command (`m1`), code that only `eval` and its kind see (`e2`), a command by expansion
                 (`v3`), data that must never be a command (`d4`)
    MLINE MQUOTE MHEX        a command marker spelt with a continuation, quotes, an escape
    X F K        a fresh variable name, function name, number
    AL AC        a newline inside an array, one after a comment
    NL N T _     a newline, one with blanks or a comment, a command terminator, blanks
    sub bt       a list inside a substitution, inside backticks
    HU HQ HT HTQ HHALF HODD HBLANK DELIM    a here-document's delimiter, quoted or tab-stripped; the one now being
    written
    EXTGLOB EG   extended globs are on from here; only where they are on

`«X:1»` twice in one template is the same name. A production whose name begins with `~` only passes on: it counts
neither
as parent nor as child when nested pairs are counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from fuzz.choices import Choices, Pair, Planned
from fuzz.grammar_commands import COMMANDS, REDIRECTS, SCRIPT
from fuzz.grammar_words import ARITHMETIC, BODIES, EXPANSIONS, WORDS

BUDGETS = (6, 3, 10, 20, 40)  # productions per script before only the smallest are chosen; one is chosen per script
PLANS = 20  # attempts to nest a given pair
MAX_BACKTICKS = 2  # nested backticks; each level doubles the backslashes


class Production(NamedTuple):
    """A parsed template: text and holes alternate, text first. `height` is that of the smallest tree under it."""

    id: str
    counted: bool
    text: tuple[str, ...]
    holes: tuple[str, ...]
    extglob: bool


class Sample(NamedTuple):
    """A generated script: `commands` are the markers in command position, `extglob` whether it turns extended globs
    on.
    """

    text: str
    extglob: bool
    commands: frozenset[str]
    pairs: tuple[Pair, ...]


_HEREDOCS: Final = {
    "HU": "here",
    "HT": "here",
    "HQ": "raw",
    "HTQ": "raw",
    "HHALF": "raw",
    "HODD": "raw",
    "HBLANK": "raw",
}
_LISTS: Final = {"sub": "list", "bt": "list"}
_FILLED_BY: Final = _HEREDOCS | _LISTS


def _production(category: str, name: str, template: str) -> Production:
    pieces = re.split("«([^»]*)»", template)
    return Production(f"{category}/{name}", name[0] != "~", tuple(pieces[::2]), tuple(pieces[1::2]), "«EG»" in template)


GRAMMAR: Final[dict[str, tuple[Production, ...]]] = {
    category: tuple(_production(category, name, template) for name, template in table.items())
    for tables in (SCRIPT, COMMANDS, REDIRECTS, WORDS, EXPANSIONS, ARITHMETIC, BODIES)
    for category, table in tables.items()
}


def _children(production: Production) -> list[str]:
    """The categories that a production's holes are filled by."""
    named = [_FILLED_BY.get(hole, hole) for hole in production.holes]
    return [category for category in named if category in GRAMMAR]


def _smallest() -> dict[str, tuple[Production, ...]]:
    """For each category its productions of least height, none of which needs extended globs."""
    heights: dict[str, int] = {}
    while len(heights) < len(GRAMMAR):
        for category, productions in GRAMMAR.items():
            known = [_height(p, heights) for p in productions if all(c in heights for c in _children(p))]
            if known and category not in heights:
                heights[category] = min(known)
    return {
        category: tuple(
            p for p in productions if not p.extglob and all(c in heights for c in _children(p))
            and _height(p, heights) == heights[category]
        )
        for category, productions in GRAMMAR.items()
    }  # fmt: skip


def _height(production: Production, heights: dict[str, int]) -> int:
    return production.counted + max((heights[child] for child in _children(production)), default=0)


SMALLEST: Final = _smallest()
_SMALLEST_IDS: Final = frozenset(production.id for productions in SMALLEST.values() for production in productions)

_IDS: Final = {category: tuple(p.id for p in productions) for category, productions in GRAMMAR.items()}


def allowed_pairs() -> frozenset[Pair]:
    """Every ordered pair of counted productions that the grammar can nest directly, pass-through ones left out."""
    reach = {category: _reachable(category, frozenset()) for category in GRAMMAR}
    return frozenset(
        (parent.id, child)
        for productions in GRAMMAR.values()
        for parent in productions
        if parent.counted
        for category in _children(parent)
        for child in reach[category]
    )


def nest(chain: Sequence[str]) -> tuple[Sample, list[int]] | None:
    """A small script that nests the productions of `chain`, each in the one before, on the shortest way to the first,
    and its decisions; None if none was found.
    """
    way = (*_ways()[chain[0]], *chain[1:])
    wanted = set(pairwise(chain))
    for attempt in range(PLANS):
        choices = Planned(f"{chain}:{attempt}", way, _SMALLEST_IDS, _passes())
        sample = generate(choices)
        if wanted <= set(sample.pairs):
            return sample, choices.taken
    return None


def chain(choices: Choices, length: int) -> tuple[str, ...]:
    """Up to `length` productions, each of which can be nested in the one before."""
    parents = sorted(_below())
    found = [parents[choices.below(len(parents))]]
    while len(found) < length and (children := _below().get(found[-1])):
        found.append(children[choices.below(len(children))])
    return tuple(found)


@cache
def _passes() -> dict[str, frozenset[str]]:
    passing = [production for productions in GRAMMAR.values() for production in productions if not production.counted]
    return {one.id: frozenset().union(*(_reachable(child, frozenset()) for child in _children(one))) for one in passing}


@cache
def _below() -> dict[str, list[str]]:
    """What can be nested directly in each production."""
    below: dict[str, list[str]] = {}
    for parent, child in sorted(allowed_pairs()):
        below.setdefault(parent, []).append(child)
    return below


@cache
def _ways() -> dict[str, tuple[str, ...]]:
    """The shortest way from the script, which is "", to each production."""
    roots = sorted(_reachable("script", frozenset()))
    ways: dict[str, tuple[str, ...]] = {"": ("",)}
    pending = [""]
    for name in pending:  # grows as it goes
        fresh = [child for child in (_below().get(name, ()) if name else roots) if child not in ways]
        ways.update((child, (*ways[name], child)) for child in fresh)
        pending += fresh
    return ways


def _reachable(category: str, seen: frozenset[str]) -> frozenset[str]:
    """The counted productions that can stand directly in a hole of `category`."""
    found: set[str] = set()
    for production in GRAMMAR[category]:
        if production.counted:
            found.add(production.id)
        else:
            for child in set(_children(production)) - seen:
                found |= _reachable(child, seen | {category})
    return frozenset(found)


def generate(choices: Choices) -> Sample:
    """Write one script."""
    writer = _Writer(choices)
    text = writer.write("script", "")
    if writer.pending[-1]:
        text += writer.newline()
    return Sample(text, writer.extglob, frozenset(writer.commands), tuple(writer.pairs))


class _Writer:
    """The state of one script: decisions, budget, names given out, and here-documents whose bodies are due."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.budget = BUDGETS[choices.below(len(BUDGETS))]
        self.extglob = False
        self.number = 0
        self.backticks = 0
        self.pending: list[list[tuple[str, str]]] = [[]]  # per lexical level: (delimiter, kind)
        self.delimiter = ""
        self.commands: list[str] = []
        self.pairs: list[Pair] = []

    def write(self, category: str, parent: str) -> str:
        """The text of one production of `category`."""
        production = self._choose(category, parent)
        if production.counted:
            if parent:
                self.pairs.append((parent, production.id))
            parent = production.id
            self.budget -= 1
        names: dict[str, str] = {}
        parts = [production.text[0]]
        for hole, text in zip(production.holes, production.text[1:], strict=True):
            parts.append(self._fill(hole, parent, names))
            parts.append(text)
        return "".join(parts)

    def _choose(self, category: str, parent: str) -> Production:
        smallest = SMALLEST[category]
        if self.budget <= 0:
            return smallest[0] if self.choices.below(2) == 0 else smallest[self.choices.below(len(smallest))]
        production = GRAMMAR[category][self.choices.pick(parent, _IDS[category])]
        return smallest[0] if production.extglob and not self.extglob else production

    def _fill(self, hole: str, parent: str, names: dict[str, str]) -> str:
        if hole in GRAMMAR:
            return self.write(hole, parent)
        if hole in names:
            return names[hole]
        kind, _, key = hole.partition(":")
        text = self._backticked(parent) if kind == "bt" else self._special(kind, parent)
        if key:
            names[hole] = text
        return text

    def _special(self, kind: str, parent: str) -> str:
        if kind in _HEREDOCS:
            return self._heredoc(kind, parent)
        if kind == "sub":
            return self._nested(parent)
        if kind in _MARKERS:
            return self._marker(*_MARKERS[kind])
        if kind in ("NL", "N", "T", "_", "AL", "AC"):
            return self._space(kind)
        if kind in _NAMES:
            return f"{_NAMES[kind]}{self._fresh()}"
        self.extglob = self.extglob or kind == "EXTGLOB"
        return self.delimiter if kind == "DELIM" else ""

    def _space(self, kind: str) -> str:
        """Newlines, terminators and blanks."""
        match kind:
            case "NL":
                return self.newline()
            case "T" if self.choices.below(2) == 0:
                return ("; ", ";", " ;")[self.choices.below(3)]
            case "_":
                return (" ", "  ", "\t", " \\\n", "\\\n ")[self.choices.below(5)]
            case "AL" | "AC" if self.pending[-1]:
                return " "  # bash 5.2 itself misreads a here-document that is due before an array's newline
            case "AL":
                return "\n"
            case "AC":
                return f" # it's {self._marker('d', 'd', '')} )\n"
        return self._blank_newline()

    def _fresh(self) -> int:
        self.number += 1
        return self.number

    def _marker(self, letter: str, before: str, after: str) -> str:
        number = self._fresh()
        if letter == "m":
            self.commands.append(f"m{number}")
        return f"{before}{number}{after}"

    def _nested(self, parent: str) -> str:
        """A list on a lexical level of its own: its here-documents end inside it."""
        self.pending.append([])
        text = self.write("list", parent)
        if self.pending[-1]:
            text += self.newline()
        self.pending.pop()
        return text

    def _backticked(self, parent: str) -> str:
        """A list as it is written inside backticks (bash manual 3.5.4)."""
        if self.backticks >= MAX_BACKTICKS:
            return self._marker("m", "m", "")
        self.backticks += 1
        text = self._nested(parent)
        self.backticks -= 1
        return text.replace("\\", "\\\\").replace("`", "\\`")

    def _heredoc(self, kind: str, parent: str) -> str:
        number = self._fresh()
        spelt, delimiter = _DELIMITERS.get(kind, ("E{}", "E{}"))
        self.pending[-1].append((delimiter.format(number), kind + " " + parent))
        return spelt.format(number)

    def newline(self) -> str:
        """A newline, and the bodies of the here-documents that are due on this level."""
        due, self.pending[-1] = self.pending[-1], []
        return "\n" + "".join(self._body(delimiter, *kind.split(" ")) for delimiter, kind in due)

    def _body(self, delimiter: str, kind: str, parent: str) -> str:
        outer, self.delimiter = self.delimiter, delimiter
        self.pending.append([])
        body = self.write(_HEREDOCS[kind], parent)
        self.pending.pop()
        self.delimiter = outer
        if kind.startswith("HT"):
            return self._tabbed(body) + f"{self._tabs()}{delimiter}\n"
        return f"{body}{delimiter}\n"

    def _tabbed(self, body: str) -> str:
        """Tabs before lines, save those that a continuation joins to the line before."""
        lines = body.splitlines(keepends=True)
        joined = [False, *(line.endswith("\\\n") for line in lines)]
        return "".join(line if glued else self._tabs() + line for glued, line in zip(joined, lines, strict=False))

    def _tabs(self) -> str:
        return "\t" * self.choices.below(3)

    def _blank_newline(self) -> str:
        kind = self.choices.below(6)
        if kind == 5:
            return f" # it's {self._marker('d', 'd', '')} ) }}" + self.newline()
        return self.newline() + ("", "", "\n", " \t", "  ")[kind]


_MARKERS: Final = {
    "M": ("m", "m", ""),
    "MLINE": ("m", "m\\\n", ""),
    "MQUOTE": ("m", "m'", "'"),
    "MHEX": ("m", "$'\\x6d", "'"),
    "E": ("e", "e", ""),
    "V": ("v", "v", ""),
    "D": ("d", "d", ""),
}
_NAMES: Final = {"X": "x", "F": "f", "K": ""}
_DELIMITERS: Final = {"HHALF": ("E'O'{}", "EO{}"), "HODD": ('E"x"\\{}', "Ex{}"), "HBLANK": ("E {}", "E {}")}
