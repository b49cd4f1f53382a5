"""From a compiled description, plain JSON with short keys, to the parts of a grammar.

`policyengine.config.specs` writes that JSON, and bundles store it. Keys of a description: `o` options by spellings,
`f` flags, `h` those that ask for help and `v` plain values as one text of spellings, `p` operands, `s` subcommands by
their spellings, `x` the description of other subcommands, `t` effect templates, `w` overlays, `y` style, `c` switches
(`n` numeric, `p` plus, `b` bundled first, `i` inherit, `-` negatable, `=` equals, `;` chained), `g` ignored words,
`out` and `in`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from policyengine.effects import Cause, Taint, Where
from policyengine.shell.programs.parts import (
    FLAG,
    HELP,
    VALUE,
    Condition,
    Elements,
    Glob,
    Joined,
    Keys,
    Operand,
    Option,
    Overlay,
    Reference,
    Template,
)
from policyengine.shell.programs.reading import Field
from policyengine.shell.programs.texts import is_text, parts_of

Compiled: TypeAlias = Mapping[str, Any]  # JSON as described above; its values are mixed by nature


def decode_operands(compiled: Sequence[str | Compiled]) -> tuple[Operand, ...]:
    """Decode a list of operand roles: `role`, `role?`, `role...` or the long form."""
    return tuple(map(_operand, compiled))


def decode_reference(text: str) -> Reference:
    """Decode a `$…`, or a text with `${…}` in it, that the schema has accepted."""
    if is_text(text):
        parts, rest = parts_of(text)
        joined = [Joined(part.before, decode_reference(f"${part.reference}"), part.change) for part in parts]
        return Reference("text", name=rest, parts=tuple(joined))
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
        where=where, join=compiled.get("j", ""), hole=compiled.get("h", ""), until=frozenset(compiled.get("u", ()))
    )


def decode_options(compiled: Compiled) -> dict[str, Option]:
    """Decode every option, by spelling."""
    options = dict.fromkeys(compiled.get("f", "").split(), FLAG)
    options.update(dict.fromkeys(compiled.get("v", "").split(), VALUE))
    options.update(dict.fromkeys(compiled.get("h", "").split(), HELP))
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
        templates=decode_templates(compiled),
        until=frozenset(compiled.get("u", ())),
        appends="a" in compiled,
        keys=_keys(compiled["k"]) if "k" in compiled else None,
        split=compiled.get("d", ""),
        before=compiled.get("b", ""),
        stop="." in compiled,
        first="1" in compiled,
        where=Where(compiled.get("w", "here")),
    )


def _keys(compiled: Compiled) -> Keys:
    meanings = {key.lower(): _option(key, meaning) for key, meaning in compiled.items()}
    globs = [(key, meanings[key]) for key in sorted(meanings, key=lambda key: (-len(key), key)) if is_glob(key)]
    return Keys({key: option for key, option in meanings.items() if not is_glob(key)}, tuple(globs))


def decode_templates(compiled: Compiled) -> tuple[Template, ...]:
    """Decode effect templates."""
    return tuple(_template(kind, fields) for kind, fields in compiled.get("t", ()))


def _template(kind: str, fields: Compiled) -> Template:
    references = {
        name: decode_reference(value)
        for name, value in fields.items()
        if isinstance(value, str) and "$" in value and (value.startswith("$") or is_text(value))
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


def decode_overlay(compiled: Compiled) -> Overlay:
    """Decode one entry of `when`."""
    return Overlay(
        _condition(compiled),
        Elements(decode_operands(compiled["p"])) if "p" in compiled else None,
        compiled.get("r", {}),
        decode_templates(compiled),
        tuple((role, decode_reference(text)) for role, text in compiled.get("a", ())),
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


def by_spelling(compiled: Compiled) -> dict[str, Compiled]:
    """Spread descriptions over the spellings that a key holds."""
    return {word: description for words, description in compiled.items() for word in words.split()}


def _glob(text: str) -> Glob:
    literal = re.split(r"[*?\[]", text, maxsplit=1)[0]
    return Glob(text, literal, literal != text)


def is_glob(text: str) -> bool:
    """Whether a name is a glob."""
    return "*" in text or "?" in text or "[" in text
