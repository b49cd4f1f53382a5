"""Described programs: what their arguments turned out to mean becomes effects, further commands and an output."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set

from policyengine.effects import CLEAN, HOLE, Execute, FileWrite, Span, Taint, Taints, Where
from policyengine.patterns import lazily
from policyengine.shell.interpret.arrivals import ARRIVING, arrived
from policyengine.shell.interpret.compute import printed
from policyengine.shell.interpret.drafts import effect_of
from policyengine.shell.interpret.envelopes import unpacked
from policyengine.shell.interpret.evaluate import evaluate_input, run_part, shell_text
from policyengine.shell.interpret.files import chdir
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.mounts import in_container
from policyengine.shell.interpret.patches import patched
from policyengine.shell.interpret.projects import PROJECTS, run_project
from policyengine.shell.interpret.reported import REPORTERS, reported
from policyengine.shell.interpret.roles import ROLES, language_role
from policyengine.shell.interpret.secrets import is_secret
from policyengine.shell.interpret.streams import NOTHING, OUTER_INPUT, Stream
from policyengine.shell.interpret.terminals import parted, run_again
from policyengine.shell.programs import Program, Tail, Use, filled, read_arguments
from policyengine.shell.values import UNKNOWN, Value, from_template

MAX_REPEATS = 16  # commands that one xargs or find is expanded into; beyond, one with an unknown argument
_CODE = ("script:", "code:", "shell", "module", "make")


def run_program(machine: Machine, program: Program, name: str, arguments: Sequence[Value], span: Span | None) -> None:
    """Interpret a call of a described program."""
    if program.chained:
        for call in parted(arguments):
            _run_call(machine, program, name, call, span)
    else:
        _run_call(machine, program, name, arguments, span)


def _run_call(machine: Machine, program: Program, name: str, arguments: Sequence[Value], span: Span | None) -> None:
    reading = read_arguments(program, arguments)
    for cause, detail, where in reading.opaque:
        machine.opaque(cause, detail, where or span, name)
    invocation = Invocation(machine, name, reading, arguments, span)
    before = len(machine.effects)
    if reading.drafts:
        _stated(invocation)
    for use in reading.uses:
        handler = ROLES.get(use.role)
        if handler is not None:
            handler(invocation, use)
        else:
            _in_language(invocation, use, program)
    if reading.flags and not reading.flags.isdisjoint(ARRIVING):
        arrived(invocation, machine.effects[before:])
    project = PROJECTS.get(program.name)
    if project is not None and not any(use.role.startswith("script:") for use in reading.uses):
        run_project(invocation, project)
    if reading.input != "data":
        _INPUTS.get(reading.input, _code_input)(invocation)
    for tail in reading.tails:
        _tail(invocation, tail)
    if machine.out is not None:
        _print(invocation)


def _in_language(invocation: Invocation, use: Use, program: Program) -> None:
    """Code or a script. What looks like one may be no argument at all, and what follows an option (`sh $x -c …`)."""
    language_role(invocation, use)
    if use.role.startswith("script:") and _may_be_none(use.value):
        machine, name, span = invocation.machine, invocation.origin, invocation.span
        rest = [value for value in invocation.arguments if not _may_be_none(value)]
        machine.forked(lambda: run_program(machine, program, name, rest, span))


def _may_be_none(value: Value) -> bool:
    return value.many and not (value.text or value.rest)


def _stated(invocation: Invocation) -> None:
    """The effects of templates: in the directory that the program changes to."""
    cwd = invocation.cwd
    for use in invocation.reading.uses:
        if use.role == "chdir":
            chdir(invocation, use)
    for draft in invocation.reading.drafts:
        invocation.machine.effects.append(effect_of(invocation, draft))
    invocation.cwd = cwd


# --------------------------------------------------------------------------------------------------------------- output
def _print(invocation: Invocation) -> None:
    machine, output = invocation.machine, invocation.reading.output
    if invocation.printed or output == "none":
        return
    known = printed(invocation.origin, invocation.arguments, machine.cwd, machine.situation.home)
    if known is None and invocation.origin in REPORTERS:
        known = reported(machine, invocation.origin, invocation.arguments)
    if known is not None:
        machine.emit(known)
        return
    if output == "arguments":
        machine.emit(_arguments(invocation.reading.operands))
        return
    if output == "made":
        machine.emit(_made(invocation))
        return
    if output == "settings":
        machine.emit(Stream(":\n"))  # as good as what it prints: evaluated, it sets variables and functions
        return
    stream = invocation.content
    if output == "listing":
        if invocation.connected:
            machine.emit(Stream(None, stream.taint, "", invocation.peer, stream.driven))
        elif not invocation.reading.tails:
            machine.emit(_listed(invocation, stream.taint & _LEADING))
    else:
        machine.emit(stream if invocation.peer is None else stream._replace(peer=invocation.peer))


def _made(invocation: Invocation) -> Stream:
    """The name of the file that the call has made: one of its own, so that what lies there is found again under it."""
    effects = reversed(invocation.machine.effects)
    file = next((effect for effect in effects if type(effect) in _OF_A_CALL), None)
    if type(file) is not FileWrite:
        return Stream(None, frozenset({Taint.GENERATED}))
    if file.unknown:
        return Stream(None, prefix=file.path)
    number = str(invocation.machine.commands)
    return Stream(_CHOSEN.sub(lambda letters: number.zfill(len(letters[0])), file.path) + "\n")


_OF_A_CALL = (FileWrite, Execute)  # what it makes, and what stands before all that a call does
_CHOSEN = lazily(r"\?+")


def _listed(invocation: Invocation, taint: Taints) -> Stream:
    """Names: of files below some directory, where the program prints such, else of anything."""
    if invocation.origin not in _WALKING:
        operands = invocation.reading.operands if invocation.origin in _LISTING else ()
        chosen = [value.text for value in operands if value.glob]
        return Stream(None, taint, rest="\n".join(["", *chosen, ""])) if chosen else Stream(None, taint)
    names = [value.text if value.glob else value.text + HOLE for value in _below(invocation)]
    known, _, rest = "\n".join([*names, ""]).partition(HOLE)
    return Stream(None, taint, prefix=known, rest=rest)


_WALKING = frozenset({"find", "gfind", "fd", "fdfind"})
_LISTING = frozenset({"ls", "gls", "exa", "eza", "lsd"})
_LEADING: Taints = frozenset({Taint.FETCHED, Taint.DECODED})


def _arguments(values: Sequence[Value]) -> Stream:
    exact = all(value.exact for value in values)
    taint = frozenset().union(*[value.taint for value in values]) if values else CLEAN
    return Stream(" ".join([value.text for value in values]) + "\n" if exact else None, taint)


# ---------------------------------------------------------------------------------------------------------------- input
def _code_input(invocation: Invocation) -> None:
    """`input: shell` and `input: code:LANG`: what arrives runs, unless the call named a script or code."""
    reading = invocation.reading
    if reading.tails or any(use.role.startswith(_CODE) for use in reading.uses):
        return
    language = reading.input.partition(":")[2] or "sh"
    invocation.printed = True
    evaluate_input(invocation.machine, language, reading.operands, invocation.span, invocation.origin)


def _sent(invocation: Invocation) -> None:
    """`input: sent`: standard input goes to the host."""
    stdin = invocation.machine.stdin
    if stdin.text == "" or stdin is OUTER_INPUT:
        return
    invocation.send(stdin)


def _paths(invocation: Invocation) -> None:
    """`input: paths`: a list of paths with the operands' role."""
    role = next((use.role for use in invocation.reading.uses if not use.option), "read")
    for value in _items(invocation.machine.stdin):
        handler = ROLES.get(role)
        if handler is not None:
            handler(invocation, Use(role, value))


