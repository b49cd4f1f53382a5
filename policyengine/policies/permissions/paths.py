"""Which files a `Read(…)` or `Edit(…)` specifier names, by gitignore's rules (gitignore(5)) over lexical paths.

`//x` begins at the root of the file system, `~/x` at the home, `/x` at the folder of the settings, anything else at the
working directory; a pattern without an inner slash goes for any depth below it. What a pattern names it names with all
that lies below. `*`, `?` and `[…]` stay within a segment, `**` crosses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from policyengine.errors import LoadError
from policyengine.policies.permissions.globs import fits, meets
from policyengine.records import NamedTuple, Record, replace

DEEP = "**"
STAR = "*"
MAX_SEGMENTS = 64
MAX_STEPS = 20_000
_GLOB = frozenset("*?[(")


class Anchor(StrEnum):
    """Where a pattern begins."""

    ROOT = "root"
    HOME = "home"
    SETTINGS = "settings"
    HERE = "here"


class PathPattern(Record):
    """A specifier as segments.

    Attributes:
        anchor: where it begins.
        segments: the parts between slashes; the first is `**` where any depth counts.
        folder: it ends in a slash: a directory, so that only what lies below it is named.
    """

    anchor: Anchor
    segments: tuple[str, ...]
    folder: bool = False

    @property
    def floats(self) -> bool:
        """Whether it goes for any depth."""
        return self.segments[:1] == (DEEP,)

    @property
    def is_around(self) -> bool:
        """Whether it is for all that lies in a directory further up: `../**`."""
        return self.segments[-1:] == (STAR,) and bool(self.segments[:-1]) and set(self.segments[:-1]) == {".."}

    def below(self) -> PathPattern:
        """Give the same for any depth."""
        return replace(self, segments=(DEEP, *self.segments))


def path_pattern(specifier: str) -> PathPattern:
    """Read a specifier.

    Raises:
        LoadError: it is empty, negates, or has too many parts.
    """
    text = specifier.strip()
    if text.startswith("!"):
        raise LoadError("a pattern that takes something back (`!`)", expected="what the rule is for")
    anchor, rest = _anchored(text)
    folder = rest.endswith("/")
    parts = _resolved(rest)
    if not parts and anchor is Anchor.HERE and text not in (".", "./"):
        raise LoadError("a path without a name", expected="a path or a pattern of paths")
    if len(parts) > MAX_SEGMENTS:
        raise LoadError("a path of too many parts", expected=f"at most {MAX_SEGMENTS}")
    inner = rest.strip("/").removeprefix("./")
    floating = anchor is Anchor.HERE and len(parts) == 1 and "/" not in inner and not text.startswith("./")
    while len(parts) > 1 and parts[-1] == parts[-2] == DEEP:
        parts.pop()
    if parts[-1:] == [DEEP]:
        parts[-1] = STAR  # every entry, and what is named is named with all that lies below
        floating = False
    segments = (DEEP, *parts) if floating else tuple(parts)
    return PathPattern(anchor=anchor, segments=segments, folder=folder)


def _anchored(text: str) -> tuple[Anchor, str]:
    if text.startswith("//"):
        return Anchor.ROOT, text[2:]
    if text == "~" or text.startswith("~/"):
        return Anchor.HOME, text[2:]
    if text.startswith("/"):
        return Anchor.SETTINGS, text[1:]
    return Anchor.HERE, text


def _resolved(rest: str) -> list[str]:
    """The parts without `.` and empty ones; `..` is kept where nothing stands before it, for the anchor to resolve."""
    parts: list[str] = []
    for part in rest.split("/"):
        if part == ".." and parts and parts[-1] not in ("..", DEEP):
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return parts


def segments_at(pattern: PathPattern, folder: str) -> tuple[str, ...]:
    """The whole pattern as segments from the root, where it begins in a folder (absolute, normal)."""
    base = [part for part in folder.split("/") if part]
    rest = list(pattern.segments)
    while rest[:1] == [".."]:
        rest.pop(0)
        base = base[:-1]
    return (*map(_literal, base), *rest)


def _literal(part: str) -> str:
    """A folder's name that stands for itself, whatever it holds: brackets make a class of each special character."""
    return "".join(f"[{mark}]" if mark in _GLOB else mark for mark in part)


# ------------------------------------------------------------------------------------------------------------- matching
def names_path(wanted: Sequence[str], path: str, *, folder: bool = False, glob: bool = False) -> bool:
    """Whether a path, or every path that a shell's glob stands for, is named by segments from the root."""
    parts = _parts(path)
    if glob and any(_is_wild(part) for part in parts):
        return False
    return _named(wanted, parts, _Look(glob=glob, sure=True), folder=folder)


def names_all_below(wanted: Sequence[str], path: str) -> bool:
    """Whether everything below a directory is named, though not the directory: `src/**` and `src`."""
    return wanted[-1:] == (STAR,) and _reached(wanted[:-1], _parts(path), _SURE) == len(wanted) - 1


def may_name(wanted: Sequence[str], path: str, *, folder: bool = False, glob: bool = False) -> bool:
    """Whether a path, or some path that a shell's glob stands for, may be named."""
    return _named(wanted, _parts(path), _Look(glob=glob, sure=False), folder=folder)


def may_lie_below(wanted: Sequence[str], path: str) -> bool:
    """Whether something that the segments name may lie below a directory."""
    return bool(_places(wanted, _parts(path), _SURE))


