"""Tool policies from files: YAML, or a registry's snapshot (JSON in the shape of TinyAgents' `policies()`).

    settings:
      strict: true                          # classification required; destructive and payment denied
      require_background_safe: true         # also require_classification, require_approval, require_sandbox
      deny_side_effects: [network]          # is added to what strict denies
      approved: [deploy]                    # tools that need not ask
      credentials: [github]                 # that tools may use unasked
      sandboxes: [docker]                   # what `context.sandbox` says of isolated runs; absent: required
      max_result_bytes: 65536               # of all tools; also timeout_ms
    tools:
      deploy:                               # as a snapshot's policies; side effects may be a list
        side_effects: [network, destructive]
        runtime: {timeout_ms: 60000, sandbox: required, max_result_bytes: 20000}
        access: {workspace: scoped, trusted_roots: [/srv/site], credentials: [github], approval_required: true}
    annotations:                            # what servers of the Model Context Protocol say of their own tools
      mcp__notes__purge: {destructiveHint: true}
    selection:
      - source: background                  # who says so, in findings and events
        when: {tags: [background]}          # also depth (from which on) and models (globs)
        deny: [task, "mcp__github__*"]      # or allow, or both

A tool of which a YAML file says anything is classified unless it says `classified: false`, as TinyAgents' builders do;
in a snapshot only `classified: true` classifies. Several files all hold: settings and layers add up, and what two files
say of one tool both binds it. A project's file releases nothing, and its word classifies no tool.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import TypeAdapter

from policyengine.config.sources import StrPath
from policyengine.config.toolpolicy_schema import FileSpec, PolicySpec, ToolName
from policyengine.config.validated import validated
from policyengine.config.yamlfile import Document, Place, read_file
from policyengine.errors import LoadError, UsageError
from policyengine.policies.tool import Layer, Metadata, Selection, Settings, ToolPolicy
from policyengine.records import Record

T = TypeVar("T")
MAX_BYTES = 16 * 1024 * 1024  # of a snapshot
RELEASING = ("approved", "credentials", "sandboxes")  # settings that release something
_FILE = TypeAdapter(FileSpec)
_SNAPSHOT = TypeAdapter(dict[ToolName, PolicySpec])


class Loaded(Record):
    """The policies of some files, for `Ready.engine`."""

    tools: ToolPolicy
    selection: Selection


class _File(Record):
    """What one file says."""

    settings: Settings = Settings()
    tools: dict[str, Metadata]
    annotations: Mapping[str, object] = MappingProxyType({})
    layers: tuple[Layer, ...] = ()


def load(paths: Sequence[StrPath], *, project: Sequence[StrPath] = ()) -> Loaded:
    """Load tool policies.

    Args:
        paths: files of the organisation and of the user; one that ends in `.json` is a snapshot.
        project: files that the agent can edit.

    Raises:
        LoadError: a file is wrong, a tool contradicts itself, a source of layers is there twice, or a project's file
            would release something.
    """
    files = [_read(path) for path in paths]
    more = [_read(path, of_project=True) for path in project]
    settings, tools = Settings(), dict[str, tuple[Metadata, ...]]()
    for file in (*files, *more):
        settings = settings.tightened(file.settings)
    for file in files:
        for name, said in file.tools.items():
            tools[name] = (*tools.get(name, ()), said)
    policy = ToolPolicy(tools, settings)
    for file in more:
        policy = policy.declaring(file.tools)
    for file in (*files, *more):
        policy = policy.hinted(file.annotations)
    return Loaded(tools=policy, selection=Selection(layer for file in (*files, *more) for layer in file.layers))


def snapshot(data: str | bytes, name: str = "snapshot") -> dict[str, Metadata]:
    """Read a registry's snapshot, for `ToolPolicy`.

    Raises:
        LoadError: it is no JSON object of policies, repeats a key, or a policy in it is wrong.
    """
    document = _json(data, name)
    return _tools(document, validated(_SNAPSHOT, document), (), classifies=False)


def _read(path: StrPath, *, of_project: bool = False) -> _File:
    file = Path(path)
    if file.suffix == ".json":
        try:
            return _File(tools=snapshot(file.read_bytes(), str(file)))
        except OSError as error:
            raise LoadError(f"cannot be read: {error.strerror}", file=str(file)) from error
    document = read_file(file)
    spec = validated(_FILE, document)
    if of_project:
        _check_releases_nothing(document, spec)
    return _File(
        settings=_said(document, spec.settings.made, ("settings",)),
        tools=_tools(document, spec.tools, ("tools",), classifies=True),
        annotations=spec.annotations,
        layers=_layers(document, spec),
    )


def _check_releases_nothing(document: Document, spec: FileSpec) -> None:
    for key in RELEASING:
        if getattr(spec.settings, key) is not None:  # a field of the schema
            place = ("settings", key)
            raise document.error("a project's file releases nothing", place, expected="this in a file of the user")


def _tools(document: Document, specs: dict[str, PolicySpec], place: Place, *, classifies: bool) -> dict[str, Metadata]:
    return {
        name: _said(document, lambda: spec.made(classified=classifies and spec.says_something()), (*place, name))  # noqa: B023  called at once
        for name, spec in specs.items()
    }


def _layers(document: Document, spec: FileSpec) -> tuple[Layer, ...]:
    sources = [layer.source for layer in spec.selection]
    for at, source in enumerate(sources):
        if source in sources[:at]:
            place = ("selection", at, "source")
            raise document.error(f"there are two layers of the source `{source}`", place, expected="a new name")
    return tuple(layer.made() for layer in spec.selection)


def _said(document: Document, make: Callable[[], T], place: Place) -> T:
    try:
        return make()
    except UsageError as error:
        raise document.error(str(error), place) from error


def _json(data: str | bytes, name: str) -> Document:
    if len(data) > MAX_BYTES:
        raise LoadError("the snapshot is too long", file=name, expected=f"at most {MAX_BYTES} bytes")
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_without_repeats)
    except UnicodeDecodeError as error:
        raise LoadError("not UTF-8", file=name) from error
    except json.JSONDecodeError as error:
        raise LoadError(f"no JSON: {error.msg.lower()}", file=name, line=error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise LoadError(f"no snapshot: {error}", file=name) from error
    return Document(value, name, {})


def _without_repeats(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key `{key[:80]}` is there twice")
        found[key] = value
    return found
