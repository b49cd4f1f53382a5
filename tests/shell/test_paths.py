"""Lexical paths and URLs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyengine.shell.paths import Path, Place, base_name, normal, on_macos, resolve, tilde
from policyengine.shell.urls import Url, as_fetched, split_host, split_remote, split_url

HERE = Place("/workspace")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", "/workspace/a"),
        ("./a/", "/workspace/a"),
        ("../a", "/a"),
        ("../../..", "/"),
        ("", "/workspace"),
        (".", "/workspace"),
        ("//etc//passwd", "/etc/passwd"),
        ("/bin/./rm", "/bin/rm"),
        ("/a/..b/...", "/a/..b/..."),
        ("/.hidden", "/.hidden"),
    ],
)
def test_a_known_path_resolves(text: str, path: str) -> None:
    assert resolve(text, HERE) == Path(path)


@pytest.mark.parametrize(
    ("text", "path"), [("", ""), ("/", "/"), ("/etc/", "/etc/"), ("a/../b", "/workspace/b"), ("/etc/..", "/etc/")]
)
def test_of_an_unknown_path_the_certain_beginning_is_kept(text: str, path: str) -> None:
    assert resolve(text, HERE, exact=False) == Path(path, unknown=True)


def test_a_relative_path_below_an_unknown_directory_is_unknown() -> None:
    assert resolve("a", Place("/tmp/", exact=False)) == Path("/tmp/", unknown=True)


@given(st.text("./ab"))
def test_normal_is_idempotent_and_clean(text: str) -> None:
    """A normal path stays as it is, and holds no `.`, `..` or empty part."""
    path = normal("/" + text)
    assert normal(path) == path
    assert path == "/" or not {"", ".", ".."} & set(path[1:].split("/"))


@pytest.mark.parametrize(
    ("prefix", "home"),
    [("~", "/home/agent"), ("~root", "/root"), ("~bob", "/home/bob"), ("~+", "/workspace"), ("~-", None), ("~$", "~$")],
)
def test_a_tilde_prefix_is_a_home(prefix: str, home: str | None) -> None:
    assert tilde(prefix, "/home/agent", HERE, "linux") == home


@pytest.mark.parametrize(
    ("path", "spelled"),
    [
        ("/ETC/Passwd", "/etc/passwd"),
        ("/private/etc/x", "/etc/x"),
        ("/users/a/B", "/Users/a/B"),
        ("/data/X", "/data/X"),
    ],
)
def test_macos_spellings_are_one(path: str, spelled: str) -> None:
    assert on_macos(path) == spelled


def test_a_base_name_ignores_trailing_slashes() -> None:
    assert (base_name("/a/b/"), base_name("b"), base_name("/")) == ("b", "b", "")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://u:p@A.test:8/x?y", Url("https", "a.test", "8", "/x?y")),
        ("a.test/x", Url("http", "a.test", "", "/x")),
        ("http://[::1]:80/", Url("http", "::1", "80", "/")),
        ("http://0x7f.1/", Url("http", "127.0.0.1", "", "/")),
        ("http://2130706433", Url("http", "127.0.0.1", "", "")),
        ("http://a.test@b.test/", Url("http", "b.test", "", "/")),
        ("http://a.test\\@b.test/", Url("http", "a.test", "", "\\@b.test/")),
    ],
)
def test_a_url_is_taken_apart(text: str, url: Url) -> None:
    assert split_url(text) == url


@pytest.mark.parametrize(
    ("text", "host"),
    [
        (" http://a.test", "a.test"),
        ("ht\ntp://a.test/x", "a.test"),
        ("http:\\\\a.test", "a.test"),
        ("http:a.test/x", "a.test"),
        ("http:////a.test", "a.test"),
        ("//a.test/x", "a.test"),
        ("http://1\u30022\uff0e3\uff614/", "1.2.3.4"),
        ("a.test:80/http:b.test", "a.test"),
        ("file:///x", ""),
    ],
)
def test_a_url_is_read_as_those_who_fetch_it_do(text: str, host: str) -> None:
    assert split_url(as_fetched(text)).host == host


def test_hosts_and_remote_paths() -> None:
    assert split_host("bob@a.test:22") == ("a.test", "22")
    assert split_host("fe80::1") == ("fe80::1", "")
    assert split_remote("bob@a.test:/x") == ("a.test", "/x")
    assert split_remote("./a:b") is None
