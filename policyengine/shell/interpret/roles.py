"""What each role of an argument does: the table of `rules/commands/README.md` (Roles), one handler for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policyengine.effects import (
    CLEAN,
    Connect,
    Execute,
    FileAttribute,
    FileDelete,
    FileRead,
    FileWrite,
    SetVariable,
    Span,
    Taint,
    Taints,
    Transfer,
    Where,
)
from policyengine.shell.interpret.content import content_of, stream_of
from policyengine.shell.interpret.evaluate import Code, ScriptFile, evaluate, evaluate_input, run_script
from policyengine.shell.interpret.machine import Machine, Stream
from policyengine.shell.interpret.redirects import file_stream, is_standard, place_of
from policyengine.shell.paths import Path, Place, base_name
from policyengine.shell.programs import Reading, Use
from policyengine.shell.urls import split_host, split_remote, split_url
from policyengine.shell.values import Value

_FETCHED: Taints = frozenset({Taint.FETCHED})
_UNKNOWN_OUTPUT = Stream(None, frozenset({Taint.INPUT}))
ATTRIBUTES = ("mode", "owner", "acl", "flags", "time", "label")


class Invocation:
    """One call of a described program while its uses become effects."""

    __slots__ = (
        "_content", "arguments", "assigned", "connected", "cwd", "machine", "origin", "peer", "printed", "reading",
        "recursive", "span",
    )  # fmt: skip

    def __init__(
        self, machine: Machine, origin: str, reading: Reading, arguments: Sequence[Value], span: Span | None
    ) -> None:
        self.machine = machine
        self.origin = origin
        self.reading = reading
        self.span = span
        self.cwd: Place = machine.cwd
        self.arguments = arguments
        self._content: Stream | None = None
        self.recursive = "recursive" in reading.flags
        self.assigned: list[tuple[str, Value]] = []
        self.printed = False  # its output has been accounted for
        self.connected = False
        self.peer: tuple[str, str] | None = None

    @property
    def content(self) -> Stream:
        """What the program makes of its inputs."""
        if self._content is None:
            self._content = content_of(self.machine, self.origin, self.arguments, self.reading, self.cwd)
        return self._content

    def given(self, role: str) -> Value | None:
        """The first value in a role."""
        return next((use.value for use in self.reading.uses if use.role == role), None)

    def where(self, use: Use) -> Where:
        """On which machine a use happens."""
        return use.where if use.where is not Where.HERE else self.machine.where

    def path(self, use: Use) -> Path:
        """The path that a use names; elsewhere, relative ones are relative to an unknown directory."""
        away = use.where is not Where.HERE and use.where is not self.machine.where
        return place_of(self.machine, use.value, Place("", exact=False) if away else self.cwd)

    def destination(self) -> tuple[str, str]:
        """Host and URL that the call speaks to."""
        url = self.given("url")
        if url is not None:
            return split_url(url.text).host, url.text
        host = self.given("host")
        if host is not None:
            return split_host(host.text)[0], ""
        return (self.peer[0] if self.peer is not None else "", "")

    def send(self, stream: Stream, path: str = "", span: Span | None = None) -> None:
        """Record that data leaves for the call's host."""
        host, url = self.destination()
        if stream.driven:
            self.machine.effects.append(
                Connect(host, self._port(), url, "", not host, False, True, self.machine.where, self.span, self.origin)
            )
        self.machine.effects.append(
            Transfer(
                host,
                path or stream.path,
                url,
                not host,
                stream.taint,
                self.machine.where,
                span or self.span,
                self.origin,
            )
        )

    def _port(self) -> str:
        value = self.given("port")
        return value.text if value is not None else ""

    def module(self, words: Sequence[Value]) -> None:
        """Run a module of an interpreter that nobody described: code of the project or of an installed package."""
        texts = tuple([word.text if word.exact else None for word in words[1:]])
        machine = self.machine
        machine.effects.append(
            Execute(words[0].text, "", texts, False, CLEAN, machine.where, words[0].span, self.origin)
        )
        machine.emit(_UNKNOWN_OUTPUT)