def _nothing(invocation: Invocation) -> None:
    """`input: none`, and `arguments`, which its tails take."""


_INPUTS: dict[str, Callable[[Invocation], None]] = {
    "none": _nothing,
    "arguments": _nothing,
    "sent": _sent,
    "paths": _paths,
    "patch": patched,
    "envelope": unpacked,
}


def _items(stdin: Stream, flags: Set[str] = frozenset()) -> list[Value]:
    """What standard input lists: words as xargs reads them, or with its `-0` and `-d` whole pieces (xargs(1))."""
    if stdin.text is None and (stdin.prefix or "*" in stdin.rest) and "items-other" not in flags:
        lines = _LINES(stdin.template or "")
        if any("*" in line for line in lines):  # a listing gives no others than those that its patterns name
            lines = [line for line in lines if line != HOLE]
        return [_named(line, stdin) for line in lines[: MAX_REPEATS * 4]]
    if stdin.text is None or "items-other" in flags:
        return [Value("", exact=False, many=True, taint=stdin.taint, span=stdin.span)]
    words = _pieces(stdin.text, flags)
    if len(words) > MAX_REPEATS * 4:
        return [Value("", exact=False, many=True, taint=stdin.taint, span=stdin.span)]
    return [Value(word, taint=stdin.taint, span=stdin.span) for word in words]


