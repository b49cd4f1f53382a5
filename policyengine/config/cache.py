"""Bundles that were compiled on demand, kept in the user's cache under the digest of their sources.

A kept bundle decides what an agent may do, so one that another user could have written is not read: the file and its
folder have to be ours and writable by nobody else. Whatever is wrong with the cache, the bundle is compiled anew.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Mapping

from policyengine.bundle import MAX_BYTES, Bundle, read_bundle
from policyengine.config.sources import StrPath
from policyengine.errors import BundleError

MAX_KEPT = 8  # bundles in the cache; the oldest go
SUFFIX = ".bundle"


def cache_folder(environment: Mapping[str, str]) -> str | None:
    """Where bundles are kept (XDG Base Directory Specification): None where no cache folder is known."""
    base = environment.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # a relative one is to be ignored
        return os.path.join(base, "policyengine")
    home = environment.get("HOME", "")
    return os.path.join(home, ".cache", "policyengine") if os.path.isabs(home) else None


def kept(folder: StrPath, sources: str) -> Bundle | None:
    """Open the bundle of these sources if it is there, whole, and nobody else could have written it."""
    path = os.path.join(folder, f"{sources}{SUFFIX}")
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
        return read_bundle(data, path, sources)
    except BundleError:
        return None


def _is_ours(status: os.stat_result, right_type: Callable[[int], bool]) -> bool:
    foreign = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return right_type(status.st_mode) and status.st_uid == os.geteuid() and not foreign


def keep(folder: StrPath, sources: str, data: bytes) -> None:
    """Keep a bundle for the next process, as a whole or not at all; a cache that cannot be written stays as it is."""
    path = os.path.join(folder, f"{sources}{SUFFIX}")
    unfinished = os.path.join(folder, f".{sources}.{os.getpid()}")
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not _is_ours(os.lstat(folder), stat.S_ISDIR):
            return
        try:
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(unfinished, path)
        finally:
            _remove(unfinished)
        _prune(folder)


def _prune(folder: StrPath) -> None:
    with os.scandir(folder) as entries:
        bundles = [entry for entry in entries if entry.name.endswith(SUFFIX)]
    bundles.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime, reverse=True)
    for entry in bundles[MAX_KEPT:]:
        _remove(entry.path)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
