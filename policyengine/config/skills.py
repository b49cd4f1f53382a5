"""Skills where they lie: folders that are looked through when they are asked about, and who may use what.

Settings (YAML; a relative path begins at the file's folder):

    roots:                          # of two skills with one name, that of the earlier root is meant, the project's last
      - path: skills/public
        name: public                # default: the folder's name; a skill is called `public/pdf`, by its folder
        mount: /mnt/skills/public   # where the agent sees the root; default: at its own path
        tier: user                  # shipped, organisation, user; `project`: its skills can only restrict
    mode: union                     # or intersection
    framework: [tool_search, describe_skill]
    loaders: [Skill, load_skill]    # tools that load a skill by its name
    disabled: [public/old]
    agents:                         # an agent that is not named may use every skill
      reviewer: [public/review]     # by folder or by path; by name alone only where one skill has it

Nothing is remembered that could be out of date: of a file only what it says while its identity (device, inode, size,
times) stays the same, and that only once it is old enough for its times to tell.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from policyengine.config.skills_matter import MAX_FILE, declared
from policyengine.config.sources import StrPath
from policyengine.errors import LoadError
from policyengine.policies.permissions.coverage import NO_MEANS, Means
from policyengine.policies.permissions.patterns import all_covered
from policyengine.policies.skill import FRAMEWORK, LOADERS, Mode, Reading, Skill, SkillPolicy
from policyengine.policies.skill.skill import FILE
from policyengine.records import NamedTuple, Record, replace

if TYPE_CHECKING:
    from policyengine.effects import Facts
    from policyengine.model import Request
    from policyengine.policies.skill.entries import Clause

MAX_FOUND = 4096  # skills of all roots together
MAX_FOLDERS = 65_536
MAX_KEPT = 4096  # files whose contents are remembered
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


class Settings(Record):
    """What a settings file says."""

    roots: tuple[Root, ...]
    mode: Mode = Mode.UNION
    framework: frozenset[str] = FRAMEWORK
    loaders: frozenset[str] = LOADERS
    disabled: frozenset[str] = frozenset()
    agents: Mapping[str, frozenset[str]] = {}


class Found(NamedTuple):
    """A file in a root: how it is called, the skill, and what people should know. `skill` is None for a stray link."""

    id: str
    path: str
    skill: Skill | None
    notes: tuple[str, ...]


class _Kept(NamedTuple):
    """What a file of this identity says, and how it is called.

    `settled`: its times told, when it was read, that it is this one.
    """

    identity: tuple[int, ...]
    settled: bool
    ids: frozenset[str]
    skill: Skill
    notes: tuple[str, ...]


class SkillFolders:
    """The registry of the skills in some folders; every answer looks at the files again.

    It raises LoadError where the settings or a root cannot be read: then nothing is known of any skill.
    """

    __slots__ = ("_file", "_kept", "_places", "_settings", "_settings_identity")

    def __init__(self, settings: StrPath) -> None:
        self._file = os.fspath(settings)
        self._kept: dict[str, _Kept] = {}
        self._settings: Settings | None = None
        self._settings_identity: tuple[int, ...] = ()
        self._places: list[tuple[int, ...] | None] = []  # of the roots: a link may come to lead elsewhere

    def settings(self) -> Settings:
        """Give the settings as they are now.

        Raises:
            LoadError: the file is gone or wrong.
        """
        identity = _identity_of(self._file, os.stat)
        if identity is None:
            raise LoadError("cannot be read", file=self._file)
        known = self._settings
        if known is not None and identity == self._settings_identity and self._places == _places(known.roots):
            return known
        settled, settings = _is_settled(identity), read_settings(self._file)
        if settings != known:
            self._kept.clear()
        self._places = _places(settings.roots)
        self._settings, self._settings_identity = settings, identity if settled else ()
        return settings

    def find(self, path: str) -> Skill | None:
        """Give the skill at a path, links followed; None where no root has one there."""
        settings = self.settings()
        known = self._kept.get(path)  # by its canonical path, as the policy keeps it
        if known is not None and known.settled and _identity_of(path) == known.identity:
            return _enabled(known, settings)
        real = _real(_on_host(path, settings.roots))
        root = _root_of(real, settings.roots)
        if root is None or os.path.basename(real) != FILE:
            return None
        kept = self._read(real, root, settings)
        return None if kept is None else _enabled(kept, settings)

    def named(self, name: str) -> Skill | None:
        """Give the skill that a name means: of the first root that has one; None where that root has several.

        The project's own come last: what anybody can put into a project takes no name that a person knows otherwise.
        """
        settings = self.settings()
        for root in _in_order(settings.roots):
            skills = [found.skill for found in self._within(root, settings) if found.skill is not None]
            meant = {skill.path: skill for skill in skills if skill.name == name}
            if meant:
                return next(iter(meant.values())) if len(meant) == 1 else None
        return None

    def permits(self, skill: Skill, agent: str) -> bool:
        """Say whether an agent may use a skill: one that the settings do not name may use every one."""
        settings = self.settings()
        allowed = settings.agents.get(agent)
        known = self._kept.get(skill.path)
        if allowed is None or not allowed.isdisjoint(known.ids if known else _ids(skill.path, settings.roots)):
            return True
        if any("/" in entry and skill.path in _files_at(entry) for entry in allowed):
            return True
        return skill.name in allowed and len(self._bearing(skill.name, settings)) == 1

    def listing(self) -> list[Found]:
        """Look through all roots: every file named SKILL.md and every stray link, whether or not it can be used."""
        settings = self.settings()
        return [found for root in _in_order(settings.roots) for found in self._within(root, settings)]

    def _bearing(self, name: str, settings: Settings) -> set[str]:
        every = (found.skill for root in settings.roots for found in self._within(root, settings))
        return {skill.path for skill in every if skill is not None and skill.name == name}

    # ------------------------------------------------------------------------------------------------------------ files
    def _within(self, root: Root, settings: Settings) -> Iterator[Found]:
        for count, path in enumerate(_files(root)):
            if count >= MAX_FOUND:
                raise LoadError(f"more than {MAX_FOUND} skills", file=root.path)
            real = _real(path)
            home = _root_of(real, settings.roots)
            id = _id(path, root)
            if home is None or os.path.basename(real) != FILE:
                yield Found(id, path, None, (f"a link that leads out of the roots, or to no {FILE}",))
                continue
            kept = self._read(real, home, settings)
            if kept is not None:
                yield Found(id, path, _enabled(kept, settings), kept.notes)

    def _read(self, real: str, root: Root, settings: Settings) -> _Kept | None:
        """Read a file, unless it is known and has not changed; None where it is gone."""
        known, identity = self._kept.get(real), _identity_of(real)
        if identity is None:
            return None
        if known is not None and known.settled and known.identity == identity:
            return known
        kept = _Kept(identity, _is_settled(identity), _ids(real, settings.roots), *_skill(real, root))
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[real] = kept
        return kept


def _skill(real: str, root: Root) -> tuple[Skill, tuple[str, ...]]:
    folder = os.path.dirname(real)
    name, widens = os.path.basename(folder), root.tier != PROJECT
    bare = Skill(path=real, name=name, digest="unreadable", allowed=(), widens=widens)
    try:
        data = _bytes(real)
    except OSError as error:
        return replace(bare, refused=f"cannot be read: {error.strerror}"), ()
    bare = replace(bare, digest=hashlib.sha256(data).hexdigest())
    try:
        said = declared(data, real, _seen(folder, root))
    except LoadError as error:
        return replace(bare, refused=str(error)), ()
    return replace(bare, name=said.name or name, allowed=said.allowed), said.notes


def _bytes(real: str) -> bytes:
    """Read no more than would be refused, of a regular file only: a pipe would never end."""
    descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "not a regular file")
        return file.read(MAX_FILE + 1)


def _files(root: Root) -> Iterator[str]:
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


def _identity_of(path: str, look: Callable[[str], os.stat_result] = os.lstat) -> tuple[int, ...] | None:
    """What changes when a file does; None where there is none."""
    try:
        status = look(path)
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _places(roots: Iterable[Root]) -> list[tuple[int, ...] | None]:
    """Which folders the roots are."""
    found = [_identity_of(root.given, os.stat) for root in roots]
    return [None if identity is None else identity[:2] for identity in found]


def _is_settled(identity: tuple[int, ...]) -> bool:
    """Whether a file was last changed so long ago that another change cannot leave it with the same times."""
    return time.time_ns() - max(identity[-2:]) > SETTLED


# --------------------------------------------------------------------------------------------------------------- paths
def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # a NUL, or a loop of links
        return ""


def _on_host(path: str, roots: Sequence[Root]) -> str:
    """Where a path lies that the agent names: below the mount of a root, in that root."""
    for root in sorted(roots, key=lambda root: -len(root.mount)):
        normal = posixpath.normpath(path) if root.mount else ""
        if normal.startswith(f"{root.mount}/") and root.mount:
            return os.path.join(root.path, *normal[len(root.mount) + 1 :].split("/"))
    return path if os.path.isabs(path) else ""


def _seen(folder: str, root: Root) -> str:
    """A folder's path as the agent sees it."""
    if not root.mount:
        return folder
    inner = os.path.relpath(folder, root.path).replace(os.sep, "/")
    return posixpath.normpath(f"{root.mount}/{inner}")


