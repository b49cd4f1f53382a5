"""What a person trusts of a project: one file, with the contents that it has, noted where the project cannot write.

A project's own settings tighten, and allow nothing, since the agent can edit them. `trust` notes path and contents of
one such file in the person's configuration folder; what it says counts as the person's own until a byte changes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping

from policyengine.errors import LoadError

FILE = "trusted.json"
OWN_FOLDERS = (".claude", ".codex")  # in which hosts keep a project's settings
VERSION = 1
MAX_BYTES = 4 * 1024 * 1024


def config_folder(environment: Mapping[str, str]) -> str:
    """Find the person's configuration folder (XDG Base Directory Specification).

    Raises:
        LoadError: neither `XDG_CONFIG_HOME` nor `HOME` says where it is.
    """
    base = environment.get("XDG_CONFIG_HOME", "")
    if os.path.isabs(base):  # a relative one is to be ignored
        return os.path.join(base, "policyengine")
    home = environment.get("HOME", "")
    if not os.path.isabs(home):
        raise LoadError("no configuration folder", expected="`HOME` or `XDG_CONFIG_HOME` in the environment")
    return os.path.join(home, ".config", "policyengine")


def digest_of(data: bytes) -> str:
    """Name a file's contents."""
    return hashlib.sha256(data).hexdigest()


def is_trusted(folder: str, path: str, data: bytes) -> bool:
    """Whether a file with these contents is noted. Notes that another user could have written count for nothing."""
    if _is_led_away(path) or _is_below(folder, project_of(path)):
        return False
    return _noted(folder).get(os.path.realpath(path)) == digest_of(data)


def trust(folder: str, path: str, data: bytes) -> str:
    """Note a file with its contents, and give their digest.

    Raises:
        LoadError: the folder lies in the project itself, or is not the person's own; or the file is another project's.
        OSError: it cannot be written.
    """
    if _is_led_away(path):
        raise LoadError("a link to another project's file", file=path, expected="a file of the project itself")
    if _is_below(folder, project_of(path)):
        raise LoadError("the configuration folder lies in the project", file=folder, expected="a folder outside of it")
    digest = digest_of(data)
    with _locked(folder):
        _keep(folder, {**_noted(folder), os.path.realpath(path): digest})
    return digest


def distrust(folder: str, path: str) -> bool:
    """Take a file's note away; whether there was one.

    Raises:
        LoadError: the folder is not the person's own.
        OSError: it cannot be written.
    """
    with _locked(folder):
        notes = _noted(folder)
        found = notes.pop(os.path.realpath(path), None)
        _keep(folder, notes)
    return found is not None


def noted(folder: str) -> Mapping[str, str]:
    """Give every file that is noted, with the digest of its contents."""
    return _noted(folder)


def project_of(path: str) -> str:
    """Find the project that a settings file belongs to, links followed: see `project_named`."""
    return project_named(os.path.realpath(path))


def project_named(path: str) -> str:
    """Find the project of a path as it is written: the folder around `.claude` or `.codex`, else the file's own."""
    own = folder = os.path.dirname(os.path.abspath(path))
    while os.path.basename(folder):
        above = os.path.dirname(folder)
        if os.path.basename(folder) in OWN_FOLDERS:
            return above
        folder = above
    return own


def _is_led_away(path: str) -> bool:
    """Whether links lead to a file of another project than the one that its place names: trust is not lent."""
    return project_of(path) != os.path.realpath(project_named(path))


def _is_below(folder: str, root: str) -> bool:
    real = os.path.realpath(folder)
    return real == root or real.startswith(root.rstrip("/") + "/")


def _noted(folder: str) -> dict[str, str]:
    try:
        if not _is_ours(os.lstat(folder), directory=True):
            return {}
        descriptor = os.open(os.path.join(folder, FILE), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_BYTES) if _is_ours(os.fstat(descriptor), directory=False) else b""
        value = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return {}
    files = value.get("files") if isinstance(value, dict) and value.get("version") == VERSION else None
    if not isinstance(files, dict):
        return {}
    return {str(path): digest for path, digest in files.items() if isinstance(digest, str)}


def _is_ours(status: os.stat_result, *, directory: bool) -> bool:
    foreign = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    right = stat.S_ISDIR(status.st_mode) if directory else stat.S_ISREG(status.st_mode)
    return right and status.st_uid == os.geteuid() and not foreign


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if not _is_ours(os.lstat(folder), directory=True):
        raise LoadError("a configuration folder that others can write", file=folder, expected="one of your own")
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(os.path.join(folder, f".{FILE}.lock"), flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _keep(folder: str, files: Mapping[str, str]) -> None:
    path, unfinished = os.path.join(folder, FILE), os.path.join(folder, f".{FILE}.{os.getpid()}")
    data = json.dumps({"version": VERSION, "files": dict(sorted(files.items()))}, indent=1).encode()
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
