"""Patches: a diff names the files that applying it changes (patch(1), git-apply(1)), and these are reported by name.

What a name loses from its front is `-p` (git: one part; patch: all but the last where `-p` is not given).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from policyengine.effects import HOLE, Cause
from policyengine.patterns import lazily
from policyengine.shell.interpret.content import stream_of
from policyengine.shell.interpret.edits import added_lines
from policyengine.shell.interpret.files import delete, edit
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.interpret.streams import Stream
from policyengine.shell.programs import Use
from policyengine.shell.values import Value

MAX_FILES = 256  # of one patch that are named; beyond, it is not known which others there are
NOWHERE = "/dev/null"
_HEADER = lazily(r"^(---|\+\+\+|\*\*\*|Index:|diff --git|rename from|rename to|copy to) ([^\t\r\n]+)", re.MULTILINE)
_FIRST = frozenset({"---", "***"})  # marks that another name may follow
_BARE = frozenset({"rename from", "rename to", "copy to"})  # marks before names that have no `a/` in front
_STRIP = lazily(r"(?:-p|--strip=)(\d{1,4})\Z")


def patched(invocation: Invocation) -> None:
    """Report the files that patches of known text name, each as edited or, where nothing is left of it, deleted."""
    for stream in _patches(invocation):
        named: dict[str, bool] = {}
        for name, gone in _names(stream.template or ""):
            named[name] = gone or named.get(name, False)
        added = added_lines(stream.template or "")
        for name in [*named][:MAX_FILES]:
            _changed(invocation, stream, name, added.get(name, ()), gone=named[name])
        if len(named) > MAX_FILES:
            invocation.machine.opaque(Cause.VALUE, "a patch of many files", invocation.span, invocation.origin)


def _patches(invocation: Invocation) -> list[Stream]:
    reads = [use for use in invocation.reading.uses if use.role == "read"]
    return [stream_of(invocation.machine, use, invocation.cwd) for use in reads] or [invocation.machine.stdin]


def _names(text: str) -> Iterator[tuple[str, bool]]:
    """Each name of a header, and whether its file goes; of a pair of names the second counts."""
    before = ""
    for match in _HEADER.finditer(text):
        mark, name = match[1], match[2].rstrip()
        if name.endswith(mark):  # the lines that a part of a context diff is about: `--- 1,4 ----`
            continue
        if before and (mark != "+++" or name == NOWHERE):
            yield before, mark == "+++"
        before = name if mark in _FIRST and name != NOWHERE else ""
        if mark == "diff --git":
            yield _second(name), False
        elif mark in _BARE:
            yield f"a/{name}", mark == "rename from"
        elif mark not in _FIRST and name != NOWHERE:
            yield name, False
    if before:
        yield before, False


def _second(names: str) -> str:
    """Of `a/x b/x` the latter; both are as long, except where a file is moved."""
    half = len(names) // 2
    return names[half + 1 :] if names[half : half + 1] == " " else names.rpartition(" ")[2]


def _changed(invocation: Invocation, stream: Stream, name: str, added: Sequence[str], *, gone: bool) -> None:
    if name.startswith('"') or HOLE in name:  # quoted as in C, or not known whole
        invocation.machine.opaque(Cause.VALUE, "the name of a file in a patch", invocation.span, invocation.origin)
        return
    rest = _stripped(invocation, name)
    if rest:
        value = Value(rest, span=stream.span)
        if gone:
            delete(invocation, Use("delete", value))
        else:
            edit(invocation, Use("edit", value), added)


def _stripped(invocation: Invocation, name: str) -> str:
    words = [value.text for value in invocation.arguments]
    pairs = [*words, *(f"{one}{other}" for one, other in itertools.pairwise(words) if one == "-p")]
    count = next((int(match[1]) for word in pairs if (match := _STRIP.match(word))), None)
    if count is None:
        count = 1 if invocation.origin == "git" else name.count("/")
    folder = next((word.removeprefix("--directory=") for word in words if word.startswith("--directory=")), "")
    rest = "/".join(name.split("/")[count:])
    return f"{folder}/{rest}" if folder and invocation.origin == "git" else rest
