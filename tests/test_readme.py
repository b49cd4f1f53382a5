"""What the README states is true: its tables match the code, and its examples run."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from policyengine.cli.arguments import COMMANDS
from policyengine.cli.status import Status
from policyengine.effects import KINDS
from tests.cli.process import run

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHARED_FIELDS = {"where", "span", "origin"}


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_effect_table_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `([a-z]+(?:\.[a-z]+)?)` \| (`.*?`) \|", README, re.MULTILINE)
    stated = {kind: fields.replace("`", "").split() for kind, fields in rows}
    assert stated == {
        kind: [name for name in effect._fields if name not in SHARED_FIELDS] for effect, kind in KINDS.items()
    }


def test_every_command_has_its_row() -> None:
    assert set(re.findall(r"^\| `policyengine ([a-z]+)", README, re.MULTILINE)) == set(COMMANDS)


def test_every_status_is_explained() -> None:
    stated = {int(number) for row in re.findall(r"^\| ([\d, ]+) \|", README, re.MULTILINE) for number in row.split(",")}
    assert stated == set(Status) - {Status.INTERRUPTED}


@pytest.mark.parametrize("text", _blocks("json"), ids=lambda text: text[:20])
def test_json_examples_are_json(text: str) -> None:
    assert isinstance(json.loads(text), dict)


def test_the_library_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text, _ = _blocks("python")
    exec(compile(text, "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"# prints (.*)", text)


def test_the_gate_of_the_example_asks_and_lets_the_answered_call_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, setup = _blocks("yaml")
    _host(tmp_path, setup)
    monkeypatch.chdir(tmp_path)
    exec(compile(_blocks("python")[1], "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert shown.endswith("git push -f origin main -> done\n")
    assert "vcs.push-rewrite" in shown
    ended = run("audit", "verify", "audit", "--audit-keys", "audit-keys", cwd=tmp_path)
    assert (ended.status, ended.out[:5]) == (0, "sound")


def _host(folder: Path, setup: str) -> None:
    """What the setup file of the example names."""
    (folder / "policyengine.yaml").write_text(setup, encoding="utf-8")
    (folder / "settings.json").write_text('{"permissions": {"deny": ["Read(./secrets/**)"]}}', encoding="utf-8")
    (folder / ".claude").mkdir()
    (folder / ".claude" / "settings.json").write_text("{}", encoding="utf-8")
    effects = "writes_files, network, destructive, external_service"
    (folder / "tools.yaml").write_text(f"tools: {{bash: {{side_effects: [{effects}]}}}}\n", encoding="utf-8")
    (folder / "skills").mkdir()
    (folder / "skills.yaml").write_text("roots: [{path: skills}]\n", encoding="utf-8")
    for name in ("model.conf", "policy.csv"):
        shutil.copy(ROOT / "rules" / "rbac" / name, folder / name)
    with (folder / "policy.csv").open("a", encoding="utf-8") as policy:
        policy.write("\np, engineer, *, tool, *, *, allow\np, guest, *, tool, read_file, *, allow\n")
    for name, line in (("keys", "k1 active"), ("audit-keys", "a1")):
        (folder / name).write_text(f"{line} {base64.b64encode(os.urandom(32)).decode()}\n", encoding="utf-8")
        (folder / name).chmod(0o600)


def test_the_rule_and_the_description_of_the_examples_load_and_hold(tmp_path: Path) -> None:
    rule, description, _ = _blocks("yaml")
    (tmp_path / "deploy.yaml").write_text(rule, encoding="utf-8")
    (tmp_path / "commands").mkdir()
    (tmp_path / "commands" / "deployer.yaml").write_text(description, encoding="utf-8")
    ended = run("test", "--rules", str(tmp_path))
    assert ended.err == ""
    assert str(tmp_path) not in ended.out
    assert run("check", "--rules", str(tmp_path), "ssh root@a.deploy.example.test").status == 1


def test_the_decide_example_is_answered() -> None:
    request = next(text for text in _blocks("json") if '"tool"' in text)
    ended = run("decide", given=" ".join(request.split()))
    assert (ended.status, ended.err) == (0, "")
    assert ended.lines[0]["outcome"] == "ask"


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:rules|policyengine|tests)/[\w/.]*)`", README))))
def test_every_path_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists()
