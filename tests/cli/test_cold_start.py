"""What a start that has its bundle may load: a hook pays for every module on every call."""

from __future__ import annotations

import json

import pytest

from tests.adapters.payloads import FETCH_AND_RUN, LISTING, WRITE
from tests.cli.process import run, shell

HEAVY = {"pydantic", "yaml", "re2", "casbin", "cryptography", "click", "asyncio", "importlib.metadata", "unittest"}


def _loaded(report: str) -> set[str]:
    """Module names in the report that `-X importtime` makes."""
    return {line.rpartition("|")[2].strip() for line in report.splitlines() if line.startswith("import time:")}


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (("hook", "claude-code"), json.dumps(LISTING)),
        (("hook", "claude-code"), json.dumps(FETCH_AND_RUN)),
        (("hook", "claude-code"), json.dumps(WRITE)),
        (("decide",), json.dumps({"id": "a", "tool": "bash", "arguments": {"command": "rm -rf / | tee x"}})),
        (("check", "git status"), ""),
    ],
)
def test_nothing_heavy_is_loaded(words: tuple[str, ...], given: str) -> None:
    assert run("check", "ls").status == 0  # the bundle is compiled and kept
    ended = run(*words, given=given, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert ended.status == 0
    loaded = _loaded(ended.err)
    assert "policyengine.engine.engine" in loaded
    assert loaded & HEAVY == set()


def test_a_damaged_cache_is_compiled_again(tmp_path: object) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    assert run("check", "ls", env=env).status == 0
    for damage in (
        "echo x > $f",
        "truncate -s 100 $f",
        ": > $f",
        "printf x >> $f",
        "rm $f; ln -s /dev/zero $f",
        "rm $f; mkdir $f",
    ):
        ended = shell(f"f=$(ls -d {tmp_path}/policyengine/*.bundle); {damage}; $PE check 'rm -rf /'; echo $?", env=env)
        assert ended.out.endswith("\n2\n"), damage
        assert ended.err == ""


@pytest.mark.parametrize(
    "damage",
    ["truncate -s 100 $f", ": > $f", "printf x >> $f", "printf x | dd of=$f bs=1 seek=5000 conv=notrunc", "rm $f"],
)
def test_a_damaged_bundle_is_refused(tmp_path: object, damage: str) -> None:
    script = f"f={tmp_path}/x.bundle; $PE compile -o $f > {tmp_path}/digest; {damage} 2> {tmp_path}/log"
    checked = shell(f"{script}; $PE check --rules $f ls; echo $?")
    assert checked.out == "66\n"
    assert checked.err.startswith("policyengine: ")
    hooked = shell(f"{script}; echo '{json.dumps(LISTING)}' | $PE hook claude-code --rules $f; echo $?")
    assert hooked.out == "2\n"


def test_a_bundle_decides_as_its_rules_do(tmp_path: object) -> None:
    compiled = f"f={tmp_path}/x.bundle; $PE compile -o $f"
    ended = shell(f"{compiled}; $PE check --rules $f 'rm -rf /' > {tmp_path}/out; echo $?")
    digest, status = ended.out.split()
    assert (len(digest), status) == (64, "2")
