"""From a description's effect templates to effects: paths resolved, what is unknown marked as such."""

from __future__ import annotations

from policyengine.effects import EFFECTS, Cause, Connect, Effect, FileWrite, Taint, Taints, Where
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.interpret.redirects import place_of
from policyengine.shell.programs import Draft
from policyengine.shell.programs.reading import Field
from policyengine.shell.values import Value

_PATHS = frozenset({"path", "mount"})
_FILES = frozenset({"file.read", "file.write", "file.delete", "file.attribute"})
_DEFAULTS = {kind: frozenset(cls._fields) for kind, cls in EFFECTS.items()}
_PACKAGE = "package.change"
_PROCESS = "process.control"
_SOURCES = (  # where a package comes from, by how its name begins (pip, npm, cargo, apt and their kin agree on these)
    ("git", ("git+", "git@", "git:", "ssh:", "github:", "gitlab:", "bitbucket:", "gist:", "hg+", "svn+", "bzr+")),
    ("url", ("http://", "https://", "ftp://")),
    ("file", ("/", "./", "../", "~/", "file:", "link:", "portal:")),
)
_FILE_ENDS = (".whl", ".tar.gz", ".tgz", ".zip", ".deb", ".rpm", ".apk", ".snap", ".gem", ".nupkg", ".jar")


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
    _complete(invocation, draft, fields)
    effect: Effect = EFFECTS[draft.kind](**fields, span=span, origin=invocation.origin)  # type: ignore[arg-type]
    _remember(invocation, effect)
    return effect


def _complete(invocation: Invocation, draft: Draft, fields: dict[str, object]) -> None:
    """Say what follows from other fields."""
    if draft.kind == _PACKAGE and "source" not in fields:
        fields["source"] = _source(draft.fields.get("name"))
    elif draft.kind == "file.write":
        fields.setdefault("taint", invocation.content.taint)
    elif draft.kind == _PROCESS and _is_found(draft.fields.get("target")):
        fields["by"] = "search"


def _is_found(target: Field | None) -> bool:
    """Whether an unknown process id is none that was kept: in a variable, a job, a file, or by its port."""
    return isinstance(target, Value) and not target.exact and not target.taint <= _KEPT


_KEPT: Taints = frozenset({Taint.WORKSPACE, Taint.SURROUNDINGS})


def _source(name: Field | None) -> str:
    """Where a package comes from, told by its name: `index` unless the name says otherwise.

    `name @ address` and `name@address` are read by the address (PEP 508, npm package specifications).
    """
    if not isinstance(name, Value):
        return "index"
    text = name.text
    _, at, address = text.partition("@")
    for form in (text, address.strip() if at else ""):
        source = next((source for source, starts in _SOURCES if form.startswith(starts)), "")
        if source:
            return "git" if source == "url" and ".git" in form[-5:] else source
    if text in (".", "..") or (name.exact and text.endswith(_FILE_ENDS)):
        return "file"
    return "index" if name.exact or text else "unknown"


def _remember(invocation: Invocation, effect: Effect) -> None:
    """What later commands have to know of an effect: the peer of a connection, a file that was written."""
    if isinstance(effect, Connect):
        invocation.connected = True
        invocation.peer = None if effect.url else (effect.host, effect.port)
    elif isinstance(effect, FileWrite) and not (effect.unknown or effect.glob) and effect.where is Where.HERE:
        content = invocation.content._replace(text=None, taint=effect.taint, prefix="", rest="")
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