_LINES = re.compile(r"[^\n\0]+").findall


def _named(line: str, stdin: Stream) -> Value:
    """One or more of the names that a line with holes stands for; stars in it stand for names that there are."""
    value = from_template(line.strip(), stdin.taint, stdin.span)
    return value._replace(many=not value.exact, glob="*" in line)


def _pieces(text: str, flags: Set[str]) -> list[str]:
    if "items-null" in flags:
        return [piece for piece in text.split("\0") if piece]
    if "items-line" in flags:
        return text.splitlines()
    words = text.splitlines() if "items-hole" in flags else text.split()
    if _QUOTES.isdisjoint(text):
        return words
    words = words if "items-hole" in flags else _WORD.findall(text)
    return [_QUOTED.sub(lambda found: found[1] or found[2] or found[3] or "", word) for word in words]


_QUOTES = frozenset("'\"\\")
_WORD = lazily(r"""(?:"[^"\n]*"|'[^'\n]*'|\\.|[^\s"'\\]|["'\\])+""", re.DOTALL)
_QUOTED = lazily(r"""\"([^"\n]*)"|'([^'\n]*)'|\\(.)""", re.DOTALL)


# ---------------------------------------------------------------------------------------------------------------- tails
def _tail(invocation: Invocation, tail: Tail) -> None:
    machine = invocation.machine
    if tail.where is not Where.HERE and tail.where is not machine.where:
        if tail.where is Where.CONTAINER:
            in_container(invocation, lambda: _run_tail(invocation, tail))
        else:
            machine.elsewhere(tail.where, lambda: _run_tail(invocation, tail))
        return

    def run() -> None:
        invocation.handed_on()
        for function in invocation.functions:
            shell_text(machine, function)
        machine.exports |= dict.fromkeys(
            [key for key in machine.cells if key.endswith("()")] if invocation.functions else ()
        )
        if invocation.cwd is not machine.cwd:
            machine.put("/cwd", invocation.cwd)
        _run_tail(invocation, tail)

    machine.forked(run)


# Python modules that share their name with a program that is something else: the one that does the same.
_NAMESAKES = {"code": "asyncio"}


def _as_module(words: Sequence[Value]) -> Sequence[Value]:
    name = _NAMESAKES.get(words[0].text)
    return words if name is None else (words[0]._replace(text=name), *words[1:])


def _is_module(machine: Machine, name: Value) -> bool:
    return name.exact and "/" not in name.text and machine.program(name.text) is None


def _run_tail(invocation: Invocation, tail: Tail) -> None:
    machine, reading = invocation.machine, invocation.reading
    invocation.printed = True
    if tail.module and _is_module(machine, tail.words[0]):
        invocation.module(tail.words)
        return
    if tail.module and tail.words[0].exact and machine.files:  # what lies in the directory comes before the library
        run_part(machine, tail.words[0].text.partition(".")[0], "python", tail.words[0].span, module=True)
    if not tail.appended:
        if tail.again:
            run_again(invocation, tail.words)
        else:
            machine.runner.words(machine, _as_module(tail.words) if tail.module else tail.words)
        return
    commands = _filled(invocation, tail)
    if invocation.origin in _EMPTY_INPUT and not any(use.option in ("-a", "--arg-file") for use in reading.uses):
        machine.stdin = NOTHING
    for words in commands:
        machine.runner.words(machine, words)


_EMPTY_INPUT = frozenset({"xargs", "gxargs"})  # what they start reads nothing (xargs(1))


