"""Control flow: which commands run in which state. Branches are joined, subshells undone; loops are in `loops`.

No condition is ever decided: code that seems dead counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from policyengine.shell.interpret.arithmetic import arithmetic
from policyengine.shell.interpret.choices import MAX_COMBINATIONS
from policyengine.shell.interpret.commands import called, simple
from policyengine.shell.interpret.customs import IN_SHELL, PERHAPS_IN_SHELL, is_implicit
from policyengine.shell.interpret.joining import before, branches, join, nothing
from policyengine.shell.interpret.latent import evaluated, named
from policyengine.shell.interpret.lists import Ended
from policyengine.shell.interpret.loops import arithmetic_loop, for_loop, select_loop, while_loop
from policyengine.shell.interpret.machine import Definition, Machine, Target, Variable
from policyengine.shell.interpret.notes import Step, note_stream
from policyengine.shell.interpret.redirects import in_redirects
from policyengine.shell.interpret.streams import OUTER_INPUT, Sink, Stream
from policyengine.shell.interpret.words import expand_body, expand_one
from policyengine.shell.nodes import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Background,
    Case,
    Condition,
    Coprocess,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Script,
    Select,
    SimpleCommand,
    Statement,
    Subshell,
    While,
)
from policyengine.shell.values import Value

JOB = Variable((Value("$!"),))  # a job of this very shell, whatever its number is
_COMPARING = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})  # what stands beside them is an expression
_MATCHING = frozenset({"=", "==", "!=", "=~", "<", ">", "-nt", "-ot", "-ef"})  # these too have two operands


def body(machine: Machine, statements: Sequence[Statement]) -> None:
    """Interpret statements in order, in the current shell."""
    pipes = machine.pipes
    for node in statements:
        pending = len(pipes)
        if type(node) is SimpleCommand:
            simple(machine, node)
        else:
            statement(machine, node)
        while len(pipes) > pending:  # `>(…)` runs whether or not something is written to it
            machine.capture(pipes.popitem()[1].body, Stream(None))


def statement(machine: Machine, node: Statement) -> None:
    """Interpret one statement."""
    machine.deeper()
    _KINDS[type(node)](machine, node)
    machine.depth -= 1


# ----------------------------------------------------------------------------------------------------- lists and groups
def _pipeline(machine: Machine, node: Pipeline) -> None:
    """Each element is a subshell of its own; what one writes is what the next one reads."""
    outer, stdin = machine.out, machine.stdin
    try:
        _piped(machine, node.commands, 0)
    finally:
        machine.out = outer
        if len(node.commands) > 1:  # `! read x` takes its line as `read x` does
            machine.stdin = stdin


def _piped(machine: Machine, commands: Sequence[Statement], first: int) -> None:
    """Interpret a pipeline from that element on, what it reads being there; once for each of several texts."""
    outer, last = machine.out, len(commands) - 1
    machine.asynchronous += last > 0
    for at in range(first, last + 1):
        sink = machine.out = outer if at == last else Sink()
        if last == 0:
            machine.feed((commands[at],), None)
        elif at == last:
            _last(machine, commands[at])
        else:
            machine.forked(lambda command=commands[at]: body(machine, (command,)))  # type: ignore[misc]
        if at < last and sink is not None:
            stream = machine.stdin = sink.stream()
            if machine.notes is not None:
                note_stream(machine, Step.PIPE, "", stream, machine.span(commands[at].start, commands[at].end))
            if stream.choices and machine.texts * len(stream.choices) <= MAX_COMBINATIONS:
                _split(machine, stream, lambda at=at: _piped(machine, commands, at + 1), outer)  # type: ignore[misc]
                break
    machine.asynchronous -= last > 0


def _last(machine: Machine, command: Statement) -> None:
    """The last element of a pipeline, which some shells run in the shell itself (bash manual 4.3.2, `lastpipe`)."""
    shell, mark = machine.shell, len(machine.trail)
    if shell in IN_SHELL:
        machine.feed((command,), None)
    elif shell in PERHAPS_IN_SHELL or "/lastpipe" in machine.cells or _has_lastpipe(machine):
        machine.feed((command,), None)
        join(machine, [before(machine, mark), machine.changes(mark)])
    else:
        machine.forked(lambda: body(machine, (command,)))


def _has_lastpipe(machine: Machine) -> bool:
    options = machine.variable("BASHOPTS")
    return options is not None and any("lastpipe" in value.text for value in options.choices)


def _split(machine: Machine, stream: Stream, run: Callable[[], None], outer: Sink | None) -> None:
    """Run what reads a stream once for each text that it may be."""

    def with_text(text: str) -> None:
        machine.stdin = stream.chosen(text)
        run()

    machine.out = outer
    machine.texts *= len(stream.choices)
    branches(machine, [lambda text=text: with_text(text) for text in stream.choices])  # type: ignore[misc]
    machine.texts //= len(stream.choices)


def _and_or(machine: Machine, node: AndOr) -> None:
    """After the list, variables hold what any of its items left; `cd` is taken to succeed."""
    ended = Ended(machine.out) if machine.out is not None else None
    _item(machine, ended, "&&", node.items[0])
    mark = len(machine.trail)
    machine.conditional += 1
    for operator, item in zip(node.operators, node.items[1:], strict=True):
        _item(machine, ended, operator, item)
    machine.conditional -= 1
    if len(machine.trail) > mark:
        join(machine, [before(machine, mark), machine.changes(mark)], keep=("/cwd", "/oldpwd"))
    if ended is not None:
        ended.close()


def _item(machine: Machine, ended: Ended | None, operator: str, item: Statement) -> None:
    def run() -> None:
        if ended is None:
            body(machine, (item,))
        else:
            ended.run(operator, item, lambda: body(machine, (item,)))

    if operator == "&&":
        run()
    else:
        branches(machine, [run, nothing])


def _background(machine: Machine, node: Background) -> None:
    machine.jobs = True
    machine.asynchronous += 1
    printed = machine.capture((node.command,)) if machine.out is not None else None
    if printed is None:
        machine.forked(lambda: body(machine, (node.command,)))
    elif printed.text != "":  # among what others print
        machine.emit(printed._replace(text=None, prefix="", rest=printed.template or "", choices=()))
    machine.asynchronous -= 1
    machine.put("!", JOB)


def _group(machine: Machine, node: Group) -> None:
    in_redirects(machine, node.redirects, lambda: body(machine, node.body))


def _subshell(machine: Machine, node: Subshell) -> None:
    in_redirects(machine, node.redirects, lambda: machine.forked(lambda: body(machine, node.body)))


def _coprocess(machine: Machine, node: Coprocess) -> None:
    """Its output and input are the descriptors in the array of its name (bash manual 3.2.6)."""
    machine.asynchronous += 1
    out = machine.capture((node.body,), OUTER_INPUT)
    machine.asynchronous -= 1
    reading, writing = machine.next_descriptor, machine.next_descriptor - 1
    machine.next_descriptor -= 2
    body_of_it = Script((node.body,), node.start, node.end)
    target = Target("peer", peer=out.peer) if out.peer is not None else Target("command", str(reading), body=body_of_it)
    machine.descriptors = {**machine.descriptors, reading: out, writing: target}
    machine.put("!", JOB)
    machine.put(node.name, Variable((), "", {"0": Value(str(reading)), "1": Value(str(writing))}))


# ------------------------------------------------------------------------------------------------------------- branches
def _if(machine: Machine, node: If) -> None:
    def run() -> None:
        for at, branch in enumerate(node.branches):
            machine.conditional += at > 0
            body(machine, branch.condition)
            machine.conditional -= at > 0
        bodies = [branch.body for branch in node.branches] + [node.otherwise or ()]
        branches(machine, [lambda inner=inner: body(machine, inner) for inner in bodies])  # type: ignore[misc]

    in_redirects(machine, node.redirects, run)


def _case(machine: Machine, node: Case) -> None:
    def run() -> None:
        expand_one(machine, node.word)
        for arm in node.arms:
            for pattern in arm.patterns:
                expand_one(machine, pattern)
        branches(machine, [*[lambda inner=arm.body: body(machine, inner) for arm in node.arms], nothing])

    in_redirects(machine, node.redirects, run)


# ---------------------------------------------------------------------------------------------- conditions, definitions
def _condition(machine: Machine, node: Condition) -> None:
    def run() -> None:
        values = [expand_one(machine, word) for word in node.words]
        for operator, operands in _terms(node.operators, values):
            if operator in _COMPARING:
                for value in operands:
                    evaluated(machine, value)
            elif operator == "-v":
                named(machine, operands[0])

    in_redirects(machine, node.redirects, run)


def _terms(operators: Sequence[str], operands: Sequence[Value]) -> Iterator[tuple[str, Sequence[Value]]]:
    """The terms of a condition: the operator of each (empty where a word stands alone), and its operands.

    After a fault, operands may be missing or left over; these are no term's.
    """
    at, operator = 0, ""
    for symbol in (*operators, "&&"):
        if symbol in ("&&", "||"):
            taken = 2 if operator in _COMPARING or operator in _MATCHING else 1
            if at < len(operands):
                yield operator, operands[at : at + taken]
            at, operator = at + taken, ""
        elif symbol not in ("(", ")", "!"):
            operator = symbol


def _arithmetic_command(machine: Machine, node: ArithmeticCommand) -> None:
    in_redirects(machine, node.redirects, lambda: arithmetic(machine, expand_body(machine, node.expression)) and None)


def _function(machine: Machine, node: Function) -> None:
    definition = Definition(node, machine.base, machine.fixed)
    machine.put(node.name + "()", (definition,))
    if is_implicit(node.name):
        machine.called.add(node.name)
        machine.forked(lambda: called(machine, node.name, definition, None))


_KINDS: dict[type, Callable[[Machine, Any], None]] = {
    Pipeline: _pipeline,
    AndOr: _and_or,
    Background: _background,
    Group: _group,
    Subshell: _subshell,
    If: _if,
    While: while_loop,
    For: for_loop,
    ArithmeticFor: arithmetic_loop,
    Select: select_loop,
    Case: _case,
    Condition: _condition,
    ArithmeticCommand: _arithmetic_command,
    Function: _function,
    Coprocess: _coprocess,
    SimpleCommand: simple,
}
