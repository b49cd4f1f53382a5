"""What a call would do: the closed union of effects.

Analysis emits effects and never judges them; rules see effects and never parse. The union is as small as the rules
need:
a program's peculiarities are fields (`action`, `scope`), not new classes. Every effect ends with the same three fields:

    where    on which machine it happens: here, in a container, on a remote host
    span     [start, end) in code points of the analysed text, or None where no text is to blame
    origin   the program or tool that causes it

(reads and writes of files have a `tail` behind them).

`unknown` says that the value beside it (`path`, `host`, `target` …) is not fully known: the field then holds the prefix
that is known for certain, possibly empty. Absolute paths are lexically normal (no `.`, `..`, `//`); a path may hold
glob characters when `glob` is true, and then names everything that the pattern matches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from policyengine.effects.kinds import (
    Cloud,
    Connect,
    Container,
    Contains,
    Database,
    Escalate,
    EvaluateCode,
    Execute,
    Exhaust,
    FileAttribute,
    FileDelete,
    FileRead,
    FileWrite,
    Obscured,
    Opaque,
    Package,
    Persist,
    Process,
    SetVariable,
    System,
    Transfer,
    UseTool,
    VersionControl,
)
from policyengine.effects.terms import CLEAN, FATAL_CAUSES, HOLE, Cause, Span, Taint, Taints, Where
from policyengine.records import NamedTuple

__all__ = [
    "CLEAN",
    "EFFECTS",
    "FATAL_CAUSES",
    "HOLE",
    "KINDS",
    "NOTHING_LEFT",
    "Cause",
    "Cloud",
    "Connect",
    "Container",
    "Contains",
    "Database",
    "Effect",
    "Escalate",
    "EvaluateCode",
    "Execute",
    "Exhaust",
    "Facts",
    "FileAttribute",
    "FileDelete",
    "FileRead",
    "FileWrite",
    "Left",
    "Obscured",
    "Opaque",
    "Package",
    "Persist",
    "Process",
    "SetVariable",
    "Span",
    "System",
    "Taint",
    "Taints",
    "Transfer",
    "UseTool",
    "VersionControl",
    "Where",
    "WrittenFile",
    "as_json",
    "kind_of",
]

Effect: TypeAlias = (
    FileRead
    | FileWrite
    | FileDelete
    | FileAttribute
    | Execute
    | EvaluateCode
    | Connect
    | Transfer
    | SetVariable
    | Escalate
    | Persist
    | Process
    | System
    | Package
    | VersionControl
    | Database
    | Cloud
    | Container
    | Exhaust
    | Contains
    | Obscured
    | UseTool
    | Opaque
)

# The name of each effect in rules, profiles and JSON. This table is the only place where the two meet.
KINDS: dict[type[Effect], str] = {
    FileRead: "file.read",
    FileWrite: "file.write",
    FileDelete: "file.delete",
    FileAttribute: "file.attribute",
    Execute: "process.execute",
    EvaluateCode: "code.evaluate",
    Connect: "net.connect",
    Transfer: "net.transfer",
    SetVariable: "shell.variable",
    Escalate: "privilege.escalate",
    Persist: "system.persist",
    Process: "process.control",
    System: "system.change",
    Package: "package.change",
    VersionControl: "vcs.change",
    Database: "database.change",
    Cloud: "cloud.change",
    Container: "container.change",
    Exhaust: "resource.exhaust",
    Contains: "content.contains",
    Obscured: "code.obscured",
    UseTool: "tool.use",
    Opaque: "opaque",
}
EFFECTS: dict[str, type[Effect]] = {name: cls for cls, name in KINDS.items()}


def kind_of(effect: Effect) -> str:
    """The dotted name of an effect's kind."""
    return KINDS[type(effect)]


def as_json(effect: Effect) -> dict[str, object]:
    """An effect as a JSON object: `kind` first, then its fields; taints as a sorted list, spans as `[start, end]`."""
    fields: dict[str, object] = {"kind": kind_of(effect)}
    for name, value in zip(effect._fields, effect, strict=True):
        fields[name] = (
            sorted(value) if isinstance(value, frozenset) else list(value) if isinstance(value, tuple) else value
        )
    return fields


class WrittenFile(NamedTuple):
    """What the run knows of a file that the call writes: its text where that is known (bounded), else None.

    A text that is known in part has a `HOLE` for each piece that is not.
    """

    path: str
    text: str | None
    taint: Taints = CLEAN


class Left(NamedTuple):
    """What a call leaves for later ones beside the texts of files.

    Attributes:
        trees: how paths begin below which everything came from elsewhere → where from.
        links: path of a symbolic link → what it leads to.
        exports: variable → value that the shell exports, which may be there in a later call.
        functions: name → source text of a function of the shell; likewise.
        aliases: name → text; likewise.
    """

    trees: Mapping[str, Taints] = {}
    links: Mapping[str, str] = {}
    exports: Mapping[str, str] = {}
    functions: Mapping[str, str] = {}
    aliases: Mapping[str, str] = {}


NOTHING_LEFT = Left()


class Facts(NamedTuple):
    """All that analysis found out about one call. `written`, `cwd` and `left` feed `RunState`; `cwd` is None where
    unchanged, empty where it is no longer known; `left` is None where that is nothing new.
    """

    effects: tuple[Effect, ...] = ()
    written: tuple[WrittenFile, ...] = ()
    cwd: str | None = None
    left: Left | None = None
