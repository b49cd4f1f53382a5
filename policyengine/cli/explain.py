"""`policyengine explain`: how a command is read, what it would do, and what each rule says about that."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from policyengine.cli.core import Judged, judge
from policyengine.cli.paint import Paint, Style
from policyengine.cli.source import Source
from policyengine.cli.view import effect_row, finding_rows, outcome_rows
from policyengine.cli.wire import Json, decision_json, dumps
from policyengine.errors import ParseError
from policyengine.records import NamedTuple
from policyengine.shell import parse
from policyengine.shell.nodes import Escaped, Literal, Script, SingleQuoted
from policyengine.visible import visible

HIDDEN = (Literal, Escaped, SingleQuoted)  # their text stands in the word around them
MAX_INDENT = 40  # levels; deeper ones stand below each other, since blanks would outgrow the text


class Branch(NamedTuple):
    """One node of the tree; `text` is empty where it holds further commands, whose own branches show it."""

    depth: int
    node: str
    start: int
    end: int
    text: str


def run(options: argparse.Namespace) -> int:
    """Print the explanation; 0 whatever the outcome."""
    judged = judge(options)
    branches, fault = tree_of(judged.text)
    if options.json:
        tree = [{"depth": b.depth, "node": b.node, "span": [b.start, b.end], "text": b.text} for b in branches]
        answer: Json = decision_json(None, judged.decision, judged.micros)
        print(dumps(answer | {"tree": tree, "fault": fault or None}))
    else:
        print("\n".join(_rows(judged, branches, fault)))
    return 0


def tree_of(text: str) -> tuple[list[Branch], str]:
    """Every node in source order with its depth, and what is wrong with the text (empty: nothing). Not recursive."""
    try:
        script = parse(text)
    except ParseError as error:
        return [], str(error)
    found: list[Branch] = []
    holders: list[int] = []  # indexes of the branches around the current one
    pending: list[tuple[object, int]] = [(script, 0)]
    while pending:
        current, depth = pending.pop()
        fields = getattr(current, "_fields", None)  # nodes have fields, the tuples that hold their children do not
        if fields is None:
            pending.extend((child, depth) for child in reversed(current) if isinstance(child, tuple))  # type: ignore[call-overload]
        elif not isinstance(current, HIDDEN):
            start, end = current[-2:]  # type: ignore[index]  # as every node does
            del holders[depth:]
            if isinstance(current, Script):
                _clear(found, holders)
            holders.append(len(found))
            found.append(Branch(depth, type(current).__name__, start, end, "" if depth == 0 else text[start:end]))
            pending.extend((child, depth + 1) for child in reversed(current) if isinstance(child, tuple))  # type: ignore[call-overload]
    return found, ""


def _clear(found: list[Branch], holders: list[int]) -> None:
    """Take the text from the branches around a nested script, innermost first, up to one that has none already."""
    for index in reversed(holders):
        if not found[index].text:
            return
        found[index] = found[index]._replace(text="")


def _rows(judged: Judged, branches: list[Branch], fault: str) -> Iterator[str]:
    paint, source = Paint(sys.stdout), Source(judged.text)
    findings, effects = judged.decision.findings, judged.decision.effects
    yield from outcome_rows(judged.decision, source, paint)
    yield from ("", paint("tree", Style.MARK))
    yield from (
        [f"  not valid: {visible(fault)}"] if fault else [_branch_row(branch, source, paint) for branch in branches]
    )
    yield from ("", paint("effects", Style.MARK))
    yield from [f"  {effect_row(effect, source, paint)}" for effect in effects] or ["  none"]
    yield from ("", paint("findings", Style.MARK))
    yield from [f"  {row}" for finding in findings for row in finding_rows(finding, source, paint)] or ["  none"]


def _branch_row(branch: Branch, source: Source, paint: Paint) -> str:
    name = paint(branch.node, Style.STRONG)
    place = paint(source.place(branch.start), Style.FAINT)
    return f"  {'  ' * min(branch.depth, MAX_INDENT)}{name} {place}  {visible(branch.text)}".rstrip()
