"""Text that becomes code: shell text is read and interpreted in its turn, other languages go to their readers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from textwrap import dedent

from policyengine.effects import (
    CLEAN,
    HOLE,
    Cause,
    Connect,
    Effect,
    EvaluateCode,
    Exhaust,
    Opaque,
    Span,
    Taint,
    Taints,
    Where,
    WrittenFile,
)
from policyengine.patterns import lazily
from policyengine.records import NamedTuple
from policyengine.shell.code import Act, Kind, is_filled_in, read_code
from policyengine.shell.interpret.acts import carried, perform
from policyengine.shell.interpret.joining import one_of
from policyengine.shell.interpret.known import drop_unread, matching, possible, vaguely
from policyengine.shell.interpret.machine import Limit, Machine
from policyengine.shell.interpret.streams import OUTER_INPUT, Stream
from policyengine.shell.interpret.syntax import readings
from policyengine.shell.interpret.trees import taint_below
from policyengine.shell.interpret.ways import in_source
from policyengine.shell.paths import base_name, normal
from policyengine.shell.values import Value, from_template

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "busybox"})
_INTERPRETERS = {
    "python": "python", "python3": "python", "python2": "python", "perl": "perl", "ruby": "ruby", "node": "node",
    "php": "php", "lua": "lua", "awk": "awk", "gawk": "awk", "sed": "sed", "osascript": "osascript",
}  # fmt: skip
_SUFFIXES = {
    "sh": "sh", "bash": "bash", "zsh": "zsh", "py": "python", "pl": "perl", "rb": "ruby", "js": "node", "mjs": "node",
    "cjs": "node", "php": "php", "lua": "lua", "awk": "awk",
}  # fmt: skip
# Languages of text tools: their code only says how what is read is printed, unless it starts programs or writes files.
FILTERS = frozenset({"sed", "awk", "jq", "yq", "sql"})
_FOREIGN: Taints = frozenset({Taint.FETCHED, Taint.DECODED, Taint.INPUT})
_DECODED: Taints = frozenset({Taint.DECODED})
_DECODES = lazily(
    r"(?:b64|base64[._]?)decode|decode_?(?:base)?64|decodebytes|\.fromhex|unhexlify|fromCharCode|\brot_?13|\bunpack\b"
    r"|\bpack\b|['\"]\s*\^\s*['\"]|\bchr\b"
)
_PRINTED: Taints = frozenset({Taint.GENERATED})
_NOT_KNOWN = "the code that runs is not fully known"
HIDDEN: Taints = frozenset({Taint.FETCHED, Taint.DECODED})  # nobody could read it before it runs
_PLAIN: Taints = frozenset({Taint.WORKSPACE, Taint.SURROUNDINGS})
_UNTRUSTED: Taints = frozenset({Taint.INPUT})
MAX_PIECES = 200  # of a text known in places that are read by themselves


class Code(NamedTuple):
    """Text that is run: its language, where it comes from (`source` of EvaluateCode), and what it is given.

    `arguments` are its positional parameters, None where nothing is known of them; `name` is its `$0`.
    """

    language: str
    text: Value
    source: str
    origin: str
    arguments: Sequence[Value] | None = ()
    name: Value | None = None

    def effect(self, machine: Machine, *, read: bool) -> EvaluateCode:
        """The effect of running it."""
        whole = not self.text.exact and not self.text.text  # else what is unknown is put into code that is written out
        source = "substitution" if self.source == "argument" and whole else self.source
        return EvaluateCode(self.language, source, read, self.text.taint, machine.where, self.text.span, self.origin)


def evaluate(machine: Machine, code: Code) -> None:
    """Run text as a program of its own (`sh -c`, `python -c`): the effect, and those of the code as far as known."""
    if code.language in FILTERS:
        _filter(machine, code)
        return
    at = len(machine.effects)
    machine.effects.append(code.effect(machine, read=False))
    understood = machine.process(lambda: _run(machine, code))
    if understood and code.text.exact:
        machine.effects[at] = code.effect(machine, read=True)


def _filter(machine: Machine, code: Code) -> None:
    """Text processing is no effect of its own; only what its code does beyond that counts."""
    text = code.text
    if text.taint & _FOREIGN:
        machine.effects.append(code.effect(machine, read=False))
        machine.opaque(Cause.VALUE, _NOT_KNOWN, text.span, code.origin)
    acts = read_code(code.language, text.template)
    perform(machine, [_with_lines(act, machine.stdin) for act in acts], text, code.origin)


def _with_lines(act: Act, stdin: Stream) -> Act:
    """What sed and awk write to files is made of the lines that they read."""
    if act.kind not in (Kind.WRITE, Kind.APPEND) or act.words or not stdin.template:
        return act
    return act._replace(words=(Value("", exact=False, taint=stdin.taint, rest=f"\n{stdin.template}\n{HOLE}"),))


def _run(machine: Machine, code: Code) -> bool:
    """Interpret the text; whether all of it was understood."""
    text = code.text
    if not _is_known(code):
        machine.opaque(Cause.VALUE, _NOT_KNOWN, text.span, code.origin)
    return _interpreted(machine, code)


def _is_known(code: Code) -> bool:
    """Whether all that code does is written: values put into it stand in texts of Python that only looks."""
    text = code.text
    if text.exact:
        return True
    return bool(text.text or text.rest) and text.taint <= _PLAIN and is_filled_in(code.language, text.template)


def _interpreted(machine: Machine, code: Code) -> bool:
    text = code.text
    if code.language in SHELLS:
        if code.source == "stdin":  # what its programs read is the rest of it
            machine.stdin = Stream(None, text.taint)
        machine.positional = tuple(code.arguments) if code.arguments is not None else None
        machine.put("/0", code.name or Value(code.origin))
        shell = code.origin if code.origin in SHELLS else code.language
        machine.put("/shell", shell)
        shell_text(machine, text, shell)
        return True
    found = read_code(code.language, text.template if text.text or text.rest else "")
    perform(machine, found, text, code.origin, code.arguments)
    given = CLEAN if machine.stdin is OUTER_INPUT and text.exact else machine.stdin.taint
    taint = text.taint | given | carried(found) | (_DECODED if _DECODES.search(text.template) else _PRINTED)
    machine.emit(Stream(None, taint | _PRINTED))
    return not any(act.kind.opaque for act in found)


def shell_text(machine: Machine, code: Value, language: str = "") -> None:
    """Interpret shell text in the current shell (`eval`, `source`, the body of `sh -c`): all of it that is written."""
    text = code.template
    if not text or text == HOLE:
        return
    machine.read(len(text))
    base, fixed = machine.base, machine.fixed
    machine.base, machine.fixed = _placed(machine, code)
    machine.deeper()
    try:
        for script, fault in readings(text, language or machine.situation.dialect):
            if fault is not None and (code.exact or fault.cause is Cause.LIMIT):
                machine.opaque(fault.cause, fault.message, machine.span(fault.start, fault.end))
            machine.runner.body(machine, script.body)
    finally:
        machine.base, machine.fixed = base, fixed
        machine.depth -= 1


def _placed(machine: Machine, code: Value) -> tuple[int | None, Span | None]:
    """Where the text stands in the analysed text: at an offset if it is there letter by letter, else as a whole."""
    if code.span is None:
        return None, None
    start, end = code.span
    at = machine.source.find(code.text, start, end) if code.text and not code.rest.strip() else -1
    return (None, code.span) if at < 0 else (at, None)


# ------------------------------------------------------------------------------------------------------- standard input
def evaluate_input(
    machine: Machine, language: str, arguments: Sequence[Value] | None, span: Span | None, origin: str
) -> None:
    """A shell or interpreter without a script runs what it reads (`curl … | sh`)."""
    stdin = machine.stdin
    text = stdin.value(span)
    code = Code(language, text, "stdin", origin, arguments)
    machine.effects.append(code.effect(machine, read=text.exact))
    peer = stdin.peer or (machine.out.peer if machine.out is not None and stdin.text is None else None)
    if peer is not None:
        driven(machine, peer, span, origin)
    if text.exact:
        machine.process(lambda: _run(machine, code))
        return
    if stdin is not OUTER_INPUT and not stdin.path and not _is_known(code):
        machine.opaque(Cause.VALUE, "what runs from standard input is not known", text.span, origin)
    if text.rest.strip():
        machine.process(lambda: _interpreted(machine, code))
    machine.emit(Stream(None, stdin.taint | _UNTRUSTED, driven=True))


def driven(machine: Machine, peer: tuple[str, str], span: Span | None, origin: str) -> None:
    """Record that the other end of a connection gives the commands (ATT&CK T1059)."""
    machine.effects.append(Connect(peer[0], peer[1], "", "", not peer[0], False, True, machine.where, span, origin))


# ---------------------------------------------------------------------------------------------------------------- files
class ScriptFile(NamedTuple):
    """A file that is run: its path or the certain beginning of it, what it is given, its language if that is said."""

    path: str
    unknown: bool
    arguments: Sequence[Value]
    span: Span | None
    language: str = ""


def run_file(machine: Machine, file: ScriptFile, versions: Sequence[WrittenFile]) -> None:
    """Run a script that this run wrote, in each version that the file may hold."""
    origin = base_name(file.path)
    if _again(machine, file.path, file.span, origin):
        return
    machine.calling[file.path] = machine.asynchronous
    source = "substitution" if file.path.startswith("/dev/fd/") else "file"
    runs = []
    for version in versions:
        text = _text_of(version, file.span)
        language = file.language or language_of(file.path, text.text)
        code = Code(language or "sh", text, source, origin, file.arguments, Value(file.path))
        runs.append(lambda code=code, known=bool(language): _run_version(machine, code, known))
    one_of(machine, runs)
    del machine.calling[file.path]


def _run_version(machine: Machine, code: Code, known: bool) -> None:
    text = code.text
    if text.exact and known:
        evaluate(machine, code)
        return
    machine.effects.append(code.effect(machine, read=False))
    machine.emit(Stream(None, text.taint | _UNTRUSTED))
    if (text.text or text.rest.strip()) and known:
        vaguely(machine, text, lambda: machine.process(lambda: _interpreted(machine, code)))
        _run_pieces(machine, code)


def _run_pieces(machine: Machine, code: Code) -> None:
    """What stands between what is not known, each by itself: lines that were put somewhere into a file."""
    at = len(machine.effects)
    pieces = [dedent(piece).strip("\n") for piece in code.text.rest.split(HOLE)[:MAX_PIECES]]
    for piece in pieces:
        lines = [line.lstrip("\t @-+") for line in piece.split("\n")] if code.language == "make" else [piece]
        language = "sh" if code.language == "make" else code.language
        for line in lines[:MAX_PIECES] if piece.strip() else ():
            part = code._replace(language=language, text=code.text._replace(text=line, exact=True, rest=""))
            machine.process(lambda part=part: _interpreted(machine, part))  # type: ignore[misc]
    drop_unread(machine, at)


def run_vaguely(machine: Machine, file: ScriptFile, versions: Sequence[WrittenFile]) -> None:
    """Run a file of the project for what it is known to do; that something in it is not known is no news."""
    at, depth, calling, out = len(machine.effects), machine.depth, dict(machine.calling), machine.out
    machine.out = None
    try:
        run_file(machine, file, versions)
    except Limit:  # what is found up to here counts
        machine.depth, machine.calling = depth, calling
    machine.out = out
    machine.effects[at:] = [effect for effect in machine.effects[at:] if not _is_vague(effect)]


def _is_vague(effect: Effect) -> bool:
    return type(effect) is Opaque or bool(getattr(effect, "unknown", False))  # not every kind has that field


def run_part(machine: Machine, path: str, language: str, span: Span | None, *, module: bool) -> None:
    """Run a file that code names (`source("f")`), or a module that it imports, where this run wrote it."""
    places = [path] if path[:1] == "/" else [f"{top}/{path}" for top in _tops(machine)]
    for place in places if machine.where is Where.HERE else ():
        for name in (place, *[place + end for end in _COMPLETED.get(language, ())]):
            found = normal(name)
            versions = [one for one in machine.file(found) if one.text is not None or not module or one.taint & HIDDEN]
            if versions:
                run = run_vaguely if module and found not in machine.files else run_file
                file = ScriptFile(found, False, (), span, language)
                machine.forked(lambda: run(machine, file, versions))  # noqa: B023  called at once
                return


# What is tried behind a name: Node.js modules (nodejs.org/api/modules.html), Python packages, Ruby.
_COMPLETED = {
    "node": (".js", ".mjs", ".cjs", ".ts", "/index.js"), "python": (".py", "/__init__.py"), "ruby": (".rb",),
    "lua": (".lua",), "perl": (".pm",),
}  # fmt: skip


def _tops(machine: Machine) -> list[str]:
    """Where names are looked for: beside the script that runs, and in the working directory."""
    running = [path.rpartition("/")[0] for path in machine.calling if path[:1] == "/"]
    return [*running[-1:], *([machine.cwd.path] if machine.cwd.exact else [])]


def _text_of(version: WrittenFile, span: Span | None) -> Value:
    if version.text is None:
        return Value("", exact=False, taint=version.taint, span=span)
    return from_template(version.text, version.taint, span)


def _again(machine: Machine, path: str, span: Span | None, origin: str) -> bool:
    """A script that starts itself: without end, and where it does not wait, ever more of them."""
    if path not in machine.calling:
        return False
    if machine.asynchronous > machine.calling[path]:
        machine.effects.append(Exhaust("fork-bomb", machine.where, span, origin))
    return True


def run_script(machine: Machine, file: ScriptFile, origin: str) -> None:
    """Run a file named to an interpreter (`sh f`, `python f`): known text is read, of others only the act is known."""
    versions = _versions(machine, file)
    if versions:
        run_file(machine, file, versions)
        return
    machine.effects.append(EvaluateCode(file.language, "file", False, CLEAN, machine.where, file.span, origin))
    if file.unknown:
        run_some(machine, file)
    machine.emit(Stream(None, _UNTRUSTED))


def run_some(machine: Machine, file: ScriptFile) -> None:
    """Run what this run wrote and a script of an unknown name may be: what these are known to do counts."""
    suffixes = [suffix for suffix, language in _SUFFIXES.items() if language == file.language]
    if machine.where is Where.HERE and (machine.files or machine.situation.written):
        for version in possible(machine, file.path, suffixes):
            if version.text is not None or version.taint & HIDDEN:
                run = file._replace(path=version.path, unknown=False)
                machine.forked(lambda run=run, version=version: run_vaguely(machine, run, (version,)))  # type: ignore[misc]


_STARTING = {"node": _COMPLETED["node"], "python": ("/__main__.py",)}
_MAIN = re.compile(r'"(?:main|exports)"\s*:\s*"(?:\./)?([^"\n]{1,400})"')


def _mains(machine: Machine, path: str) -> list[str]:
    """What a package says that it is started by (nodejs.org/api/packages.html)."""
    return [found for one in machine.file(path) if one.text for found in _MAIN.findall(one.text)]


def _versions(machine: Machine, file: ScriptFile) -> tuple[WrittenFile, ...]:
    if machine.where is not Where.HERE:
        return ()
    if file.unknown:
        taint = taint_below(machine.trees, file.path, partial=True)
        return (WrittenFile(file.path, None, taint),) if taint else ()
    names = [file.path, *[file.path + end for end in _STARTING.get(file.language, ())]]
    if file.language == "python":
        names.reverse()  # what holds such a file is a directory
    if file.language == "node":
        names += [f"{file.path}/{main}" for main in _mains(machine, f"{file.path}/package.json")]
    return next((versions for versions in map(machine.file, names) if versions), ()) or matching(machine, file.path)


def source_file(machine: Machine, path: str, unknown: bool, span: Span | None, run: Callable[[Value], None]) -> None:
    """`source f`: the text runs in this shell."""
    here = machine.where is Where.HERE and not unknown
    versions = (machine.file(path) or matching(machine, path)) if here else ()
    if _again(machine, path, span, "source"):
        return
    source = "substitution" if path.startswith("/dev/fd/") else "file"
    machine.calling[path] = machine.asynchronous

    def run_version(version: WrittenFile) -> None:
        text = _text_of(version, span)
        machine.effects.append(EvaluateCode("sh", source, text.exact, version.taint, machine.where, span, "source"))
        vaguely(machine, text, lambda: machine.scope(lambda: run(text), in_source))

    one_of(machine, [lambda version=version: run_version(version) for version in versions])  # type: ignore[misc]
    if not versions:
        machine.effects.append(EvaluateCode("sh", "file", False, frozenset(), machine.where, span, "source"))
        if unknown:
            run_some(machine, ScriptFile(path, True, (), span, "sh"))
    del machine.calling[path]


def language_of(path: str, text: str) -> str:
    """The language of a script by its first line, else by its name; plain text is what a shell would run."""
    if text.startswith("#!"):
        words = text[2:].partition("\n")[0].split()
        names = [base_name(word) for word in words if not word.startswith("-") and "=" not in word]
        name = next((item for item in names if item != "env"), "")
        if name.rstrip("0123456789.") in SHELLS:
            return "sh" if name not in SHELLS else name
        return _INTERPRETERS.get(name, _INTERPRETERS.get(name.rstrip("0123456789."), ""))
    return _SUFFIXES.get(base_name(path).rpartition(".")[2], "sh") if "." in base_name(path) else "sh"
