"""`policyengine explain`: how a command is read, what it would do, and what each rule says about that."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from policyengine.analysis import situation_of
from policyengine.cli.core import Judged, judge, ready_rules
from policyengine.cli.paint import Paint, Style
from policyengine.cli.source import Source
from policyengine.cli.view import effect_row, finding_rows, outcome_rows
from policyengine.cli.wire import Json, decision_json, dumps
from policyengine.errors import ParseError
from policyengine.records import NamedTuple
from policyengine.shell import parse
from policyengine.shell.interpret import Note, Step, followed
from policyengine.shell.nodes import Escaped, Literal, Script, SingleQuoted
from policyengine.shell.programs import Programs
from policyengine.state import START
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
    notes = notes_of(judged, ready_rules(options).programs)
    if options.json:
        tree = [{"depth": b.depth, "node": b.node, "span": [b.start, b.end], "text": b.text} for b in branches]
        answer: Json = decision_json(None, judged.decision, judged.micros)
        print(dumps(answer | {"tree": tree, "reasoning": [_note_json(note) for note in notes], "fault": fault or None}))
    else:
        print("\n".join(_rows(judged, branches, notes, fault)))
    return 0


def notes_of(judged: Judged, programs: Programs) -> list[Note]:
    """The steps of the interpretation, which is done once more for that; none for what is no request."""
    request = judged.decision.request
    if request is None:
        return []
    return followed(judged.text, situation_of(request, START), programs)[1]


def _note_json(note: Note) -> Json:
    return {
        "step": note.step.value, "subject": note.subject, "values": list(note.values), "taint": sorted(note.taint),
        "because": list(note.because), "span": list(note.span) if note.span is not None else None,
    }  # fmt: skip


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


def _rows(judged: Judged, branches: list[Branch], notes: list[Note], fault: str) -> Iterator[str]:
    paint, source = Paint(sys.stdout), Source(judged.text)
    findings, effects = judged.decision.findings, judged.decision.effects
    yield from outcome_rows(judged.decision, source, paint)
    yield from ("", paint("tree", Style.MARK))
    yield from (
        [f"  not valid: {visible(fault)}"] if fault else [_branch_row(branch, source, paint) for branch in branches]
    )
    yield from ("", paint("reasoning", Style.MARK))
    yield from [_note_row(note, source, paint) for note in notes] or ["  every word is what is written"]
    yield from ("", paint("effects", Style.MARK))
    yield from [f"  {effect_row(effect, source, paint)}" for effect in effects] or ["  none"]
    yield from ("", paint("findings", Style.MARK))
    yield from [f"  {row}" for finding in findings for row in finding_rows(finding, source, paint)] or ["  none"]


_SAID = {
    Step.WORD: "becomes", Step.VARIABLE: "holds", Step.OUTPUT: "what is captured is", Step.PIPE: "what goes on is",
    Step.FILE: "holds",
}  # fmt: skip


def _note_row(note: Note, source: Source, paint: Paint) -> str:
    """One step: what it is about, what that is now, where it came from and why."""
    place = paint(source.place(note.span[0]), Style.FAINT) + " " if note.span else ""
    subject = paint(visible(note.subject), Style.STRONG) + " " if note.subject else ""
    values = ", ".join([_value(value) for value in note.values]) or "nothing"
    said = f"{_SAID[note.step]} {values}" if note.step in _SAID else ""
    origin = f", {' and '.join(sorted(note.taint))}" if note.taint else ""
    because = "; ".join(map(visible, note.because))
    return f"  {place}{subject}{said}{origin}{' (' + because + ')' if said and because else because}"


def _value(value: str | None) -> str:
    return "text that is not known" if value is None else visible(repr(value) if value.strip() != value else value)


def _branch_row(branch: Branch, source: Source, paint: Paint) -> str:
    name = paint(branch.node, Style.STRONG)
    place = paint(source.place(branch.start), Style.FAINT)
    return f"  {'  ' * min(branch.depth, MAX_INDENT)}{name} {place}  {visible(branch.text)}".rstrip()