def _in_order(roots: Iterable[Root]) -> list[Root]:
    """The roots as names are looked up in them."""
    return sorted(roots, key=lambda root: root.tier == PROJECT)


def _root_of(real: str, roots: Sequence[Root]) -> Root | None:
    """The innermost root that a file lies in."""
    inside = [root for root in roots if real.startswith(os.path.join(root.path, ""))]
    return max(inside, key=lambda root: len(root.path), default=None)


def _id(path: str, root: Root) -> str:
    inner = os.path.relpath(os.path.dirname(path), root.path).replace(os.sep, "/")
    return root.name if inner == "." else f"{root.name}/{inner}"


def _ids(path: str, roots: Sequence[Root]) -> frozenset[str]:
    return frozenset(_id(path, root) for root in roots if _root_of(path, (root,)) is not None)


def is_about(entry: str, skill: Skill, settings: Settings) -> bool:
    """Whether an entry of the settings is about a skill: by its name, its folder or its path."""
    if entry == skill.name or entry in _ids(skill.path, settings.roots):
        return True
    return skill.path in _files_at(entry)


def _files_at(entry: str) -> tuple[str, ...]:
    """The file that an absolute path names, or that lies in the folder that it names."""
    if not os.path.isabs(entry):
        return ()
    return (_real(entry), _real(os.path.join(entry, FILE)))


