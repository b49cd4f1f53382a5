"""What the README states is true: its tables match the code, and its examples run."""

from __future__ import annotations

import json
import re
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
    [text] = _blocks("python")
    exec(compile(text, "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"# prints (.*)", text)


def test_the_rule_and_the_description_of_the_examples_load_and_hold(tmp_path: Path) -> None:
    rule, description = _blocks("yaml")
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
