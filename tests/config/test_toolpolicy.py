"""Tool policies from files: YAML and snapshots of registries, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policyengine.config.toolpolicy import load, snapshot
from policyengine.errors import LoadError
from policyengine.model import Outcome
from policyengine.policies.tool import Layer, Metadata, Sandbox, SideEffect, When, Workspace
from tests.policies.tool.tools import bound, rules

FULL = """
settings:
  strict: true
  require_background_safe: true
  deny_side_effects: [network]
  approved: [deploy]
  credentials: [github]
  sandboxes: [docker]
  max_result_bytes: 65536
  timeout_ms: 60000
tools:
  deploy:
    side_effects: [network, destructive]
    runtime: {timeout_ms: 500, sandbox: required, max_result_bytes: 20000}
    access: {workspace: scoped, trusted_roots: [/srv, ~/site], credentials: [github], approval_required: true,
             background_safe: true}
  look:
    side_effects: {read_only: true, network: false}
  doubtful:
    classified: false
    side_effects: [network]
  silent: {}
selection:
  - source: background
    when: {tags: [background], depth: 1, models: ["small*"]}
    deny: [task, "mcp__github__*"]
  - source: lists
    allow: []
"""


def _file(folder: Path, text: str, name: str = "tools.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_says_what_it_says(tmp_path: Path) -> None:
    loaded = load([_file(tmp_path, FULL)])
    settings = loaded.tools.settings
    assert settings.deny == {SideEffect.DESTRUCTIVE, SideEffect.PAYMENT, SideEffect.NETWORK}
    assert settings.require_classification
    assert settings.require_background_safe
    assert (settings.approved, settings.credentials) == (frozenset({"deploy"}), frozenset({"github"}))
    assert (settings.max_result_bytes, settings.timeout_ms) == (65536, 60000)
    assert loaded.tools._tools["deploy"] == (
        Metadata(
            classified=True,
            side_effects=frozenset({SideEffect.NETWORK, SideEffect.DESTRUCTIVE}),
            timeout_ms=500,
            sandbox=Sandbox.REQUIRED,
            max_result_bytes=20000,
            workspace=Workspace.SCOPED,
            trusted_roots=("/srv", "~/site"),
            credentials=frozenset({"github"}),
            approval_required=True,
            background_safe=True,
        ),
    )
    assert loaded.selection.layers == (
        Layer(
            source="background",
            deny=("task", "mcp__github__*"),
            when=When(tags=frozenset({"background"}), least_depth=1, models=("small*",)),
        ),
        Layer(source="lists", allow=()),
    )


@pytest.mark.parametrize(
    ("tool", "classified"), [("deploy", True), ("look", True), ("doubtful", False), ("silent", False)]
)
def test_who_says_something_of_a_tool_classifies_it(tmp_path: Path, tool: str, classified: bool) -> None:
    loaded = load([_file(tmp_path, FULL)])
    assert ("tool.unclassified" in rules(bound(loaded.tools, tool))) is not classified


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tools: {x: {side_effects: [read]}}", "tools.x.side_effects"),
        ("tools: {x: {side_effects: {network: yes}}}", "tools.x.side_effects"),
        ("tools: {x: {side_efects: [network]}}", "`side_efects` is not known"),
        ("tools: {x: {runtime: {timeout_ms: -1}}}", "timeout_ms"),
        ("tools: {x: {runtime: {timeout_ms: 1.5}}}", "timeout_ms"),
        ("tools: {x: {runtime: {sandbox: yes}}}", "sandbox"),
        ("tools: {x: {access: {workspace: all}}}", "workspace"),
        ("tools: {x: {access: {trusted_roots: [src]}}}", "neither absolute nor below"),
        ("tools: {x: {side_effects: [read_only, destructive]}}", "cannot be both"),
        ("tools: {x: {}, x: {}}", "x"),
        ("settings: {deny_side_effects: [read_only]}", "no side effect"),
        ("tools: {'mcp__*': {side_effects: [network]}}", "may be globs"),
        ("settings: {approved: ['*']}", "may be globs"),
        ("settings: {strict: 1}", "strict"),
        ("settings: {fail_closed: false}", "`fail_closed` is not known"),
        ("settings: {approved: deploy}", "approved"),
        ("selection: [{allow: [a]}]", "source"),
        ("selection: [{source: A b}]", "source"),
        ("selection: [{source: a, deny: x}]", "deny"),
        ("selection: [{source: a, deny: ['']}]", "deny"),
        ("selection: [{source: a}, {source: a}]", "two layers of the source `a`"),
        ("[]", "dictionary"),
    ],
)
def test_what_is_wrong_is_refused_whole(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(LoadError, match=r"tools\.yaml") as caught:
        load([_file(tmp_path, text)])
    assert told in str(caught.value)


def test_annotations_count_against_a_tool_and_classify_none(tmp_path: Path) -> None:
    text = """
settings: {strict: true}
tools: {known: {side_effects: [network]}}
annotations:
  known: {destructiveHint: true, title: Known}
  new: {readOnlyHint: true}
