"""The checks of one call: what it would do, against what its tool declares and what is denied."""

from __future__ import annotations

from collections.abc import Iterator

from policyengine.effects import (
    Cloud,
    Contains,
    Effect,
    EvaluateCode,
    Execute,
    FileWrite,
    Taint,
    Transfer,
)
from policyengine.model import Finding, Request
from policyengine.policies.tool.findings import asked, denied
from policyengine.policies.tool.implied import implied
from policyengine.policies.tool.metadata import ALL_SIDE_EFFECTS, Hint, Metadata, SideEffect, Workspace, ordered
from policyengine.policies.tool.scope import Lies, Touched, mentioned, roots_of, touched
from policyengine.records import NamedTuple

MAX_PATHS = 50  # findings about the paths of one call; a call that touches more is refused for these already
_TAINTED = frozenset({FileWrite, Transfer, EvaluateCode, Execute})


class Limits(NamedTuple):
    """What one declaration says of calls: side effects that they may not have, what they may touch."""

    not_declared: frozenset[SideEffect]
    scope: Workspace
    trusted_roots: tuple[str, ...]
    without_secrets: bool


def limits_of(said: Metadata) -> Limits:
    """Take from a declaration what is checked with each call."""
    without_secrets = said.classified and said.credentials is not None and not said.credentials
    return Limits(ALL_SIDE_EFFECTS - said.may, said.scope, said.trusted_roots, without_secrets)


def limits_of_hint(hint: Hint) -> Limits:
    """Take from a hint what is checked with each call."""
    return Limits(hint.does_not, Workspace.ANY, (), without_secrets=False)


class Call:
    """One call while it is checked."""

    __slots__ = ("_effects", "_had", "_request")

    def __init__(self, request: Request, effects: tuple[Effect, ...]) -> None:
        self._request = request
        self._effects = effects
        self._had: dict[SideEffect, Effect] = {}  # side effect → the first effect that has it
        for effect in effects:
            for kind in implied(effect):
                self._had.setdefault(kind, effect)

    def denied(self, kinds: frozenset[SideEffect]) -> Iterator[Finding]:
        """Find side effects that are denied, whatever the tool declares."""
        for kind in ordered(self._had.keys() & kinds):
            message = f"This call has the side effect `{kind}`, which is denied."
            yield denied("tool.effect", message, case=kind, effect=self._had[kind])

    def beyond(self, limits: Limits) -> Iterator[Finding]:
        """Check against one declaration; every check that fails is told."""
        for kind in ordered(self._had.keys() & limits.not_declared):
            message = f"This call has the side effect `{kind}`, which the tool does not declare."
            yield denied("tool.exceeds-side-effects", message, case=kind, effect=self._had[kind])
        if limits.scope is Workspace.NONE:
            yield from self._anywhere()
        elif limits.scope is Workspace.SCOPED:
            yield from self._outside(limits.trusted_roots)
        if limits.without_secrets:
            secret = next(filter(_uses_secrets, self._effects), None)
            if secret is not None:
                message = "This call uses secrets, and the tool declares no credentials."
                yield denied("tool.undeclared-credentials", message, effect=secret)

    def _anywhere(self) -> Iterator[Finding]:
        path = next(touched(self._effects), None)
        if path is not None:
            message = "This call touches files, and the tool declares `workspace: none`."
            yield denied("tool.no-workspace", message, effect=path.effect)

    def _outside(self, trusted: tuple[str, ...]) -> Iterator[Finding]:
        roots = roots_of(self._request.context, trusted)
        strays = [(path, place) for path in touched(self._effects) if (place := roots.place(path)) is not Lies.INSIDE]
        strays.sort(key=lambda stray: stray[1] is Lies.UNKNOWN)  # those that only ask come last
        yield from (_stray(path, place) for path, place in strays[:MAX_PATHS])
        said = mentioned(self._effects, self._request)
        perhaps = next((path for path in said if roots.place(path) is not Lies.INSIDE), None)
        if perhaps is not None:
            yield _stray(perhaps, Lies.UNKNOWN)


def _stray(path: Touched, place: Lies) -> Finding:
    if place is Lies.OUTSIDE:
        message = "This call leaves the workspace and the tool's trusted roots."
        return denied("tool.outside-workspace", message, instead="Use a path in the workspace.", effect=path.effect)
    message = "It is not known whether this call stays in the workspace and the tool's trusted roots."
    return asked("tool.workspace-unknown", message, path.effect, instead="Write the path in full.")


def _uses_secrets(effect: Effect) -> bool:
    kind = type(effect)
    if kind in _TAINTED:
        return Taint.SECRET in effect.taint  # type: ignore[union-attr]  # mypy does not narrow by a table
    if isinstance(effect, Contains):
        return effect.category == "secret"
    return isinstance(effect, Cloud) and effect.action == "secret"
