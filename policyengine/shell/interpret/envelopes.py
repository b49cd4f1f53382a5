"""Patches in an envelope (`*** Begin Patch`), the format of the editing command of coding agents: each file by name.

`*** Add File:` is followed by the whole text, each line behind a `+`; `*** Update File:`, `*** Move to:` and
`*** Delete File:` say the rest (Codex, apply_patch tool instructions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from policyengine.effects import HOLE, Cause, FileWrite
from policyengine.patterns import lazily
from policyengine.records import NamedTuple
from policyengine.shell.interpret.files import delete, edit
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.interpret.streams import Stream
from policyengine.shell.programs import Use
from policyengine.shell.values import Value

MAX_FILES = 256  # of one patch that are named
_SECTION = lazily(r"^\*\*\* (Add File|Update File|Delete File|Move to): *([^\r\n]+?) *\r?$", re.MULTILINE)


class _Section(NamedTuple):
    """What a patch says of one file, and the lines that it adds."""

    act: str
    name: str
    added: str


def unpacked(invocation: Invocation) -> None:
    """Report the files that the patch in an argument or on standard input names, and what is put into them."""
    machine, operands = invocation.machine, invocation.reading.operands
    stream = Stream(None, operands[0].taint, prefix=operands[0].template) if operands else machine.stdin
    text = operands[0].template if operands else stream.template or HOLE
    sections = list(_sections(text))
    if not sections or len(sections) > MAX_FILES or any(HOLE in section.name for section in sections):
        machine.opaque(Cause.VALUE, "the files that a patch names", invocation.span, invocation.origin)
    for section in sections[:MAX_FILES]:
        _applied(invocation, section, stream)


def _sections(text: str) -> Iterator[_Section]:
    marks = list(_SECTION.finditer(text))
    ends = [*[mark.start() for mark in marks[1:]], len(text)]
    for mark, end in zip(marks, ends, strict=False):
        lines = text[mark.end() : end].split("\n")
        added = "".join([f"{line[1:]}\n" for line in lines if line[:1] == "+"])
        yield _Section(mark[1], mark[2], added)


def _applied(invocation: Invocation, section: _Section, stream: Stream) -> None:
    act, name, added = section
    use = Use("edit", Value(name.replace(HOLE, ""), HOLE not in name, span=invocation.span))
    if act == "Delete File":
        delete(invocation, use._replace(role="delete"))
    elif act == "Update File":
        edit(invocation, use, (added,) if added else ())
    else:
        _written(invocation, use, stream._replace(text=added, prefix="", rest=""))


def _written(invocation: Invocation, use: Use, content: Stream) -> None:
    path, unknown, glob = invocation.path(use)
    machine, where = invocation.machine, invocation.where(use)
    machine.effects.append(
        FileWrite(path, unknown, glob, False, content.taint, False, where, invocation.span, invocation.origin)
    )
    if not unknown:
        machine.write_file(path, content)
