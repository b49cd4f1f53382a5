"""Which files of permission rules there are, who vouches for each, and what they hold.

Facts (Claude Code's documentation, "Settings"): the organisation's files lie in a folder of the system, the person's in
`~/.claude`, a project's in its `.claude`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from policyengine.config.permissions_trust import is_trusted
from policyengine.errors import LoadError
from policyengine.model import Tier
from policyengine.records import Record

MAX_BYTES = 4 * 1024 * 1024  # of one file
MANAGED = {"darwin": "/Library/Application Support/ClaudeCode"}
MANAGED_ELSEWHERE = "/etc/claude-code"
OWN_FOLDER = ".claude"
PROJECT_FILES = ("settings.json", "settings.local.json")


class SettingsFile(Record):
    """A file of permission rules.

    Attributes:
        path: as the person named it, or where it was found.
        tier: organisation, user or project.
        data: its contents.
        trusted: a project's file with contents that the person trusts: what it says counts as the person's.
    """

    path: str
    tier: Tier
    data: bytes
    trusted: bool = False


class Places(Record):
    """Where a host keeps its settings.

    Attributes:
        projects: directories in which the agent works; settings of those around them hold as well.
        home: the person's.
        platform: as `sys.platform` has it.
        trust: folder of what is trusted; empty where nothing is.
        managed: folder of the organisation's settings, where it is not the platform's own.
    """

    projects: tuple[str, ...]
    home: str
    platform: str
    trust: str = ""
    managed: str = ""


def settings_file(path: str, tier: Tier, trust: str = "") -> SettingsFile:
    """Read a file that a person named; one of a project counts by its contents (`permissions_trust`).

    Raises:
        LoadError: it cannot be read, or is too large.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror}", file=path) from error
    if len(data) > MAX_BYTES:
        raise LoadError("too large for settings", file=path, expected=f"at most {MAX_BYTES} bytes")
    trusted = tier is Tier.PROJECT and bool(trust) and is_trusted(trust, path, data)
    return SettingsFile(path=path, tier=tier, data=data, trusted=trusted)


def host_files(places: Places) -> Iterator[SettingsFile]:
    """Read the settings that a host itself would read, each once; those that are not there are none.

    Raises:
        LoadError: one is there and cannot be read.
    """
    seen: set[str] = set()
    for path, tier in _host_paths(places):
        real = os.path.realpath(path)
        if real not in seen and os.path.lexists(path):
            seen.add(real)
            yield settings_file(path, tier, places.trust)


def _host_paths(places: Places) -> Iterator[tuple[str, Tier]]:
    managed = places.managed or MANAGED.get(places.platform, MANAGED_ELSEWHERE)
    for path in (os.path.join(managed, "managed-settings.json"), *_inside(os.path.join(managed, "managed-settings.d"))):
        yield path, Tier.ORGANISATION if _is_of_system(path) else Tier.PROJECT
    if places.home:
        yield os.path.join(places.home, OWN_FOLDER, "settings.json"), Tier.USER
    for folder in dict.fromkeys(around for project in places.projects for around in _upwards(project)):
        for name in PROJECT_FILES:
            yield os.path.join(folder, OWN_FOLDER, name), Tier.PROJECT


def _upwards(folder: str) -> Iterator[str]:
    """A directory and those around it: a call that went into a subdirectory leaves no rule behind."""
    here = os.path.abspath(folder)
    yield here
    while (above := os.path.dirname(here)) != here:
        yield above
        here = above


def _inside(folder: str) -> list[str]:
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return []


def _is_of_system(path: str) -> bool:
    """Whether only the system's administrator could have written a file; else it may tighten, as anybody's may."""
    try:
        states = [os.lstat(path), os.lstat(os.path.dirname(path))]
    except OSError:
        return False
    return all(one.st_uid == 0 and not one.st_mode & (stat.S_IWGRP | stat.S_IWOTH) for one in states)
