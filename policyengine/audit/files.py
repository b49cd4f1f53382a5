"""Files of a log, opened safely: no links, no pipes or devices, nothing that others may write; names, not paths.

Codes: `audit.missing`, `audit.symlink`, `audit.unsafe-file`, `audit.permission`, `audit.full`, `audit.io`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from policyengine.errors import AuditError

_CODES = {
    errno.ENOENT: "audit.missing",
    errno.ENOTDIR: "audit.missing",
    errno.ELOOP: "audit.symlink",
    errno.EACCES: "audit.permission",
    errno.EPERM: "audit.permission",
    errno.EROFS: "audit.permission",
    errno.ENOSPC: "audit.full",
    errno.EDQUOT: "audit.full",
    errno.EFBIG: "audit.full",
}
_CAREFULLY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # O_NONBLOCK: a pipe must not make us wait
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def failed(error: OSError, what: str) -> AuditError:
    """Say that something could not be done to a file."""
    return AuditError(_CODES.get(error.errno or 0, "audit.io"), f"{what}: {error.strerror or type(error).__name__}")


def named(path: str | os.PathLike[str]) -> str:
    """Give a path as it is opened: a slash at its end would follow a link.

    Raises:
        AuditError: it cannot name anything.
    """
    text = os.fspath(path)
    if "\0" in text or not text:
        raise AuditError("audit.missing", "an empty path, or one with a NUL, names no log")
    return text.rstrip("/") or text[:1]


def open_folder(path: str | os.PathLike[str], parent: int | None = None, *, create: bool) -> int:
    """Open a folder, and give its descriptor; with `create`, a missing one is made, for its owner alone.

    Raises:
        AuditError: it is missing, a link, no folder, or (where it is to be written) others may write it.
    """
    try:
        if create:
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, 0o700, dir_fd=parent)
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except OSError as error:
        if error.errno == errno.ENOTDIR and _is_link(path, parent):
            raise AuditError("audit.symlink", f"`{path}` is a link, which is not followed") from error
        raise failed(error, f"cannot open the folder `{path}`") from error
    try:
        found = _seen(opened)
        if create and (found.st_mode & _OTHERS_WRITE or found.st_uid != os.geteuid()):
            raise AuditError(
                "audit.unsafe-file", f"the folder `{path}` has to be its owner's alone to write (chmod 700)"
            )
    except AuditError:
        os.close(opened)
        raise
    return opened


def _seen(opened: int) -> os.stat_result:
    try:
        return os.fstat(opened)
    except OSError as error:
        raise failed(error, "cannot look at what was opened") from error


def _is_link(path: str | os.PathLike[str], parent: int | None) -> bool:
    return stat.S_ISLNK(os.stat(path, dir_fd=parent, follow_symlinks=False).st_mode)


def open_file(folder: int, name: str, flags: int) -> int:
    """Open a file of a folder, and give its descriptor; one that is made is its owner's alone.

    Raises:
        AuditError: it cannot be opened, is a link or no plain file, or (where it is to be written) has a second name or
            others may write it.
    """
    try:
        opened = os.open(name, flags | _CAREFULLY, 0o600, dir_fd=folder)
    except OSError as error:
        raise failed(error, f"cannot open `{name}`") from error
    try:
        found = _seen(opened)
        shared = found.st_nlink != 1 or found.st_mode & _OTHERS_WRITE or found.st_uid != os.geteuid()
        if not stat.S_ISREG(found.st_mode) or (flags & os.O_ACCMODE != os.O_RDONLY and shared):
            raise AuditError(
                "audit.unsafe-file", f"`{name}` has to be a plain file of one name that its owner may write"
            )
    except AuditError:
        os.close(opened)
        raise
    return opened


def has(folder: int, name: str) -> bool:
    """Whether something of that name is in a folder, whatever it is.

    Raises:
        AuditError: the folder cannot be searched.
    """
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise failed(error, f"cannot look for `{name}`") from error
    return True


def read_all(opened: int, most: int) -> bytes:
    """Read a file from its beginning, at most so many bytes.

    Raises:
        AuditError: it cannot be read.
    """
    try:
        return os.pread(opened, most, 0)
    except OSError as error:
        raise failed(error, "cannot read a file of the log") from error