"""
    tools = load([_file(tmp_path, text)]).tools
    assert rules(bound(tools, "known")) == ["tool.side-effect.destructive"]
    assert "tool.undeclared" in rules(bound(tools, "new"))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    for name in ("none.yaml", "none.json"):
        with pytest.raises(LoadError, match="cannot be read"):
            load([tmp_path / name])


def test_files_add_up(tmp_path: Path) -> None:
    one = _file(tmp_path, "{settings: {strict: true}, tools: {x: {side_effects: [network]}}}", "one.yaml")
    other = _file(
        tmp_path,
        "{settings: {deny_side_effects: [network]}, tools: {x: {access: {approval_required: true}}}}",
        "two.yaml",
    )
    for paths in ([one, other], [other, one]):
        found = bound(load(paths).tools, "x")
        assert set(rules(found)) == {"tool.side-effect.network", "tool.approval-required"}


# ------------------------------------------------------------------------------------------------------------ projects
def test_a_projects_file_classifies_nothing_and_tightens(tmp_path: Path) -> None:
    mine = _file(tmp_path, "{settings: {strict: true}, tools: {known: {side_effects: [network]}}}", "mine.yaml")
    theirs = _file(
        tmp_path,
        "{settings: {strict: false, deny_side_effects: [network]}, tools: {new: {side_effects: [read_only]}},"
        " selection: [{source: project, deny: [other]}]}",
        "theirs.yaml",
    )
    loaded = load([mine], project=[theirs])
    assert "tool.undeclared" in rules(bound(loaded.tools, "new"))
    assert rules(bound(loaded.tools, "known")) == ["tool.side-effect.network"]
    assert bound(loaded.selection, "other").outcome is Outcome.DENY


@pytest.mark.parametrize("key", ["approved", "credentials", "sandboxes"])
def test_a_projects_file_releases_nothing(tmp_path: Path, key: str) -> None:
    theirs = _file(tmp_path, f"settings: {{{key}: [x]}}")
    with pytest.raises(LoadError, match="releases nothing"):
        load([], project=[theirs])


# ----------------------------------------------------------------------------------------------------------- snapshots
# One entry as serde writes a `ToolPolicy` with everything in it.
EVERYTHING: dict[str, Any] = {
    "classified": True,
    "side_effects": {
        "read_only": False, "writes_files": True, "network": True, "installs_dependencies": False,
        "destructive": False, "external_service": False, "payment": False,
    },
    "runtime": {
        "timeout_ms": None, "timeout": {"millis": 250}, "max_retries": None, "idempotent": True, "cancelable": False,
        "sandbox": "required", "max_result_bytes": 4, "streaming": False,
    },
    "access": {
        "workspace": "scoped", "trusted_roots": ["/data"], "credentials": ["key"], "approval_required": True,
        "background_safe": False,
    },
    "display": {"label": "Shell", "anything": [1]},
}  # fmt: skip


def test_a_snapshot_is_read_as_it_is_written() -> None:
    assert snapshot(json.dumps({"shell": EVERYTHING, "bare": {}})) == {
        "shell": Metadata(
            classified=True,
            side_effects=frozenset({SideEffect.WRITES_FILES, SideEffect.NETWORK}),
            timeout_ms=250,
            sandbox=Sandbox.REQUIRED,
            max_result_bytes=4,
            workspace=Workspace.SCOPED,
            trusted_roots=("/data",),
            credentials=frozenset({"key"}),
            approval_required=True,
        ),
        "bare": Metadata(),
    }


@pytest.mark.parametrize(
    ("runtime", "bound_ms"),
    [
        ({}, None),
        ({"timeout_ms": 5}, 5),
        ({"timeout_ms": 5, "timeout": "inherit"}, 5),
        ({"timeout_ms": 5, "timeout": "unbounded"}, None),
        ({"timeout_ms": 5, "timeout": {"millis": 7}}, 7),
    ],
)
def test_the_number_counts_only_where_the_timeout_is_inherited(runtime: dict[str, Any], bound_ms: int | None) -> None:
    assert snapshot(json.dumps({"x": {"runtime": runtime}}))["x"].timeout_ms == bound_ms


def test_only_a_snapshots_own_word_classifies() -> None:
    found = snapshot('{"x": {"side_effects": {"read_only": true}}, "y": {"classified": true}}')
    assert [found[name].classified for name in "xy"] == [False, True]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "null",
        '{"x": null}',
        '{"x": {}, "x": {}}',
        '{"x": {"side_effects": {"network": true, "network": false}}}',
        '{"x": {"classified": "true"}}',
        '{"x": {"classified": 1}}',
        '{"x": {"future_field": 1}}',
        '{"x": {"runtime": {"timeout": {"millis": -1}}}}',
        '{"x": {"runtime": {"timeout": "soon"}}}',
        '{"x": {"runtime": {"max_result_bytes": 1e3}}}',
        '{"x": {"runtime": {"max_result_bytes": NaN}}}',
        '{"": {}}',
        '{"mcp__*": {}}',
        '{"x": {"side_effects": {"read_only": true, "payment": true}}}',
        "[" * 100_000,
        "{" + '"x": {' * 2000,
    ],
)
def test_a_snapshot_that_is_wrong_is_refused_whole(text: str) -> None:
    with pytest.raises(LoadError):
        snapshot(text)


def test_a_snapshot_has_a_bound() -> None:
    with pytest.raises(LoadError, match="too long"):
        snapshot(b" " * (16 * 1024 * 1024 + 1))


def test_bytes_have_to_be_utf_8() -> None:
    with pytest.raises(LoadError, match="not UTF-8"):
        snapshot(b'{"\xff": {}}')


def test_a_file_of_json_is_a_snapshot(tmp_path: Path) -> None:
    strict = _file(tmp_path, "settings: {require_classification: true}")
    taken = _file(tmp_path, json.dumps({"shell": EVERYTHING, "bare": {}}), "registry.json")
    loaded = load([strict, taken])
    assert rules(bound(loaded.tools, "bare")) == ["tool.unclassified"]
    assert rules(bound(loaded.tools, "shell")) == ["tool.approval-required", "tool.credential-not-released"]
