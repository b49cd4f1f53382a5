"""Builtins that run something: `eval`, `source`, `exec`, `command`, `builtin`, `trap` (bash manual 4.1-4.2)."""

from __future__ import annotations

from policyengine.effects import Cause, Connect, EvaluateCode, FileRead
from policyengine.shell.interpret import customs
from policyengine.shell.interpret.builtins.call import Call, flags, operands
from policyengine.shell.interpret.builtins.output import mapfile as read_lines
from policyengine.shell.interpret.evaluate import shell_text, source_file
from policyengine.shell.interpret.latent import expanded
from policyengine.shell.interpret.machine import Machine, Target, Variable
from policyengine.shell.interpret.processes import STANDARD_INPUT, standard
from policyengine.shell.interpret.redirects import place_of
from policyengine.shell.interpret.streams import Stream
from policyengine.shell.paths import Path
from policyengine.shell.values import Value, from_template, tail_of

MAX_TRAPS = 64  # whose code is read once more, at the end


def evaluate_words(machine: Machine, call: Call) -> None:
    """`eval`: the arguments joined with blanks run in this shell."""
    arguments = call.arguments[1:] if call.arguments and call.arguments[0].text == "--" else call.arguments
    if not arguments:
        return
    code = joined(arguments)
    source = "argument" if code.exact else "substitution"
    machine.effects.append(
        EvaluateCode("sh", source, code.exact, code.taint, machine.where, code.span or call.span, call.name)
    )
    if not code.exact:
        machine.opaque(Cause.VALUE, "the code that runs is not fully known", code.span, call.name)
        machine.emit(Stream(None, code.taint))
    shell_text(machine, code)


def joined(values: list[Value]) -> Value:
    """Texts joined with blanks."""
    taint = frozenset().union(*[value.taint for value in values])
    spans = [value.span for value in values if value.span is not None]
    span = (spans[0][0], spans[-1][1]) if spans else None
    return from_template(" ".join([value.template for value in values]), taint, span)


def source(machine: Machine, call: Call) -> None:
    """`source FILE ARGUMENTS`: the file's text runs in this shell."""
    given = operands(call)
    if not given:
        return
    value = given[0]
    name = standard(value)
    if name:
        path = Path(name)
    else:
        path = place_of(machine, value)
        machine.effects.append(
            FileRead(
                path.path,
                path.unknown,
                path.glob,
                False,
                machine.where,
                value.span,
                call.name,
                tail_of(value) if path.unknown else "",
            )
        )
    if value.taint and path.unknown:
        machine.effects.append(EvaluateCode("sh", "file", False, value.taint, machine.where, value.span, call.name))
    if path.path in STANDARD_INPUT and not machine.file(path.path):
        _source_input(machine, call)
        return
    saved = machine.positional
    if len(given) > 1:
        machine.positional = tuple(given[1:])
    source_file(machine, path.path, path.unknown, value.span, lambda code: shell_text(machine, code))
    machine.positional = saved


def _source_input(machine: Machine, call: Call) -> None:
    stdin = machine.stdin
    known = stdin.text is not None
    machine.effects.append(EvaluateCode("sh", "stdin", known, stdin.taint, machine.where, call.span, call.name))
    shell_text(machine, stdin.value())


def command(machine: Machine, call: Call) -> None:
    """`command NAME …`: a program or builtin, no function. With `-v` and `-V` it only looks the name up."""
    if set(flags(call)) & {"v", "V"}:
        names = operands(call)
        found = _looked_up(machine, names[0].text) if len(names) == 1 and names[0].exact else None
        machine.emit(Stream(found + "\n" if found else None))
        return
    _run(machine, operands(call))


def _looked_up(machine: Machine, name: str) -> str:
    """The name of a function, and a program where such mostly lie."""
    return name if "/" in name or machine.program(name) is None else f"/usr/bin/{name}"


def builtin(machine: Machine, call: Call) -> None:
    """`builtin NAME …`."""
    _run(machine, operands(call))


def execute(machine: Machine, call: Call) -> None:
    """`exec [-c] [-l] [-a NAME] COMMAND …`: the shell becomes the command."""
    arguments = list(call.arguments)
    while arguments and arguments[0].text[:1] == "-" and len(arguments[0].text) > 1:
        taken = 2 if arguments[0].text.endswith("a") else 1
        arguments = arguments[taken:]
    _run(machine, arguments)
    if arguments:
        machine.leave(machine.ways.exit)


def leave(machine: Machine, call: Call) -> None:
    """`exit` and `return`."""
    machine.leave(machine.ways.function if call.name == "return" else machine.ways.exit)


