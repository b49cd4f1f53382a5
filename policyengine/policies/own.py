"""What the engine itself lives on, at the places that a configuration names: nothing that is asked may change it.

The shipped rules protect the usual places; these are the operator's own. Changing or deleting one of them, or a folder
around it, is `own.changed`, reading a key `own.key-read`; both are DENY in every profile. Paths are compared as text,
links are the sandbox's business.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from policyengine.effects import Effect, Facts, FileAttribute, FileDelete, FileRead, FileWrite, Transfer, Where
from policyengine.model import Finding, Outcome, Request, Severity, Verdict
from policyengine.state import RunState

NAME = "own"
_CHANGED = ("own.changed", "This is what the decisions are made and recorded with.")
_READ = ("own.key-read", "This is a key that decisions are signed with.")


class OwnFiles:
    """A policy over effects on files.

    Args:
        paths: absolute paths of files and folders that must not be changed.
        keys: those of them that must not be read either.
    """

    __slots__ = ("_keys", "_paths", "name")

    def __init__(self, paths: Iterable[str], keys: Iterable[str]) -> None:
        self.name = NAME
        self._keys = tuple({tuple(_parts(path)) for path in keys})
        self._paths = tuple({tuple(_parts(path)) for path in paths} | set(self._keys))

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge the files that a call touches."""
        del request, state
        findings = tuple(found for effect in facts.effects if (found := self._found(effect)) is not None)
        return Verdict(policy=NAME, outcome=Outcome.DENY if findings else Outcome.ALLOW, findings=findings)

    def _found(self, effect: Effect) -> Finding | None:
        if effect.where is not Where.HERE:
            return None
        match effect:
            case FileWrite() | FileAttribute():
                return _finding(_CHANGED, effect) if self._is_at(effect, self._paths, above=effect.recursive) else None
            case FileDelete():
                return _finding(_CHANGED, effect) if self._is_at(effect, self._paths, above=True) else None
            case FileRead():
                return _finding(_READ, effect) if self._is_at(effect, self._keys, above=effect.recursive) else None
            case Transfer():
                path = _parts(effect.path)
                return _finding(_READ, effect) if path and any(_meets(path, key, False) for key in self._keys) else None
        return None

    def _is_at(
        self,
        effect: FileRead | FileWrite | FileDelete | FileAttribute,
        places: tuple[tuple[str, ...], ...],
        *,
        above: bool,
    ) -> bool:
        path = _parts(effect.path)
        if effect.unknown:
            path = path if effect.path.endswith("/") else path[:-1]  # the last one may go on, and is no name yet
            above = False  # what is known leads to everything below it, and seldom to these
        return bool(path) and any(_meets(path, place, above) for place in places)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _meets(path: list[str], place: tuple[str, ...], above: bool) -> bool:
    """Whether a path (perhaps a glob) is a place or lies in it, or with `above` around it."""
    for part, own in zip(path, place, strict=False):
        if part == "**":
            return True
        if part != own and not fnmatchcase(own, part):
            return False
    return len(path) >= len(place) or above


def _finding(said: tuple[str, str], effect: Effect) -> Finding:
    code, message = said
    return Finding(
        rule=code,
        code=code,
        message=message,
        outcome=Outcome.DENY,
        severity=Severity.CRITICAL,
        span=effect.span,
        instead="Leave it alone; the person who set it up changes it.",
        effect=effect,
    )
