"""The tool catalogue: from checked YAML (`rules/tools.yaml` states the format) to what `analysis.tools` reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import Field, TypeAdapter, field_validator

from policyengine.analysis.roles import ROLES
from policyengine.config.validated import Schema, validated

if TYPE_CHECKING:
    from policyengine.config.yamlfile import Document


class ArgumentSpec(Schema):
    """The long form of an argument's meaning."""

    role: str
    default: str | None = None
    items: dict[str, str] | None = None

    @field_validator("role")
    @classmethod
    def _known(cls, role: str) -> str:
        return _role(role)

    @field_validator("items")
    @classmethod
    def _all_known(cls, items: dict[str, str] | None) -> dict[str, str] | None:
        for role in (items or {}).values():
            _role(role)
        return items


Arguments: TypeAlias = "dict[str, str | ArgumentSpec]"


class ToolSpec(Schema):
    """One tool."""

    names: list[str] = Field(default_factory=list)
    summary: str = ""
    arguments: dict[str, str | ArgumentSpec] = Field(default_factory=dict)
    data: list[str] = Field(default_factory=list)
    needs: list[str] = Field(default_factory=list)
    use: str = ""
    opaque: bool = False
    by: str = ""
    modes: dict[str, dict[str, str | ArgumentSpec]] = Field(default_factory=dict)

    @field_validator("arguments")
    @classmethod
    def _known(cls, arguments: Arguments) -> Arguments:
        for given in arguments.values():
            if isinstance(given, str):
                _role(given)
        return arguments

    @field_validator("modes")
    @classmethod
    def _modes_known(cls, modes: dict[str, Arguments]) -> dict[str, Arguments]:
        for arguments in modes.values():
            cls._known(arguments)
        return modes


FILE: TypeAdapter[dict[str, ToolSpec]] = TypeAdapter(dict[str, ToolSpec])


def compile_tools(documents: Iterable[Document]) -> dict[str, dict[str, Any]]:
    """Check tool descriptions and compile them: tool name → compiled description, `{"=": name}` for further names.

    Raises:
        LoadError: a description is wrong, or two are for the same name.
    """
    compiled: dict[str, dict[str, Any]] = {}
    for document in documents:
        for name, spec in validated(FILE, document).items():
            entries = {name: _compiled(spec), **{other: {"=": name} for other in spec.names}}
            taken = next((other for other in entries if other in compiled), None)
            if taken is not None:
                raise document.error(f"the tool `{taken}` is described twice", (name,), expected="one description")
            compiled.update(entries)
    return compiled


def _compiled(spec: ToolSpec) -> dict[str, Any]:
    arguments = {**{name: "data" for name in spec.data}, **_arguments(spec.arguments)}
    entries = {
        "a": arguments,
        "n": list(spec.needs),
        "u": spec.use,
        "o": spec.opaque,
        "b": spec.by,
        "m": {mode: _arguments(inner) for mode, inner in spec.modes.items()},
    }
    return {key: value for key, value in entries.items() if value}


def _arguments(arguments: Mapping[str, str | ArgumentSpec]) -> dict[str, Any]:
    return {name: given if isinstance(given, str) else _argument(given) for name, given in arguments.items()}


def _argument(spec: ArgumentSpec) -> dict[str, Any]:
    entries = {"r": spec.role, "d": spec.default, "i": spec.items}
    return {key: value for key, value in entries.items() if value is not None}


def _role(role: str) -> str:
    if role not in ROLES and not role.startswith("code:"):
        raise ValueError(f"`{role}` is no role of a tool's argument")
    return role
