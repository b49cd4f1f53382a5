"""Which files a rule set consists of, and the digest of their contents, without reading what they mean."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from policyengine.errors import LoadError
from policyengine.model import Tier
from policyengine.records import NamedTuple

StrPath: TypeAlias = "str | os.PathLike[str]"  # objects of pathlib would cost a hook 6 ms to import

# Folder inside a rules directory → what its files hold. Files at the top are named one by one; others there are rules.
FOLDERS = {
    "": "rules",
    "shell": "rules",
    "tool": "rules",
    "guardrail": "detectors",
    "run": "rules",
    "commands": "commands",
    "profiles": "profiles",
}
FILES = {"zones.yaml": "zones", "tools.yaml": "tools", "overrides.yaml": "overrides"}
SUFFIXES = (".yaml", ".yml")
MAX_DEPTH = 8  # of folders; a link that leads upwards ends here
OTHERS = frozenset({"rbac"})  # folders with files of another kind


class SourceFile(NamedTuple):
    """One file of a rule set: what it holds, and the tier that vouches for it."""

    name: str  # as messages call it
    inner: str  # path below the rules directory
    content: str  # rules | commands | detectors | profiles | zones | tools | overrides
    tier: Tier
    data: bytes


def shipped() -> str:
    """Find the rules that come with the package."""
    # importlib.resources would cost a hook 20 ms to say the same.
    return os.path.join(os.path.dirname(os.path.dirname(__file__)), "rules")


def files_of(directory: StrPath, tier: Tier) -> Iterator[SourceFile]:
    """Read the files of a rules directory.

    Raises:
        LoadError: it is no directory, a file cannot be read, or one lies where nothing is looked for.
    """
    if not os.path.isdir(directory):
        raise LoadError("not a directory of rules", file=str(directory), expected="a directory")
    top = os.fspath(directory)
    for folder, name in sorted(_found(top, "")):
        yield _file(os.path.join(top, folder, name), folder, name, tier)


def _found(top: str, folder: str) -> Iterator[tuple[str, str]]:
    """The folder (below `top`) and name of every YAML file."""
    try:
        with os.scandir(os.path.join(top, folder)) as entries:
            for entry in entries:
                inner = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir():
                    if inner not in OTHERS:
                        yield from _found(top, _not_too_deep(top, inner))
                elif entry.name.endswith(SUFFIXES):
                    yield folder, entry.name
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror}", file=os.path.join(top, folder)) from error


def _not_too_deep(top: str, inner: str) -> str:
    if inner.count("/") >= MAX_DEPTH:
        raise LoadError("folders nest too deep", file=os.path.join(top, inner), expected="rules one folder deep")
    return inner


def _file(path: str, folder: str, name: str, tier: Tier) -> SourceFile:
    inner = f"{folder}/{name}" if folder else name
    content = FILES.get(inner) or FOLDERS.get(folder)
    if content is None:
        known = ", ".join(name for name in FOLDERS if name)
        raise LoadError("a file where no rules are looked for", file=path, expected=f"a folder of {known}")
    try:
        with open(path, "rb") as file:
            return SourceFile(path, inner, content, tier, file.read())
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror}", file=path) from error


def digest_of(files: Iterable[SourceFile]) -> str:
    """SHA-256, hex, over all files' paths, tiers and contents, and the code that compiles them."""
    digest = hashlib.sha256()
    for file in _compilers():
        _feed(digest, file.inner.encode(), file.data)
    for file in files:
        _feed(digest, f"{file.tier:d} {file.inner}".encode("utf-8", "surrogateescape"), file.data)
    return digest.hexdigest()


def _compilers() -> list[SourceFile]:
    """The code of this folder, as far as it is there as files: other code compiles to other bundles."""
    folder = os.path.dirname(__file__)
    names = sorted(name for name in os.listdir(folder) if name.endswith(".py"))
    return [_file(os.path.join(folder, name), "", name, Tier.SHIPPED) for name in names]


def _feed(digest: Any, *parts: bytes) -> None:  # Any: hashlib names no type for it
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
