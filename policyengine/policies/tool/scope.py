"""Which files a call may touch: paths of its effects against the workspace and a tool's trusted roots, as text.

Symbolic links are the sandbox's business. A path that is not known, or a glob that may climb out of a directory, is
neither inside nor outside. Of a tool that nobody described, every argument that reads as a path may be one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import lru_cache

from policyengine.effects import (
    Cause,
    Container,
    Effect,
    FileAttribute,
    FileDelete,
    FileRead,
    FileWrite,
    Opaque,
    Transfer,
    Where,
)
from policyengine.model import Context, Frozen, Request
from policyengine.records import NamedTuple

MAX_PATH = 4096  # characters of an argument that may be a path (PATH_MAX of Linux)
_ON_FILES = (FileRead, FileWrite, FileDelete, FileAttribute)


class Lies(Enum):
    """Where a path is."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    UNKNOWN = "unknown"


class Touched(NamedTuple):
    """A path that a call touches on this machine, and the effect that says so."""

    path: str
    unknown: bool
    glob: bool
    effect: Effect


def touched(effects: Iterable[Effect]) -> Iterator[Touched]:
    """Find every path that a call touches here."""
    for effect in effects:
        if effect.where is not Where.HERE:
            continue
        if isinstance(effect, _ON_FILES):
            yield Touched(effect.path, effect.unknown, effect.glob, effect)
        elif isinstance(effect, Transfer) and effect.path:
            yield Touched(effect.path, False, False, effect)
        elif isinstance(effect, Container) and effect.mount:
            yield Touched(effect.mount, False, False, effect)


def mentioned(effects: Iterable[Effect], request: Request) -> Iterator[Touched]:
    """Find what may be paths among the arguments of a tool whose arguments nobody described."""
    tool = request.resource.id
    unread = next(
        (one for one in effects if isinstance(one, Opaque) and one.cause is Cause.PROGRAM and one.origin == tool), None
    )
    if unread is not None:
        for text in _texts(request.arguments):
            path = _as_path(text, request.context)
            if path:
                yield Touched(path, False, False, unread)


def _texts(value: Frozen) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)


def _as_path(text: str, context: Context) -> str:
    """The absolute path that a text names, without `.` and `..`; empty for one that reads as something else."""
    text = text.strip().removeprefix("file://")
    if len(text) > MAX_PATH or "\n" in text:
        return ""
    if text == "~" or text[:2] == "~/":
        text = context.home + text[1:]
    parts = text.split("/")
    if text[:1] != "/":
        if ".." not in parts:
            return ""
        parts = [*context.cwd.split("/"), *parts]
    kept: list[str] = []
    for part in parts:
        if part == "..":
            del kept[-1:]
        elif part not in ("", "."):
            kept.append(part)
    return "/" + "/".join(kept)


class Roots:
    """Directories: a workspace, and what a tool is trusted with beside it.

    Args:
        directories: absolute paths; one with `..` in it is none.
        folds: whether upper case is lower case, as on file systems of macOS.
    """

    __slots__ = ("_beginnings", "_folds", "_roots")

    def __init__(self, directories: Iterable[str], *, folds: bool) -> None:
        self._folds = folds
        self._roots = [parts for root in directories if (parts := self._parts(root)) is not None]
        self._beginnings = tuple("/" + "".join(f"{part}/" for part in parts) for parts in self._roots)

    def _parts(self, path: str) -> list[str] | None:
        """The components of an absolute path; None for one that `..` makes something else."""
        parts = [part for part in (path.lower() if self._folds else path).split("/") if part not in ("", ".")]
        return None if ".." in parts or path[:1] != "/" else parts

    def place(self, path: Touched) -> Lies:
        """Say where a path is."""
        if not (path.unknown or path.glob or "/." in path.path) and path.path.startswith(self._beginnings):
            return Lies.INSIDE
        parts = self._parts(path.path)
        if parts is None:
            return Lies.UNKNOWN if path.unknown or path.path[:1] != "/" else Lies.OUTSIDE
        if path.unknown and path.path[-1:] != "/":
            parts = parts[:-1]  # the last one may go on, and is no name yet
        known = next((at for at, part in enumerate(parts) if path.glob and _is_glob(part)), len(parts))
        inside = any(parts[: len(root)] == root and len(root) <= known for root in self._roots)
        if inside:
            return Lies.UNKNOWN if path.unknown or any(map(_may_climb, parts[known:])) else Lies.INSIDE
        led_in = any(_may_lead(parts, known, root) for root in self._roots)
        return Lies.UNKNOWN if led_in and (path.unknown or known < len(parts)) else Lies.OUTSIDE


def _is_glob(part: str) -> bool:
    return not frozenset("*?[(").isdisjoint(part)


def _may_climb(part: str) -> bool:
    """Whether a glob may name `..`: only one that begins with a dot does (bash manual 3.5.8)."""
    return part[:1] == "." and _is_glob(part)


def _may_lead(parts: list[str], known: int, root: list[str]) -> bool:
    """Whether a path that goes on, or has globs from `known` on, may still lead into a directory."""
    certain = parts[:known]
    return certain == root[: len(certain)] or certain[: len(root)] == root


def roots_of(context: Context, trusted: tuple[str, ...]) -> Roots:
    """Give the directories that a tool may touch in a context."""
    return _roots(context.workspace, context.home, trusted, context.platform == "darwin")


@lru_cache(maxsize=64)  # hosts send the same few with every request
def _roots(workspace: tuple[str, ...], home: str, trusted: tuple[str, ...], folds: bool) -> Roots:
    below_home = (home.rstrip("/") + root[1:] if root[:1] == "~" else root for root in trusted)
    return Roots((*workspace, *below_home), folds=folds)
