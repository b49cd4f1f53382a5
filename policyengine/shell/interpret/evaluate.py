"""Text that becomes code: shell text is read and interpreted in its turn, other languages go to their readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policyengine.effects import Cause, Connect, EvaluateCode, Exhaust, Span, Taint, Taints, Where, WrittenFile
from policyengine.shell.code import read_code
from policyengine.shell.interpret.acts import carried, perform
from policyengine.shell.interpret.machine import OUTER_INPUT, Machine, Stream
from policyengine.shell.interpret.syntax import tolerant
from policyengine.shell.paths import base_name
from policyengine.shell.values import Value

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
_PRINTED: Taints = frozenset({Taint.GENERATED})
_UNTRUSTED: Taints = frozenset({Taint.INPUT})


def evaluate(
    machine: Machine,
    language: str,
    code: Value,
    source: str,
    origin: str,
    arguments: Sequence[Value] | None = (),
    name: Value | None = None,
) -> None:
    """Run text as a program of its own (`sh -c`, `python -c`): the effect, and those of the code as far as it is known."""
    if not code.exact and source == "argument":
        source = "substitution"
    if language in FILTERS:
        _filter(machine, language, code, origin)
        return
    at = len(machine.effects)
    machine.effects.append(EvaluateCode(language, source, False, code.taint, machine.where, code.span, origin))
    understood = machine.process(lambda: _run(machine, language, code, arguments, name, origin))
    if understood and code.exact:
        machine.effects[at] = EvaluateCode(language, source, True, code.taint, machine.where, code.span, origin)


def _filter(machine: Machine, language: str, code: Value, origin: str) -> None:
    """Text processing is no effect of its own; only what its code does beyond that counts."""
    if code.taint & _FOREIGN:
        machine.effects.append(EvaluateCode(language, "substitution", False, code.taint, machine.where, code.span, origin))
        machine.opaque(Cause.VALUE, "the code that runs is not fully known", code.span, origin)
    perform(machine, read_code(language, code.text, code.exact), code, origin)


def _run(
    machine: Machine, language: str, code: Value, arguments: Sequence[Value] | None, name: Value | None, origin: str
) -> bool:
    if not code.exact:
        machine.opaque(Cause.VALUE, "the code that runs is not fully known", code.span, origin)
    if language in SHELLS:
        machine.positional = tuple(arguments) if arguments is not None else None
        machine.put("/0", name or Value(origin))
        shell_text(machine, code, language)
        return True
    found = read_code(language, code.text, code.exact)
    perform(machine, found, code, origin)
    machine.emit(Stream(None, code.taint | machine.stdin.taint | _PRINTED | carried(found)))
    return not any(act.kind.opaque for act in found)


def shell_text(machine: Machine, code: Value, language: str = "") -> None:
    """Interpret shell text in the current shell (`eval`, `source`, the body of `sh -c`)."""
    if not code.text:
        return
    machine.read(len(code.text))
    base, fixed = machine.base, machine.fixed
    machine.base, machine.fixed = _placed(machine, code)
    machine.deeper()
    try:
        dialect = language if language in ("bash", "zsh", "sh") else machine.situation.dialect
        script, fault = tolerant(code.text, dialect)
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
    at = machine.source.find(code.text, start, end) if code.text else -1
    return (None, code.span) if at < 0 else (at, None)


# ----------------------------------------------------------------------------------------------------------- standard input
def evaluate_input(
    machine: Machine, language: str, arguments: Sequence[Value] | None, span: Span | None, origin: str
) -> None:
    """A shell or interpreter without a script runs what it reads (`curl … | sh`)."""
    stdin = machine.stdin
    code = Value(stdin.text or "", stdin.text is not None, taint=stdin.taint, span=stdin.span or span)
    machine.effects.append(
        EvaluateCode(language, "stdin", stdin.text is not None, stdin.taint, machine.where, code.span, origin)
    )
    peer = stdin.peer or (machine.out.peer if machine.out is not None and stdin.text is None else None)
    if peer is not None:
        driven(machine, peer, span, origin)
    if stdin.text is not None:
        machine.process(lambda: _run(machine, language, code, arguments, None, origin))
        return
    if stdin is not OUTER_INPUT and not stdin.path:
        machine.opaque(Cause.VALUE, "what runs from standard input is not known", code.span, origin)
    machine.emit(Stream(None, stdin.taint | _UNTRUSTED, driven=True))


def driven(machine: Machine, peer: tuple[str, str], span: Span | None, origin: str) -> None:
    """Record that the other end of a connection gives the commands (ATT&CK T1059)."""
    machine.effects.append(Connect(peer[0], peer[1], "", "", not peer[0], False, True, machine.where, span, origin))


# -------------------------------------------------------------------------------------------------------------------- files
def run_file(
    machine: Machine,
    path: str,
    versions: Sequence[WrittenFile],
    arguments: Sequence[Value],
    span: Span | None,
    language: str = "",
) -> None:
    """Run a script that this run wrote, in each version that the file may hold."""
    origin = base_name(path)
    if _again(machine, path, span, origin):
        return
    machine.calling[path] = machine.asynchronous
    source = "substitution" if path.startswith("/dev/fd/") else "file"
    for version in versions:
        code = Value(version.text or "", version.text is not None, taint=version.taint, span=span)
        spoken = language or language_of(path, version.text or "")
        if not code.exact or not spoken:
            _unread(machine, spoken or "sh", code, source, origin)
        else:
            evaluate(machine, spoken, code, source, origin, arguments, Value(path))
    del machine.calling[path]


def _unread(machine: Machine, language: str, code: Value, source: str, origin: str) -> None:
    machine.effects.append(EvaluateCode(language, source, False, code.taint, machine.where, code.span, origin))
    machine.emit(Stream(None, code.taint | _UNTRUSTED))


def _again(machine: Machine, path: str, span: Span | None, origin: str) -> bool:
    """A script that starts itself: without end, and where it does not wait, ever more of them."""
    if path not in machine.calling:
        return False
    if machine.asynchronous > machine.calling[path]:
        machine.effects.append(Exhaust("fork-bomb", machine.where, span, origin))
    return True


def run_script(
    machine: Machine,
    language: str,
    path: str,
    unknown: bool,
    arguments: Sequence[Value],
    span: Span | None,
    origin: str,
) -> None:
    """Run a file named to an interpreter (`sh f`, `python f`): known text is read, of other files only the act is known."""
    versions = machine.file(path) if machine.where is Where.HERE and not unknown else ()
    if versions:
        run_file(machine, path, versions, arguments, span, language)
        return
    taint = machine.stdin.taint if path in ("/dev/stdin", "/proc/self/fd/0") else frozenset()
    machine.effects.append(EvaluateCode(language, "file", False, taint, machine.where, span, origin))
    machine.emit(Stream(None, _UNTRUSTED))


def source_file(machine: Machine, path: str, unknown: bool, span: Span | None, run: Callable[[Value], None]) -> None:
    """`source f`: the text runs in this shell."""
    versions = machine.file(path) if machine.where is Where.HERE and not unknown else ()
    if _again(machine, path, span, "source"):
        return
    source = "substitution" if path.startswith("/dev/fd/") else "file"
    machine.calling[path] = machine.asynchronous
    for version in versions:
        known = version.text is not None
        machine.effects.append(EvaluateCode("sh", source, known, version.taint, machine.where, span, "source"))
        if version.text is not None:
            run(Value(version.text, taint=version.taint, span=span))
    if not versions:
        machine.effects.append(EvaluateCode("sh", "file", False, frozenset(), machine.where, span, "source"))
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
