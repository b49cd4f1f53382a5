"""`split_commands` must be consistent with `parse` wherever both read.

Parts are slices of the text in order; every simple command outside substitutions lies in exactly one part, and no
part holds
two of them where pipes are split at.
"""

from __future__ import annotations

from collections.abc import Iterator

from fuzz.oracles import Finding
from fuzz.reading import time_limit
from policyengine.shell import read, split_commands
from policyengine.shell.nodes import Node, SimpleCommand, Word


def check_split(text: str, extglob: bool) -> list[Finding]:
    """Where splitting and parsing contradict each other; empty where the text has a fault."""
    try:
        with time_limit():
            return _checked(text, extglob)
    except Exception as error:  # total: it may not raise
        return [Finding("crash", f"split_commands: {type(error).__name__}: {error}"[:200])]


def _checked(text: str, extglob: bool) -> list[Finding]:
    reading = read(text, extglob=extglob)
    if reading.fault is not None:
        split_commands(text, extglob=extglob)
        return []
    script = reading.script
    return [finding for pipes in (True, False) for finding in _contradictions(text, _units(script), pipes, extglob)]


def _contradictions(text: str, units: list[tuple[int, int]], pipes: bool, extglob: bool) -> Iterator[Finding]:
    split = split_commands(text, pipes=pipes, extglob=extglob)
    if not split.valid:
        yield Finding("split", f"pipes={pipes}: a text that parses is not valid")
    end = 0
    for part in split.parts:
        if part.text != text[part.start : part.end] or part.start < end:
            yield Finding("split", f"pipes={pipes}: part {part!r} is no slice in order"[:200])
        end = part.end
    homes: dict[int, int] = {}
    for start, stop in units:
        home = next((i for i, part in enumerate(split.parts) if part.start <= start < part.end), None)
        if home is None:
            yield Finding("split", f"pipes={pipes}: {text[start:stop]!r} is in no part"[:200])
        elif pipes and home in homes:
            yield Finding("split", f"pipes={pipes}: {text[start:stop]!r} shares a part"[:200])
        else:
            homes[home] = start


def _units(script: Node) -> list[tuple[int, int]]:
    """Spans of the simple commands outside words."""
    found: list[tuple[int, int]] = []
    pending: list[object] = [script]
    while pending:
        node = pending.pop()
        if isinstance(node, SimpleCommand):
            found.append(node.span)
        elif isinstance(node, tuple) and not isinstance(node, Word):
            pending += node
    return sorted(found)