def _filled(invocation: Invocation, tail: Tail) -> list[tuple[Value, ...]]:
    if tail.appended == "paths":
        if invocation.below is None:
            invocation.below = _below(invocation)
        return [filled(tail, value) for value in invocation.below]
    stdin, flags = invocation.machine.stdin, invocation.reading.flags
    if not tail.hole:
        return [(*tail.words, *items) for items in _batches(invocation, stdin, flags)]
    items = _items(stdin, flags | {"items-hole"})
    if len(items) > MAX_REPEATS:
        items = [Value("", exact=False, taint=stdin.taint, span=stdin.span)]
    return [filled(tail, item._replace(text=item.text.strip(), many=False)) for item in items]


def _batches(invocation: Invocation, stdin: Stream, flags: Set[str]) -> list[list[Value]]:
    """The arguments of each run: all at once, so many (`-n`), or those of so many lines (`-L`, xargs(1))."""
    number = next((use.value.text for use in invocation.reading.uses if use.role == "number"), "1")
    groups = _grouped(stdin, flags) if flags & _BATCHED and stdin.text is not None else None
    if groups is None or not number.isdigit() or not int(number):
        return [_items(stdin, flags)]
    size = int(number)
    batches = [[item for group in groups[at : at + size] for item in group] for at in range(0, len(groups), size)]
    if len(batches) > MAX_REPEATS:
        return [[Value("", exact=False, many=True, taint=stdin.taint, span=stdin.span)]]
    return batches or [[]]


_BATCHED = frozenset({"items-counted", "items-by-line"})


def _grouped(stdin: Stream, flags: Set[str]) -> list[list[Value]] | None:
    """The pieces that `-n` or `-L` counts: arguments, or the arguments of lines, which a final blank joins."""
    if "items-by-line" not in flags or flags & {"items-null", "items-line", "items-other"}:
        items = _items(stdin, flags)
        return None if any(item.many for item in items) else [[item] for item in items]
    text = _CONTINUED.sub(" ", stdin.text or "")
    lines = [stdin._replace(text=line) for line in text.splitlines() if line.strip()]
    return [_items(line, flags) for line in lines]


_CONTINUED = lazily(r"[ \t]+\n")


def _below(invocation: Invocation) -> list[Value]:
    """Some path below each of the directories that the program walks."""
    tops = [use.value for use in invocation.reading.uses if use.role in ("read", "stat", "delete") and not use.option]
    tops = tops or [Value(".")]
    if len(tops) > MAX_REPEATS:
        return [UNKNOWN._replace(many=True)]
    name = _chosen(invocation)
    if name and all(top.text.strip("/") for top in tops):  # below the root a pattern might name anything
        hidden = name[1:] if name[0] == "*" and is_secret(f"/{name[1:]}") else ""  # stars stand for nothing as well
        names = [name, hidden] if hidden else [name]
        between = "" if "-maxdepth 1 " in " ".join([value.text for value in invocation.arguments]) else "**/"
        return [
            Value(f"{top.text}/{between}{one}", top.exact, False, True, top.taint, top.span)
            for top in tops
            for one in names
        ]
    every = _takes_all(invocation)
    return [
        Value(top.text + ("/" if top.exact else ""), False, many=True, glob=every, taint=top.taint, span=top.span)
        for top in tops
    ]


# Of the expressions of find those that leave nothing out, or only what is no file (find(1)).
_LEAVING_NOTHING = frozenset(
    {"-type", "-depth", "-d", "-maxdepth", "-mindepth", "-xdev", "-mount", "-print", "-print0", "-follow", "-noleaf",
     "-L", "-H", "-P", "-a", "-and", "-true", "-readable", "-writable", "-ignore_readdir_race", "-nowarn", "--"}
)  # fmt: skip
_STARTING = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})


def _takes_all(invocation: Invocation) -> bool:
    """Whether a walk passes on all that it finds: nothing in its expression chooses."""
    for value in invocation.arguments:
        if value.text in _STARTING:
            return True
        if value.text[:1] in ("-", "!", "(") and value.text not in _LEAVING_NOTHING:
            return False
    return False


_OTHERWISE = frozenset({"!", "-not", "-o", "-or", ",", "-iname"})


def _chosen(invocation: Invocation) -> str:
    """The pattern that the names of all that find passes on fit, where there is one."""
    if any(value.text in _OTHERWISE for value in invocation.arguments):
        return ""
    names = [use.value for use in invocation.reading.uses if use.option == "-name"]
    chosen = len(names) == 1 and names[0].exact and any(map(str.isalnum, names[0].text))
    return names[0].text if chosen else ""
