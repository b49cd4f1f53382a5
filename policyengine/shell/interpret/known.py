"""Files that this run wrote or changed: which ones a name may mean, and those of which only a part is known."""

from __future__ import annotations

from collections.abc import Callable, Collection

from policyengine.effects import Cause, Effect, Execute, Obscured, Opaque, Taint, WrittenFile
from policyengine.shell.interpret.globs import computable, matches
from policyengine.shell.interpret.machine import MAX_VERSIONS, Machine
from policyengine.shell.paths import base_name
from policyengine.shell.values import Value

_PATTERNS = frozenset("*?[")


def matching(machine: Machine, pattern: str) -> tuple[WrittenFile, ...]:
    """The files that a pattern for file names stands for, of those that this run wrote."""
    if _PATTERNS.isdisjoint(pattern):
        return _changed_together(machine, pattern)
    paths = _written(machine)
    machine.spend(len(paths))
    found = [path for path in paths if computable(path, pattern) and _fits(path, pattern)]
    return tuple([file for path in found[:MAX_VERSIONS] for file in machine.file(path)])


def _written(machine: Machine) -> dict[str, None]:
    """The paths of all files that this run wrote, those of earlier calls first."""
    return {**dict.fromkeys(machine.situation.written), **dict.fromkeys(machine.files)}


def _changed_together(machine: Machine, path: str) -> tuple[WrittenFile, ...]:
    """What is known of a file that was changed together with others, by a pattern that it fits."""
    for files in (machine.files, machine.situation.written):
        for pattern in files:
            if "*" in pattern and computable(path, pattern) and _fits(path, pattern):
                return tuple([file._replace(path=path) for file in machine.file(pattern)])
    return ()


def _fits(path: str, pattern: str) -> bool:
    if "**" in pattern:
        return matches(path, pattern.replace("/**/", "/")) or matches(path, pattern)
    return path.count("/") == pattern.count("/") and matches(path, pattern)


def possible(machine: Machine, start: str, suffixes: Collection[str]) -> tuple[WrittenFile, ...]:
    """The files, scripts by the ends of their names, that one may be of whose name only the beginning is known."""
    found: list[WrittenFile] = []
    for path in _written(machine):
        name = base_name(path)
        if path.startswith(start) and ("." not in name.lstrip(".") or name.rpartition(".")[2] in suffixes):
            found += machine.file(path)
    return tuple(found[-MAX_VERSIONS:])


def below(machine: Machine, directory: str) -> list[str]:
    """The files in a directory that this run wrote, at any depth."""
    paths = _written(machine)
    machine.spend(len(paths) // 4)
    start = directory.rstrip("/") + "/"
    return [path for path in paths if path.startswith(start)]


def is_laid(text: Value) -> bool:
    """Whether a text is that of a file which lay there before, changed in places (`edits`)."""
    return not text.exact and not text.text and Taint.WORKSPACE in text.taint


def vaguely(machine: Machine, text: Value, run: Callable[[], object]) -> None:
    """Run what is known of a file; of one that lay there before it is no news that parts are not understood."""
    at = len(machine.effects)
    run()
    if is_laid(text):
        drop_unread(machine, at)


def drop_unread(machine: Machine, at: int) -> None:
    """Forget, of the effects from there on, those that say no more than that something was not understood."""
    machine.effects[at:] = [effect for effect in machine.effects[at:] if not _is_unread(effect)]


def _is_unread(effect: Effect) -> bool:
    if isinstance(effect, Opaque):
        return effect.cause is not Cause.LIMIT
    return type(effect) is Obscured or (isinstance(effect, Execute) and effect.unknown)
