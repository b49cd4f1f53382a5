"""Which files count, what their digest says, and the cache of compiled rules."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from policyengine.bundle import compile_bundle, open_bundle
from policyengine.config import load, ready, source_files
from policyengine.config.cache import MAX_KEPT, cache_folder, keep, kept
from policyengine.config.sources import digest_of, files_of
from policyengine.errors import BundleError, LoadError
from policyengine.model import Tier
from tests.policies.rulesets import ZONES, profile, rule


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A rules directory."""
    folder = tmp_path / "rules"
    for inner, value in {
        "shell/a.yaml": [rule()],
        "own.yaml": [rule(id="test.own")],
        "zones.yaml": ZONES,
        "profiles/plain.yaml": profile(),
    }.items():
        path = folder / inner
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    (folder / "README.md").write_text("text")
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "policyengine"


def test_files_hold_what_their_folder_says(rules: Path) -> None:
    found = {file.inner: file.content for file in files_of(rules, Tier.USER)}
    assert found == {
        "shell/a.yaml": "rules",
        "own.yaml": "rules",
        "zones.yaml": "zones",
        "profiles/plain.yaml": "profiles",
    }


@pytest.mark.parametrize("inner", ["shel/a.yaml", "shell/deep/a.yaml", "profiles/x/a.yml"])
def test_a_file_where_nothing_is_looked_for_is_refused(rules: Path, inner: str) -> None:
    (rules / inner).parent.mkdir(parents=True, exist_ok=True)
    (rules / inner).write_text("[]")
    with pytest.raises(LoadError, match="a file where no rules are looked for"):
        list(files_of(rules, Tier.USER))


def test_a_linked_folder_is_read_and_a_circle_is_refused(rules: Path, tmp_path: Path) -> None:
    (rules / "shell").rename(tmp_path / "elsewhere")
    (rules / "shell").symlink_to(tmp_path / "elsewhere")
    assert "shell/a.yaml" in {file.inner for file in files_of(rules, Tier.USER)}
    (rules / "run").symlink_to(rules)
    with pytest.raises(LoadError, match="folders nest too deep"):
        list(files_of(rules, Tier.USER))


def test_a_directory_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="not a directory of rules"):
        source_files([tmp_path / "none"])


def test_the_digest_depends_on_contents_and_places_alone(rules: Path, tmp_path: Path) -> None:
    before = digest_of(list(files_of(rules, Tier.USER)))
    moved = rules.rename(tmp_path / "elsewhere")
    assert digest_of(list(files_of(moved, Tier.USER))) == before
    assert digest_of(list(files_of(moved, Tier.PROJECT))) != before
    (moved / "own.yaml").write_text(json.dumps([rule(id="test.owm")]))
    assert digest_of(list(files_of(moved, Tier.USER))) != before


def test_rules_are_compiled_once(rules: Path, cache: Path) -> None:
    first = ready([rules], "plain", use_shipped=False)
    (bundle,) = cache.iterdir()
    changed = bundle.stat().st_mtime_ns
    second = ready([rules], "plain", use_shipped=False)
    assert first.digest == second.digest == load([rules], "plain", use_shipped=False).digest
    assert bundle.stat().st_mtime_ns == changed


def test_a_changed_rule_is_compiled_anew(rules: Path, cache: Path) -> None:
    first = ready([rules], "plain", use_shipped=False)
    (rules / "own.yaml").write_text(json.dumps([rule(id="test.own", outcome="deny")]))
    assert ready([rules], "plain", use_shipped=False).digest != first.digest


def test_a_damaged_cache_is_compiled_anew(rules: Path, cache: Path) -> None:
    first = ready([rules], "plain", use_shipped=False)
    (bundle,) = cache.iterdir()
    bundle.write_bytes(bundle.read_bytes()[:-1])
    assert ready([rules], "plain", use_shipped=False).digest == first.digest
    (bundle,) = cache.iterdir()
    assert open_bundle(bundle).digest == first.digest


def test_a_cache_that_others_can_write_is_not_read(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    data = compile_bundle({}, "s")
    keep(tmp_path, "s", data)
    path = tmp_path / "s.bundle"
    assert kept(tmp_path, "s") is not None
    path.chmod(0o622)
    assert kept(tmp_path, "s") is None
    path.chmod(0o600)
    tmp_path.chmod(0o777)
    assert kept(tmp_path, "s") is None


def test_a_link_in_the_cache_is_not_followed(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "other").write_bytes(compile_bundle({}, "s"))
    (tmp_path / "s.bundle").symlink_to(tmp_path / "other")
    assert kept(tmp_path, "s") is None


def test_a_bundle_of_other_sources_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    keep(tmp_path, "s", compile_bundle({}, "other"))
    assert kept(tmp_path, "s") is None


def test_the_cache_keeps_a_few(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    for number in range(MAX_KEPT + 3):
        keep(tmp_path, f"s{number}", compile_bundle({}, f"s{number}"))
    assert len(list(tmp_path.iterdir())) == MAX_KEPT


def test_a_cache_that_cannot_be_written_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    keep(tmp_path / "file" / "cache", "s", compile_bundle({}, "s"))
    assert kept(tmp_path / "file" / "cache", "s") is None


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/policyengine"),
        ({"XDG_CACHE_HOME": "c", "HOME": "/h"}, "/h/.cache/policyengine"),
        ({"HOME": "/h"}, "/h/.cache/policyengine"),
        ({"HOME": "h"}, None),
        ({}, None),
    ],
)
def test_the_cache_is_where_the_specification_says(environment: dict[str, str], folder: str | None) -> None:
    found = cache_folder(environment)
    assert (None if found is None else os.fspath(found)) == folder


def test_a_bundle_stands_for_all_rules(rules: Path, tmp_path: Path, cache: Path) -> None:
    made = ready([rules], "plain", use_shipped=False)
    (bundle,) = cache.iterdir()
    assert ready([bundle], "plain").digest == made.digest
    bundle.write_bytes(b"x")
    with pytest.raises(BundleError, match="not a bundle"):
        ready([bundle], "plain")
