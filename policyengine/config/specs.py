"""Program descriptions: from checked YAML to the compact form that bundles store and `shell.programs` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from policyengine.config.specs_check import check, context_of
from policyengine.config.specs_like import found, merged
from policyengine.config.specs_schema import (
    FILE,
    Constant,
    DescriptionSpec,
    OperandSpec,
    OptionSpec,
    OverlaySpec,
    TemplateSpec,
)
from policyengine.config.validated import validated
from policyengine.shell.programs.texts import Part, is_text, parts_of
from policyengine.shell.programs.vocabulary import HELP_OPTIONS

if TYPE_CHECKING:
    from policyengine.config.yamlfile import Document, Place

MAX_LIKE = 16  # descriptions that start from one another

Json: TypeAlias = "str | int | bool | list[Json] | dict[str, Json]"
Compiled: TypeAlias = "dict[str, Json]"


@dataclass(frozen=True, slots=True)
class Described:
    """A top-level description and where it stands."""

    spec: DescriptionSpec
    document: Document
    place: Place


@dataclass(frozen=True, slots=True)
class Example:
    """A command line and the effects it must have (kind and the fields that count), for tests."""

    program: str
    command: str
    effects: tuple[tuple[str, Mapping[str, Constant]], ...]
    file: str
    line: int | None


def compile_descriptions(documents: Iterable[Document]) -> dict[str, Compiled]:
    """Check descriptions and compile them: program name → compiled description (see `shell.programs.decoding`).

    Further names of a program are entries `{"=": name}`; names with `*`, `?` or `[` are globs, see
    `shell.programs.finder.glob_names`.

    Raises:
        LoadError: a description is wrong, or two are for the same name.
    """
    programs = described(documents)
    specs = {name: one.spec for name, one in programs.items()}
    compiled: dict[str, Compiled] = {}
    for name, one in programs.items():
        compiled[name] = _compiled((), one.spec, _Reader(specs, one.document), one.place)
        _add_names(compiled, programs, name, one)
    return compiled


def described(documents: Iterable[Document]) -> dict[str, Described]:
    """Validate the shape of every description, by program name.

    Raises:
        LoadError: one does not have the shape of the README, or two are for the same name.
    """
    programs: dict[str, Described] = {}
    for document in documents:
        for name, spec in validated(FILE, document).items():
            if name in programs:
                raise document.error(f"the program `{name}` is described twice", (name,), expected="one description")
            programs[name] = Described(spec, document, (name,))
    return programs


def examples(documents: Iterable[Document]) -> Iterator[Example]:
    """Give every example of every description, subcommands' included."""
    for name, one in described(documents).items():
        yield from _examples(name, one.spec, one.document, one.place)


def _examples(name: str, spec: DescriptionSpec, document: Document, place: Place) -> Iterator[Example]:
    for command, effects in spec.examples.items():
        expected = tuple((kind, fields) for effect in effects for kind, fields in effect.items())
        yield Example(name, command, expected, document.file, document.line((*place, "examples", command)))
    for words, inner in spec.subcommands.items():
        yield from _examples(name, inner, document, (*place, "subcommands", words))


def _add_names(compiled: dict[str, Compiled], programs: Mapping[str, Described], name: str, one: Described) -> None:
    for index, other in enumerate(one.spec.names):
        if other in programs or other in compiled:
            raise one.document.error(
                f"the name `{other}` is taken", (*one.place, "names", index), expected="a name of this program alone"
            )
        compiled[other] = {"=": name}


@dataclass(frozen=True, slots=True)
class _Reader:
    """What compiling a description needs beside it."""

    programs: Mapping[str, DescriptionSpec]
    document: Document

    def resolved(self, spec: DescriptionSpec, around: DescriptionSpec | None, place: Place) -> DescriptionSpec:
        """Give the description with everything that it takes over by `like`."""
        chain = [spec]
        while (name := chain[-1].like) is not None:
            base, around = found(name, around, self.programs)
            if base is None or len(chain) > MAX_LIKE or base in chain:
                raise self.document.error(
                    f"`like: {name}` leads nowhere", (*place, "like"), expected="a described program or subcommand"
                )
            chain.append(base)
        whole = chain.pop()
        while chain:
            whole = merged(whole, chain.pop())
        return whole

    def with_options(self, spec: DescriptionSpec, outer: tuple[DescriptionSpec, ...], place: Place) -> DescriptionSpec:
        """Give options that are `like` another one its meaning."""
        if all(option.like is None for option in spec.options.values()):
            return spec
        options = {}
        for words, option in spec.options.items():
            meaning = option if option.like is None else self._meaning(option.like, outer)
            if meaning is None or (option.like is not None and meaning.like is not None):
                raise self.document.error(
                    f"`like: {option.like}` leads nowhere",
                    (*place, "options", words, "like"),
                    expected="an option of an outer description (`-c`) or of another program (`ssh -o`)",
                )
            options[words] = meaning
        return spec.model_copy(update={"options": options})

    def _meaning(self, name: str, outer: tuple[DescriptionSpec, ...]) -> OptionSpec | None:
        *program, spelling = name.split()
        described = outer
        if program:
            base, _ = found(" ".join(program), None, self.programs)
            described = () if base is None else (base,)
        meanings = {
            word: option for one in described for words, option in one.options.items() for word in words.split()
        }
        return meanings.get(spelling)


