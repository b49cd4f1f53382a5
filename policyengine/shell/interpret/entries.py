"""Which entries a directory gets that receives the sources of a call (`cp a b dir`), and whether it is one."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from policyengine.patterns import lazily
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.paths import base_name
from policyengine.shell.programs import Use
from policyengine.shell.urls import is_remote

_SOURCES = frozenset({"read", "move", "link", "source"})
_ENDING = lazily(r".*[^/.]\.(?!d\Z)[A-Za-z][A-Za-z0-9]{0,9}\Z")  # `a.py` is a file, `conf.d` and `v1.2` need not be


class Folder(Enum):
    """What a receiving path is, as far as the call says: `LIKELY` has one source alone and a name without an ending."""

    YES = auto()
    LIKELY = auto()
    NO = auto()


def entries(invocation: Invocation) -> Iterator[tuple[str, Use]]:
    """Each source and its name below a directory that receives it; empty where its contents arrive without it.

    The flag `parents` keeps the folders on the way to it. Of rsync a source that ends in `/` stands for its contents.
    """
    whole = "parents" in invocation.reading.flags
    for source in invocation.reading.uses:
        if source.role in _SOURCES and source.value.exact:
            text = source.value.text
            if source.role == "source" and is_remote(text):
                text = text.rpartition(":")[2]
            name = text.strip("/") if whole else base_name(text)
            contents = name in (".", "..") or (source.role == "source" and text.endswith("/"))
            yield "" if contents else name, source


def folder(invocation: Invocation, use: Use, path: str) -> Folder:
    """Whether a receiving path is a directory."""
    if "file" in invocation.reading.flags:
        return Folder.NO
    sources = [one.value.text for one in invocation.reading.uses if one.role in _SOURCES]
    if use.option or use.value.text.endswith("/") or len(sources) > 1:
        return Folder.YES
    situation = invocation.machine.situation
    if any(f"{place}/".startswith(f"{path}/") for place in (*situation.workspace, situation.home)):
        return Folder.YES
    named = _ENDING.match(path) is not None or any(base_name(path) == base_name(source) for source in sources)
    return Folder.NO if named else Folder.LIKELY
