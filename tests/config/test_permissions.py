"""Files of permission rules: how they are read, who vouches for them, what is trusted, what is complained about."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from policyengine.config import ready
from policyengine.config.permissions import Loaded, load_permissions
from policyengine.config.permissions_files import Places, SettingsFile, host_files, settings_file
from policyengine.config.permissions_lint import lint_permissions
from policyengine.config.permissions_trust import config_folder, distrust, is_trusted, noted, trust
from policyengine.errors import LoadError
from policyengine.model import Outcome, Tier


def load(value: object, path: str = "/p/s.json", tier: Tier = Tier.USER) -> Loaded:
    """The rules of one file with these contents (text as it is, else JSON)."""
    data = (
        value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else json.dumps(value).encode()
    )
    return load_permissions([SettingsFile(path=path, tier=tier, data=data)])


def rules(**lists: Any) -> dict[str, Any]:
    """Settings with these lists."""
    return {"permissions": lists}


# ------------------------------------------------------------------------------------------------------------- settings
def test_settings_load_as_they_are() -> None:
    loaded = load({
        "$schema": "x", "model": "m", "hooks": {"PreToolUse": []}, "env": {"A": "b"},
        "permissions": {"allow": ["Bash(ls)"], "ask": ["WebFetch"], "deny": ["Read(./.env)"], "defaultMode": "default",
                        "additionalDirectories": ["../x"], "disableBypassPermissionsMode": "disable"},
    })  # fmt: skip
    assert [(rule.outcome, rule.pattern.text) for rule in loaded.rules] == [
        (Outcome.ALLOW, "Bash(ls)"), (Outcome.ASK, "WebFetch"), (Outcome.DENY, "Read(./.env)"),
    ]  # fmt: skip
    assert loaded.refused == ()
    assert load({"model": "m"}).rules == ()


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (rules(denny=["Bash"]), "permissions.denny"),
        (rules(deny="Bash"), "permissions.deny"),
        (rules(deny=[1]), "permissions.deny"),
        (rules(deny=["Bash(rm"]), "permissions.deny.0"),
        (rules(ask=["ls", "Bash('a)"]), "permissions.ask.1"),
        (rules(deny=["mcp____x"]), "permissions.deny.0"),
        (rules(defaultMode="yolo"), "permissions.defaultMode"),
        (rules(defaultMode=1), "permissions.defaultMode"),
        ({"permissions": []}, "permissions"),
        ([], ""),
        ('{"permissions": {"deny": ["Bash"], "deny": []}}', "deny"),
        ('{"permissions": }', ""),
        (b"\xff", ""),
        ("[" * 100_000, ""),
        ('{"x": ' + "9" * 5_000 + "}", ""),
        ("{" + "".join(f'"{at}": 1, ' for at in range(50_000)) + '"49999": 1}', "49999"),
        ({"Permissions": {"deny": ["Bash"]}}, "Permissions"),
        ({"permissions ": {"deny": ["Bash"]}}, "permissions "),
        ({"allowmanagedpermissionrulesonly": True}, "allowmanagedpermissionrulesonly"),
    ],
)
def test_a_file_that_cannot_be_told_is_refused_whole_with_the_place(value: object, field: str) -> None:
    with pytest.raises(LoadError) as caught:
        load(value)
    assert caught.value.file == "/p/s.json"
    assert caught.value.field == field


@pytest.mark.parametrize(
    "text",
    [
        "Bash(ls", "*", "B*", "mcp__*", "mcp__*__x", "Agent(model:opus)", "Bash(run_in_background:true)",
        "WebSearch(x)",
        "mcp__a__b(c)", "PowerShell(Get-Item *)", "Read(!a)", "WebFetch(x.test)", "B\u0430sh",
    ],
)  # fmt: skip
def test_an_allow_rule_that_can_grant_nothing_is_left_out_and_told(text: str) -> None:
    loaded = load(rules(allow=["Bash(ls)", text]))
    assert [rule.pattern.text for rule in loaded.rules] == ["Bash(ls)"]
    assert [refused.text for refused in loaded.refused] == [text]
    assert loaded.refused[0].reason


def test_slashes_begin_where_the_file_says() -> None:
    def folder(path: str, tier: Tier) -> tuple[str, str]:
        source = load(rules(deny=["Read(/x)"]), path, tier).rules[0].source
        return source.folder, source.project

    assert folder("/h/.claude/settings.json", Tier.USER) == ("/h/.claude", "")
    assert folder("/w/.claude/settings.json", Tier.PROJECT) == ("/w", "/w")
    assert folder("/w/perms.json", Tier.PROJECT) == ("/w", "/w")


def test_an_organisation_may_keep_others_from_allowing_but_not_from_denying() -> None:
    managed = SettingsFile(
        path="/m.json", tier=Tier.ORGANISATION,
        data=json.dumps({"allowManagedPermissionRulesOnly": True, **rules(allow=["Bash(ls)"])}).encode(),
    )  # fmt: skip
    user = SettingsFile(path="/u.json", tier=Tier.USER, data=json.dumps(rules(allow=["Bash"], deny=["Read"])).encode())
    loaded = load_permissions([managed, user])
    assert [rule.pattern.text for rule in loaded.rules] == ["Bash(ls)", "Read"]
    assert load({"allowManagedPermissionRulesOnly": True, **rules(allow=["Bash"])}).managed_only is False


@pytest.mark.parametrize("value", ["true", 1, None])
def test_what_keeps_others_from_allowing_is_true_or_false(value: object) -> None:
    with pytest.raises(LoadError, match="neither true nor false"):
        load({"allowManagedPermissionRulesOnly": value}, tier=Tier.ORGANISATION)


def test_our_own_spelling_is_yaml_with_both_kinds_of_rules_and_no_other_key() -> None:
    text = "permissions: {allow: ['Bash(ls)']}\nprefix_rules:\n  - {pattern: [git, [push, fetch]], decision: prompt}\n"
    loaded = load(text, "/p/s.yaml")
    assert [rule.pattern.text for rule in loaded.rules] == ["Bash(ls)", "prefix git push", "prefix git fetch"]
    with pytest.raises(LoadError, match="unknown key"):
        load("permission: {allow: []}\n", "/p/s.yaml")


# --------------------------------------------------------------------------------------------------------- prefix rules
PREFIX = """
# outward
prefix_rule(
    pattern = ["git", ["push", "fetch"]],
    decision = "prompt",
    justification = "goes outward",
    match = ["git push origin main", ["git", "fetch"]],
    not_match = ["git status", "git -C x push"],
)
prefix_rule(pattern = ["ls"])
prefix_rule(pattern = ["git", "reset", "--hard"], decision = "forbidden", not_match = ["git reset --keep"])
host_executable(name = "ls", paths = ["/opt/x/ls"])
"""


def test_prefix_rules_are_read_without_being_run() -> None:
    loaded = load(PREFIX, "/p/default.rules")
    assert [(rule.outcome, rule.pattern.text) for rule in loaded.rules] == [
        (Outcome.ASK, "prefix git push"), (Outcome.ASK, "prefix git fetch"), (Outcome.ALLOW, "prefix ls"),
        (Outcome.DENY, "prefix git reset --hard"),
    ]  # fmt: skip
    assert loaded.rules[0].reason == "goes outward"
    command = loaded.rules[2].pattern.command
    assert command is not None
    assert command.paths == ("/opt/x/ls",)


@pytest.mark.parametrize(
    "text",
    [
        'prefix_rule(pattern = ["git"], match = ["hg"])',
        'prefix_rule(pattern = ["git"], not_match = ["git x"])',
        'prefix_rule(pattern = ["git"], decision = "deny")',
        'prefix_rule(pattern = ["git"], desicion = "allow")',
        "prefix_rule(pattern = [])",
        'prefix_rule(pattern = "git")',
        "prefix_rule(pattern = [[]])",
        'prefix_rule(["git"])',
        'prefix_rule(pattern = ["git"] * 3)',
        'prefix_rule(pattern = [open("/etc/passwd").read()])',
        'prefix_rule(**{"pattern": ["git"]})',
        'network_rule(host = "x")',
        "import os",
        "x = 1",
        "def prefix_rule(): pass",
        'prefix_rule(pattern = ["a"',
        'prefix_rule(pattern = ["git"], match = ["git \'"])',
        "prefix_rule(pattern = [" + ",".join(['["a","b"]'] * 20) + "])",
        "(" * 5000,
    ],
)
def test_what_is_no_prefix_rule_or_breaks_its_own_examples_is_refused(text: str) -> None:
    with pytest.raises(LoadError) as caught:
        load(text, "/p/default.rules")
    assert caught.value.file == "/p/default.rules"


# --------------------------------------------------------------------------------------------------------------- places
@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with settings of the person and of a project."""
    _write(tmp_path / "home/.claude/settings.json", rules(allow=["Bash(ls)"]))
    _write(tmp_path / "home/w/.claude/settings.json", rules(allow=["Bash(a)"], deny=["Bash(b)"]))
    _write(tmp_path / "home/w/.claude/settings.local.json", rules(allow=["Bash(c)"]))
    _write(tmp_path / "managed/managed-settings.json", rules(deny=["Bash(m)"]))
    _write(tmp_path / "managed/managed-settings.d/10.json", rules(deny=["Bash(d)"]))
    return tmp_path


