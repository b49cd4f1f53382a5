"""Which files a rule set consists of, and the digest of their contents, without reading what they mean."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policyengine.errors import LoadError
from policyengine.model import Tier

# Folder inside a rules directory → what its files hold. Files at the top are named one by one; others there are rules.
FOLDERS = {
    "": "rules",
    "shell": "rules",
    "tool": "rules",
    "guardrail": "rules",
    "run": "rules",
    "commands": "commands",
    "profiles": "profiles",
}
FILES = {"zones.yaml": "zones", "tools.yaml": "tools"}
SUFFIXES = (".yaml", ".yml")
OTHERS = frozenset({"rbac"})  # folders with files of another kind


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a rule set: what it holds, and the tier that vouches for it."""

    name: str  # as messages call it
    inner: str  # path below the rules directory
    content: str  # rules | commands | profiles | zones | tools
    tier: Tier
    data: bytes


def shipped() -> Path:
    """Find the rules that come with the package."""
    return Path(__file__).parent.parent / "rules"  # importlib.resources would cost a hook 20 ms to say the same


def files_of(directory: Path, tier: Tier) -> Iterator[SourceFile]:
    """Read the files of a rules directory.

    Raises:
        LoadError: it is no directory, a file cannot be read, or one lies where nothing is looked for.
    """
    if not directory.is_dir():
        raise LoadError("not a directory of rules", file=str(directory), expected="a directory")
    for path in sorted(directory.rglob("*")):
        inner = path.relative_to(directory)
        if path.suffix not in SUFFIXES or inner.parts[0] in OTHERS or not path.is_file():
            continue
        yield _file(path, inner, tier)


def _file(path: Path, inner: Path, tier: Tier) -> SourceFile:
    folder = inner.parent.as_posix() if inner.parent.parts else ""
    content = FILES.get(inner.as_posix()) or FOLDERS.get(folder)
    if content is None:
        known = ", ".join(name for name in FOLDERS if name)
        raise LoadError("a file where no rules are looked for", file=str(path), expected=f"a folder of {known}")
    try:
        return SourceFile(str(path), inner.as_posix(), content, tier, path.read_bytes())
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror}", file=str(path)) from error


def digest_of(files: Iterable[SourceFile]) -> str:
    """SHA-256, hex, over all files' paths, tiers and contents, and the code that compiles them."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        _feed(digest, path.name.encode(), path.read_bytes())
    for file in files:
        _feed(digest, f"{file.tier:d} {file.inner}".encode("utf-8", "surrogateescape"), file.data)
    return digest.hexdigest()


def _feed(digest: Any, *parts: bytes) -> None:  # Any: hashlib names no type for it
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
