"""What is typed or pasted into terminals, and formats of terminal multiplexers that run programs (tmux(1), FORMATS)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from policyengine.effects import HOLE, Cause, Effect, Opaque
from policyengine.patterns import lazily
from policyengine.shell.code.terminals import typed_text
from policyengine.shell.interpret.evaluate import Code, ScriptFile, evaluate, run_vaguely
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.interpret.known import drop_unread
from policyengine.shell.programs import Use
from policyengine.shell.values import Value, from_template

MAX_FORMATS = 32  # programs that one format runs
_ENTER = frozenset({"Enter", "C-m", "C-M", "C-j", "C-J", "KPEnter"})
_BLANK = frozenset({"Space", "Tab", "BTab", "C-i"})
# Other keys (tmux(1), KEY BINDINGS): what was typed before them is no part of the command that follows.
_KEY = re.compile(
    r"(?:[CMS]-|\^)+\S{1,8}|Escape|DC|End|F\d\d?|Home|IC|NPage|PageDown|PgDn|PPage|PageUp|PgUp|Up|Down|Left|Right|KP\S{1,6}"
).fullmatch
_RUN = lazily(r"#\(((?:[^()]|\((?:[^()]|\([^()]*\))*+\))*+)\)")


def typed(invocation: Invocation, use: Use) -> None:
    """Keys and texts that are typed into a shell, all operands together."""
    uses = [one for one in invocation.reading.uses if one.role == "typed"]
    if use is not uses[0]:
        return
    flags = invocation.reading.flags
    read = _literal if "literal" in flags else _code_point if "hex" in flags else _key
    text = ""
    for one in uses:
        text = text[:-1] if one.value.text == "BSpace" and read is _key else text + read(one.value.template)
    taint = frozenset().union(*[one.value.taint for one in uses])
    span = use.value.span if len(uses) == 1 else invocation.span
    effects, at = invocation.machine.effects, len(invocation.machine.effects)
    _run(invocation, from_template(typed_text(text), taint, span))
    effects[at:] = [_for_another(effect) for effect in effects[at:]]


def _for_another(effect: Effect) -> Effect:
    """What no shell can read was typed into something else."""
    if isinstance(effect, Opaque) and effect.cause is Cause.UNPARSEABLE:
        return effect._replace(cause=Cause.CODE, detail="what is typed is no text for a shell")
    return effect


def _literal(text: str) -> str:
    return text


def _code_point(text: str) -> str:
    try:
        return chr(int(text, 16)).replace("\r", "\n")
    except (ValueError, OverflowError):
        return HOLE


def _key(text: str) -> str:
    if text in _ENTER or _KEY(text):
        return "\n"
    return " " if text in _BLANK else text


def _run(invocation: Invocation, code: Value) -> None:
    machine = invocation.machine
    machine.forked(lambda: evaluate(machine, Code("sh", code, "argument", invocation.origin)))


def pasted(invocation: Invocation, use: Use) -> None:
    """A text that may be pasted into a shell: as far as it is a command, what that does counts."""
    at = len(invocation.machine.effects)
    _run(invocation, use.value)
    drop_unread(invocation.machine, at)


def pasted_file(invocation: Invocation, use: Use) -> None:
    """A file whose text may be pasted into a shell; `-` is standard input."""
    machine = invocation.machine
    if use.value.text == "-":
        pasted(invocation, use._replace(value=machine.stdin.value(invocation.span)))
        return
    path = invocation.path(use)
    versions = machine.file(path.path) if not path.unknown else ()
    if versions:
        file = ScriptFile(path.path, False, (), use.value.span, "sh")
        machine.forked(lambda: run_vaguely(machine, file, versions))


def formats(invocation: Invocation, use: Use) -> None:
    """A format: `#(CMD)` stands for what a shell prints for it."""
    template = use.value.template
    for found in list(_RUN.finditer(template))[:MAX_FORMATS] if "#(" in template else ():
        _run(invocation, from_template(found[1], use.value.taint, use.value.span))


def parted(arguments: Sequence[Value]) -> list[list[Value]]:
    """The calls that a `;` of the program itself parts, alone or at the end of a word."""
    calls: list[list[Value]] = [[]]
    for word in arguments:
        text = word.text
        ends = word.exact and text.endswith(";") and not text.endswith("\\;")
        kept = text[:-1] if ends else text.removesuffix("\\;") + ";" if text.endswith("\\;") else text
        if kept:
            calls[-1].append(word._replace(text=kept))
        if ends:
            calls.append([])
    return [call for call in calls if call] or [[]]


def run_again(invocation: Invocation, words: Sequence[Value]) -> None:
    """Words that are a command of the program itself; one alone is the text of such commands."""
    machine, name = invocation.machine, invocation.origin
    if len(words) == 1 and " " in words[0].text:
        evaluate(machine, Code(name, words[0], "argument", name))
        return
    machine.runner.words(machine, [Value(name, span=invocation.span), *words])