def _write(path: Path, value: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def _places(root: Path, project: str = "home/w") -> Places:
    return Places(
        projects=(str(root / project),), home=str(root / "home"), platform="linux",
        trust=str(root / "config/policyengine"), managed=str(root / "managed"),
    )  # fmt: skip


def test_a_hosts_settings_are_found_each_in_its_tier(home: Path) -> None:
    found = {os.path.relpath(file.path, home): file.tier for file in host_files(_places(home))}
    managed = Tier.ORGANISATION if os.geteuid() == 0 else Tier.PROJECT
    assert found == {
        "managed/managed-settings.json": managed,
        "managed/managed-settings.d/10.json": managed,
        "home/.claude/settings.json": Tier.USER,
        "home/w/.claude/settings.json": Tier.PROJECT,
        "home/w/.claude/settings.local.json": Tier.PROJECT,
    }


def test_a_call_from_a_subdirectory_leaves_no_rule_behind(home: Path) -> None:
    (home / "home/w/sub/deep").mkdir(parents=True)
    found = [os.path.relpath(file.path, home) for file in host_files(_places(home, "home/w/sub/deep"))]
    assert "home/w/.claude/settings.json" in found


def test_managed_settings_that_others_can_write_only_tighten(home: Path) -> None:
    path = home / "managed/managed-settings.json"
    path.chmod(0o666)
    tiers = {file.path: file.tier for file in host_files(_places(home))}
    assert tiers[str(path)] is Tier.PROJECT


# ---------------------------------------------------------------------------------------------------------------- trust
def test_a_project_file_is_trusted_until_a_byte_changes(home: Path) -> None:
    folder, path = str(home / "config/policyengine"), home / "home/w/.claude/settings.json"
    assert settings_file(str(path), Tier.PROJECT, folder).trusted is False
    trust(folder, str(path), path.read_bytes())
    file = settings_file(str(path), Tier.PROJECT, folder)
    assert file.trusted is True
    loaded = load_permissions([file])
    assert {rule.source.tier for rule in loaded.rules} == {Tier.USER}
    assert {rule.source.project for rule in loaded.rules} == {str(home / "home/w")}
    path.write_bytes(path.read_bytes() + b" ")
    assert settings_file(str(path), Tier.PROJECT, folder).trusted is False


def test_trust_is_for_the_place_as_well(home: Path) -> None:
    folder, path = str(home / "config/policyengine"), home / "home/w/.claude/settings.json"
    trust(folder, str(path), path.read_bytes())
    copy = _write(home / "home/v/.claude/settings.json", {})
    copy.write_bytes(path.read_bytes())
    assert settings_file(str(copy), Tier.PROJECT, folder).trusted is False


@pytest.mark.parametrize("linked", [".claude/settings.json", ".claude"])
def test_trust_is_not_lent_through_a_link(home: Path, linked: str) -> None:
    folder, path = str(home / "config/policyengine"), home / "home/w/.claude/settings.json"
    trust(folder, str(path), path.read_bytes())
    link = home / "home/v" / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(home / "home/w" / linked)
    other = str(home / "home/v/.claude/settings.json")
    assert settings_file(other, Tier.PROJECT, folder).trusted is False
    with pytest.raises(LoadError, match="another project"):
        trust(folder, other, path.read_bytes())


def test_trust_follows_a_link_around_the_whole_project_and_one_within_it(home: Path) -> None:
    folder, path = str(home / "config/policyengine"), home / "home/w/.claude/settings.json"
    trust(folder, str(path), path.read_bytes())
    (home / "home/link").symlink_to(home / "home/w")
    (home / "home/w/.claude/settings.local.json").unlink()
    (home / "home/w/.claude/settings.local.json").symlink_to(path)
    for name in ("home/link/.claude/settings.json", "home/w/.claude/settings.local.json"):
        assert settings_file(str(home / name), Tier.PROJECT, folder).trusted is True


def test_a_project_is_found_around_files_at_any_depth_of_the_hosts_folder(home: Path) -> None:
    path = home / "home/w/.codex/rules/default.rules"
    path.parent.mkdir(parents=True)
    path.write_bytes(b'prefix_rule(pattern = ["git"])')
    with pytest.raises(LoadError, match="lies in the project"):
        trust(str(home / "home/w/cfg/policyengine"), str(path), path.read_bytes())
    loaded = load_permissions([settings_file(str(path), Tier.PROJECT)])
    assert {rule.source.project for rule in loaded.rules} == {str(home / "home/w")}


def test_trust_is_taken_back(home: Path) -> None:
    folder, path = str(home / "config/policyengine"), home / "home/w/.claude/settings.json"
    trust(folder, str(path), path.read_bytes())
    assert list(noted(folder)) == [str(path)]
    assert distrust(folder, str(path)) is True
    assert distrust(folder, str(path)) is False
    assert is_trusted(folder, str(path), path.read_bytes()) is False


def test_trust_is_noted_where_the_project_cannot_write(home: Path) -> None:
    path = home / "home/w/.claude/settings.json"
    inside = str(home / "home/w/.config/policyengine")
    with pytest.raises(LoadError, match="lies in the project"):
        trust(inside, str(path), path.read_bytes())
    outside = home / "config/policyengine"
    trust(str(outside), str(path), path.read_bytes())
    inner = home / "home/w/.config"
    inner.mkdir()
    (inner / "policyengine").symlink_to(outside)
    assert is_trusted(str(inner / "policyengine"), str(path), path.read_bytes()) is False


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_notes_that_others_can_write_count_for_nothing(home: Path, mode: int) -> None:
    folder, path = str(home / "config/policyengine"), home / "home/w/.claude/settings.json"
    trust(folder, str(path), path.read_bytes())
    notes = Path(folder) / "trusted.json"
    assert stat.S_IMODE(notes.stat().st_mode) == 0o600
    notes.chmod(mode)
    assert is_trusted(folder, str(path), path.read_bytes()) is False


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 2, "files": {}}', '{"version": 1, "files": []}'])
def test_notes_that_are_damaged_count_for_nothing(home: Path, text: str) -> None:
    folder, path = home / "config/policyengine", home / "home/w/.claude/settings.json"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "trusted.json").write_text(text, encoding="utf-8")
    assert is_trusted(str(folder), str(path), path.read_bytes()) is False
    trust(str(folder), str(path), path.read_bytes())
    assert is_trusted(str(folder), str(path), path.read_bytes()) is True