# ---------------------------------------------------------------------------------------------------------------- files
def _is_dash(value: Value) -> bool:
    return value.exact and value.text == "-"


def _read(invocation: Invocation, use: Use) -> None:
    value = use.value
    if value.text[:1] in ("-", "/") and (_is_dash(value) or is_standard(value.text)):
        return
    path, unknown, glob = invocation.path(use)
    invocation.machine.effects.append(
        FileRead(path, unknown, glob, invocation.recursive, invocation.where(use), value.span, invocation.origin)
    )


def _write(invocation: Invocation, use: Use) -> None:
    _written(invocation, use, append="append" in invocation.reading.flags)


def _append(invocation: Invocation, use: Use) -> None:
    _written(invocation, use, append=True)


def _written(invocation: Invocation, use: Use, *, append: bool) -> None:
    value, machine = use.value, invocation.machine
    if value.text[:1] in ("-", "/") and (_is_dash(value) or is_standard(value.text)):
        body = machine.pipes.pop(value.text, None)
        if body is not None:
            machine.emit(machine.capture(body.body, invocation.content))
        return
    path, unknown, glob = invocation.path(use)
    taint = invocation.content.taint
    machine.effects.append(
        FileWrite(path, unknown, glob, append, taint, invocation.where(use), value.span, invocation.origin)
    )
    if not unknown and not glob and invocation.where(use) is Where.HERE:
        machine.write_file(path, invocation.content, append=append)


def _edit(invocation: Invocation, use: Use) -> None:
    path, unknown, glob = invocation.path(use)
    machine = invocation.machine
    machine.effects.append(
        FileWrite(path, unknown, glob, False, CLEAN, invocation.where(use), use.value.span, invocation.origin)
    )
    if machine.file(path):  # its text is no longer known, but where it came from is
        machine.write_file(path, Stream(None, file_stream(machine, Path(path)).taint))


def _into(invocation: Invocation, use: Use) -> None:
    """A directory or file that receives: both readings are remembered."""
    _written(invocation, use, append=False)
    path, unknown, _ = invocation.path(use)
    if unknown or invocation.machine.where is not Where.HERE:
        return
    for source in invocation.reading.uses:
        if source.role in ("read", "move", "link", "source") and source.value.exact:
            name = base_name(source.value.text)
            stream = file_stream(invocation.machine, invocation.path(source))
            invocation.machine.write_file(f"{path.rstrip('/')}/{name}", stream)


def _delete(invocation: Invocation, use: Use) -> None:
    path, unknown, glob = invocation.path(use)
    invocation.machine.effects.append(
        FileDelete(path, unknown, glob, invocation.recursive, invocation.where(use), use.value.span, invocation.origin)
    )


def _move(invocation: Invocation, use: Use) -> None:
    path, unknown, glob = invocation.path(use)
    where, span = invocation.where(use), use.value.span
    invocation.machine.effects.append(FileRead(path, unknown, glob, False, where, span, invocation.origin))
    invocation.machine.effects.append(FileDelete(path, unknown, glob, False, where, span, invocation.origin))


def _attribute(attribute: str) -> Callable[[Invocation, Use], None]:
    def handler(invocation: Invocation, use: Use) -> None:
        value = invocation.given("attr-value")
        path, unknown, glob = invocation.path(use)
        invocation.machine.effects.append(
            FileAttribute(
                path, attribute, value.text if value is not None else "", unknown, glob, invocation.recursive,
                invocation.where(use), use.value.span, invocation.origin,
            )
        )  # fmt: skip

    return handler


def _execute(invocation: Invocation, use: Use) -> None:
    value, machine = use.value, invocation.machine
    path = invocation.path(use) if "/" in value.text else Path("")
    taint = file_stream(machine, path).taint & _FETCHED if path.path and machine.file(path.path) else CLEAN
    machine.effects.append(
        Execute(
            base_name(value.text), path.path, (), not value.exact, taint, invocation.where(use), value.span,
            invocation.origin,
        )
    )  # fmt: skip


