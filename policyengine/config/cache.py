"""Bundles that were compiled on demand, kept in the user's cache under the digest of their sources.

A kept bundle decides what an agent may do, so one that another user could have written is not read: the file and its
folder have to be ours and writable by nobody else. Whatever is wrong with the cache, the bundle is compiled anew.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from policyengine.bundle import MAX_BYTES, Bundle, read_bundle
from policyengine.errors import BundleError

MAX_KEPT = 8  # bundles in the cache; the oldest go
SUFFIX = ".bundle"


def cache_folder(environment: Mapping[str, str]) -> Path | None:
    """Where bundles are kept (XDG Base Directory Specification): None where no cache folder is known."""
    base = environment.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # a relative one is to be ignored
        return Path(base) / "policyengine"
    home = environment.get("HOME", "")
    return Path(home) / ".cache" / "policyengine" if os.path.isabs(home) else None


def kept(folder: Path, sources: str) -> Bundle | None:
    """Open the bundle of these sources if it is there, whole, and nobody else could have written it."""
    path = folder / f"{sources}{SUFFIX}"
    try:
        if not _is_ours(os.lstat(folder), stat.S_ISDIR):
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not _is_ours(os.fstat(descriptor), stat.S_ISREG):
                return None
            data = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    try:
        return read_bundle(data, str(path), sources)
    except BundleError:
        return None


def _is_ours(status: os.stat_result, right_type: Callable[[int], bool]) -> bool:
    foreign = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return right_type(status.st_mode) and status.st_uid == os.geteuid() and not foreign


def keep(folder: Path, sources: str, data: bytes) -> None:
    """Keep a bundle for the next process, as a whole or not at all; a cache that cannot be written stays as it is."""
    path = folder / f"{sources}{SUFFIX}"
    unfinished = folder / f".{sources}.{os.getpid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(os.lstat(folder), stat.S_ISDIR):
            return
        try:
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
        _prune(folder)


def _prune(folder: Path) -> None:
    bundles = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.lstat().st_mtime, reverse=True)
    for path in bundles[MAX_KEPT:]:
        path.unlink(missing_ok=True)