def test_the_configuration_folder_is_that_of_the_person() -> None:
    assert config_folder({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}) == "/c/policyengine"
    assert config_folder({"XDG_CONFIG_HOME": "c", "HOME": "/h"}) == "/h/.config/policyengine"
    with pytest.raises(LoadError):
        config_folder({"HOME": "h"})


# ----------------------------------------------------------------------------------------------------------------- lint
@pytest.mark.parametrize(
    ("lists", "text", "code"),
    [
        (rules(allow=["Bash(curl -s *)"], deny=["Bash(curl:*)"]), "Bash(curl -s *)", "dead"),
        (rules(allow=["Bash(cat:*)"], deny=["Bash"]), "Bash(cat:*)", "dead"),
        (rules(allow=["Bash(npm install)"], deny=["Bash(npm)"]), "Bash(npm install)", "dead"),
        (rules(allow=["mcp__a__b"], deny=["mcp__*"]), "mcp__a__b", "dead"),
        (rules(allow=["Bash(ls -l)"], ask=["Bash(ls:*)"]), "Bash(ls -l)", "dead"),
        (rules(allow=["Read(src/a)"], deny=["Read(src/**)"]), "Read(src/a)", "dead"),
        (rules(allow=["WebFetch(domain:a.x.test)"], deny=["WebFetch"]), "WebFetch(domain:a.x.test)", "dead"),
        (rules(ask=["Edit"], deny=["*"]), "Edit", "dead"),
        (rules(allow=["Bash(git push:*)", "Bash(git push origin:*)"]), "Bash(git push origin:*)", "shadowed"),
        (rules(allow=["Bash(ls)", "Bash(ls)"]), "Bash(ls)", "shadowed"),
        (rules(allow=["WebFetch(domain:*.x.test)", "WebFetch(domain:a.x.test)"]), "WebFetch(domain:a.x.test)",
         "shadowed"),
        (rules(allow=["Bash(a && b *)"]), "Bash(a && b *)", "never"),
        (rules(allow=["Bash(git:* push)"]), "Bash(git:* push)", "never"),
        (rules(allow=["Bash(a > b)"]), "Bash(a > b)", "particular"),
        (rules(deny=["Raed"]), "Raed", "unknown-tool"),
        (rules(deny=["Read(/etc/**)"]), "Read(/etc/**)", "anchor"),
        (rules(allow=["Bash(npx:*)"]), "Bash(npx:*)", "wide"),
        (rules(allow=["Bash(python3 *)"]), "Bash(python3 *)", "wide"),
        (rules(allow=["Bash"]), "Bash", "wide"),
        (rules(allow=["Bash(ls"]), "Bash(ls", "refused"),
        (rules(defaultMode="bypassPermissions"), "defaultMode: bypassPermissions", "mode"),
    ],
)  # fmt: skip
def test_lint_tells_rules_that_do_nothing_or_not_what_they_seem(lists: object, text: str, code: str) -> None:
    found = [(one.text, one.code) for one in lint_permissions(load(lists), _knows)]
    assert (text, code) in found