def _chdir(invocation: Invocation, use: Use) -> None:
    found = invocation.path(use)
    invocation.cwd = Place(found.path, not found.unknown)


# -------------------------------------------------------------------------------------------------------------- network
def _connect(invocation: Invocation, use: Use, host: str, port: str, url: str = "") -> None:
    invocation.connected = True
    invocation.peer = None if url else (host, port)  # over a URL one answer comes, no conversation
    invocation.machine.effects.append(
        Connect(
            host, port, url, _method(invocation) if url else "",
            not use.value.exact and not _host_known(use.value, host),
            False, False, invocation.where(use), use.value.span, invocation.origin,
        )
    )  # fmt: skip


def _host_known(value: Value, host: str) -> bool:
    """A URL's host is certain once something after it is written."""
    return bool(host) and value.text.partition("://")[2].find("/") > 0


def _method(invocation: Invocation) -> str:
    for flag in ("post", "put", "delete", "patch", "head"):
        if flag in invocation.reading.flags:
            return flag.upper()
    return "GET"


def _url(invocation: Invocation, use: Use) -> None:
    text = use.value.text
    if text[:5].lower() == "file:":
        local = use._replace(value=use.value._replace(text=text[5:].removeprefix("//")))
        _read(invocation, local)
        return
    url = split_url(text)
    _connect(invocation, use, url.host, url.port, text)


def _host(invocation: Invocation, use: Use) -> None:
    host, port = split_host(use.value.text)
    if not port:
        given = invocation.given("port")
        port = given.text if given is not None else ""
    _connect(invocation, use, host, port)


def _listen(invocation: Invocation, use: Use) -> None:
    text = use.value.text
    host, port = split_host(text) if ":" in text else ("", text)
    invocation.connected = True
    invocation.peer = (host, port)
    invocation.machine.effects.append(
        Connect(
            host,
            port,
            "",
            "",
            not use.value.exact,
            True,
            False,
            invocation.where(use),
            use.value.span,
            invocation.origin,
        )
    )


def _remote(use: Use) -> tuple[str, str] | None:
    text = use.value.text
    if "://" in text:
        url = split_url(text)
        return (url.host, url.path) if url.scheme != "file" else None
    return split_remote(text)


def _source(invocation: Invocation, use: Use) -> None:
    remote = _remote(use)
    if remote is None:
        _read(invocation, use)
    else:
        _connect(invocation, use, remote[0], "")


def _target(invocation: Invocation, use: Use) -> None:
    remote = _remote(use)
    if remote is None:
        _into(invocation, use)
        return
    _connect(invocation, use, remote[0], "")
    sources = [source for source in invocation.reading.uses if source.role == "source" and _remote(source) is None]
    for source in sources:
        path = invocation.path(source)
        invocation.machine.effects.append(
            Transfer(
                remote[0], path.path, "", False, file_stream(invocation.machine, path).taint, invocation.machine.where,
                source.value.span, invocation.origin,
            )
        )  # fmt: skip


def _upload(invocation: Invocation, use: Use) -> None:
    if _is_dash(use.value):
        invocation.send(invocation.machine.stdin)
        return
    _read(invocation, use)
    known = stream_of(invocation.machine, use, invocation.cwd)
    invocation.send(known, known.path, use.value.span)


def _upload_data(invocation: Invocation, use: Use) -> None:
    """`curl -d`: a text, `@file`, or `name@file`."""
    value = use.value
    name, at, file = value.text.partition("@")
    if at and (not name or name.isidentifier()) and file:
        _upload(invocation, use._replace(value=value._replace(text=file)))
        return
    invocation.send(Stream(value.text if value.exact else None, value.taint), span=value.span)


