"""From the acts of code in another language to effects, and down into the shell where code starts programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from policyengine.effects import (
    CLEAN,
    HOLE,
    Cause,
    Connect,
    Database,
    Escalate,
    EvaluateCode,
    Exhaust,
    FileAttribute,
    FileDelete,
    FileRead,
    FileWrite,
    Process,
    SetVariable,
    Span,
    Taint,
    Taints,
    Transfer,
)
from policyengine.shell.code import ARGUMENT, Act, Kind, read_code
from policyengine.shell.interpret.known import drop_unread
from policyengine.shell.interpret.links import linked
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.processes import standard
from policyengine.shell.interpret.redirects import place_of
from policyengine.shell.interpret.stored import file_stream
from policyengine.shell.interpret.streams import Stream
from policyengine.shell.interpret.trees import FOREIGN, FROM_ELSEWHERE, LAID, MAX_TREES
from policyengine.shell.paths import Path, Place, tilde
from policyengine.shell.urls import split_host, split_url
from policyengine.shell.values import Value, from_template

Handler = Callable[[Machine, Act, Span | None, str], None]


def perform(
    machine: Machine, acts: Sequence[Act], code: Value, origin: str, arguments: Sequence[Value] | None = None
) -> None:
    """Record what code does; `code` is the text that the acts were read from, `arguments` what it was started with."""
    at = machine.source.find(code.text, *code.span) if code.span is not None and code.text else -1
    for given in acts:
        act = _supplied(given, arguments)
        span = code.span if at < 0 or act.end <= act.start else (at + act.start, at + act.end)
        _HANDLERS[act.kind](machine, act._replace(value=act.value._replace(span=span)), span, origin)


def _supplied(act: Act, arguments: Sequence[Value] | None) -> Act:
    """An act in which the program's own arguments stand for themselves."""
    if not _SUPPLIED(act.value.text) and not any(_SUPPLIED(word.text) for word in act.words):
        return act
    words = tuple([_argument(_holed(word), arguments) for word in act.words])
    return act._replace(value=_argument(_holed(act.value), arguments), words=words)


_SUPPLIED = re.compile(f"[\0{HOLE}]").search


def _holed(value: Value) -> Value:
    """A text out of code that is not fully known: it may have holes itself."""
    if HOLE not in value.text:
        return value
    found = from_template(value.text, value.taint, value.span)
    return found if value.exact else found._replace(rest="")


def _argument(value: Value, arguments: Sequence[Value] | None) -> Value:
    before, zero, _ = value.text.partition("\0")
    number = value.text.removeprefix(ARGUMENT)
    if zero and not before and arguments is not None and number.isdigit() and int(number[:4]) <= len(arguments):
        return arguments[int(number[:4]) - 1]
    return value._replace(text=before, exact=False) if zero else value


def carried(acts: Sequence[Act]) -> Taints:
    """What the code's output carries because of what it did."""
    return frozenset({Taint.FETCHED}) if any(act.kind in (Kind.FETCH, Kind.CONNECT) for act in acts) else CLEAN