@pytest.mark.parametrize(
    "lists",
    [
        rules(allow=["Bash(git push:*)", "Bash(git log)"], deny=["Bash(git push --force:*)"]),
        rules(allow=["Read(src/**)"], deny=["Read(.env)", "Read(//etc/**)"]),
        rules(allow=["mcp__a__b", "mcp__a__c"], ask=["mcp__b"], deny=["Bash(rm -rf *)"]),
        rules(allow=["WebFetch(domain:x.test)", "WebFetch(domain:*.x.test)"]),
        rules(allow=["Bash(curl:*)"], deny=["Bash(curl -s *)"]),
        rules(allow=["Bash(npx eslint *)", "Bash(python3 -m pytest *)"], defaultMode="acceptEdits"),
    ],
)
def test_lint_is_silent_about_rules_that_do_something(lists: object) -> None:
    assert list(lint_permissions(load(lists), _knows)) == []


def test_lint_tells_that_a_project_allows_nothing_by_itself() -> None:
    loaded = load(rules(allow=["Bash(ls)"], deny=["Read(.env)"]), "/w/.claude/settings.json", Tier.PROJECT)
    assert [(one.text, one.code) for one in lint_permissions(loaded, _knows)] == [("Bash(ls)", "untrusted")]


def _knows(tool: str) -> bool:
    return ready().tool(tool) is not None
