"""What remained of a run's system calls: files written, deleted or changed, programs started, connections attempted.

A path that was neither there before nor after is nobody's effect and left out (a program's own temporary files); one
that was renamed onto, opened for writing or created is written; an attribute of a path counts where nothing else did.
What the system refused (`EACCES`, `EPERM`, `EROFS`) was attempted and counts like what succeeded; other failures do
not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from fuzz.effects_run.root import AREAS, Ran
from fuzz.effects_run.trace import Event, Verb, events


class Kind(StrEnum):
    """Kinds of what is observed, by the name of the effect that should report it."""

    WRITE = "file.write"
    DELETE = "file.delete"
    ATTRIBUTE = "file.attribute"
    EXECUTE = "process.execute"
    CONNECT = "net.connect"
    LISTEN = "net.listen"


class Item(NamedTuple):
    """One thing that a run did. `program` is the base name of the program that did it, `folder` whether it is one."""

    kind: Kind
    target: str
    program: str


class Observed(NamedTuple):
    """A run's items, and what else speaks for reported effects: paths looked at, folders whose entries changed,
    everything attempted by kind (failures of all sorts included).
    """

    items: tuple[Item, ...]
    seen: frozenset[str]
    entered: frozenset[str]
    attempted: frozenset[tuple[Kind, str]]
    created: frozenset[str]


_REFUSED = ("", "EACCES", "EPERM", "EROFS")
_KINDS = {
    Verb.WRITE: Kind.WRITE,
    Verb.DELETE: Kind.DELETE,
    Verb.ATTRIBUTE: Kind.ATTRIBUTE,
    Verb.EXECUTE: Kind.EXECUTE,
    Verb.CONNECT: Kind.CONNECT,
    Verb.LISTEN: Kind.LISTEN,
}


def observe(ran: Ran) -> Observed:
    """Fold a traced run."""
    found = events(ran.trace)
    attempted = frozenset((_KINDS[event.verb], event.target) for event in found if event.verb in _KINDS)
    items = tuple(dict.fromkeys([*_files(found, ran), *_others(found)]))
    changed = [item.target for item in items if item.kind in (Kind.WRITE, Kind.DELETE)]
    entered = frozenset(path.rpartition("/")[0] or "/" for path in changed)
    return Observed(items, frozenset(event.target for event in found), entered, attempted, ran.after - ran.before)


def _others(found: Sequence[Event]) -> Iterable[Item]:
    for event in found:
        if event.verb is Verb.EXECUTE and not event.error:
            yield Item(Kind.EXECUTE, event.target, event.program)
        elif event.verb in (Verb.CONNECT, Verb.LISTEN):
            yield Item(_KINDS[event.verb], event.target, event.program)


def _files(found: Sequence[Event], ran: Ran) -> Iterable[Item]:
    acts: dict[str, dict[Verb, str]] = {}
    for event in found:
        if event.verb in (Verb.WRITE, Verb.DELETE, Verb.ATTRIBUTE) and event.error in _REFUSED:
            acts.setdefault(event.target, {})[event.verb] = event.program
    for path, verbs in acts.items():
        kind = _remaining(path, verbs, ran)
        if kind is not None:
            yield Item(kind, path, next(program for program in reversed(verbs.values())))


def _remaining(path: str, verbs: Iterable[Verb], ran: Ran) -> Kind | None:
    """What became of a path in the end."""
    existed, exists = path in ran.before, path in ran.after
    if _is_ours(path):
        if not existed and not exists and Verb.WRITE in verbs:
            return None
        if existed and not exists:
            return Kind.DELETE
        if exists and not existed:
            return Kind.WRITE
    if Verb.WRITE in verbs:
        return Kind.WRITE
    return Kind.DELETE if Verb.DELETE in verbs else Kind.ATTRIBUTE


def _is_ours(path: str) -> bool:
    """Whether what is there before and after a run is known."""
    return any(path == area or path.startswith(f"{area}/") for area in AREAS)
