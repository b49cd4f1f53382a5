"""The shape of a program description (`rules/commands/README.md`). What the words mean is checked in `specs_check`."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, TypeAdapter

from policyengine.config.validated import Schema

Words: TypeAlias = list[str]
Constant: TypeAlias = str | bool | list[str]
TemplateSpec: TypeAlias = dict[str, dict[str, Constant]]
WhereName: TypeAlias = Literal["here", "container", "remote"]


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _spellings(value: object) -> object:
    """YAML reads `-1` in a list as a number."""
    if isinstance(value, list) and any(isinstance(item, int) and item >= 0 for item in value):
        raise ValueError("a number: write it in quotes")
    return (
        [str(item) if isinstance(item, int) and item < 0 else item for item in value]
        if isinstance(value, list)
        else value
    )


def _role(value: object) -> object:
    return {"role": value} if isinstance(value, str) else value


def _operands(value: object) -> object:
    return [_role(item) for item in value] if isinstance(value, list) else [_role(value)]


def _empty(value: object) -> object:
    return {} if value is None else value


class OptionSpec(Schema):
    """One option, or one key of an option with `keys`."""

    role: str | None = None
    value: Literal["required", "optional", "digits", "none"] | None = None
    roles: Words | None = None
    sets: Annotated[Words, BeforeValidator(_listed)] = Field(default=[], alias="set")
    effects: list[TemplateSpec] = Field(default=[])
    until: Annotated[Words, BeforeValidator(_listed)] = Field(default=[])
    appends: bool = False
    keys: dict[str, Annotated[OptionSpec, BeforeValidator(_role)]] | None = None
    split: str = ""
    before: str = ""
    like: str | None = None
    stop: bool = False
    first: bool = False
    where: WhereName = "here"


class OperandSpec(Schema):
    """One element of `operands`; `role` carries its quantity (`read...`)."""

    role: str
    where: WhereName = "here"
    hole: str = ""
    join: bool | Literal["lines"] = False
    until: Annotated[Words, BeforeValidator(_listed)] = Field(default=[])


class OverlaySpec(Schema):
    """One entry of `when`."""

    needed: Annotated[Words, BeforeValidator(_listed)] = Field(default=[], alias="if")
    unless: Annotated[Words, BeforeValidator(_listed)] = Field(default=[])
    match: dict[str, Annotated[Words, BeforeValidator(_listed)]] = Field(default={})
    operands: Annotated[list[OperandSpec], BeforeValidator(_operands)] | None = None
    roles: dict[str, str] = Field(default={})
    effects: list[TemplateSpec] = Field(default=[])
    uses: list[dict[str, str]] = Field(default=[])
    sets: Annotated[Words, BeforeValidator(_listed)] = Field(default=[], alias="set")
    output: str | None = None
    input: str | None = None


class DescriptionSpec(Schema):
    """A program or subcommand."""

    summary: str | None = None
    manual: str | None = None
    names: Words = Field(default=[])
    like: str | None = None
    style: Literal["gnu", "posix", "single", "keyvalue", "none"] | None = None
    options: dict[str, Annotated[OptionSpec, BeforeValidator(_role)]] = Field(default={})
    flags: Annotated[Words, BeforeValidator(_spellings)] = Field(default=[])
    values: Annotated[Words, BeforeValidator(_spellings)] = Field(default=[])
    numeric: bool | None = None
    plus: bool | None = None
    bundled_first: bool | None = None
    negatable: bool | None = None
    equals: bool | None = None
    chained: bool | None = None
    ignore: Words = Field(default=[])
    operands: Annotated[list[OperandSpec], BeforeValidator(_operands)] | None = None
    subcommands: dict[str, Annotated[DescriptionSpec, BeforeValidator(_empty)]] = Field(default={})
    inherit: bool | None = None
    otherwise: Annotated[DescriptionSpec, BeforeValidator(_empty)] | None = None
    effects: list[TemplateSpec] | None = None
    output: str | None = None
    input: str | None = None
    when: list[OverlaySpec] = Field(default=[])
    examples: dict[str, list[dict[str, dict[str, Constant]]]] = Field(default={})


FILE = TypeAdapter(dict[str, DescriptionSpec])
