"""Which zones a path or host belongs to."""

from __future__ import annotations

import time
from typing import Any

import pytest

from policyengine.model import Context
from policyengine.policies.ruleset.hosts import Hosts
from policyengine.policies.ruleset.sight import Sight, Zones
from tests.policies.rulesets import ZONES

MADE = Zones(
    {name: (zone["patterns"], zone.get("except", [])) for name, zone in ZONES["paths"].items()},
    {name: zone["patterns"] for name, zone in ZONES["hosts"].items()},
)


def _sight(**context: Any) -> Sight:
    return Sight(lambda: MADE, Context(**context), ())


@pytest.mark.parametrize(
    ("path", "zones"),
    [
        ("/home/agent/.ssh/id", {"keys", "home"}),
        ("/home/agent/.ssh", {"home"}),
        ("/home/other/.ssh/id", {"keys"}),
        ("/Users/other/.ssh/id", {"keys"}),
        ("/root/.ssh/id", {"keys"}),
        ("/srv/.ssh/id", set()),
        ("/home/agent/.ssh/config", {"home"}),
        ("/workspace/a/b.pem", {"keys", "workspace", "cwd"}),
        ("/workspace/public.pem", {"workspace", "cwd"}),
        ("/workspace/.env", {"keys", "workspace", "cwd"}),
        ("/workspace/.env2", {"workspace", "cwd"}),
        ("/workspace", {"workspace", "cwd"}),
        ("/workspace2", set()),
        ("/", {"tops"}),
        ("/etc", {"tops"}),
        ("/etc/passwd", {"system"}),
        ("/home/agent", {"tops", "home"}),
        ("/home", set()),
        ("/tmp/x", {"temp"}),
        ("/tmp", {"temp"}),
        ("/tmpx", set()),
        ("/workspace/p/dist", {"output", "workspace", "cwd"}),
        ("/workspace/p/dist/a/b", {"output", "workspace", "cwd"}),
        ("/workspace/a.egg-info", {"output", "workspace", "cwd"}),
        ("/workspace/a.egg-info/x", {"workspace", "cwd"}),
        ("/sys/fs/cgroup/a/b/release_agent", {"deep"}),
        ("/sys/release_agent", {"deep"}),
        ("/sys/fs/release_agents", set()),
        ("/a/.git/hooks/pre-commit", {"deep"}),
        ("/a/.git/hooks", set()),
        ("", set()),
        ("relative/.env", set()),
    ],
)
def test_a_known_path_belongs_to(path: str, zones: set[str]) -> None:
    assert _sight().inside(path, False, False) == zones == _sight().touched(path, False, False)


@pytest.mark.parametrize(
    ("prefix", "zones"),
    [
        ("/etc/", {"system"}),
        ("/etc/pass", {"system"}),
        ("/etc", set()),
        ("/workspace/", {"workspace", "cwd"}),
        ("/workspace", set()),
        ("/workspace/dist/x", {"workspace", "cwd", "output"}),
        ("/home/agent/.ssh/id_", {"keys", "home"}),
        ("/home/agent/.ss", {"home"}),
        ("/workspace/x.pem", {"workspace", "cwd"}),
        ("", set()),
        ("/", set()),
    ],
)
def test_a_path_with_an_unknown_end_belongs_to_where_its_beginning_leads(prefix: str, zones: set[str]) -> None:
    assert _sight().inside(prefix, True, False) == zones == _sight().touched(prefix, True, False)


