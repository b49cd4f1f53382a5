"""Lexical paths: what a path text names, given a working directory, without looking at any file system.

`.`, `..`, `//` and trailing slashes are resolved as text (POSIX.1-2017 4.13 without symbolic links: those are the
sandbox's business). Tilde prefixes are resolved by `tilde`, since whether one is active depends on quoting.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from policyengine.records import NamedTuple

__all__ = ["Path", "Place", "base_name", "home_of", "normal", "on_macos", "resolve", "tilde"]

_UNEVEN = re.compile(r"/(?:/|\.{1,2}(?:/|\Z)|\Z)").search  # something that `normal` has to resolve
_PROCESS_ROOT = re.compile(r"(?:/proc/(?:self|thread-self|\$\$|\d+)(?:/task/\d+)?/root(?=/|\Z))+")  # proc(5)
_LOGIN = re.compile(r"[A-Za-z_][\w.-]*\Z").match


class Place(NamedTuple):
    """A directory, as far as it is known: the whole path where `exact`, else the certain prefix (possibly empty)."""

    path: str
    exact: bool = True


class Path(NamedTuple):
    """A resolved path: `path` is absolute and normal, or where `unknown` the prefix that is certain."""

    path: str
    unknown: bool = False
    glob: bool = False


def normal(path: str) -> str:
    """An absolute path without `.`, `..`, empty parts and trailing slash; `..` above the root stays at the root."""
    if not _UNEVEN(path):
        return path
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part and part != ".":
            parts.append(part)
    return "/" + "/".join(parts)


def resolve(text: str, cwd: Place, *, exact: bool = True, glob: bool = False) -> Path:
    """Resolve `text` (tilde already expanded) against `cwd`; with `exact` false it is a certain prefix only."""
    if text[:6] == "/proc/":
        text = _PROCESS_ROOT.sub("/", text)
    if text[:1] == "/":
        return Path(normal(text) if exact else _prefix(text), not exact, glob)
    if not cwd.exact:
        return Path(cwd.path, True, glob)
    if not text and not exact:
        return Path("", True, glob)  # it may be absolute
    joined = cwd.path + "/" + text
    return Path(normal(joined) if exact else _prefix(joined), not exact, glob)


def _prefix(text: str) -> str:
    """The normal form of a prefix: its complete parts are resolved, the last one may go on."""
    head, _, tail = text.rpartition("/")
    if tail in (".", ".."):
        tail = ""  # may go on as `..`, `.x` or `./`
    start = normal(head or "/")
    return start + tail if start == "/" else f"{start}/{tail}"


def on_macos(path: str) -> str:
    """A path as rules spell it: macOS ignores case, and `/etc`, `/var` and `/tmp` lie in `/private` (hier(7))."""
    if path[:1] != "/":
        return path
    head, slash, rest = path[1:].partition("/")
    name = head.lower()
    if name == "private":
        return on_macos("/" + rest) if rest.partition("/")[0].lower() in ("etc", "var", "tmp") else path
    if name in _LOWER_ON_MACOS:
        return "/" + name + slash + rest.lower()
    return "/" + _SPELLED_ON_MACOS.get(name, head) + slash + rest


_LOWER_ON_MACOS = frozenset({"etc", "usr", "bin", "sbin", "dev"})  # whose contents are lower case throughout
_SPELLED_ON_MACOS = {
    name.lower(): name
    for name in ("System", "Library", "Users", "Applications", "Volumes", "var", "opt", "tmp", "cores")
}


def is_below(path: str, roots: Sequence[str]) -> bool:
    """Whether a path lies in one of these directories; none of them lies in itself."""
    return any(path.startswith(root.rstrip("/") + "/") for root in roots)


def base_name(path: str) -> str:
    """The last part of a path text."""
    return path.rstrip("/").rpartition("/")[2] if path[-1:] == "/" else path.rpartition("/")[2]


def without_exe(name: str) -> str:
    """The name of a program of Windows, as WSL and MSYS run it, without its ending; any other as it is."""
    return name[:-4] if name[-4:].lower() == ".exe" and len(name) > 4 else name


def home_of(user: str, platform: str) -> str:
    """Where a user's home is by convention; the password file is not read."""
    if user == "root":
        return "/var/root" if platform == "darwin" else "/root"
    return f"/Users/{user}" if platform == "darwin" else f"/home/{user}"


def tilde(prefix: str, home: str | None, cwd: Place, platform: str) -> str | None:
    """What `~`, `~user` or `~+` stands for (bash manual 3.5.2), or None where that is not known.

    `prefix` is the text from the tilde up to the first slash. What is no login name is returned as it is.
    """
    name = prefix[1:]
    if not name:
        return home
    if name == "+":
        return cwd.path if cwd.exact else None
    if name == "-" or name.lstrip("+-").isdigit():
        return None  # OLDPWD or the directory stack
    return home_of(name, platform) if _LOGIN(name) else prefix