# ----------------------------------------------------------------------------------------------------------------- code
def _rest(invocation: Invocation, value: Value) -> list[Value]:
    """The operands after the one that is the code or the script."""
    operands = invocation.reading.operands
    for at, operand in enumerate(operands):
        if operand is value or (operand.span is not None and operand.span == value.span and operand.text == value.text):
            return list(operands[at + 1 :])
    return []


def _after(invocation: Invocation, use: Use) -> list[Value]:
    """What the code is given as arguments: all operands where an option carried it, else those after it."""
    return list(invocation.reading.operands) if use.option else _rest(invocation, use.value)


def _shell(invocation: Invocation, use: Use) -> None:
    """Shell code: `sh -c CODE NAME ARGUMENTS`, or what another program hands to a shell."""
    machine = invocation.machine
    rest = _after(invocation, use)
    name, arguments = (rest[0], rest[1:]) if rest else (None, [])
    invocation.printed = True

    def run() -> None:
        evaluate(machine, Code("sh", use.value, "argument", invocation.origin, arguments, name))

    _there(invocation, use, run)


def _there(invocation: Invocation, use: Use, run: Callable[[], None]) -> None:
    machine = invocation.machine
    if use.where is not Where.HERE and use.where is not machine.where:
        machine.elsewhere(use.where, run)
        return

    def here() -> None:
        if invocation.cwd is not machine.cwd:
            machine.put("/cwd", invocation.cwd)
        run()

    machine.forked(here)


def _bang_shell(invocation: Invocation, use: Use) -> None:
    if use.value.text.startswith("!"):
        code = use.value._replace(text=use.value.text[1:])
        _there(invocation, use, lambda: evaluate(invocation.machine, Code("sh", code, "argument", invocation.origin)))


def language_role(invocation: Invocation, use: Use) -> None:
    """`code:LANG` and `script:LANG`."""
    kind, _, language = use.role.partition(":")
    machine = invocation.machine
    arguments = _after(invocation, use)
    if kind == "code":
        if language not in _TEXT_LANGUAGES:
            invocation.printed = True
        _there(
            invocation,
            use,
            lambda: evaluate(machine, Code(language, use.value, "argument", invocation.origin, arguments)),
        )
        return
    if kind != "script":
        return
    invocation.printed = True
    if _is_dash(use.value):
        evaluate_input(machine, language, arguments, invocation.span, invocation.origin)
        return
    _read(invocation, use)
    path = Path(use.value.text) if is_standard(use.value.text) else invocation.path(use)
    file = ScriptFile(path.path, path.unknown, arguments, use.value.span, language)
    _there(invocation, use, lambda: run_script(machine, file, invocation.origin))


_TEXT_LANGUAGES = frozenset({"sed", "awk", "jq", "sql"})  # they print what they read


def _assign(invocation: Invocation, use: Use) -> None:
    name, _, text = use.value.text.partition("=")
    value = use.value._replace(text=text)
    machine = invocation.machine
    machine.effects.append(
        SetVariable(name, text, not value.exact, invocation.where(use), value.span, invocation.origin)
    )
    invocation.assigned.append((name, value._replace(span=None)))


def _no_effect(invocation: Invocation, use: Use) -> None:
    """A value that other handlers and templates look at."""


ROLES: dict[str, Callable[[Invocation, Use], None]] = {
    "read": _read,
    "link": _read,
    "stat": _no_effect,
    "write": _write,
    "append": _append,
    "edit": _edit,
    "into": _into,
    "delete": _delete,
    "move": _move,
    **{f"attr-{attribute}": _attribute(attribute) for attribute in ATTRIBUTES},
    "attr-value": _no_effect,
    "execute": _execute,
    "chdir": _chdir,
    "source": _source,
    "target": _target,
    "url": _url,
    "host": _host,
    "port": _no_effect,
    "listen": _listen,
    "upload": _upload,
    "upload-data": _upload_data,
    "shell": _shell,
    "bang-shell": _bang_shell,
    "hole": _no_effect,
    "assign": _assign,
    "env-name": _no_effect,
    "user": _no_effect,
    "package": _no_effect,
}
