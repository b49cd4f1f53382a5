"""A program's argument grammar: a compiled description decoded on first use."""

from __future__ import annotations

from bisect import bisect_left

from policyengine.shell.programs.decoding import (
    Compiled,
    by_spelling,
    decode_operands,
    decode_options,
    decode_overlay,
    decode_templates,
)
from policyengine.shell.programs.parts import ANY_DATA, HELP, Elements, Option
from policyengine.shell.programs.vocabulary import is_role

NO_OPTIONS = ("none", "keyvalue")  # styles without words that begin with a dash


class Program:
    """The decoded grammar of one program or subcommand."""

    inherit: bool
    negatable: bool
    equals: bool
    conditional: bool
    states: bool

    __slots__ = (
        "_children",
        "_long_names",
        "_otherwise",
        "_subcommands",
        "bundled_first",
        "bundles",
        "chained",
        "conditional",
        "elements",
        "equals",
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
        self.overlays = tuple(map(decode_overlay, compiled.get("w", ())))
        self.templates = decode_templates(compiled)
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
        self.options: dict[str, Option] = decode_options(compiled)
        if outer is not None and outer.inherit:
            self.options = {**outer.options, **self.options}
        self.style: str = compiled.get("y", outer.style if outer else "gnu")
        self.bundles = self.style in ("gnu", "posix")
        if self.bundles:
            self.options.setdefault("--help", HELP)  # every program and subcommand that reads options this way has it
        self.posix, self.keyvalue = self.style == "posix", self.style == "keyvalue"
        self.opens = self.style not in NO_OPTIONS
        switches = compiled.get("c", "")
        self.numeric, self.plus = "n" in switches, "p" in switches
        self.bundled_first, self.inherit = "b" in switches, "i" in switches
        self.negatable = "-" in switches or (outer is not None and outer.negatable)
        self.equals = "=" in switches or (outer is not None and outer.equals)
        self.chained = ";" in switches
        self.ignore = frozenset(compiled.get("g", ()))
        default = () if self.keyvalue else ANY_DATA
        self.elements = Elements(decode_operands(compiled["p"]) if "p" in compiled else default)
        self._subcommands = by_spelling(compiled.get("s", {}))
        self._otherwise: Compiled | None = compiled.get("x")
        self.subcommands = bool(self._subcommands) or self._otherwise is not None
        self._children: dict[int, Program] = {}
        self._long_names: list[str] | None = None

    def abbreviated(self, name: str) -> Option | None:
        """Return the long option that begins so, None where there is none or more than one."""
        names = self._long_names
        if names is None:
            names = self._long_names = sorted(key for key in self.options if key.startswith("--"))
        found: Option | None = None
        for index in range(bisect_left(names, name), len(names)):
            if not names[index].startswith(name):
                break
            option = self.options[names[index]]
            if found is not None and (option is not found or option.trivial):
                return None
            found = option
        return found

    def subcommand(self, word: str) -> Program | None:
        """Return the grammar that follows the subcommand `word`, None where it is not described."""
        compiled = self._subcommands.get(word, self._otherwise)
        if compiled is None:
            return None
        child = self._children.get(id(compiled))
        if child is None:
            child = self._children[id(compiled)] = Program(f"{self.name} {word}", compiled, self)
        return child

    def spellings(self, word: str) -> frozenset[str]:
        """Return the words that mean what an option or a subcommand does, as far as it means something of its own."""
        if word[:1] == "-":
            option = self.options.get(word)
            found = [other for other, same in self.options.items() if same is option and not same.trivial]
        else:
            compiled = self._subcommands.get(word)
            found = [other for other, same in self._subcommands.items() if same is compiled]
        return frozenset(found)