def _shell(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    from policyengine.shell.interpret.evaluate import Code, evaluate  # noqa: PLC0415  code runs shells, shells run code

    del span
    evaluate(machine, Code("sh", act.value, "argument", origin))


def _tried(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    """A text of code that was not understood, as the command that it may be: of it only what is known counts."""
    from policyengine.shell.interpret.evaluate import shell_text  # noqa: PLC0415  as above

    at = len(machine.effects)
    if act.words:
        _command(machine, act, span, origin)
    else:
        machine.process(lambda: shell_text(machine, act.value, "sh"))
    drop_unread(machine, at)


def _command(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    del origin
    words = [_home(machine, word)._replace(span=span) for word in act.words]
    if words:
        machine.process(lambda: machine.runner.words(machine, words))


def _code(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    language = act.more[0]
    value = act.value
    machine.effects.append(EvaluateCode(language, "argument", value.exact, value.taint, machine.where, span, origin))
    if not value.exact:
        machine.opaque(Cause.CODE, "code is put together at run time", span, origin)
        return
    machine.deeper()
    perform(machine, read_code(language, value.template), value, origin)
    machine.depth -= 1


def _part(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    """A file of code, or a module; a file counts as read."""
    from policyengine.shell.interpret.evaluate import run_part  # noqa: PLC0415  as above

    if act.kind is Kind.SCRIPT:
        _read(machine, act, span, origin)
    if act.value.exact and act.value.text:
        run_part(machine, act.value.text, act.more[0], span, module=act.kind is Kind.MODULE)


def _home(machine: Machine, value: Value) -> Value:
    """A text whose beginning stands for a home directory (`Path.home()`, `os.homedir()`, `expanduser`)."""
    if value.text[:1] != "~":
        return value
    head, slash, rest = value.text.partition("/")
    home = tilde(head, machine.situation.home, machine.cwd, machine.situation.platform)
    return value._replace(text=(home or head) + slash + rest)


def _place(machine: Machine, value: Value) -> Path:
    return place_of(machine, _home(machine, value))


def _read(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    if not standard(act.value):
        path, unknown, glob = _place(machine, act.value)
        machine.effects.append(FileRead(path, unknown, glob, False, machine.where, span, origin))


def _write(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    if standard(act.value):
        return
    path, unknown, glob = _place(machine, act.value)
    append = act.kind is Kind.APPEND
    taint = act.value.taint | (act.words[0].taint if act.words else CLEAN)
    machine.effects.append(FileWrite(path, unknown, glob, append, taint, False, machine.where, span, origin))
    if not unknown:
        text = act.words[0].template if act.words else None
        known = None if text == HOLE else text
        if known is not None and known[:1] == HOLE and len(act.words) == 1:  # what lay there, changed
            taint |= LAID
        machine.write_file(path, Stream(known, taint), append=append)


def _link(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    """A link: what is reached through it from now on is its target."""
    path, unknown, glob = _place(machine, act.value)
    target = _place(machine, act.words[0])
    machine.effects.append(
        FileRead(target.path, target.unknown, target.glob, False, machine.where, act.words[0].span, origin)
    )
    machine.effects.append(FileWrite(path, unknown, glob, False, CLEAN, False, machine.where, span, origin))
    if not (unknown or target.unknown):
        linked(machine.links, path, target.path)


def _unpack(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    """An archive that is unpacked: from elsewhere, it makes a tree of the directory."""
    path, unknown, glob = _place(machine, act.value)
    archive = _place(machine, act.words[0])
    taint = file_stream(machine, archive).taint
    machine.effects.append(
        FileRead(archive.path, archive.unknown, archive.glob, False, machine.where, act.words[0].span, origin)
    )
    machine.effects.append(FileWrite(path, unknown, glob, False, taint, True, machine.where, span, origin))
    if taint & FROM_ELSEWHERE and not unknown and len(machine.trees) < MAX_TREES:
        machine.trees[path.rstrip("/") + "/"] = FOREIGN


def _delete(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    path, unknown, glob = _place(machine, act.value)
    machine.effects.append(FileDelete(path, unknown, glob, act.kind is Kind.DELETE_TREE, machine.where, span, origin))


def _attribute(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    path, unknown, glob = _place(machine, act.value)
    attribute, value = act.more
    machine.effects.append(FileAttribute(path, attribute, value, unknown, glob, False, machine.where, span, origin))


def _chdir(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    del span, origin
    found = _place(machine, act.value)
    machine.put("/cwd", Place(found.path, not found.unknown))


def _connect(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    port = act.more[0] if act.more else ""
    host = split_host(act.value.text)[0]
    machine.effects.append(
        Connect(
            host, port, "", "", not act.value.exact, act.kind is Kind.LISTEN, act.kind is Kind.DRIVEN, machine.where,
            span, origin,
        )
    )  # fmt: skip


def _fetch(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    url = split_url(act.value.text)
    method = act.more[0] if act.more else "GET"
    host = url.host if act.value.text else ""
    machine.effects.append(
        Connect(host, url.port, act.value.text, method, not act.value.exact, False, False, machine.where, span, origin)
    )
    if act.kind is Kind.SEND:
        machine.effects.append(
            Transfer(
                host, "", act.value.text, not act.value.exact, act.value.taint | machine.stdin.taint, machine.where,
                span, origin,
            )
        )  # fmt: skip


def _variable(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    machine.effects.append(SetVariable(act.more[0], act.value.text, not act.value.exact, machine.where, span, origin))


def _signal(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    machine.effects.append(Process("signal", act.value.text, "pid", not act.value.exact, machine.where, span, origin))


def _database(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    machine.effects.append(Database(act.more[0], act.more[1], act.value.text, machine.where, span, origin))


def _exhaust(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    machine.effects.append(Exhaust(act.more[0], machine.where, span, origin))


def _escalate(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    machine.effects.append(Escalate(act.more[0], act.value.text, machine.where, span, origin))


def _opaque(machine: Machine, act: Act, span: Span | None, origin: str) -> None:
    machine.opaque(Cause.CODE, act.more[0] if act.more else "code was not understood", span, origin)


_HANDLERS: dict[Kind, Handler] = {
    Kind.SHELL: _shell,
    Kind.COMMAND: _command,
    Kind.READ: _read,
    Kind.WRITE: _write,
    Kind.APPEND: _write,
    Kind.LINK: _link,
    Kind.UNPACK: _unpack,
    Kind.DELETE: _delete,
    Kind.DELETE_TREE: _delete,
    Kind.ATTRIBUTE: _attribute,
    Kind.CHDIR: _chdir,
    Kind.CONNECT: _connect,
    Kind.LISTEN: _connect,
    Kind.DRIVEN: _connect,
    Kind.FETCH: _fetch,
    Kind.SEND: _fetch,
    Kind.CODE: _code,
    Kind.SCRIPT: _part,
    Kind.MODULE: _part,
    Kind.VARIABLE: _variable,
    Kind.SIGNAL: _signal,
    Kind.DATABASE: _database,
    Kind.EXHAUST: _exhaust,
    Kind.ESCALATE: _escalate,
    Kind.OPAQUE: _opaque,
    Kind.TRIED: _tried,
}