def leave_loop(machine: Machine, call: Call) -> None:
    """`break` and `continue`; with a number they leave so many loops (bash manual 4.1)."""
    ways = machine.ways.loops if call.name == "break" else machine.ways.rounds
    text = call.arguments[0].text if call.arguments else "1"
    if not (text.isdecimal() and text.isascii()):  # in one of them or in all it goes on
        machine.emit(Stream(None))
    elif ways:
        machine.leave(ways[-min(max(int(text[:4]), 1), len(ways))])


def _run(machine: Machine, values: list[Value]) -> None:
    if values:
        machine.runner.words(machine, values)


def trap(machine: Machine, call: Call) -> None:
    """`trap CODE SIGNAL…`: the code runs later, in a state that is not known, and so is read in this one.

    What only a variable leaves open that may yet be set is read in the state at the end.
    """
    given = operands(call)
    if len(given) < 2 or given[0].text in ("-", ""):
        return
    at = len(machine.effects)
    code = Call("trap", given[:1], call.span)
    evaluate_words(machine, code)
    known = [effect for effect in machine.effects[at:] if not getattr(effect, "unknown", False)]
    if given[0].exact and len(known) < len(machine.effects) - at and len(machine.traps) < MAX_TRAPS:
        machine.effects[at:] = known
        machine.traps.append(lambda: evaluate_words(machine, code))


def mapfile(machine: Machine, call: Call) -> None:
    """`mapfile -C CODE`: the code runs with a number and a line behind it each time some lines were read."""
    arguments = call.arguments
    for at, value in enumerate(arguments[:-1]):
        if value.text[:1] == "-" and value.text.endswith("C"):
            evaluate_words(machine, Call(call.name, [arguments[at + 1], Value("", exact=False)], call.span))
    read_lines(machine, call)


def bind(machine: Machine, call: Call) -> None:
    """`bind -x` and `complete -C/-F` name code that runs on a key or at completion."""
    arguments = call.arguments
    for at, value in enumerate(arguments[:-1]):
        if value.text in ("-x", "-C"):
            text = (
                arguments[at + 1].text.partition(":")[2].strip("\"' ") if value.text == "-x" else arguments[at + 1].text
            )
            evaluate_words(machine, Call(call.name, [arguments[at + 1]._replace(text=text)], call.span))


def compgen(machine: Machine, call: Call) -> None:
    """`compgen -C CODE` runs it, `-W WORDS` expands them (bash manual 8.7)."""
    for value, following in zip(call.arguments, call.arguments[1:], strict=False):
        if value.text == "-C":
            evaluate_words(machine, Call(call.name, [following], call.span))
        elif value.text == "-W":
            expanded(machine, following)
    machine.emit(Stream(None))


def edited(machine: Machine, call: Call) -> None:
    """`fc`: `-e EDITOR` runs it, `-s` an earlier command, which is not known; `-l` lists (bash manual 9.2)."""
    letters = flags(call)
    if "l" in letters:
        machine.emit(Stream(None))
        return
    machine.opaque(Cause.VALUE, "which earlier command runs is not known", call.span, call.name)
    for value, following in zip(call.arguments, call.arguments[1:], strict=False):
        if value.text == "-e":
            evaluate_words(machine, Call(call.name, [following], call.span))


def jobs(machine: Machine, call: Call) -> None:
    """`jobs -x COMMAND …` runs it; else a list (bash manual 7.2)."""
    if "x" in flags(call):
        _run(machine, operands(call))
    machine.emit(Stream(None))


def renamed(machine: Machine, call: Call) -> None:
    """`hash -p FILE NAME` and `enable -f FILE NAME`: from now on the name is something else (bash manual 4.1, 4.2).

    So it is with `hash NAME=FILE` in zsh (zshbuiltins(1)).
    """
    for value in operands(call) if call.name == "hash" else ():
        name, equals, text = value.text.partition("=")
        if equals:
            customs.renamed(machine, name, value._replace(text=text))
    if set(flags(call)) & {"p", "f"}:
        machine.opaque(Cause.VALUE, "a name that other commands use is made to mean a file", call.span, call.name)
    machine.emit(Stream(None))


def modifier(machine: Machine, call: Call) -> None:
    """Zsh's precommand modifiers: what follows runs (zshmisc(1))."""
    _run(machine, operands(call))


def ztcp(machine: Machine, call: Call) -> None:
    """Zsh's `ztcp HOST PORT`: a connection, whose descriptor goes into `REPLY` (zshmodules(1), zsh/net/tcp)."""
    given = operands(call)
    host, port = (given[0].text, given[1].text if len(given) > 1 else "") if given else ("", "")
    listens = "l" in flags(call)
    machine.effects.append(
        Connect("" if listens else host, host if listens else port, listen=listens, span=call.span, origin=call.name)
    )
    number = 10 + len(machine.descriptors)
    machine.descriptors = {**machine.descriptors, number: Target("peer", peer=(host, port), span=call.span)}
    machine.put("REPLY", Variable((Value(str(number)),)))
