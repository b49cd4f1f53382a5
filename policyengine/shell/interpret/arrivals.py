"""What unpacking and cloning bring: which directories hold it, as far as the command says (`trees`).

Two flags of descriptions lead here: `arrives` (an archive is unpacked into what is written) and `clones` (a directory
is filled, named like the source unless the call says otherwise).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policyengine.effects import CLEAN, Connect, Effect, FileWrite, Taints, Where
from policyengine.patterns import lazily
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.interpret.trees import FOREIGN, FROM_ELSEWHERE, MAX_TREES, taint_below
from policyengine.shell.paths import base_name
from policyengine.shell.urls import split_url

_ARCHIVE_END = lazily(
    r"(?:\.git|\.tar)?(?:\.(?:gz|xz|bz2|zst|lz4|tgz|txz|tbz2?|zip|7z|rar|whl|crate|gem|jar|cpio|deb|rpm))?\Z"
)
ARRIVING = frozenset({"arrives", "clones", "downloads", "mirrors"})  # flags of descriptions
_COLLECTIONS = frozenset({"archive", "releases", "download", "tarball", "zipball", "tags", "refs", "heads", "-"})


def arrived(invocation: Invocation, effects: Sequence[Effect]) -> None:
    """Remember the trees that a call filled, if what it read came over the network. `effects` are the call's own."""
    machine, flags = invocation.machine, invocation.reading.flags
    if machine.where is not Where.HERE:
        return
    if "downloads" in flags:
        _downloaded(invocation)
    if "mirrors" in flags:
        _mirrored(invocation)
        return
    if not (invocation.content.taint & FROM_ELSEWHERE):
        return
    if "clones" in flags and not any(isinstance(effect, FileWrite) for effect in effects):
        effects = [FileWrite(invocation.cwd.path)]
    for effect in effects:
        if isinstance(effect, FileWrite) and effect.where is Where.HERE and len(machine.trees) < MAX_TREES:
            _filled(invocation, effect.path.rstrip("/") + "/", clone="clones" in flags)


def _filled(invocation: Invocation, path: str, *, clone: bool) -> None:
    """A directory that was filled; in the working directory it is one of the name that the source lets expect."""
    trees = invocation.machine.trees
    if path != invocation.cwd.path.rstrip("/") + "/":
        trees[path] = FOREIGN
        return
    for name in _names(invocation):
        trees |= {f"{path}{name}{end}": FOREIGN for end in ("/" if clone else "/-_.")}
    if not clone:  # what an archive holds is called as it likes
        trees[path] = FOREIGN


def arrived_from(invocation: Invocation, path: str, name: str) -> None:
    """Remember a directory that is copied from another host: it, or one of its name in a directory that is there."""
    trees = invocation.machine.trees
    if len(trees) < MAX_TREES:
        if name:
            trees[f"{path.rstrip('/')}/{name}/"] = FOREIGN
        if path.rstrip("/") != invocation.cwd.path.rstrip("/"):
            trees[path.rstrip("/") + "/"] = FOREIGN


def _names(invocation: Invocation) -> Iterator[str]:
    """What the directory that comes out of an archive or repository is probably called: like that, or its project."""
    sources = [use.value.text for use in invocation.reading.uses if use.role in ("url", "source", "read")]
    if not sources and "clones" in invocation.reading.flags:
        sources = [value.text for value in invocation.reading.operands[:1]]
    if not sources:
        last = next((one for one in reversed(invocation.machine.effects) if isinstance(one, Connect) and one.url), None)
        sources = [last.url] if last is not None else []
    for source in sources:
        path = (split_url(source).path if "://" in source else source.rpartition(":")[2]).rstrip("/")
        parts = [part for part in path.split("/") if part]
        name = _ARCHIVE_END.sub("", base_name(path), count=1)
        yield from [name] if name else []
        outside = [part for part in parts[:-1] if part not in _COLLECTIONS]
        if len(outside) < len(parts) - 1 and outside:
            yield outside[-1]


def _mirrored(invocation: Invocation) -> None:
    """Remember what is fetched below a directory of the host's name (wget(1), -r)."""
    trees, top = invocation.machine.trees, invocation.cwd.path.rstrip("/")
    for use in invocation.reading.uses:
        if use.role == "url" and len(trees) < MAX_TREES:
            trees[f"{top}/{split_url(use.value.text).host}/"] = FOREIGN


def _downloaded(invocation: Invocation) -> None:
    """Remember files that a package manager fetches: `NAME-VERSION` and an ending, with `-` or `_` in the name."""
    machine = invocation.machine
    into = next((invocation.path(use).path for use in invocation.reading.uses if use.role == "into"), None)
    top = (into or invocation.cwd.path).rstrip("/")
    for use in invocation.reading.uses:
        name = _NAME.match(base_name(use.value.text)) if use.role == "package" else None
        if name is not None and len(machine.trees) < MAX_TREES:
            machine.trees[f"{top}/{name[0]}-"] = machine.trees[f"{top}/{name[0].replace('-', '_')}-"] = FOREIGN


_NAME = lazily(r"[\w.-]+")


def moved(invocation: Invocation, path: str) -> None:
    """What is copied or moved out of a tree, or is one, makes a tree of where it goes."""
    machine = invocation.machine
    for use in invocation.reading.uses:
        if use.role not in ("read", "move", "source") or not use.value.text:
            continue
        source = invocation.path(use)
        taint = taint_below(machine.trees, source.path, partial=source.unknown) | taint_below(
            machine.trees, source.path.rstrip("/") + "/"
        )
        if taint and len(machine.trees) < MAX_TREES:
            machine.trees[path.rstrip("/") + "/"] = taint
            machine.trees[f"{path.rstrip('/')}/{base_name(source.path)}/"] = taint


def lasting(trees: dict[str, Taints], known: Sequence[str], roots: Sequence[str]) -> dict[str, Taints]:
    """The new trees that a later call has to know. Where everything lies, not everything came from elsewhere."""
    whole = {root.rstrip("/") + "/" for root in (*roots, "/", "/tmp")}  # noqa: S108  a name
    return {
        tree: taint for tree, taint in trees.items()
        if tree not in known and not any(root.startswith(tree) for root in whole)
    }  # fmt: skip


def project_taint(invocation: Invocation) -> Taints:
    """Where the files of the directory that a program works in came from."""
    machine = invocation.machine
    if not machine.trees or machine.where is not Where.HERE:
        return CLEAN
    return taint_below(machine.trees, invocation.cwd.path.rstrip("/") + "/", partial=not invocation.cwd.exact)
