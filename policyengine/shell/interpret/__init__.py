"""What a shell text would do: abstract interpretation of its syntax tree (design section 5). Pure, total, bounded.

Nothing is executed, no file is looked at. What the text does not determine is marked unknown or Opaque, never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.effects import Cause, Effect, Execute, Facts, FileRead, Opaque
from policyengine.shell.interpret.alternatives import together
from policyengine.shell.interpret.commands import called, words
from policyengine.shell.interpret.endings import left_by
from policyengine.shell.interpret.evaluate import Code, evaluate
from policyengine.shell.interpret.machine import MAX_BYTES, Limit, Machine, Situation
from policyengine.shell.interpret.notes import Note, Step
from policyengine.shell.interpret.startup import read_at_start
from policyengine.shell.interpret.statements import body
from policyengine.shell.interpret.syntax import tolerant
from policyengine.shell.nodes import Statement
from policyengine.shell.programs import Programs
from policyengine.shell.values import Value

__all__ = ["MAX_BYTES", "Note", "Situation", "Step", "followed", "interpret", "interpret_code"]


class _Runner:
    """The machine's way down into statements and commands."""

    def body(self, machine: Machine, statements: Sequence[Statement]) -> None:
        body(machine, statements)

    def words(self, machine: Machine, values: Sequence[Value]) -> None:
        words(machine, values)


_RUNNER = _Runner()
MAX_AGAIN = 3  # readings more of a text in which commands that run beside each other read what others write


def interpret(text: str, situation: Situation, programs: Programs) -> Facts:
    """What the text would do in this situation. Never raises: what cannot be read or exceeds a limit is Opaque."""
    if len(text) > MAX_BYTES or (len(text) * 4 > MAX_BYTES and len(text.encode("utf-8", "replace")) > MAX_BYTES):
        return Facts((Opaque(Cause.LIMIT, f"more than {MAX_BYTES} bytes of shell text", span=(0, len(text))),))
    return _interpreted(Machine(text, situation, programs, _RUNNER), text)


def followed(text: str, situation: Situation, programs: Programs) -> tuple[Facts, list[Note]]:
    """As `interpret`, with the steps that led there."""
    machine = Machine(text[:MAX_BYTES], situation, programs, _RUNNER)
    notes: list[Note] = []
    machine.notes = notes
    return _interpreted(machine, machine.source), notes


def _interpreted(machine: Machine, text: str) -> Facts:
    _read(machine, text)
    for _ in range(MAX_AGAIN):
        if machine.files == machine.later or not (machine.fifos or (machine.jobs and _awaited(machine))):
            break
        machine = _again(machine)
        _read(machine, text)
    return _facts(machine)


def _read(machine: Machine, text: str) -> None:
    try:
        script, fault = tolerant(text, machine.situation.dialect)
        if fault is not None:
            machine.opaque(fault.cause, fault.message, (fault.start, fault.end))
        body(machine, script.body)
        _uncalled(machine)
        for trapped in machine.traps:
            machine.forked(trapped)
        if machine.files:
            read_at_start(machine)
    except (Limit, RecursionError) as limit:
        machine.effects.append(Opaque(Cause.LIMIT, str(limit), span=(0, len(text))))


def _awaited(machine: Machine) -> bool:
    """Whether a file was written that something may have waited for in the background, to read or to run it."""
    paths = {effect.path for effect in machine.effects if isinstance(effect, FileRead | Execute)}
    return not paths.isdisjoint(machine.files)


def _again(first: Machine) -> Machine:
    """One reading more, in which what runs beside others knows what these write."""
    machine = Machine(first.source, first.situation, first.programs, _RUNNER)
    machine.later, machine.fifos, machine.notes = first.files, first.fifos, first.notes
    return machine


def interpret_code(language: str, text: str, situation: Situation, programs: Programs) -> Facts:
    """What code in another language would do, as a tool that runs code does. Never raises."""
    if len(text) > MAX_BYTES:
        return Facts((Opaque(Cause.LIMIT, f"more than {MAX_BYTES} bytes of code", span=(0, len(text))),))
    machine = Machine(text, situation, programs, _RUNNER)
    try:
        evaluate(machine, Code(language, Value(text, span=(0, len(text))), "argument", language))
    except (Limit, RecursionError) as limit:
        machine.effects.append(Opaque(Cause.LIMIT, str(limit), span=(0, len(text))))
    return _facts(machine)


def _uncalled(machine: Machine) -> None:
    """Functions that are defined and not called here may be called later: their bodies count."""
    definitions = [(key[:-2], value) for key, value in machine.cells.items() if key.endswith("()") and value]
    for name, versions in definitions:
        if name not in machine.called:
            for definition in versions:
                if definition is not None:
                    machine.forked(lambda name=name, it=definition: called(machine, name, it, None))  # type: ignore[misc]


def _facts(machine: Machine) -> Facts:
    effects: list[Effect] = machine.effects
    if len(effects) > 8:  # loops, calls and alternatives repeat themselves
        effects = list(dict.fromkeys(effects))
    written = tuple([together(versions) for path, versions in machine.files.items() if not path.startswith("/dev/fd/")])
    cwd = machine.cwd.path if machine.cwd.exact else ""
    return Facts(tuple(effects), written, cwd if cwd != machine.situation.cwd else None, left_by(machine))
