"""A program's argument grammar: a compiled description decoded into slotted values on first use.

The compiled form is plain JSON with short keys, written by `policyengine.config.specs` and stored in bundles. Keys of a
description: `o` options by their spellings, `f` flags and `v` plain values as one text of spellings, `p` operands,
`s` subcommands by their spellings, `x` the description of other subcommands, `t` effect templates, `w` overlays,
`y` style, `c` switches (`n` numeric, `p` plus, `b` bundled first, `i` inherit, `-` negatable), `g` ignored words,
`out` and `in`.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from policyengine.effects import Cause, Taint, Where
from policyengine.shell.programs.reading import Field
from policyengine.shell.programs.vocabulary import EFFECTLESS_ROLES, PLURAL_ROLES, TAIL_ROLES, is_role

Compiled: TypeAlias = Mapping[str, Any]  # JSON as described above; its values are mixed by nature


class Reference(NamedTuple):
    """What a `$…` of a template refers to: `kind` is operand|operands|value|key|option|role."""

    kind: str
    number: int = 0  # zero-based index of the operand, or of the first of several
    name: str = ""  # canonical spelling of the option, or the role

    @property
    def plural(self) -> bool:
        """Whether the template gives one effect for each value referred to."""
        return self.kind == "operands" or (self.kind == "role" and self.name in PLURAL_ROLES)


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
    keys: Keys | None = None
    split: str = ""
    before: str = ""
    stop: bool = False
    first: bool = False
    where: Where = Where.HERE
    trivial: bool = False  # nothing but words to skip


class Keys(NamedTuple):
    """Meanings of `KEY=VALUE` by lower-case key: named ones, then globs in order."""

    named: Mapping[str, Option]
    globs: tuple[tuple[re.Pattern[str], Option], ...]

    def find(self, key: str) -> Option | None:
        """Return the meaning of a key, None where it is not described."""
        found = self.named.get(key)
        return found or next((option for glob, option in self.globs if glob.match(key)), None)


class Operand(NamedTuple):
    """One element of the list of operand roles; `quantity` is `""` exactly one, `"?"` optional, `"..."` any number."""

    role: str
    quantity: str = ""
    where: Where = Where.HERE
    join: bool = False
    hole: str = ""
    until: frozenset[str] = frozenset()

    @property
    def tail(self) -> bool:
        """Whether it takes all the words that remain."""
        return self.join or self.role in TAIL_ROLES


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
    """A compiled glob, and the literal text that it begins with (to judge texts of which only a prefix is known)."""

    pattern: re.Pattern[str]
    literal: str
    open: bool  # something follows the literal text


class Overlay(NamedTuple):
    """What changes under a condition."""

    condition: Condition
    elements: Elements | None
    roles: Mapping[str, str]
    templates: tuple[Template, ...]
    sets: tuple[str, ...]
    output: str
    input: str

    def mild(self) -> Overlay:
        """What holds of it where its `match` is not certain: what it adds, not what it changes."""
        return self._replace(elements=None, roles={})


FLAG = Option(trivial=True)
VALUE = Option(takes=1, trivial=True)
ANY_DATA = (Operand("data", "..."),)
NO_OPTIONS = ("none", "keyvalue")  # styles without words that begin with a dash


class Program:
    """The decoded grammar of one program or subcommand."""

    inherit: bool
    negatable: bool
    conditional: bool
    states: bool

    __slots__ = (
        "_children",
        "_otherwise",
        "_subcommands",
        "bundled_first",
        "bundles",
        "conditional",
        "elements",
        "ignore",
        "inherit",
        "input",
        "invents",
        "keyvalue",
        "name",
        "negatable",
        "numeric",
        "opens",
        "options",
        "output",
        "overlays",
        "plain",
        "plus",
        "posix",
        "states",
        "style",
        "subcommands",
        "templates",
    )

    def __init__(self, name: str, compiled: Compiled, outer: Program | None = None) -> None:
        self.name = name
        self._decode_grammar(compiled, outer)
        self.overlays = tuple(map(_overlay, compiled.get("w", ())))
        self.templates = _templates(compiled)
        self.output: str = compiled.get("out") or (outer.output if outer else "listing")
        self.input: str = compiled.get("in") or (outer.input if outer else "data")
        # What follows from it, so that reading an argument list asks one question instead of several:
        self.conditional = bool(self.overlays) or (outer is not None and outer.conditional)
        self.states = bool(self.templates) or (outer is not None and outer.states)
        self.invents = any(not is_role(role) for overlay in self.overlays for role in overlay.roles)
        tails = (overlay.elements.tail_at for overlay in self.overlays if overlay.elements)
        self.plain = (
            self.elements.tail_at < 0
            and max(tails, default=-1) < 0
            and not (self.subcommands or self.ignore or self.posix or self.keyvalue)
        )

    def _decode_grammar(self, compiled: Compiled, outer: Program | None) -> None:
        self.options: dict[str, Option] = _options(compiled)
        if outer is not None and outer.inherit:
            self.options = {**outer.options, **self.options}
        self.style: str = compiled.get("y", outer.style if outer else "gnu")
        self.bundles = self.style in ("gnu", "posix")
        if self.bundles:
            self.options.setdefault("--help", FLAG)  # every program and subcommand that reads options this way has it
        self.posix, self.keyvalue = self.style == "posix", self.style == "keyvalue"
        self.opens = self.style not in NO_OPTIONS
        switches = compiled.get("c", "")
        self.numeric, self.plus = "n" in switches, "p" in switches
        self.bundled_first, self.inherit = "b" in switches, "i" in switches
        self.negatable = "-" in switches or (outer is not None and outer.negatable)
        self.ignore = frozenset(compiled.get("g", ()))
        default = () if self.keyvalue else ANY_DATA
        self.elements = Elements(decode_operands(compiled["p"]) if "p" in compiled else default)
        self._subcommands = _by_spelling(compiled.get("s", {}))
        self._otherwise: Compiled | None = compiled.get("x")
        self.subcommands = bool(self._subcommands) or self._otherwise is not None
        self._children: dict[int, Program] = {}

    def subcommand(self, word: str) -> Program | None:
        """Return the grammar that follows the subcommand `word`, None where it is not described."""
        compiled = self._subcommands.get(word, self._otherwise)
        if compiled is None:
            return None
        child = self._children.get(id(compiled))
        if child is None:
            child = self._children[id(compiled)] = Program(f"{self.name} {word}", compiled, self)
        return child


def decode_operands(compiled: Sequence[str | Compiled]) -> tuple[Operand, ...]:
    """Decode a list of operand roles: `role`, `role?`, `role...` or the long form."""
    return tuple(map(_operand, compiled))


def decode_reference(text: str) -> Reference:
    """Decode a `$…` that the schema has accepted."""
    name = text[1:]
    if name in ("value", "key"):
        return Reference(name)
    if name.startswith("opt:"):
        return Reference("option", name=name[4:])
    if name == "*":
        return Reference("operands")
    if name[0].isdigit():
        number = int(name.rstrip("*")) - 1
        return Reference("operands" if name.endswith("*") else "operand", number)
    return Reference("role", name=name)


def _operand(compiled: str | Compiled) -> Operand:
    if isinstance(compiled, str):
        role = compiled.rstrip(".?")
        return Operand(role, compiled[len(role) :])
    plain = _operand(compiled["r"])
    where = Where(compiled.get("w", "here"))
    return plain._replace(
        where=where, join="j" in compiled, hole=compiled.get("h", ""), until=frozenset(compiled.get("u", ()))
    )


def _options(compiled: Compiled) -> dict[str, Option]:
    options = dict.fromkeys(compiled.get("f", "").split(), FLAG)
    options.update(dict.fromkeys(compiled.get("v", "").split(), VALUE))
    for spellings, meaning in compiled.get("o", {}).items():
        names = spellings.split()
        options.update(dict.fromkeys(names, _option(names[0], meaning)))
    return options


def _option(name: str, compiled: str | Compiled) -> Option:
    if isinstance(compiled, str):
        return Option(name, takes=1, roles=(compiled,))
    return Option(
        name,
        takes=compiled.get("n", 0),
        optional="?" in compiled,
        digits="#" in compiled,
        roles=tuple(compiled.get("r", ())),
        sets=tuple(compiled.get("s", ())),
        templates=_templates(compiled),
        until=frozenset(compiled.get("u", ())),
        keys=_keys(compiled["k"]) if "k" in compiled else None,
        split=compiled.get("d", ""),
        before=compiled.get("b", ""),
        stop="." in compiled,
        first="1" in compiled,
        where=Where(compiled.get("w", "here")),
    )


def _keys(compiled: Compiled) -> Keys:
    meanings = {key.lower(): _option(key, meaning) for key, meaning in compiled.items()}
    globs = [(_pattern(key), option) for key, option in meanings.items() if _is_glob(key)]
    return Keys({key: option for key, option in meanings.items() if not _is_glob(key)}, tuple(globs))


def _templates(compiled: Compiled) -> tuple[Template, ...]:
    return tuple(_template(kind, fields) for kind, fields in compiled.get("t", ()))


def _template(kind: str, fields: Compiled) -> Template:
    references = {
        name: decode_reference(value)
        for name, value in fields.items()
        if isinstance(value, str) and value.startswith("$")
    }
    constants = {name: _constant(name, value) for name, value in fields.items() if name not in references}
    single = tuple((name, reference) for name, reference in references.items() if not reference.plural)
    plural = [name for name, reference in references.items() if reference.plural]
    return Template(kind, constants, single, tuple(plural), references[plural[0]] if plural else None)


def _constant(name: str, value: Any) -> Field:
    if name == "where":
        return Where(value)
    if name == "cause":
        return Cause(value)
    return frozenset(map(Taint, value)) if name == "taint" else value


def _overlay(compiled: Compiled) -> Overlay:
    return Overlay(
        _condition(compiled),
        Elements(decode_operands(compiled["p"])) if "p" in compiled else None,
        compiled.get("r", {}),
        _templates(compiled),
        tuple(compiled.get("s", ())),
        compiled.get("out", ""),
        compiled.get("in", ""),
    )


def _condition(compiled: Compiled) -> Condition:
    needed, absent = compiled.get("i", ()), compiled.get("u", ())
    least = [_count(name) for name in needed if name.startswith("operands-")]
    below = [_count(name) for name in absent if name.startswith("operands-")]
    match = tuple((decode_reference(name), tuple(map(_glob, globs))) for name, globs in compiled.get("m", {}).items())
    return Condition(
        frozenset(name for name in needed if not name.startswith("operands-")),
        frozenset(name for name in absent if not name.startswith("operands-")),
        max(*least, 1 if 0 in below else 0, 0),
        1 if 0 in least else min(filter(None, below), default=0),
        frozenset(reference.name for reference, _ in match if reference.kind == "option"),
        match,
    )


def _count(name: str) -> int:
    return int(name.removeprefix("operands-"))


def _by_spelling(compiled: Compiled) -> dict[str, Compiled]:
    return {word: description for words, description in compiled.items() for word in words.split()}


def _glob(text: str) -> Glob:
    literal = re.split(r"[*?\[]", text, maxsplit=1)[0]
    return Glob(_pattern(text), literal, literal != text)


def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(glob))


def _is_glob(text: str) -> bool:
    return any(character in text for character in "*?[")


def glob_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return those program names that are globs, the most particular (longest) first."""
    return tuple(sorted(filter(_is_glob, names), key=lambda name: (-len(name), name)))
