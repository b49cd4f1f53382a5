"""From a description's effect templates to effects: paths resolved, what is unknown marked as such."""

from __future__ import annotations

from policyengine.effects import EFFECTS, Cause, Connect, Effect, FileWrite, Where
from policyengine.shell.interpret.redirects import place_of
from policyengine.shell.interpret.roles import Invocation
from policyengine.shell.programs import Draft
from policyengine.shell.values import Value

_PATHS = frozenset({"path", "mount"})
_FILES = frozenset({"file.read", "file.write", "file.delete", "file.attribute"})
_DEFAULTS = {kind: frozenset(cls._fields) for kind, cls in EFFECTS.items()}


def effect_of(invocation: Invocation, draft: Draft) -> Effect:
    """One effect of a template; a file's empty path is the directory that the program runs in."""
    machine = invocation.machine
    known = _DEFAULTS[draft.kind]
    fields: dict[str, object] = {}
    span = invocation.span
    for name, given in draft.fields.items():
        if not isinstance(given, Value):
            fields[name] = given
            continue
        fields[name] = given.text
        span = given.span or span
        if not given.exact and "unknown" in known:
            fields["unknown"] = True
    for name in _PATHS & fields.keys():
        _resolve(invocation, draft, name, fields)
    if "cause" in fields:
        fields["cause"] = Cause(str(fields["cause"]))
    if "recursive" in known:
        fields.setdefault("recursive", invocation.recursive)
    if fields.get("where", Where.HERE) is Where.HERE:
        fields["where"] = machine.where
    if draft.kind == "file.write":
        fields.setdefault("taint", invocation.content.taint)
    effect: Effect = EFFECTS[draft.kind](**fields, span=span, origin=invocation.origin)  # type: ignore[arg-type]
    _remember(invocation, effect)
    return effect


def _remember(invocation: Invocation, effect: Effect) -> None:
    """What later commands have to know of an effect: the peer of a connection, a file that was written."""
    if isinstance(effect, Connect):
        invocation.connected = True
        invocation.peer = None if effect.url else (effect.host, effect.port)
    elif isinstance(effect, FileWrite) and not (effect.unknown or effect.glob) and effect.where is Where.HERE:
        content = invocation.content._replace(text=None)
        invocation.machine.write_file(effect.path, content, append=effect.append)


def _resolve(invocation: Invocation, draft: Draft, name: str, fields: dict[str, object]) -> None:
    given = draft.fields[name]
    value = given if isinstance(given, Value) else Value(str(given))
    if not value.text and value.exact and draft.kind not in _FILES:
        return
    if value.text[:2] == "~/":  # written by the description, not by the call
        value = value._replace(text=invocation.machine.situation.home + value.text[1:])
    found = place_of(invocation.machine, value, invocation.cwd)
    fields[name] = found.path
    if "unknown" in _DEFAULTS[draft.kind]:
        fields["unknown"] = found.unknown
    if "glob" in _DEFAULTS[draft.kind] and found.glob:
        fields["glob"] = True