@pytest.mark.parametrize(
    ("path", "inside", "touched"),
    [
        ("/etc/pass*", {"system"}, {"system"}),
        ("/et*/passwd", set(), {"system"}),
        ("/*", set(), {"tops", "workspace", "cwd", "temp"}),
        ("/etc/*", {"system"}, {"system", "tops"}),
        ("/home/agent/*", {"home"}, {"home", "tops"}),
        ("/home/agent/.s*/id", {"home"}, {"home", "keys"}),
        ("/home/agent/*/id", {"home"}, {"home"}),
        ("/home/*/.ssh/id", {"keys"}, {"keys", "home"}),
        ("/h*/agent/.ssh/id", set(), {"keys", "home"}),
        ("/workspace/*", {"workspace", "cwd"}, {"workspace", "cwd"}),
        ("/workspace/*.p*", {"workspace", "cwd"}, {"workspace", "cwd", "keys"}),
        ("/workspace/*.id", {"workspace", "cwd"}, {"workspace", "cwd"}),
        ("/workspace/[a-z]*.pem", {"workspace", "cwd"}, {"workspace", "cwd", "keys"}),
        ("/workspace/.e?v", {"workspace", "cwd"}, {"workspace", "cwd", "keys"}),
        ("/workspace/?env", {"workspace", "cwd"}, {"workspace", "cwd"}),
        ("/workspace/*/dist", {"workspace", "cwd", "output"}, {"workspace", "cwd", "output"}),
        ("/workspace/d*", {"workspace", "cwd"}, {"workspace", "cwd", "output"}),
        ("/workspace/public.p*", {"workspace", "cwd"}, {"workspace", "cwd", "keys"}),
        ("/workspace/**/x.pem", {"workspace", "cwd", "keys"}, {"workspace", "cwd", "keys"}),
        ("/home/agent/**/*.txt", {"home"}, {"home"}),
        ("/home/agent/**/.ssh/id", {"home"}, {"home", "keys"}),
        ("/sys/*/release_agent", {"deep"}, {"deep"}),
        ("/workspace/a[b", {"workspace", "cwd"}, {"workspace", "cwd"}),
        ("/dev/s*1", set(), {"system"}),
        ("/dev/?d[ab]", set(), {"system"}),
        ("/workspace/*.md", {"workspace", "cwd"}, {"workspace", "cwd"}),
    ],
)
def test_a_glob_belongs_to_what_it_may_name(path: str, inside: set[str], touched: set[str]) -> None:
    assert _sight().inside(path, False, True) == inside
    assert _sight().touched(path, False, True) >= touched


@pytest.mark.parametrize("name", ["*", "[a-z]*", "?*", ".[0-9]*", "*.md", "[0-9]*.md", "access.*", "*.[!r]*", "*php"])
def test_a_glob_without_letters_of_a_name_does_not_point_at_it(name: str) -> None:
    assert "keys" not in _sight().touched(f"/workspace/{name}", False, True)


@pytest.mark.parametrize(
    ("path", "zones"),
    [
        ("/etc", {"system", "tops"}),
        ("/home/agent/.ssh", {"keys", "home"}),
        ("/home/agent/.s*", {"keys", "home"}),
        ("/home/agent", {"tops", "home"}),
        ("/workspace", {"workspace", "cwd"}),
        ("/workspace/.git/hooks", {"deep", "workspace", "cwd"}),
        ("/workspace/.git", {"workspace", "cwd"}),
    ],
)
def test_a_directory_with_its_contents_sweeps_what_lies_in_it(path: str, zones: set[str]) -> None:
    assert _sight().swept(path, False, "*" in path) == zones


def test_a_context_names_its_own_places() -> None:
    sight = _sight(home="/srv/me", workspace=("/data/a", "/data/b/"), cwd="/data/a/x")
    assert sight.inside("/srv/me/.ssh/id", False, False) == {"keys", "home"}
    assert sight.inside("/data/b/c", False, False) == {"workspace"}
    assert sight.inside("/data/a/x", False, False) == {"workspace", "cwd"}


def test_macos_folds_case() -> None:
    assert _sight(platform="darwin").inside("/ETC/Passwd", False, False) == {"system"}
    assert _sight(platform="linux").inside("/ETC/Passwd", False, False) == set()


@pytest.mark.parametrize("part", ["/a", "/*", "/a*", "/.git/hooks", "/**", "/[a"])
def test_a_long_path_is_looked_up_in_linear_time(part: str) -> None:
    start = time.perf_counter()
    _sight().touched(part * 50_000, False, True)
    assert time.perf_counter() - start < 3


@pytest.mark.parametrize(
    ("host", "zones"),
    [
        ("localhost", {"loopback"}),
        ("LOCALHOST.", {"loopback"}),
        ("a.localhost", {"loopback"}),
        ("localhost.evil.test", set()),
        ("127.0.0.1", {"loopback"}),
        ("127.1", {"loopback"}),
        ("2130706433", {"loopback"}),
        ("0x7f.0.0.1", {"loopback"}),
        ("0177.0.0.1", {"loopback"}),
        ("::1", {"loopback"}),
        ("[::1]", {"loopback"}),
        ("0:0:0:0:0:0:0:1", {"loopback"}),
        ("::ffff:127.0.0.1", {"loopback"}),
        ("10.2.3.4", {"private"}),
        ("11.2.3.4", set()),
        ("fd12::1", {"private"}),
        ("fe80::1%eth0", set()),
        ("10.example.test", set()),
        ("256.0.0.1", set()),
        ("1.2.3.4.5", set()),
        ("99999999999999999999999", set()),
        ("127.0.0.1.nip.test", set()),
        (":::", set()),
        ("", set()),
    ],
)
def test_a_host_belongs_to(host: str, zones: set[str]) -> None:
    patterns = {name: zone["patterns"] for name, zone in ZONES["hosts"].items()}
    assert Hosts(patterns).zones_of(host) == zones
