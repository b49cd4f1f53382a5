"""A file that may hold one of several texts, as one text with holes: so it is remembered from one call to the next."""

from __future__ import annotations

from policyengine.effects import HOLE, WrittenFile
from policyengine.shell.interpret.streams import MAX_TEXT

_NEXT = HOLE * 8  # stands before each of the texts


def together(versions: tuple[WrittenFile, ...]) -> WrittenFile:
    """One file of all that it may hold."""
    if len(versions) == 1:
        return versions[0]
    taint = frozenset().union(*[version.taint for version in versions])
    texts = [_NEXT + version.text for version in versions if version.text is not None]
    return WrittenFile(versions[0].path, "".join(texts)[:MAX_TEXT] if texts else None, taint)


def apart(file: WrittenFile) -> tuple[WrittenFile, ...]:
    """What a file may hold."""
    if file.text is None or not file.text.startswith(_NEXT):
        return (file,)
    return tuple([file._replace(text=text) for text in file.text.split(_NEXT)[1:]])
