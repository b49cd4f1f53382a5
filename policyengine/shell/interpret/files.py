"""Roles that read, write, delete and change files (`rules/commands/README.md`, Roles)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policyengine.effects import (
    CLEAN,
    Execute,
    FileAttribute,
    FileDelete,
    FileRead,
    FileWrite,
    Taint,
    Taints,
    Where,
    WrittenFile,
)
from policyengine.shell.interpret.arrivals import arrived_from, moved
from policyengine.shell.interpret.content import SOURCES, stream_of
from policyengine.shell.interpret.edits import in_place
from policyengine.shell.interpret.entries import Folder, entries, folder
from policyengine.shell.interpret.evaluate import ScriptFile, run_some
from policyengine.shell.interpret.installed import as_copied
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.interpret.known import below, matching
from policyengine.shell.interpret.links import linked, through
from policyengine.shell.interpret.processes import standard
from policyengine.shell.interpret.redirects import deliver, named_target
from policyengine.shell.interpret.shebangs import run_itself
from policyengine.shell.interpret.stored import file_stream, stored
from policyengine.shell.interpret.trees import FOREIGN
from policyengine.shell.paths import Path, Place, base_name
from policyengine.shell.programs import Use
from policyengine.shell.urls import is_remote
from policyengine.shell.values import Value, tail_of

_FETCHED: Taints = frozenset({Taint.FETCHED})


def is_dash(value: Value) -> bool:
    """Whether a value is `-`, a standard stream."""
    return value.exact and value.text == "-"


def read(invocation: Invocation, use: Use) -> None:
    """A path whose contents are read."""
    value = use.value
    if value.text[:1] in ("-", "/") and (is_dash(value) or standard(value)):
        return
    path, unknown, glob = invocation.path(use)
    path = through(invocation.machine.links, path)
    invocation.machine.effects.append(
        FileRead(
            path,
            unknown,
            glob,
            invocation.recursive,
            invocation.where(use),
            value.span,
            invocation.origin,
            tail_of(value) if unknown else "",
        )
    )


def listed(invocation: Invocation, use: Use) -> None:
    """A file that lists paths which are read, one in a line; tar takes options from it as well (tar manual 6.3)."""
    read(invocation, use)
    machine = invocation.machine
    stream = machine.stdin if is_dash(use.value) else stream_of(machine, use, invocation.cwd)
    for line in [line for line in (stream.text or "").split("\n") if line][:MAX_LISTED]:
        value = Value(line, taint=stream.taint, span=use.value.span)
        if line[0] == "-" and invocation.origin in _TAKING_OPTIONS:
            machine.runner.words(machine, [Value(invocation.origin, span=use.value.span), value])
        else:
            read(invocation, use._replace(value=value))


MAX_LISTED = 64  # lines of a list that are looked at
_TAKING_OPTIONS = frozenset({"tar", "gtar"})


def write(invocation: Invocation, use: Use) -> None:
    """A path that is written; `append` where a flag of that name is set."""
    _written(invocation, use, "append" in invocation.reading.flags, invocation.recursive)


def append(invocation: Invocation, use: Use) -> None:
    """A path that is appended to."""
    _written(invocation, use, True, False)


def into(invocation: Invocation, use: Use) -> None:
    """A directory in which files appear whose names the call does not tell."""
    _written(invocation, use, False, True)


def _written(invocation: Invocation, use: Use, append: bool, recursive: bool) -> None:
    value, machine = use.value, invocation.machine
    if value.text[:1] in ("-", "/") and (is_dash(value) or standard(value)):
        target = named_target(machine, standard(value))
        if target.kind != "out":
            deliver(machine, target, invocation.content, invocation.origin)
        return
    path, unknown, glob = invocation.path(use)
    if invocation.origin in _LINKING:
        _link(invocation, path)
    else:
        path = through(machine.links, path)
    taint = invocation.content.taint
    machine.effects.append(
        FileWrite(
            path, unknown, glob, append, taint, recursive, invocation.where(use), value.span, invocation.origin,
            tail_of(value) if unknown else "",
        )
    )  # fmt: skip
    if not unknown and not glob and invocation.where(use) is Where.HERE:
        if invocation.origin in _PIPING:
            _fifo(invocation, path)
            return
        machine.write_file(path, as_copied(invocation.content, invocation.origin), append=append)
        if machine.trees and invocation.origin in _MOVING:
            moved(invocation, path)
        if use.role == "onto" and (machine.files or machine.situation.written):
            _carried_along(invocation, path)


def _carried_along(invocation: Invocation, path: str) -> None:
    """What this run wrote below a directory, or under names that a pattern fits, goes where that is copied or moved."""
    machine = invocation.machine
    for source in invocation.reading.uses:
        start = invocation.path(source) if source.role in SOURCES else None
        if start is None or start.unknown:
            continue
        if start.glob:
            for file in matching(machine, start.path):
                machine.write_file(f"{path}/{base_name(file.path)}", stored((file,), file.path))
            continue
        for known in below(machine, start.path):
            for top in (path, f"{path}/{base_name(start.path)}"):
                machine.write_file(top + known[len(start.path) :], stored(machine.file(known), known))


def _fifo(invocation: Invocation, path: str) -> None:
    """A pipe with a name: what will come out of it is what others put in."""
    machine = invocation.machine
    operands = [value.text for value in invocation.reading.operands]
    if invocation.origin in ("mkfifo", "gmkfifo") or operands[1:2] == ["p"]:
        machine.fifos[path] = None
        machine.files[path] = (WrittenFile(path, None, FOREIGN),)


_PIPING = frozenset({"mkfifo", "gmkfifo", "mknod", "gmknod"})
_MOVING = frozenset({"cp", "gcp", "mv", "gmv", "rsync", "install", "ditto", "ln"})
_LINKING = frozenset({"ln", "gln", "link"})


def _link(invocation: Invocation, path: str) -> None:
    """What leads where from now on: the name that is written, or names in it if it is a directory."""
    for use in invocation.reading.uses:
        target = invocation.path(use) if use.role == "link" else None
        if target is not None and not target.unknown and not target.glob:
            linked(invocation.machine.links, path, target.path)
            linked(invocation.machine.links, f"{path}/{base_name(target.path)}", target.path)


def edit(invocation: Invocation, use: Use, added: Sequence[str] = ()) -> None:
    """A path that is changed in place; `added` are lines that are known to be put into it."""
    path, unknown, glob = invocation.path(use)
    machine = invocation.machine
    path = through(machine.links, path)
    machine.effects.append(
        FileWrite(
            path, unknown, glob, False, CLEAN, invocation.recursive, invocation.where(use), use.value.span,
            invocation.origin, tail_of(use.value) if unknown else "",
        )
    )  # fmt: skip
    if invocation.where(use) is Where.HERE:
        made = in_place(invocation, path, machine.file(path), added)
        if made is not None:
            machine.write_file(path + "**" if unknown else path, made)


def onto(invocation: Invocation, use: Use) -> None:
    """A file that receives a source, or a directory that receives each under its name: both readings are remembered."""
    path, unknown, _ = invocation.path(use)
    is_folder, named = folder(invocation, use, path), list(entries(invocation))
    whole = invocation.recursive and not (is_folder is Folder.YES and all(name for name, _ in named))
    _written(invocation, use, False, whole)
    if unknown or invocation.machine.where is not Where.HERE:
        return
    for name, source in named:
        if invocation.recursive and source.role == "source" and is_remote(source.value.text):
            arrived_from(invocation, path, name)
        if name:
            _received(invocation, use, source, f"{path.rstrip('/')}/{name}", is_folder is not Folder.NO and not whole)


def _received(invocation: Invocation, use: Use, source: Use, inner: str, reported: bool) -> None:
    """What a directory gets from one source; configuration, which is protected by its name, is always reported."""
    machine = invocation.machine
    remote = source.role == "source" and is_remote(source.value.text)
    stream = invocation.content if remote else file_stream(machine, invocation.path(source))
    if invocation.origin not in _LINKING:
        inner = through(machine.links, inner)
    if reported or "/." in inner:
        machine.effects.append(
            FileWrite(
                inner, False, source.value.glob, False, stream.taint, invocation.recursive, invocation.where(use),
                use.value.span, invocation.origin,
            )
        )  # fmt: skip
    machine.write_file(inner, as_copied(stream, invocation.origin))


def delete(invocation: Invocation, use: Use) -> None:
    """A path that is removed."""
    path, unknown, glob = invocation.path(use)
    if not invocation.machine.conditional:
        invocation.machine.links.pop(path, None)
    invocation.machine.effects.append(
        FileDelete(path, unknown, glob, invocation.recursive, invocation.where(use), use.value.span, invocation.origin)
    )
    folder = use.value.text.rstrip("/").rpartition("/")[0]
    if folder and "parents" in invocation.reading.flags:  # `rmdir -p a/b`: `a` as well
        delete(invocation, use._replace(value=use.value._replace(text=folder)))


def move(invocation: Invocation, use: Use) -> None:
    """The source of a move: read, and gone."""
    path, unknown, glob = invocation.path(use)
    where, span, whole = invocation.where(use), use.value.span, invocation.recursive
    invocation.machine.effects.append(FileRead(path, unknown, glob, whole, where, span, invocation.origin))
    invocation.machine.effects.append(FileDelete(path, unknown, glob, whole, where, span, invocation.origin))


def attribute(attribute: str) -> Callable[[Invocation, Use], None]:
    """A handler for paths whose attribute changes."""

    def handler(invocation: Invocation, use: Use) -> None:
        value = invocation.given("attr-value")
        path, unknown, glob = invocation.path(use)
        invocation.machine.effects.append(
            FileAttribute(
                path, attribute, value.text if value is not None else "", unknown, glob, invocation.recursive,
                invocation.where(use), use.value.span, invocation.origin,
            )
        )  # fmt: skip

    return handler


def execute(invocation: Invocation, use: Use) -> None:
    """A file or program that is started without arguments."""
    value, machine = use.value, invocation.machine
    path = invocation.path(use) if "/" in value.text else Path("")
    known = machine.file(path.path) if path.path and invocation.where(use) is Where.HERE else ()
    if known:
        script = ScriptFile(path.path, False, (), value.span)
        machine.forked(lambda: run_itself(machine, script, known))
    if invocation.origin == "run-parts" and not known and invocation.where(use) is Where.HERE:
        run_some(machine, ScriptFile(invocation.path(use).path.rstrip("/") + "/", True, (), value.span, "sh"))
    taint = file_stream(machine, path).taint & _FETCHED if path.path and machine.file(path.path) else CLEAN
    machine.effects.append(
        Execute(
            base_name(value.text), path.path, (), not value.exact, taint, invocation.where(use), value.span,
            invocation.origin,
        )
    )  # fmt: skip


def chdir(invocation: Invocation, use: Use) -> None:
    """A directory in which the paths after it resolve; one in a container is the matter of `mounts`."""
    if use.where is not Where.HERE:
        return
    found = invocation.path(use)
    invocation.cwd = Place(found.path, not found.unknown)
