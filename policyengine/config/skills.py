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
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from policyengine.config.skills_folders import (
    PROJECT,
    Root,
    bytes_of,
    files_at,
    files_in,
    id_of,
    identity_of,
    ids_of,
    in_order,
    is_settled,
    on_host,
    places_of,
    real_path,
    root_of,
    seen,
)
from policyengine.config.skills_matter import declared
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
MAX_KEPT = 4096  # files whose contents are remembered


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
        identity = identity_of(self._file, os.stat)
        if identity is None:
            raise LoadError("cannot be read", file=self._file)
        known = self._settings
        if known is not None and identity == self._settings_identity and self._places == places_of(known.roots):
            return known
        settled, settings = is_settled(identity), read_settings(self._file)
        if settings != known:
            self._kept.clear()
        self._places = places_of(settings.roots)
        self._settings, self._settings_identity = settings, identity if settled else ()
        return settings

    def find(self, path: str) -> Skill | None:
        """Give the skill at a path, links followed; None where no root has one there."""
        settings = self.settings()
        known = self._kept.get(path)  # by its canonical path, as the policy keeps it
        if known is not None and known.settled and identity_of(path) == known.identity:
            return _enabled(known, settings)
        real = real_path(on_host(path, settings.roots))
        root = root_of(real, settings.roots)
        if root is None or os.path.basename(real) != FILE:
            return None
        kept = self._read(real, root, settings)
        return None if kept is None else _enabled(kept, settings)

    def named(self, name: str) -> Skill | None:
        """Give the skill that a name means: of the first root that has one; None where that root has several.

        The project's own come last: what anybody can put into a project takes no name that a person knows otherwise.
        """
        settings = self.settings()
        for root in in_order(settings.roots):
            skills = [found.skill for found in self._within(root, settings) if found.skill is not None]
            meant = {skill.path: skill for skill in skills if skill.name == name}
            if meant:
                return next(iter(meant.values())) if len(meant) == 1 else None
        return None

    def permits(self, skill: Skill, agent: str) -> bool:
        """Say whether an agent may use a skill: one that the settings do not name may use every one.

        The settings are those in whose light the skill was found just before.
        """
        settings = self._settings or self.settings()
        allowed = settings.agents.get(agent)
        known = self._kept.get(skill.path)
        if allowed is None or not allowed.isdisjoint(known.ids if known else ids_of(skill.path, settings.roots)):
            return True
        if any("/" in entry and skill.path in files_at(entry) for entry in allowed):
            return True
        return skill.name in allowed and len(self._bearing(skill.name, settings)) == 1

    def listing(self) -> list[Found]:
        """Look through all roots: every file named SKILL.md and every stray link, whether or not it can be used."""
        settings = self.settings()
        return [found for root in in_order(settings.roots) for found in self._within(root, settings)]

    def _bearing(self, name: str, settings: Settings) -> set[str]:
        every = (found.skill for root in settings.roots for found in self._within(root, settings))
        return {skill.path for skill in every if skill is not None and skill.name == name}

    # ------------------------------------------------------------------------------------------------------------ files
    def _within(self, root: Root, settings: Settings) -> Iterator[Found]:
        for count, path in enumerate(files_in(root)):
            if count >= MAX_FOUND:
                raise LoadError(f"more than {MAX_FOUND} skills", file=root.path)
            real = real_path(path)
            home = root_of(real, settings.roots)
            id = id_of(path, root)
            if home is None or os.path.basename(real) != FILE:
                yield Found(id, path, None, (f"a link that leads out of the roots, or to no {FILE}",))
                continue
            kept = self._read(real, home, settings)
            if kept is not None:
                yield Found(id, path, _enabled(kept, settings), kept.notes)

    def _read(self, real: str, root: Root, settings: Settings) -> _Kept | None:
        """Read a file, unless it is known and has not changed; None where it is gone."""
        known, identity = self._kept.get(real), identity_of(real)
        if identity is None:
            return None
        if known is not None and known.settled and known.identity == identity:
            return known
        kept = _Kept(identity, is_settled(identity), ids_of(real, settings.roots), *_skill(real, root))
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[real] = kept
        return kept


def _skill(real: str, root: Root) -> tuple[Skill, tuple[str, ...]]:
    folder = os.path.dirname(real)
    name, widens = os.path.basename(folder), root.tier != PROJECT
    bare = Skill(path=real, name=name, digest="unreadable", allowed=(), widens=widens)
    try:
        data = bytes_of(real)
    except OSError as error:
        return replace(bare, refused=f"cannot be read: {error.strerror}"), ()
    bare = replace(bare, digest=hashlib.sha256(data).hexdigest())
    try:
        said = declared(data, real, seen(folder, root))
    except LoadError as error:
        return replace(bare, refused=str(error)), ()
    return replace(bare, name=said.name or name, allowed=said.allowed), said.notes


def is_about(entry: str, skill: Skill, settings: Settings) -> bool:
    """Whether an entry of the settings is about a skill: by its name, its folder or its path."""
    if entry == skill.name or entry in ids_of(skill.path, settings.roots):
        return True
    return skill.path in files_at(entry)


def _enabled(kept: _Kept, settings: Settings) -> Skill:
    """Take a skill out that is disabled, by any of its names."""
    skill, disabled = kept.skill, settings.disabled
    if not disabled:
        return skill
    off = not disabled.isdisjoint((*kept.ids, skill.name)) or any(skill.path in files_at(entry) for entry in disabled)
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