def may_begin(wanted: Sequence[str], prefix: str) -> bool:
    """Whether a path of which only the beginning is known may be named."""
    head, _, tail = prefix.rpartition("/")
    parts = _parts(head)
    if _named(wanted, parts, _SURE):
        return True
    return any(at < len(wanted) and (wanted[at] == DEEP or meets(_loose(wanted[at]), f"{tail}*"))
               for at in _places(wanted, parts, _SURE))  # fmt: skip


class _Look(NamedTuple):
    """How segments are compared: `glob`, those of the path are a shell's globs; `sure`, all that they stand for."""

    glob: bool
    sure: bool


_SURE = _Look(glob=False, sure=True)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _is_wild(part: str) -> bool:
    """A glob that may stand for what a plain comparison does not see: `..`, classes, extended globs."""
    return (part[:1] == "." and not _GLOB.isdisjoint(part)) or not frozenset("[(").isdisjoint(part)


def _named(wanted: Sequence[str], parts: Sequence[str], look: _Look, *, folder: bool = False) -> bool:
    """Whether the path or a directory above it is what the segments say."""
    if len(wanted) * len(parts) > MAX_STEPS:
        return not look.sure
    reached = _closure(wanted, {0})
    for place, part in enumerate(parts):
        reached = _advance(wanted, reached, part, look)
        if len(wanted) in reached and not (folder and place == len(parts) - 1):
            return True
    return not parts and len(wanted) in reached


def _reached(wanted: Sequence[str], parts: Sequence[str], look: _Look) -> int:
    """The end, where the whole path is what the segments say; else -1."""
    return len(wanted) if len(wanted) in _places(wanted, parts, look) else -1


def _places(wanted: Sequence[str], parts: Sequence[str], look: _Look) -> set[int]:
    """Up to where the segments may have been read when the whole path has."""
    reached = _closure(wanted, {0})
    for part in parts:
        reached = _advance(wanted, reached, part, look)
    return reached


def _closure(wanted: Sequence[str], reached: set[int]) -> set[int]:
    """With the places behind every `**`, which may stand for nothing."""
    found = set(reached)
    for at in reached:
        here = at
        while here < len(wanted) and wanted[here] == DEEP:
            here += 1
            found.add(here)
    return found


def _advance(wanted: Sequence[str], reached: set[int], part: str, look: _Look) -> set[int]:
    now: set[int] = set()
    for at in reached:
        if at < len(wanted) and wanted[at] == DEEP:
            now.add(at)
        elif at < len(wanted) and _segment(wanted[at], part, look):
            now.add(at + 1)
    return _closure(wanted, now)


def _segment(wanted: str, part: str, look: _Look) -> bool:
    if not look.glob or _GLOB.isdisjoint(part):
        return _one(wanted, part)
    if look.sure:  # every name that the glob stands for
        return part != DEEP and frozenset("?[").isdisjoint(wanted) and fits(wanted, part, "?")
    if wanted[:1] == "." and part[:1] in ("*", "?"):
        return False  # bash manual 3.5.8.1: a leading dot is matched by a dot alone
    return meets(_loose(wanted), _loose(part))


def _one(wanted: str, part: str) -> bool:
    return _class_fits(wanted, part) if "[" in wanted else fits(wanted, part, "?")


def _class_fits(wanted: str, part: str) -> bool:
    """With classes: bounded by rows of places, as many as there are characters."""
    marks = _marks(wanted)
    reached = {0}
    for letter in part:
        reached = {
            later
            for at in _behind_stars(marks, reached)
            if at < len(marks)
            for later in ([at] if marks[at] is None else [at + 1] if letter in _members(marks[at], letter) else [])
        }
        if not reached:
            return False
    return len(marks) in _behind_stars(marks, reached)


Mark = tuple[bool, str] | None  # (is it negated, members; "?" stands for any one where negated and empty); None: a star


def _marks(wanted: str) -> list[Mark]:
    marks: list[Mark] = []
    at = 0
    while at < len(wanted):
        letter = wanted[at]
        close = wanted.find("]", at + (3 if wanted[at + 1 : at + 2] in ("!", "^") else 2)) if letter == "[" else -1
        if close > 0:
            inner = wanted[at + 1 : close]
            negated = inner[:1] in ("!", "^")
            marks.append((negated, _spread(inner[1:] if negated else inner)))
            at = close + 1
            continue
        marks.append(None if letter == "*" else (True, "") if letter == "?" else (False, letter))
        at += 1
    return marks


def _spread(inner: str) -> str:
    """A class's members, ranges written out (of ASCII)."""
    members, at = "", 0
    while at < len(inner):
        if inner[at + 1 : at + 2] == "-" and at + 2 < len(inner):
            members += "".join(map(chr, range(ord(inner[at]), min(ord(inner[at + 2]), 0x7F) + 1)))
            at += 3
        else:
            members += inner[at]
            at += 1
    return members


def _members(mark: Mark, letter: str) -> str:
    assert mark is not None
    negated, members = mark
    return letter if (letter in members) is not negated else ""


def _behind_stars(marks: Sequence[Mark], reached: set[int]) -> set[int]:
    found = set(reached)
    for at in reached:
        here = at
        while here < len(marks) and marks[here] is None:
            here += 1
            found.add(here)
    return found


def _loose(segment: str) -> str:
    """A glob as one of `*` and `?` alone, which names at least as much."""
    if "(" in segment:
        return segment[: max(segment.index("(") - 1, 0)] + "*"
    return segment if "[" not in segment else segment[: segment.index("[")] + "*"
