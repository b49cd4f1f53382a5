"""What is known of the contents of a file: what this run put there, or else where its contents come from."""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.effects import Taint, Taints, Where, WrittenFile
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.secrets import is_secret
from policyengine.shell.interpret.streams import MAX_ALTERNATIVES, MAX_TEXT, Stream, stream_of_value
from policyengine.shell.paths import Path, is_below
from policyengine.shell.values import from_template


def stored(known: Sequence[WrittenFile], path: str = "") -> Stream:
    """What a file holds, of which these versions are known."""
    if len(known) == 1:
        return _stored(known[0], path)
    taint = frozenset().union(*[file.taint for file in known])
    texts = [file.text for file in known if file.text is not None]
    whole = len(texts) == len(known) <= MAX_ALTERNATIVES
    return Stream(None, taint, path, choices=tuple(texts) if whole else (), rest="\n".join(texts)[:MAX_TEXT])


def _stored(file: WrittenFile, path: str) -> Stream:
    """What is known of a text with holes is its beginning and what stands behind."""
    if file.text is None:
        return Stream(None, file.taint, path)
    return stream_of_value(from_template(file.text, file.taint))._replace(path=path)


_TEMPORARY = ("/tmp/", "/var/tmp/", "/private/tmp/", "/dev/")  # noqa: S108  names, nothing is written there


def file_stream(machine: Machine, path: Path, tail: str = "") -> Stream:
    """What is known of a file's contents; `tail` certainly ends a path whose beginning is not known."""
    if path.unknown:
        return Stream(None, frozenset({Taint.SECRET if tail and is_secret(f"/{tail}") else Taint.WORKSPACE}))
    known = machine.file(path.path) if machine.where is Where.HERE else ()
    secret = is_secret(path.path)
    if known:
        return stored(known, path.path)
    return Stream(None, frozenset({Taint.SECRET}) if secret else _place_taint(machine, path.path), path.path)


def _place_taint(machine: Machine, path: str) -> Taints:
    """Of the workspace; of nobody knows whom, unless it is a temporary file."""
    if path in machine.situation.workspace or is_below(path, machine.situation.workspace):
        return frozenset({Taint.WORKSPACE})
    return frozenset() if path.startswith(_TEMPORARY) else frozenset({Taint.INPUT})
