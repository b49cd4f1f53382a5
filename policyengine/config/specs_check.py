"""Checking what a description says: roles, templates, flags, spellings and references that make sense.

Each fault is a LoadError with file, line, field and what was expected. A description is checked with its *context*: the
same description with `like` resolved, and those around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from policyengine.config.specs_like import spellings_of
from policyengine.config.specs_schema import (
    Constant,
    DescriptionSpec,
    OperandSpec,
    OptionSpec,
    OverlaySpec,
    TemplateSpec,
)
from policyengine.effects import EFFECTS, Cause, Taint, Where
from policyengine.records import NamedTuple
from policyengine.shell.programs.texts import is_text, mistakes, parts_of
from policyengine.shell.programs.vocabulary import (
    AUTOMATIC_FLAGS,
    INPUTS,
    OUTPUTS,
    PLURAL_ROLES,
    REFERENCE_ROLES,
    is_language_role,
    is_role,
)

if TYPE_CHECKING:
    from policyengine.config.yamlfile import Document, Place
    from policyengine.errors import LoadError

UNSTATED = frozenset({"span", "origin", "arguments"})  # fields that the analysis fills
WORDS: Mapping[str, frozenset[str]] = {
    "where": frozenset(Where),
    "cause": frozenset(Cause),
    "taint": frozenset(Taint),
}


class Flaw(NamedTuple):
    """A fault at a place below the description."""

    message: str
    place: Place
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """What a description may refer to."""

    flags: frozenset[str]
    made_up: frozenset[str]  # roles that some overlay turns into real ones
    options: Mapping[str, str]  # spelling → canonical spelling


def context_of(descriptions: tuple[DescriptionSpec, ...]) -> Context:
    """The context of the innermost of nested descriptions, outermost first, each with `like` resolved."""
    flags = {flag for one in descriptions for option in one.options.values() for flag in _flags(option)}
    flags |= {flag for one in descriptions for overlay in one.when for flag in overlay.sets}
    made_up = {role for overlay in descriptions[-1].when for role in overlay.roles}
    options = {word: key.split()[0] for one in descriptions for key in one.options for word in key.split()}
    return Context(frozenset(flags) | AUTOMATIC_FLAGS, frozenset(made_up), options)


def check(own: DescriptionSpec, context: Context, document: Document, place: Place) -> None:
    """Check one description (not those inside it).

    Raises:
        LoadError: the first fault found.
    """
    for flaw in _flaws(own, context):
        raise told(flaw, document, place)


def told(flaw: Flaw, document: Document, place: Place) -> LoadError:
    """A flaw as an error at its line."""
    return document.error(flaw.message, (*place, *flaw.place), expected=flaw.expected)


def _flaws(own: DescriptionSpec, context: Context) -> Iterator[Flaw]:
    yield from _spelling_flaws(own)
    for spellings, option in own.options.items():
        yield from _option_flaws(option, context, ("options", spellings))
    for index, operand in enumerate(own.operands or ()):
        yield from _operand_flaws(operand, context, ("operands", index))
    yield from _list_flaws(own.operands or (), ("operands",))
    yield from _template_list_flaws(own.effects or (), context, ("effects",))
    yield from _stream_flaws(own, ())
    for index, overlay in enumerate(own.when):
        yield from _overlay_flaws(overlay, context, ("when", index))
    for command, effects in own.examples.items():
        for index, effect in enumerate(effects):
            yield from _kind_flaws(effect, ("examples", command, index))


# -------------------------------------------------------------------------------------------------------------- options
def _flags(option: OptionSpec) -> Iterator[str]:
    yield from option.sets
    for inner in (option.keys or {}).values():
        yield from _flags(inner)


def _spelling_flaws(own: DescriptionSpec) -> Iterator[Flaw]:
    twice = next((word for word, number in Counter(spellings_of(own)).items() if number > 1), None)
    if twice is not None:
        yield Flaw(f"the spelling `{twice}` is given twice", _place_of(own, twice), "each spelling once")
    if own.style == "keyvalue":
        return
    for name in ("options", "flags", "values"):
        entries = own.options if name == "options" else own.flags if name == "flags" else own.values
        for index, entry in enumerate(entries):
            words = [word for word in entry.split() if word not in own.ignore]
            wrong = next((word for word in words if word[0] not in "-+"), "" if entry.split() else "(nothing)")
            if wrong:
                yield Flaw(
                    f"`{wrong}` is no option",
                    (name, entry if name == "options" else index),
                    "a word that begins with - or +",
                )


def _place_of(own: DescriptionSpec, word: str) -> Place:
    for name, entries in (("values", own.values), ("flags", own.flags)):
        for index, entry in enumerate(entries):
            if word in entry.split():
                return (name, index)
    return ("options", [key for key in own.options if word in key.split()][-1])


def _option_flaws(option: OptionSpec, context: Context, place: Place) -> Iterator[Flaw]:
    for role in (option.role, *(option.roles or ())):
        if role is not None:
            yield from _role_flaws(role, context, (*place, "role" if role == option.role else "roles"))
    if option.role is not None and option.roles is not None:
        yield Flaw("both `role` and `roles`", (*place, "roles"), "one of them")
    if option.value == "none" and (option.role or option.roles or option.keys):
        yield Flaw("a role for the value of an option without a value", (*place, "value"), "required or optional")
    for key, inner in (option.keys or {}).items():
        yield from _option_flaws(inner, context, (*place, "keys", key))
    yield from _template_list_flaws(option.effects, context, (*place, "effects"))


# ------------------------------------------------------------------------------------------------------------- operands
def _operand_flaws(operand: OperandSpec, context: Context, place: Place) -> Iterator[Flaw]:
    role = operand.role.removesuffix("...").removesuffix("?")
    yield from _role_flaws(role, context, place)


def _list_flaws(operands: Sequence[OperandSpec], place: Place) -> Iterator[Flaw]:
    several = [index for index, operand in enumerate(operands) if operand.role.endswith("...")]
    if len(several) > 1 and not operands[0].role.startswith("assign"):
        yield Flaw("several elements that take any number of operands", (*place, several[1]), "at most one")


def _role_flaws(role: str, context: Context, place: Place) -> Iterator[Flaw]:
    if not is_role(role) and role not in context.made_up:
        yield Flaw(
            f"the role `{role}` is not known", place, "a role of the README, or one that an overlay's `roles` renames"
        )


def _stream_flaws(own: DescriptionSpec | OverlaySpec, place: Place) -> Iterator[Flaw]:
    if own.output is not None and own.output not in OUTPUTS:
        yield Flaw(f"the output `{own.output}` is not known", (*place, "output"), ", ".join(OUTPUTS))
    if own.input is not None and own.input not in INPUTS and not is_language_role(own.input):
        yield Flaw(f"the input `{own.input}` is not known", (*place, "input"), ", ".join((*INPUTS, "code:LANG")))


# ------------------------------------------------------------------------------------------------------------- overlays
def _overlay_flaws(overlay: OverlaySpec, context: Context, place: Place) -> Iterator[Flaw]:
    for name, flags in (("if", overlay.needed), ("unless", overlay.unless)):
        for flag in flags:
            if flag not in context.flags and not flag.removeprefix("operands-").isdigit():
                yield Flaw(f"no option sets the flag `{flag}`", (*place, name), "a flag that an option or overlay sets")
    for reference in overlay.match:
        yield from _reference_flaws(reference, context, (*place, "match", reference))
    for role, real in overlay.roles.items():
        if not is_role(real):
            yield Flaw(f"the role `{real}` is not known", (*place, "roles", role), "a role of the README")
    for index, operand in enumerate(overlay.operands or ()):
        yield from _operand_flaws(operand, context, (*place, "operands", index))
    yield from _list_flaws(overlay.operands or (), (*place, "operands"))
    for index, use in enumerate(overlay.uses):
        for role, text in use.items():
            yield from _role_flaws(role, context, (*place, "uses", index))
            flaws = _text_flaws if is_text(text) else _reference_flaws
            yield from flaws(text, context, (*place, "uses", index, role))
    yield from _template_list_flaws(overlay.effects, context, (*place, "effects"))
    yield from _stream_flaws(overlay, place)


# ------------------------------------------------------------------------------------------------------------ templates
def _template_list_flaws(templates: Sequence[TemplateSpec], context: Context, place: Place) -> Iterator[Flaw]:
    for index, template in enumerate(templates):
        yield from _template_flaws(template, context, (*place, index))


def _template_flaws(template: TemplateSpec, context: Context, place: Place) -> Iterator[Flaw]:
    yield from _kind_flaws(template, place)
    for kind, fields in template.items():
        cls = EFFECTS.get(kind)
        missing = (
            [name for name in cls._fields if name not in cls._field_defaults and name not in fields] if cls else []
        )
        if missing:
            yield Flaw(f"`{kind}` without `{missing[0]}`", (*place, kind), ", ".join(missing))
        plural = {value for value in fields.values() if isinstance(value, str) and _is_plural(value)}
        if len(plural) > 1:
            yield Flaw("several different references to many values", (*place, kind), "at most one")
        for name, value in fields.items():
            if isinstance(value, str) and is_text(value):
                yield from _text_flaws(value, context, (*place, kind, name))
            elif isinstance(value, str) and value.startswith("$"):
                yield from _reference_flaws(value, context, (*place, kind, name))


def _kind_flaws(template: Mapping[str, Mapping[str, Constant]], place: Place) -> Iterator[Flaw]:
    if len(template) != 1:
        yield Flaw("not exactly one effect", place, "a mapping with one effect kind")
    for kind, fields in template.items():
        cls = EFFECTS.get(kind)
        if cls is None:
            yield Flaw(f"the effect kind `{kind}` is not known", place, ", ".join(EFFECTS))
            continue
        for name, value in fields.items():
            if name not in cls._fields or name in UNSTATED:
                allowed = ", ".join(field for field in cls._fields if field not in UNSTATED)
                yield Flaw(f"`{kind}` has no field `{name}`", (*place, kind, name), allowed)
            else:
                yield from _value_flaws(name, value, cls._field_defaults.get(name, ""), (*place, kind, name))


def _value_flaws(name: str, value: Constant, default: object, place: Place) -> Iterator[Flaw]:
    if name in WORDS:
        values = value if isinstance(value, list) else [value]
        if any(word not in WORDS[name] for word in values) or isinstance(value, list) != (name == "taint"):
            yield Flaw(f"not a word for `{name}`", place, ", ".join(sorted(WORDS[name])))
    elif isinstance(value, list):
        yield Flaw("a list", place, "a text, true or false")
    elif isinstance(value, bool) != isinstance(default, bool):
        yield Flaw(f"`{value}` does not fit", place, "true or false" if isinstance(default, bool) else "a text")


def _text_flaws(text: str, context: Context, place: Place) -> Iterator[Flaw]:
    for mistake in mistakes(text):
        yield Flaw(mistake, place, "`${REFERENCE}` or `${REFERENCE|CHANGE}` amid plain characters")
    for part in parts_of(text)[0]:
        if part.reference in ("value", "key"):
            yield Flaw(f"`${part.reference}` inside a text", place, "an operand, an option or a role")
        yield from _reference_flaws(f"${part.reference}", context, place)


def _reference_flaws(reference: str, context: Context, place: Place) -> Iterator[Flaw]:
    name = reference[1:]
    if name.startswith("opt:"):
        if name[4:] not in context.options:
            yield Flaw(f"`{name[4:]}` is no described option with a meaning", place, "a spelling of one of `options`")
    elif not reference.startswith("$") or not (name in ("value", "key") or name in REFERENCE_ROLES or _is_number(name)):
        yield Flaw(
            f"`{reference}` refers to nothing", place, "$1 … $9, $*, $2*, $value, $key, $opt:--name, $user, $package …"
        )


def _is_number(name: str) -> bool:
    return name == "*" or (name[:1] in tuple("123456789") and name[1:] in ("", "*"))


def _is_plural(reference: str) -> bool:
    if is_text(reference):
        return any(_is_plural(f"${part.reference}") for part in parts_of(reference)[0])
    return reference.startswith("$") and (reference.endswith("*") or reference[1:] in PLURAL_ROLES)