def _enabled(kept: _Kept, settings: Settings) -> Skill:
    """Take a skill out that is disabled, by any of its names."""
    skill, disabled = kept.skill, settings.disabled
    if not disabled:
        return skill
    off = not disabled.isdisjoint((*kept.ids, skill.name)) or any(skill.path in _files_at(entry) for entry in disabled)
    return replace(skill, enabled=False) if off else skill


# ------------------------------------------------------------------------------------------------------------- settings
def read_settings(file: StrPath) -> Settings:
    """Read a settings file.

    Raises:
        LoadError: it is wrong.
    """
    from policyengine.config.skills_schema import checked  # noqa: PLC0415  pydantic and YAML, for this alone

    return checked(os.fspath(file))


# --------------------------------------------------------------------------------------------------------------- policy
def load(settings: StrPath, means: Means = NO_MEANS) -> SkillPolicy:
    """Make the policy over the folders that a settings file names.

    Args:
        settings: the file. Its roots, `disabled` and `agents` are read anew when it changes; the rest is read once.
        means: how entries with a specifier are judged, as permission rules are (`Ready`'s descriptions).

    Raises:
        LoadError: the file is wrong.
    """
    folders = SkillFolders(settings)
    said = folders.settings()

    def covers(clause: Clause, request: Request, facts: Facts) -> bool:
        return all_covered(clause, request, facts, means)

    return SkillPolicy(
        registry=folders,
        mode=said.mode,
        reading=Reading(covers, means.naming),
        framework=said.framework,
        loaders=said.loaders,
    )
