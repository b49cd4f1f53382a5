"""What a run did against what the interpretation of its text reports, both ways."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fuzz.effects_run.observed import Item, Kind, Observed
from fuzz.effects_run.root import ENVIRONMENT, HOME, NAMES, WORKSPACE
from fuzz.effects_run.tables import Excuse, Subject
from policyengine.effects import (
    Connect,
    Effect,
    Execute,
    FileAttribute,
    FileDelete,
    FileRead,
    FileWrite,
    Transfer,
    Where,
    kind_of,
)
from policyengine.shell.interpret import Situation, interpret
from policyengine.shell.programs import Programs

_SITUATION = Situation(cwd=WORKSPACE, home=HOME, workspace=(WORKSPACE,), env=ENVIRONMENT)
Definite = FileRead | FileWrite | FileDelete | FileAttribute | Execute | Connect | Transfer
DEFINITE = (FileRead, FileWrite, FileDelete, FileAttribute, Execute, Connect, Transfer)
_HOSTS = {**{address: name for name, address in NAMES.items()}, "::1": "localhost"}
_LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "")


class Comparison(NamedTuple):
    """One example's result. Excused are pairs of an item or effect and the reason that the tables give."""

    reported: tuple[Item, ...]
    noise: tuple[tuple[Item, Excuse], ...]
    missing: tuple[Item, ...]
    observed: tuple[Effect, ...]
    explained: tuple[tuple[Effect, Excuse], ...]
    unexplained: tuple[Effect, ...]


def effects_of(text: str, programs: Programs) -> tuple[Effect, ...]:
    """What the engine reports for a text."""
    return interpret(text, _SITUATION, programs).effects


def compare(
    text: str, seen: Observed, effects: Sequence[Effect], noise: Sequence[Excuse], explained: Sequence[Excuse]
) -> Comparison:
    """Hold what was observed against the effects, each with the excuses of its table."""
    definite = _definite(effects)
    kinds = frozenset(map(kind_of, effects))
    reported, quiet, missing = [], [], []
    for item in seen.items:
        if any(covers(effect, item, seen) for effect in definite):
            reported.append(item)
        elif (excuse := _excuse(noise, Subject(item.program, item.kind, item.target, text, kinds))) is not None:
            quiet.append((item, excuse))
        else:
            missing.append(item)
    happened, excused, unexplained = [], [], []
    for effect in definite:
        subject = Subject(effect.origin, kind_of(effect), _target(effect), text, kinds)
        if _happened(effect, seen):
            happened.append(effect)
        elif (excuse := _excuse(explained, subject)) is not None:
            excused.append((effect, excuse))
        else:
            unexplained.append(effect)
    return Comparison(
        tuple(reported), tuple(quiet), tuple(missing), tuple(happened), tuple(excused), tuple(unexplained)
    )


def _definite(effects: Sequence[Effect]) -> list[Definite]:
    known = [effect for effect in effects if isinstance(effect, DEFINITE)]
    return [effect for effect in known if not effect.unknown and effect.where is Where.HERE]


def _excuse(table: Sequence[Excuse], subject: Subject) -> Excuse | None:
    return next((row for row in table if row.holds(subject)), None)


def covers(effect: Effect, item: Item, seen: Observed) -> bool:
    """Whether an effect says that an item happens."""
    match item.kind:
        case Kind.WRITE:
            return isinstance(effect, FileWrite) and (
                _names(effect, item.target, _recursive(effect)) or _is_parent(effect, item, seen)
            )
        case Kind.DELETE:
            return isinstance(effect, FileDelete) and _names(effect, item.target, effect.recursive)
        case Kind.ATTRIBUTE:
            return isinstance(effect, FileAttribute | FileWrite) and _names(effect, item.target, _recursive(effect))
        case Kind.EXECUTE:
            return isinstance(effect, Execute) and _is_program(effect, item.target)
        case Kind.CONNECT:
            return isinstance(effect, Connect | Transfer) and _is_host(effect.host, item.target)
        case Kind.LISTEN:
            return isinstance(effect, Connect) and effect.listen and effect.port in ("", item.target.rpartition(":")[2])


def _recursive(effect: Effect) -> bool:
    return bool(getattr(effect, "recursive", False))  # of some classes of effects


def _is_parent(effect: FileWrite, item: Item, seen: Observed) -> bool:
    """Whether an item is a missing folder on the way to what the effect writes."""
    return item.target in seen.created and effect.path in seen.created and effect.path.startswith(f"{item.target}/")


def _names(effect: FileRead | FileWrite | FileDelete | FileAttribute, path: str, recursive: bool) -> bool:
    """Whether an effect's path is this one, or matches it, or lies above it and everything below is meant."""
    tests: list[Callable[[str], bool]] = [lambda one: one == effect.path]
    if effect.glob:
        tests.append(lambda one: _matches(one, effect.path))
    above = _ancestors(path) if recursive else []
    return any(test(one) for test in tests for one in (path, *above))


def _matches(path: str, glob: str) -> bool:
    """A shell's glob: a `*` stays inside one component, `**` is any number of them."""
    before, deep, after = glob.partition("/**/")
    ours, theirs = path.split("/"), glob.split("/")
    if deep and len(ours) >= len(theirs) - 1:
        head, tail = before.count("/") + 1, after.count("/") + 1
        return _matches("/".join(ours[:head]), before) and _matches("/".join(ours[-tail:]), after)
    return len(ours) == len(theirs) and all(map(fnmatch.fnmatchcase, ours, theirs))


def _ancestors(path: str) -> list[str]:
    found = []
    while path not in ("/", ""):
        path = posixpath.dirname(path)
        found.append(path)
    return found


def _is_program(effect: Execute, path: str) -> bool:
    if effect.path:
        return _unmerged(effect.path) == _unmerged(path)
    return effect.program == path.rpartition("/")[2]


def _unmerged(path: str) -> str:
    return path.removeprefix("/usr") if path.startswith(("/usr/bin/", "/usr/sbin/")) else path


def _is_host(host: str, address: str) -> bool:
    there = address.rpartition(":")[0]
    return host in (there, _HOSTS.get(there, there)) or (host in _LOCAL and there in ("127.0.0.1", "::1"))


def _target(effect: Definite) -> str:
    match effect:
        case Execute():
            return effect.path or effect.program
        case Connect() | Transfer():
            return effect.host
        case _:
            return effect.path


def _happened(effect: Definite, seen: Observed) -> bool:
    """Whether a reported effect was observed, at least as an attempt."""
    match effect:
        case FileRead():
            return any(_names(effect, path, effect.recursive) for path in seen.seen)
        case FileWrite():
            return effect.path in seen.entered or _attempted(effect, seen, Kind.WRITE, Kind.ATTRIBUTE)
        case FileDelete():  # what is truncated to nothing or overwritten is gone as well
            return _attempted(effect, seen, Kind.DELETE, Kind.WRITE)
        case FileAttribute():
            return _attempted(effect, seen, Kind.ATTRIBUTE, Kind.WRITE)
        case Execute():
            return any(kind is Kind.EXECUTE and _is_program(effect, path) for kind, path in seen.attempted)
        case Connect() | Transfer():
            listens = isinstance(effect, Connect) and effect.listen
            kind = Kind.LISTEN if listens else Kind.CONNECT
            return any(one is kind and (listens or _is_host(effect.host, to)) for one, to in seen.attempted)


def _attempted(effect: FileWrite | FileDelete | FileAttribute, seen: Observed, *kinds: Kind) -> bool:
    return any(kind in kinds and _names(effect, path, _recursive(effect)) for kind, path in seen.attempted)