def _compiled(outer: tuple[DescriptionSpec, ...], spec: DescriptionSpec, reader: _Reader, place: Place) -> Compiled:
    whole = reader.resolved(spec, outer[-1] if outer else None, place)
    whole = reader.with_options(whole, outer, place)
    path = (*outer, whole)
    check(spec, context_of(path), reader.document, place)
    names = context_of(path).options
    compiled = _own(whole, names)
    inner: dict[str, Json] = {
        words: _compiled(path, child, reader, (*place, "subcommands", words))
        for words, child in whole.subcommands.items()
    }
    if inner:
        compiled["s"] = inner
    if whole.otherwise is not None:
        compiled["x"] = _compiled(path, whole.otherwise, reader, (*place, "otherwise"))
    return compiled


def _own(spec: DescriptionSpec, names: Mapping[str, str]) -> Compiled:
    switches = {"n": spec.numeric, "p": spec.plus, "b": spec.bundled_first, "i": spec.inherit}
    switches |= {"-": spec.negatable, "=": spec.equals, ";": spec.chained}
    return _stated(
        {
            "y": spec.style if spec.style != "gnu" else None,
            "c": "".join(letter for letter, on in switches.items() if on) or None,
            "f": " ".join(entry for entry in spec.flags if not _asks_for_help(entry)) or None,
            "h": " ".join(filter(_asks_for_help, spec.flags)) or None,
            "v": " ".join(spec.values) or None,
            "o": {words: _option(_explaining(words, option), names) for words, option in spec.options.items()} or None,
            "g": list(spec.ignore) or None,
            "p": _operands(spec.operands),
            "t": _templates(spec.effects or [], names),
            "w": [_overlay(overlay, names) for overlay in spec.when] or None,
            "out": spec.output,
            "in": spec.input,
        }
    )


def _asks_for_help(spellings: str) -> bool:
    return not HELP_OPTIONS.isdisjoint(spellings.split())


def _explaining(spellings: str, option: OptionSpec) -> OptionSpec:
    return option.model_copy(update={"sets": [*option.sets, "help"]}) if _asks_for_help(spellings) else option


def _option(option: OptionSpec, names: Mapping[str, str]) -> Json:
    roles = [option.role] if option.role is not None else option.roles or []
    valued = option.value in ("required", "optional") or bool(roles) or option.keys is not None
    takes = 0 if not valued or option.value == "none" else max(1, len(roles))
    compiled = _stated(
        {
            "n": takes or None,
            "?": 1 if option.value == "optional" else None,
            "r": list(roles) or None,
            "s": list(option.sets) or None,
            "t": _templates(option.effects, names),
            "u": list(option.until) or None,
            "a": 1 if option.appends else None,
            "k": {key: _option(inner, names) for key, inner in option.keys.items()}
            if option.keys is not None
            else None,
            "d": option.split or None,
            "b": option.before or None,
            "#": 1 if option.value == "digits" else None,
            ".": 1 if option.stop else None,
            "1": 1 if option.first else None,
            "w": option.where if option.where != "here" else None,
        }
    )
    return roles[0] if compiled == {"n": 1, "r": roles} and len(roles) == 1 else compiled


def _keys(option: OptionSpec, names: Mapping[str, str]) -> Json | None:
    return None if option.keys is None else {key: _option(inner, names) for key, inner in option.keys.items()}


_JOINTS = {False: None, True: " ", "lines": "\n"}


def _operands(operands: list[OperandSpec] | None) -> Json | None:
    return None if operands is None else [_operand(operand) for operand in operands]


def _operand(operand: OperandSpec) -> Json:
    extra = _stated(
        {
            "w": operand.where if operand.where != "here" else None,
            "j": _JOINTS[operand.join],
            "h": operand.hole or None,
            "u": list(operand.until) or None,
        }
    )
    return {"r": operand.role, **extra} if extra else operand.role


def _overlay(overlay: OverlaySpec, names: Mapping[str, str]) -> Json:
    return _stated(
        {
            "i": list(overlay.needed) or None,
            "u": list(overlay.unless) or None,
            "m": {_reference(name, names): list(globs) for name, globs in overlay.match.items()} or None,
            "p": _operands(overlay.operands),
            "r": dict(overlay.roles) or None,
            "t": _templates(overlay.effects, names),
            "a": [[role, _reference(text, names)] for use in overlay.uses for role, text in use.items()] or None,
            "s": list(overlay.sets) or None,
            "out": overlay.output,
            "in": overlay.input,
        }
    )


def _templates(templates: list[TemplateSpec], names: Mapping[str, str]) -> Json | None:
    return [
        [kind, {name: _constant(value, names) for name, value in fields.items()}]
        for template in templates
        for kind, fields in template.items()
    ] or None


def _constant(value: Constant, names: Mapping[str, str]) -> Json:
    if isinstance(value, str):
        return _reference(value, names)
    return list(value) if isinstance(value, list) else value


def _reference(text: str, names: Mapping[str, str]) -> str:
    """Name an option by its canonical spelling, under which its value is kept."""
    if is_text(text):
        parts, rest = parts_of(text)
        return "".join(map(partial(_part, names=names), parts)) + rest
    option = text.removeprefix("$opt:")
    return text if option == text else f"$opt:{names[option]}"


def _part(part: Part, names: Mapping[str, str]) -> str:
    reference = _reference(f"${part.reference}", names)[1:]
    return f"{part.before}${{{reference}{'|' if part.change else ''}{part.change}}}"


def _stated(entries: Mapping[str, Json | None]) -> Compiled:
    return {key: value for key, value in entries.items() if value is not None}
