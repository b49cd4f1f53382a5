"""Programs that are installed: where they lie, the commands of git that are programs, and copies under other names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from policyengine.effects import HOLE, Where
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.parameters import variable_values
from policyengine.shell.interpret.streams import Stream
from policyengine.shell.paths import is_below, resolve
from policyengine.shell.values import Value

MAX_PLACES = 6  # directories of `PATH` that are looked at
# Directories whose files are the programs of that name (hier(7), XDG, virtual environments, node_modules/.bin).
_PLACES = ("/bin", "/sbin", "/.bin", "/Scripts", "/libexec", "/shims")
_BELOW = ("/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/share", "/lib", "/usr/local/lib", "/usr/local/libexec")
_COPYABLE = re.compile(r"/(?:usr/(?:local/)?)?s?bin/[\w.+-]+\Z").match
_COPYING = frozenset(
    {"cp", "gcp", "mv", "gmv", "install", "ginstall", "ln", "gln", "link", "rsync", "dd", "cat", "tee"}
)


def is_installed(path: str, workspace: Sequence[str]) -> bool:
    """Whether a file lies where programs are installed, for the system or in an environment outside the workspace."""
    placed = path.rpartition("/")[0].endswith(_PLACES) or is_below(path, _BELOW)
    return placed and not is_below(path, workspace)


def knows_path(machine: Machine) -> bool:
    """Whether this run said where programs are looked for."""
    return machine.cells.get("PATH") is not None or "PATH" in machine.situation.left.exports


def on_path(machine: Machine, name: str) -> str:
    """The file of that name that this run put where `PATH` leads first; empty if there is none."""
    values = variable_values(machine, "PATH")
    text = values[0].template if values and machine.where is Where.HERE else ""
    for place in text.split(":")[:MAX_PLACES]:
        path = resolve(f"{place}/{name}", machine.cwd).path if place and HOLE not in place else ""
        if path and machine.file(path):
            return path
    return ""


def of_git(name: str, path: str, arguments: Sequence[Value]) -> list[Value]:
    """The call of git that a program of that name stands for (`git-push`, git(1) section `--exec-path`); else empty."""
    if name[:4] != "git-" or len(name) == 4 or (path and "/git-core/" not in path):
        return []
    return [Value(name[4:]), *arguments]


def as_copied(stream: Stream, origin: str) -> Stream:
    """What a copy of an installed program holds: run under another name, it does what the program does."""
    if stream.text is not None or origin not in _COPYING or not _COPYABLE(stream.path):
        return stream
    return stream._replace(text=f'#!/bin/sh\nexec {stream.path} "$@"\n')
