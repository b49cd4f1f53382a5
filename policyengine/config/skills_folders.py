"""Folders of skills: which files a root has, what a path leads to, and whether a file is still the same."""

from __future__ import annotations

import os
import posixpath
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from policyengine.config.skills_matter import MAX_FILE
from policyengine.errors import LoadError
from policyengine.policies.skill.skill import FILE
from policyengine.records import NamedTuple

MAX_FOLDERS = 65_536
PROJECT = "project"
SETTLED = 2_000_000_000  # nanoseconds after which a file's times tell whether it was changed; FAT keeps two seconds


class Root(NamedTuple):
    """A folder of skills.

    Attributes:
        path: its real path.
        name: what its skills' names begin with.
        mount: where the agent sees it; empty where that is its own path.
        tier: who vouches for it.
        given: its path before links were followed.
    """

    path: str
    name: str
    mount: str
    tier: str
    given: str


def bytes_of(real: str) -> bytes:
    """Read no more than would be refused, of a regular file only: a pipe would never end."""
    descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "not a regular file")
        return file.read(MAX_FILE + 1)


def files_in(root: Root) -> Iterator[str]:
    """Every SKILL.md below a root, and links to folders, as paths below it; links to folders are not followed.

    Raises:
        LoadError: the root is no folder, or a folder in it cannot be read. A root that is not there has no skills.
    """
    if not os.path.lexists(root.path):
        return
    if not os.path.isdir(root.path):
        raise LoadError("not a folder", file=root.path)
    for count, (folder, folders, files) in enumerate(os.walk(root.path, onerror=_fail)):
        if count >= MAX_FOLDERS:
            raise LoadError(f"more than {MAX_FOLDERS} folders", file=root.path)
        folders.sort()
        if FILE in files:
            yield os.path.join(folder, FILE)
        for name in folders:
            inner = os.path.join(folder, name)
            if os.path.islink(inner) and os.path.lexists(os.path.join(inner, FILE)):
                yield os.path.join(inner, FILE)


def _fail(error: OSError) -> None:
    raise LoadError(f"cannot be read: {error.strerror}", file=str(error.filename)) from error


def identity_of(path: str, look: Callable[[str], os.stat_result] = os.lstat) -> tuple[int, ...] | None:
    """What changes when a file does; None where there is none."""
    try:
        status = look(path)
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def places_of(roots: Iterable[Root]) -> list[tuple[int, ...] | None]:
    """Which folders the roots are."""
    found = [identity_of(root.given, os.stat) for root in roots]
    return [None if identity is None else identity[:2] for identity in found]


def is_settled(identity: tuple[int, ...]) -> bool:
    """Whether a file was last changed so long ago that another change cannot leave it with the same times."""
    return time.time_ns() - max(identity[-2:]) > SETTLED


# --------------------------------------------------------------------------------------------------------------- paths
def real_path(path: str) -> str:
    """Follow the links of a path; empty where they lead nowhere."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # a NUL, or a loop of links
        return ""


def on_host(path: str, roots: Sequence[Root]) -> str:
    """Where a path lies that the agent names: below the mount of a root, in that root."""
    for root in sorted(roots, key=lambda root: -len(root.mount)):
        normal = posixpath.normpath(path) if root.mount else ""
        if normal.startswith(f"{root.mount}/") and root.mount:
            return os.path.join(root.path, *normal[len(root.mount) + 1 :].split("/"))
    return path if os.path.isabs(path) else ""


def seen(folder: str, root: Root) -> str:
    """A folder's path as the agent sees it."""
    if not root.mount:
        return folder
    inner = os.path.relpath(folder, root.path).replace(os.sep, "/")
    return posixpath.normpath(f"{root.mount}/{inner}")


def in_order(roots: Iterable[Root]) -> list[Root]:
    """The roots as names are looked up in them."""
    return sorted(roots, key=lambda root: root.tier == PROJECT)


def root_of(real: str, roots: Sequence[Root]) -> Root | None:
    """The innermost root that a file lies in."""
    inside = [root for root in roots if real.startswith(os.path.join(root.path, ""))]
    return max(inside, key=lambda root: len(root.path), default=None)


def id_of(path: str, root: Root) -> str:
    """How a skill is called by its folder below a root."""
    inner = os.path.relpath(os.path.dirname(path), root.path).replace(os.sep, "/")
    return root.name if inner == "." else f"{root.name}/{inner}"


def ids_of(path: str, roots: Sequence[Root]) -> frozenset[str]:
    """How a skill is called by its folder below each root that it lies in."""
    return frozenset(id_of(path, root) for root in roots if root_of(path, (root,)) is not None)


def files_at(entry: str) -> tuple[str, ...]:
    """The file that an absolute path names, or that lies in the folder that it names."""
    if not os.path.isabs(entry):
        return ()
    return (real_path(entry), real_path(os.path.join(entry, FILE)))
