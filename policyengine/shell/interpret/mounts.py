"""Directories of this machine that a container sees: what happens to them there happens here (docker-run(1))."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from policyengine.effects import FileAttribute, FileDelete, FileRead, FileWrite, Where
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.interpret.redirects import place_of
from policyengine.shell.paths import Place, normal
from policyengine.shell.values import Value

MAX_MOUNTS = 16  # of one container
_SOURCES, _TARGETS = ("source", "src"), ("target", "destination", "dst")


def in_container(invocation: Invocation, run: Callable[[], None]) -> None:
    """Run something in a container, and report what it does below the mounted directories as done here."""
    machine = invocation.machine
    at, mounts = len(machine.effects), dict(_mounts(invocation))
    directory = next((use.value for use in invocation.reading.uses if use.role == "chdir"), None)

    def inside() -> None:
        if directory is not None and directory.exact and directory.text[:1] == "/":
            machine.put("/cwd", Place(normal(directory.text)))
        run()

    machine.elsewhere(Where.CONTAINER, inside)
    if mounts and machine.where is Where.HERE:
        for effect in machine.effects[at:]:
            if (
                isinstance(effect, FileRead | FileWrite | FileDelete | FileAttribute)
                and effect.where is Where.CONTAINER
            ):
                path = _here(effect.path, mounts)
                if path:
                    machine.effects.append(effect._replace(path=path, where=Where.HERE))


def _here(path: str, mounts: dict[str, str]) -> str:
    """The path outside for one inside; empty where that is in no mount."""
    for target, source in mounts.items():
        if path == target or path.startswith(target.rstrip("/") + "/"):
            return normal(f"{source}/{path[len(target) :]}")
    return ""


def _mounts(invocation: Invocation) -> Iterator[tuple[str, str]]:
    """What is seen where: the directory inside, and the one outside (`SOURCE:TARGET…`, `source=…,target=…`)."""
    mounts = [use.value for use in invocation.reading.uses if use.role == "mount"]
    for value in mounts[:MAX_MOUNTS]:
        keys = dict(item.partition("=")[::2] for item in value.text.split(","))
        target = next((keys[key] for key in _TARGETS if key in keys), "")
        if target:
            yield from _mount(invocation, value, next((keys[key] for key in _SOURCES if key in keys), ""), target)
        else:
            source, _, rest = value.text.partition(":")
            yield from _mount(invocation, value, source, rest.partition(":")[0])


def _mount(invocation: Invocation, value: Value, source: str, target: str) -> Iterator[tuple[str, str]]:
    if value.exact and target[:1] == "/" and source[:1] in ("/", ".", "~"):
        yield normal(target), place_of(invocation.machine, Value(source), invocation.cwd).path
