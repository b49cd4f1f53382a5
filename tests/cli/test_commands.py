"""`policyengine test` and `bench` from inside: what they find and what they print."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from policyengine.cli import bench, sign_bench
from policyengine.cli.arguments import parse
from policyengine.cli.test import differences
from policyengine.effects import FileRead, FileWrite
from policyengine.errors import UsageError
from tests.cli.process import run

RULE = """
- id: team.{name}
  title: A rule
  effect: file.write
  where: {{path: {{like: "*.lock"}}}}
  outcome: ask
  severity: low
  why: It is written by a tool.
  instead: Run the tool.
  references: []
  examples: {{match: ["{match}"], pass: ["echo x > a.txt"]}}
"""


def test_an_example_that_does_not_hold_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(RULE.format(name="good", match="echo x > a.lock"), encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(RULE.format(name="bad", match="echo x > a.txt"), encoding="utf-8")
    ended = run("test", "--rules", str(tmp_path))
    assert (ended.status, ended.err) == (1, "")
    found = [line for line in ended.out.splitlines() if str(tmp_path) in line]
    assert found == [f"{tmp_path}/bad.yaml:2: `team.bad` should match `echo x > a.txt`"]


def test_a_description_whose_effects_differ_is_named(tmp_path: Path) -> None:
    (tmp_path / "commands").mkdir()
    text = 'frob:\n  summary: s\n  operands: write...\n  examples:\n    "frob a": [{file.read: {path: /workspace/a}}]\n'
    (tmp_path / "commands" / "frob.yaml").write_text(text, encoding="utf-8")
    ended = run("test", "--rules", str(tmp_path))
    [line] = [line for line in ended.out.splitlines() if str(tmp_path) in line]
    assert line.endswith(
        "frob.yaml:5: `frob a` lacks file.read path=/workspace/a; has also file.write path=/workspace/a"
    )


@pytest.mark.parametrize(
    ("stated", "found", "missing", "surplus"),
    [
        ([], [], 0, 0),
        ([("file.read", {})], [FileRead("/a")], 0, 0),
        ([("file.read", {"path": "/a"})], [FileRead("/b")], 1, 1),
        ([("file.read", {}), ("file.read", {"path": "/a"})], [FileRead("/a"), FileRead("/b")], 0, 0),
        ([("file.read", {})], [FileRead("/a"), FileRead("/a")], 0, 1),
        ([("file.write", {"path": "/a"})], [FileRead("/a")], 1, 1),
        ([("file.write", {"append": True})], [FileWrite("/a", append=True)], 0, 0),
    ],
)
def test_effects_are_paired_one_to_one(stated: list[Any], found: list[Any], missing: int, surplus: int) -> None:
    lacks, more = differences(stated, found)
    assert (len(lacks), len(more)) == (missing, surplus)


CASES = ["everyday", *(f"{shape}{times}" for shape in ("list", "nest", "word", "quote") for times in (1, 2, 4))]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "CASE_SECONDS", 0.001)
    monkeypatch.setattr(bench, "UNIT", 100)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("suite", ["shell", "parse"])
def test_a_suite_prints_every_case(suite: str, capsys: pytest.CaptureFixture[str]) -> None:
    bench.run(parse(["bench", "--suite", suite, "--json"]))
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {suite, "reference"}
    assert list(found[suite]) == CASES
    fields = {"p50_us", "p99_us", "n", "per_second", "least_us"}
    assert all(set(cost) == fields and cost["n"] for cost in found[suite].values())
    assert all(0 < cost["least_us"] <= cost["p99_us"] for cost in found[suite].values())
    bench.run(parse(["bench", "--suite", suite]))
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()][1 : len(CASES) + 1] == CASES


def test_the_suite_of_tokens_prints_its_cases(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sign_bench, "CASE_SECONDS", 0.001)
    monkeypatch.setattr(sign_bench, "TOKENS", 10)
    bench.run(parse(["bench", "--suite", "sign", "--json"]))
    found = json.loads(capsys.readouterr().out)
    assert {suite: list(costs) for suite, costs in found.items()} == {"sign": ["sign", "verify"], "reference": ["hmac"]}
    assert all(0 < cost["p50_us"] <= cost["p99_us"] and cost["n"] for cost in found["sign"].values())
    bench.run(parse(["bench", "--suite", "sign"]))
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["sign", "sign", "verify", "reference"]


@pytest.mark.usefixtures("quick")
def test_everyday_commands_can_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ['{"text": "ls", "label": "benign"}', "", '{"id": "a", "tool": "bash", "arguments": {"command": "id"}}']
    (tmp_path / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    bench.run(parse(["bench", "--suite", "parse", "--input", str(tmp_path / "rows.jsonl")]))
    assert "everyday" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "ls", '{"text": 1}', "[]"])
def test_a_file_of_something_else_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError):
        bench.run(parse(["bench", "--suite", "parse", "--input", str(tmp_path / "rows.jsonl")]))


def test_hostile_inputs_double_in_length() -> None:
    lengths = {name: len(text) for name, text in bench.hostile()}
    for shape in ("list", "nest", "word", "quote"):
        assert lengths[f"{shape}4"] == pytest.approx(2 * lengths[f"{shape}2"], rel=0.02)
        assert lengths[f"{shape}2"] == pytest.approx(2 * lengths[f"{shape}1"], rel=0.02)


@pytest.fixture
def organisation(tmp_path: Path) -> Path:
    """A folder with a key pair, made as the messages say, and rules."""
    script = "openssl genpkey -algorithm ed25519 -out key && chmod 600 key && openssl pkey -in key -pubout -out key.pub"
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "r.yaml").write_text(RULE.format(name="r", match="echo x > a.lock"), encoding="utf-8")
    return tmp_path


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a key with")
def test_a_signed_bundle_loads_only_where_its_key_is_trusted(organisation: Path) -> None:
    made = run("compile", "--sign", "key", "--rules", "rules", "-o", "b", cwd=organisation)
    assert (made.status, made.err, len(made.out.strip())) == (0, "", 64)
    trusting = run(
        "check", "--rules", "b", "--organisation-key", "key.pub", "--json", "echo x > a.lock", cwd=organisation
    )
    assert (trusting.status, trusting.lines[0]["findings"][0]["rule"]) == (1, "team.r")
    without = run("check", "--rules", "b", "ls", cwd=organisation)
    assert (without.status, "in the organisation's name" in without.err) == (66, True)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a key with")
def test_an_unsigned_bundle_does_not_load_where_a_signature_is_demanded(organisation: Path) -> None:
    run("compile", "--rules", "rules", "-o", "b", cwd=organisation)
    ended = run("check", "--rules", "b", "--organisation-key", "key.pub", "ls", cwd=organisation)
    assert (ended.status, "not signed" in ended.err) == (66, True)
    several = run("check", "--rules", "b", "--rules", "rules", "--organisation-key", "key.pub", "ls", cwd=organisation)
    assert (several.status, "one signed bundle" in several.err) == (66, True)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a key with")
@pytest.mark.parametrize(
    ("key", "mode", "message"), [("key", 0o644, "chmod 600"), ("key.pub", 0o600, "not a private key")]
)
def test_what_is_no_private_key_signs_nothing(organisation: Path, key: str, mode: int, message: str) -> None:
    (organisation / key).chmod(mode)
    ended = run("compile", "--sign", key, "-o", "b", cwd=organisation)
    assert (ended.status, message in ended.err, (organisation / "b").exists()) == (65, True, False)


def test_a_bundle_does_not_replace_a_device(tmp_path: Path) -> None:
    device = tmp_path / "device"
    device.symlink_to("/dev/null")
    assert run("compile", "-o", str(device)).status == 0
    assert device.is_symlink()
