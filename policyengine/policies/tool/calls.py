"""The checks of one call: what it would do, against what its tool declares and what is denied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
from policyengine.policies.tool.metadata import Metadata, Settings, SideEffect, Workspace, ordered
from policyengine.policies.tool.scope import Lies, Roots, Touched, mentioned, touched

MAX_PATHS = 50  # findings about the paths of one call; a call that touches more is refused for these already
_TAINTED = (FileWrite, Transfer, EvaluateCode, Execute)


def denied_effects(effects: Iterable[Effect], settings: Settings) -> Iterator[Finding]:
    """Find side effects of a call that are denied, whatever its tool declares."""
    for kind, effect in _firsts(effects, settings.deny):
        message = f"This call has the side effect `{kind}`, which is denied."
        yield denied("tool.effect", message, case=kind, effect=effect)


def findings_of(effects: tuple[Effect, ...], said: Metadata, request: Request) -> Iterator[Finding]:
    """Check a call against one declaration about its tool; every check that fails is told."""
    for kind, effect in _firsts(effects, frozenset(SideEffect) - said.may):
        message = f"This call has the side effect `{kind}`, which the tool does not declare."
        yield denied("tool.exceeds-side-effects", message, case=kind, effect=effect)
    if said.scope is not Workspace.ANY:
        yield from _paths(effects, said, request)
    if said.classified and said.credentials is not None and not said.credentials:
        secret = next(filter(_uses_secrets, effects), None)
        if secret is not None:
            message = "This call uses secrets, and the tool declares no credentials."
            yield denied("tool.undeclared-credentials", message, effect=secret)


def _firsts(effects: Iterable[Effect], kinds: frozenset[SideEffect]) -> Iterator[tuple[SideEffect, Effect]]:
    """The first effect that has each of the side effects."""
    found: dict[SideEffect, Effect] = {}
    for effect in effects:
        for kind in implied(effect) & kinds:
            found.setdefault(kind, effect)
    return ((kind, found[kind]) for kind in ordered(found))


def _paths(effects: tuple[Effect, ...], said: Metadata, request: Request) -> Iterator[Finding]:
    paths = list(touched(effects))
    if said.scope is Workspace.NONE:
        if paths:
            message = "This call touches files, and the tool declares `workspace: none`."
            yield denied("tool.no-workspace", message, effect=paths[0].effect)
        return
    roots = Roots(request.context, said.trusted_roots)
    strays = [(path, place) for path in paths if (place := roots.place(path)) is not Lies.INSIDE]
    yield from (_stray(path, place) for path, place in strays[:MAX_PATHS])
    perhaps = next((path for path in mentioned(effects, request) if roots.place(path) is not Lies.INSIDE), None)
    if perhaps is not None:
        yield _stray(perhaps, Lies.UNKNOWN)


def _stray(path: Touched, place: Lies) -> Finding:
    if place is Lies.OUTSIDE:
        message = "This call leaves the workspace and the tool's trusted roots."
        return denied("tool.outside-workspace", message, instead="Use a path in the workspace.", effect=path.effect)
    message = "It is not known whether this call stays in the workspace and the tool's trusted roots."
    return asked("tool.workspace-unknown", message, path.effect, instead="Write the path in full.")


def _uses_secrets(effect: Effect) -> bool:
    if isinstance(effect, _TAINTED):
        return Taint.SECRET in effect.taint
    if isinstance(effect, Contains):
        return effect.category == "secret"
    return isinstance(effect, Cloud) and effect.action == "secret"
