"""Every kind of effect, one class each; `policyengine.effects` says what they have in common."""

from __future__ import annotations

from policyengine.effects.terms import CLEAN, Cause, Span, Taints, Where, of_its_kind
from policyengine.records import NamedTuple


@of_its_kind
class FileRead(NamedTuple):
    """A file's or directory's contents are read; `tail`: what certainly ends the path where it is not known."""

    path: str
    unknown: bool = False
    glob: bool = False
    recursive: bool = False
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""
    tail: str = ""


@of_its_kind
class FileWrite(NamedTuple):
    """A file is created, replaced, appended to or edited; `taint` is that of what is written.

    `recursive`: so is whatever the call puts below that directory, under names that its text does not tell.
    `tail`: what certainly ends the path, behind a slash, where the beginning is not known.
    """

    path: str
    unknown: bool = False
    glob: bool = False
    append: bool = False
    taint: Taints = CLEAN
    recursive: bool = False
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""
    tail: str = ""


@of_its_kind
class FileDelete(NamedTuple):
    """A file or directory is removed, truncated to nothing or made unrecoverable."""

    path: str
    unknown: bool = False
    glob: bool = False
    recursive: bool = False
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class FileAttribute(NamedTuple):
    """Mode, owner, ACL, flags, times or labels change.

    `attribute` is mode|owner|acl|flags|time|label, `value` as written.
    """

    path: str
    attribute: str
    value: str = ""
    unknown: bool = False
    glob: bool = False
    recursive: bool = False
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Execute(NamedTuple):
    """A program starts. One for every simple command with a known or unknown name, builtins included.

    `program` is the base name, `path` the resolved path where the command word names one (else empty), `arguments` the
    argument texts (None where unknown). `taint` is that of the program text when the file executed was fetched or
    decoded.
    """

    program: str
    path: str = ""
    arguments: tuple[str | None, ...] = ()
    unknown: bool = False
    taint: Taints = CLEAN
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class EvaluateCode(NamedTuple):
    """Text becomes code. `source` is argument|stdin|file|substitution; `read` says that the code was read and its own
    effects stand beside this one.
    """

    language: str
    source: str
    read: bool = False
    taint: Taints = CLEAN
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Connect(NamedTuple):
    """A connection is opened, or accepted where `listen`; `shell`: a shell or interpreter is driven through it."""

    host: str
    port: str = ""
    url: str = ""
    method: str = ""
    unknown: bool = False
    listen: bool = False
    shell: bool = False
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Transfer(NamedTuple):
    """Data leaves this machine for `host`.

    `path` is the local source where there is one; `taint` says what the data is.
    """

    host: str
    path: str = ""
    url: str = ""
    unknown: bool = False
    taint: Taints = CLEAN
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class SetVariable(NamedTuple):
    """A variable of the environment is set for a command, or exported. Plain shell variables give no effect."""

    name: str
    value: str = ""
    unknown: bool = False
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Escalate(NamedTuple):
    """Something runs with other privileges. `method` is sudo|su|setuid|capability|namespace|…, `user` the target."""

    method: str
    user: str = ""
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Persist(NamedTuple):
    """Something will run later or at a start: `mechanism` is cron, at, service, login, hook, kernel, key …."""

    mechanism: str
    path: str = ""
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Process(NamedTuple):
    """A process is acted on. `action` is signal|trace|priority|…; `by` is pid|name|all|job|search; `target` is an id or
    a name.

    `search`: by an unknown id that was looked for among all processes, or comes from elsewhere.
    """

    action: str
    target: str = ""
    by: str = ""
    unknown: bool = False
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class System(NamedTuple):
    """The machine's own state changes.

    `area` is service|power|kernel|network|firewall|user|disk|mount|time|log|security|config|session|hardware, `action`
    a verb (start stop restart suspend enable disable create change delete join load unload mount unmount format wipe
    clear scan capture record query …); `join` lets a user into the group `target`.
    """

    area: str
    action: str
    target: str = ""
    unknown: bool = False
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Package(NamedTuple):
    """A package manager acts. `action` is install|remove|upgrade|publish|run|download|build|config|login; `scope` is
    project|user|system; `source` is index|url|file|git|unknown.
    """

    manager: str
    action: str
    scope: str = "project"
    name: str = ""
    source: str = "index"
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class VersionControl(NamedTuple):
    """A repository changes; `target` is a ref, remote or key.

    `action` is record|discard|rewrite|clean|switch|merge|fetch|clone|push|force-push|delete-remote|config|hook|remote|
    tag|branch|delete-branch|drop|stash|submodule|maintain|review|issue|release|publish|delete-repository|…
    """

    system: str
    action: str
    target: str = ""
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Database(NamedTuple):
    """A database is used. `action` is query|write|destroy|admin|execute|dump|load; `statement` where it is known."""

    system: str
    action: str
    statement: str = ""
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Cloud(NamedTuple):
    """A cloud, cluster or infrastructure tool acts.

    `action` is read|create|change|delete|secret|execute|login|security|blind (records or threat detection go off).
    """

    provider: str
    action: str
    resource: str = ""
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Container(NamedTuple):
    """A container engine acts. `action` is run|exec|build|start|stop|remove|prune|pull|push|copy|login|change.

    `privilege` names what lets it out: privileged|host-pid|host-network|host-ipc|capability|device|socket|security-opt;
    `mount` is a host path that is mounted.
    """

    action: str
    target: str = ""
    privilege: str = ""
    mount: str = ""
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Exhaust(NamedTuple):
    """Resources are exhausted. `how` is fork-bomb|infinite-write|fill-disk|allocate."""

    how: str
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Contains(NamedTuple):
    """An argument or result contains something: `category` is secret|pii|injection|…, `detail` names the detector."""

    category: str
    detail: str = ""
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Obscured(NamedTuple):
    """The text hides what it says: a signal, no more.

    `how` is escapes|concatenation|encoding|invisible|glob-command.
    """

    how: str
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class UseTool(NamedTuple):
    """A runtime's tool acts in a way that is no file, network or shell effect.

    `category` is delegate|message|memory|plan|ask|discover|mcp|browser and the like.
    """

    tool: str
    category: str
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""


@of_its_kind
class Opaque(NamedTuple):
    """What happens here is not known, and why not. Never skipped, never guessed, never harmless."""

    cause: Cause
    detail: str = ""
    where: Where = Where.HERE
    span: Span | None = None
    origin: str = ""
