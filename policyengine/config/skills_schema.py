"""The settings file of skills: its schema, and what it means (`config.skills` states the format)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, TypeAdapter

from policyengine.config.skills import Settings
from policyengine.config.skills_folders import Root
from policyengine.config.validated import Schema, validated
from policyengine.config.yamlfile import Document, read_file
from policyengine.errors import LoadError
from policyengine.policies.skill import DELEGATING, FRAMEWORK, LOADERS, Mode


class RootSpec(Schema):
    """A folder of skills."""

    path: str = Field(min_length=1)
    name: str = ""
    mount: str = ""
    tier: Literal["shipped", "organisation", "user", "project"] = "user"


class SettingsSpec(Schema):
    """The whole file."""

    roots: list[RootSpec]
    mode: Literal["union", "intersection"] = "union"
    framework: list[str] = Field(default_factory=lambda: sorted(FRAMEWORK))
    loaders: list[str] = Field(default_factory=lambda: sorted(LOADERS))
    disabled: list[str] = Field(default_factory=list)
    agents: dict[str, list[str]] = Field(default_factory=dict)


_SETTINGS = TypeAdapter(SettingsSpec)


def checked(file: str) -> Settings:
    """Read and check a settings file.

    Raises:
        LoadError: it cannot be read or is wrong.
    """
    document = read_file(Path(file))
    spec = validated(_SETTINGS, document)
    folder = os.path.dirname(os.path.abspath(file))
    roots = tuple(_root(root, at, folder, document) for at, root in enumerate(spec.roots))
    for at, root in enumerate(roots):
        if any(root.name == other.name or root.path == other.path for other in roots[:at]):
            raise document.error("a second root with this path or name", ("roots", at))
    for at, name in enumerate(spec.framework):
        if name in DELEGATING:
            raise document.error(f"the tool `{name}` hands work on and is never exempt", ("framework", at))
    return Settings(
        roots=roots,
        mode=Mode(spec.mode),
        framework=frozenset(spec.framework),
        loaders=frozenset(spec.loaders),
        disabled=frozenset(spec.disabled),
        agents={agent: frozenset(skills) for agent, skills in spec.agents.items()},
    )


def _root(spec: RootSpec, at: int, folder: str, document: Document) -> Root:
    given = os.path.join(folder, spec.path)
    path = os.path.realpath(given)
    mount = spec.mount.rstrip("/")
    if spec.mount and (not mount.startswith("/") or ".." in mount.split("/")):
        raise _wrong(document, at, "mount", "an absolute path")
    name = spec.name or os.path.basename(path)
    if not name or "/" in name:
        raise _wrong(document, at, "name", "a name without `/`")
    if path == os.path.sep:
        raise _wrong(document, at, "path", "a folder below the root of the file system")
    return Root(path, name, mount, spec.tier, given)


def _wrong(document: Document, at: int, key: str, expected: str) -> LoadError:
    return document.error(f"a root's {key} that cannot be used", ("roots", at, key), expected=expected)
