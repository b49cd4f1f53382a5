"""Simple commands: their words, assignments and redirections, and which function, builtin or program the name means."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policyengine.effects import (
    CLEAN,
    HOLE,
    NOTHING_LEFT,
    Cause,
    EvaluateCode,
    Execute,
    Exhaust,
    Obscured,
    Span,
    Taint,
    Taints,
    Where,
    WrittenFile,
)
from policyengine.shell.interpret.assignments import assign, restore
from policyengine.shell.interpret.builtins import BUILTINS, Call
from policyengine.shell.interpret.builtins.environment import declare, declare_array
from policyengine.shell.interpret.choices import MAX_COMBINATIONS, each
from policyengine.shell.interpret.disguises import disguised, disguised_again, has_substitution, is_plain
from policyengine.shell.interpret.endings import revived
from policyengine.shell.interpret.evaluate import ScriptFile, driven, shell_text
from policyengine.shell.interpret.globs import computable, matches
from policyengine.shell.interpret.installed import is_installed, knows_path, of_git, on_path
from policyengine.shell.interpret.joining import branches, one_of
from policyengine.shell.interpret.known import matching
from policyengine.shell.interpret.machine import Definition, Machine
from policyengine.shell.interpret.notes import note_name, note_words
from policyengine.shell.interpret.parameters import UNKNOWN_NAME
from policyengine.shell.interpret.processes import led
from policyengine.shell.interpret.programs import run_program
from policyengine.shell.interpret.recursion import entered, key_of, left, repeats
from policyengine.shell.interpret.redirects import permanent, place_of, redirected
from policyengine.shell.interpret.several import MAX_CHOICES, SURROUNDINGS
from policyengine.shell.interpret.shebangs import run_itself
from policyengine.shell.interpret.streams import Stream
from policyengine.shell.interpret.unset import unset_reading
from policyengine.shell.interpret.ways import in_function
from policyengine.shell.interpret.words import expand_all
from policyengine.shell.nodes import Redirect, SimpleCommand, Word
from policyengine.shell.paths import base_name, without_exe
from policyengine.shell.values import Value

MAX_CALLS = 12  # nested calls of functions
MAX_TRIED = 512  # words of a command times the combinations of values that are tried for it
HANDED_ON = 3  # fields that each word counts for which one command hands on to another (`env env env …`)

MAX_WRAPPED = 6  # arguments of an undescribed program among which a command is looked for
_WELL_KNOWN = (
    "rm", "sh", "bash", "cat", "curl", "wget", "nc", "python3", "python", "perl", "ruby", "chmod", "dd", "ls", "cp",
    "mv", "id", "passwd", "shred", "mkfs", "kill", "sudo", "su", "env", "base64", "sed", "awk", "find", "ssh", "scp",
    "tar", "echo",
)  # fmt: skip
_UNKNOWN_SOURCE: Taints = frozenset({Taint.INPUT})
_ORDINARY: Taints = frozenset({Taint.INPUT, Taint.WORKSPACE}) | SURROUNDINGS


def simple(machine: Machine, node: SimpleCommand) -> None:
    """Interpret a simple command, once for each combination of the values that its words may have."""
    machine.step()
    each(machine, _once, machine, node, most=max(1, min(MAX_COMBINATIONS, MAX_TRIED // (len(node.words) or 1))))


def _once(machine: Machine, node: SimpleCommand) -> None:
    values = expand_all(machine, node.words) if node.words else []
    machine.spend(len(values) if machine.picks is None else 2 * len(values))
    if machine.notes is not None:
        note_words(machine, node.words, values)
    if not node.redirects and not node.assignments and values:
        dispatch(machine, values, node.words, machine.span(node.start, node.end))
        return
    origin = base_name(values[0].text) if values else ""
    if not node.redirects:
        _assigned(machine, node, values)
        return
    if values and values[0].text == "exec" and len(values) == 1 and values[0].exact:
        span = machine.span(node.start, node.end)
        machine.effects.append(Execute("exec", "", (), False, CLEAN, machine.where, span, "exec"))
        permanent(machine, node.redirects)
        return
    with redirected(machine, node.redirects, origin):
        _assigned(machine, node, values)
        if not values and not node.assignments and _prints(machine, node.redirects):
            machine.emit(machine.stdin)


def _prints(machine: Machine, redirects: Sequence[Redirect]) -> bool:
    """`$(<f)`, and nothing else, stands for what f holds (bash manual 3.5.4); in zsh any input does (NULLCMD)."""
    return machine.situation.dialect in ("zsh", "unknown") or [redirect.op for redirect in redirects] == ["<"]


def _assigned(machine: Machine, node: SimpleCommand, values: list[Value]) -> None:
    span = machine.span(node.start, node.end)
    if not values:
        for assignment in node.assignments:
            assign(machine, assignment)
        return
    if not node.assignments:
        dispatch(machine, values, node.words, span)
        return
    if BUILTINS.get(values[0].text) is declare and values[0].exact:
        dispatch(machine, values, node.words, span)
        for assignment in node.assignments:
            declare_array(machine, Call(values[0].text, values[1:], span), assignment)
        return
    before = {assignment.name: machine.variable(assignment.name) for assignment in node.assignments}
    for assignment in node.assignments:
        assign(machine, assignment, exported=True)
    dispatch(machine, values, node.words, span)
    restore(machine, before)


# ------------------------------------------------------------------------------------------------------ name resolution
def words(machine: Machine, values: Sequence[Value]) -> None:
    """Interpret a command given as values (the tail of a wrapper): functions and aliases are not seen."""
    machine.step()
    machine.spend(HANDED_ON * len(values))
    machine.deeper()
    disguised_again(machine, values[0])
    _external(machine, values[0], values[1:], values[0].span)
    machine.depth -= 1


def dispatch(machine: Machine, values: list[Value], nodes: Sequence[Word], span: Span | None) -> None:
    """Find out what the first word names, and interpret that."""
    head = values[0]
    if not head.exact or head.many or head.glob:
        _unknown_name(machine, head, values[1:], nodes, span)
        return
    name = head.text
    cells = machine.cells
    if nodes and not is_plain(nodes[0]):
        disguised(machine, nodes[0], head)
    alias = cells.get(name + "=") if machine.aliasing or machine.situation.dialect != "bash" else None
    if alias is not None and (name + "=") not in machine.calling:
        note_name(machine, name, f"is an alias of {alias.text}", span)
        _alias(machine, name, alias, values[1:])
        return
    function = cells.get(name + "()")
    if function is None and machine.situation.left is not NOTHING_LEFT:
        if _left_alias(machine, values, nodes, span):
            return
        if name in machine.situation.left.functions:
            function = revived(machine, name)
    if function is not None:
        note_name(machine, name, "is a function", span)
        _function(machine, name, function, values[1:], span)
        return
    builtin = BUILTINS.get(name)
    if builtin is not None:
        arguments = values[1:]
        texts = tuple([value.text if value.exact else None for value in arguments])
        machine.effects.append(Execute(name, "", texts, False, CLEAN, machine.where, span, name))
        builtin(machine, Call(name, arguments, span, nodes[1:]))
        return
    _external(machine, head, values[1:], span)


def _unknown_name(
    machine: Machine, head: Value, arguments: list[Value], nodes: Sequence[Word], span: Span | None
) -> None:
    reached = led(head, machine.cwd) if head.text[:6] == "/proc/" else head
    if reached.exact and not (reached.many or reached.glob):
        _external(machine, reached, arguments, span)
        return
    if head.glob and head.exact:
        _glob_name(machine, head, arguments, span)
        return
    known = _known_end(head)
    if known:
        _somewhere(machine, head._replace(text=known, exact=True, many=False, rest=""), arguments, span)
        return
    if (nodes and has_substitution(nodes[0])) or head.taint - _ORDINARY:
        machine.effects.append(EvaluateCode("sh", "substitution", False, head.taint, machine.where, head.span, ""))
        if machine.out is not None and machine.out.peer is not None:
            driven(machine, machine.out.peer, head.span, "sh")
    texts = tuple([_text(value) for value in arguments])
    machine.effects.append(Execute(base_name(head.text), "", texts, True, head.taint, machine.where, span, ""))
    if head.template != HOLE or head.taint != SURROUNDINGS:  # else its default is looked at, too
        machine.opaque(Cause.VALUE, "which program runs depends on an unknown value", head.span or span)
    machine.emit(Stream(None, head.taint | machine.stdin.taint | _UNKNOWN_SOURCE))
    found = unset_reading(machine, nodes, [head, *arguments]) if nodes else []
    if found:
        machine.step()
        machine.forked(lambda: dispatch(machine, found, (), span))
    for line in head.template.split("\n")[:MAX_CHOICES] if head.rest else ():
        named = [
            head._replace(text=text, exact=True, many=False, rest="")
            for text in line.replace(HOLE, "").split()  # what only asks or fails prints nothing
        ]
        read = [*named, *(arguments if named or not line else ())]  # of several texts one may be empty
        if read:
            machine.step()
            machine.forked(lambda: dispatch(machine, read, (), span))  # noqa: B023  called at once


def _known_end(head: Value) -> str:
    """The name of a program of which only the directory is not known (`"$VIRTUAL_ENV/bin/python"`); else empty."""
    directory, slash, name = head.template.rpartition("/")
    strange = head.taint if head.many else head.taint - _ORDINARY  # what is split may be other words altogether
    return name if slash and HOLE in directory and not (HOLE in name or strange) else ""


def _somewhere(machine: Machine, head: Value, arguments: list[Value], span: Span | None) -> None:
    """A program in a directory that is not known: the described one of its name, or some other."""
    if machine.program(head.text) is not None:
        _external(machine, head, arguments, span)
        return
    texts = tuple(map(_text, arguments))
    machine.effects.append(Execute(head.text, "", texts, True, head.taint, machine.where, span, head.text))
    _undescribed(machine, head.text, "", arguments, head.span or span)


def _glob_name(machine: Machine, head: Value, arguments: list[Value], span: Span | None) -> None:
    """A pattern as command name: the well-known programs that it matches are all looked at."""
    machine.effects.append(Obscured("glob-command", machine.where, head.span, ""))
    pattern = base_name(head.text)
    found = [name for name in _WELL_KNOWN if computable(name, pattern) and matches(name, pattern)]
    machine.opaque(Cause.VALUE, "which program a pattern names is not known", head.span)
    for name in found[:MAX_CHOICES]:
        _external(machine, head._replace(text=name, glob=False), arguments, span)
    if not found:
        machine.effects.append(Execute(pattern, "", (), True, CLEAN, machine.where, span, ""))
        machine.emit(Stream(None))


def _external(machine: Machine, head: Value, arguments: Sequence[Value], span: Span | None) -> None:
    """A program or file outside the shell."""
    name = head.text
    if not head.exact or head.many or head.glob:
        _unknown_name(machine, head, list(arguments), (), span)
        return
    if machine.notes is not None:
        note_name(machine, name, _meaning(machine, head), span)
    path, taint = "", CLEAN
    versions: tuple[WrittenFile, ...] = ()
    found = on_path(machine, name) if "/" not in name and knows_path(machine) else ""
    if found:
        path, versions = found, machine.file(found)
        taint = frozenset().union(*[item.taint for item in versions])
    elif "/" in name:
        path = place_of(machine, head).path
        name = base_name(path)
        versions = (machine.file(path) or matching(machine, path)) if machine.where is Where.HERE else ()
        taint = frozenset().union(*[item.taint for item in versions])
    texts = tuple([value.text if value.exact else None for value in arguments])
    name = without_exe(name)
    machine.effects.append(Execute(name, path, texts, False, taint, machine.where, span, name))
    program = machine.program(name)
    if versions:
        run_itself(machine, ScriptFile(path, False, arguments, head.span), versions)
    elif program is not None:
        run_program(machine, program, name, arguments, span)
    elif name in BUILTINS:  # `env cd`, `xargs echo`
        BUILTINS[name](machine, Call(name, list(arguments), span, ()))
    else:
        of = of_git(name, path, arguments)
        if of:
            _external(machine, head._replace(text="git"), of, span)
        else:
            _undescribed(machine, name, path, arguments, head.span or span)


def _meaning(machine: Machine, head: Value) -> str:
    path = place_of(machine, head).path if "/" in head.text else ""
    if path and machine.file(path):
        return f"is {path}, which this run wrote or fetched"
    return "is a described program" if machine.program(base_name(head.text)) is not None else "is not described"


def _undescribed(machine: Machine, name: str, path: str, arguments: Sequence[Value], span: Span | None) -> None:
    """A file that is run is what Execute says; a program that nobody described is Opaque."""
    if name == "\r":  # an empty line of a text from Windows: there is no such program
        return
    named = not path and name[:1] not in ("-", "")  # else it has expanded to nothing, and there is no such command
    installed = bool(path) and is_installed(path, machine.situation.workspace)
    if (installed or named) and not _asks_for_help(arguments):
        machine.opaque(Cause.PROGRAM, name, span, name)
    _wrapped(machine, arguments[:MAX_WRAPPED], arguments, span)
    taint = frozenset().union(*[value.taint for value in arguments])
    machine.emit(Stream(None, machine.stdin.taint | taint | _UNKNOWN_SOURCE))


def _asks_for_help(arguments: Sequence[Value]) -> bool:
    """The two options that mean the same in every program (GNU coding standards 4.8.1, 4.8.2)."""
    return len(arguments) == 1 and arguments[0].exact and arguments[0].text in ("--help", "--version")


def _wrapped(machine: Machine, first: Sequence[Value], arguments: Sequence[Value], span: Span | None) -> None:
    """What nobody described may run the command among its arguments (`frob exec . rm -rf x`): that is judged too."""
    for at, value in enumerate(first):
        if value.exact and machine.program(base_name(value.text)) is not None:
            machine.step()
            machine.forked(lambda: dispatch(machine, [*arguments[at:]], (), span))  # noqa: B023  called at once
            return


def _text(value: Value) -> str | None:
    return value.text if value.exact else None


# ------------------------------------------------------------------------------------------------ functions and aliases
def _function(
    machine: Machine, name: str, definitions: tuple[Definition | None, ...], arguments: list[Value], span: Span | None
) -> None:
    machine.called.add(name)
    texts = tuple(map(_text, arguments))
    machine.effects.append(Execute(name, "", texts, False, CLEAN, machine.where, span, name))
    running = [key for key in [key_of(name, one) for one in definitions if one is not None] if key in machine.calling]
    if running and (machine.asynchronous > machine.calling[running[0]] or repeats(machine, running, arguments)):
        if machine.asynchronous > machine.calling[running[0]]:
            machine.effects.append(Exhaust("fork-bomb", machine.where, span, name))
        machine.emit(Stream(None))
        return
    if len(machine.calling) >= MAX_CALLS:
        machine.opaque(Cause.LIMIT, f"more than {MAX_CALLS} nested calls", span, name)
        return

    one_of(machine, [_callee(machine, name, definition, arguments, span) for definition in definitions])


def _callee(
    machine: Machine, name: str, definition: Definition | None, arguments: list[Value], span: Span | None
) -> Callable[[], None]:
    if definition is None:  # on some way here nothing was defined, and the program of that name runs
        return lambda: _external(machine, Value(name, span=span), arguments, span)
    return lambda: called(machine, name, definition, tuple(arguments))


def called(machine: Machine, name: str, definition: Definition, arguments: tuple[Value, ...] | None) -> None:
    """Run a function's body with its own positional parameters and local variables (bash manual 3.3)."""
    saved = machine.positional, machine.local, machine.base, machine.fixed
    machine.positional, machine.local = arguments, []
    machine.base, machine.fixed = definition.base, definition.fixed
    call = entered(machine, key_of(name, definition), len(arguments or ()))
    machine.deeper()
    machine.scope(lambda: machine.runner.body(machine, (definition.node.body,)), in_function)
    machine.depth -= 1
    left(machine, call)
    hidden = machine.local or []
    machine.positional, machine.local, machine.base, machine.fixed = saved
    for variable, value in reversed(hidden):
        machine.put(variable, value)


def _alias(machine: Machine, name: str, value: Value, arguments: list[Value]) -> None:
    machine.calling[name + "="] = machine.asynchronous
    rest = "".join([" " + quoted(argument) for argument in arguments])
    shell_text(machine, value._replace(text=value.text + rest))
    del machine.calling[name + "="]


def _left_alias(machine: Machine, values: list[Value], nodes: Sequence[Word], span: Span | None) -> bool:
    """Read a command as it is if an alias of an earlier call still holds, and as it is if that does not."""
    name = values[0].text
    text, key = machine.situation.left.aliases.get(name), name + "="
    if text is None or key in machine.calling or key in machine.cells:
        return False
    machine.calling[key] = machine.asynchronous
    rest = "".join([" " + quoted(value) for value in values[1:]])
    code = Value(text + rest, span=span)
    branches(machine, [lambda: shell_text(machine, code), lambda: dispatch(machine, values, nodes, span)])
    del machine.calling[key]
    return True


def quoted(value: Value) -> str:
    """A value as a shell word; what is not known becomes an unset-looking variable, which reads as unknown."""
    text = "'" + value.text.replace("'", "'\\''") + "'"
    return text if value.exact else f'{text}"${UNKNOWN_NAME}"'
