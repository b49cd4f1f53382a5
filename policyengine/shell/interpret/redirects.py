"""Redirections (bash manual 3.6): which files and connections they open, and where input and output lead."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from policyengine.effects import Connect, Exhaust, FileRead, FileWrite, Taint, Taints, Transfer
from policyengine.records import NamedTuple
from policyengine.shell.interpret.choices import each, picked
from policyengine.shell.interpret.installed import as_copied
from policyengine.shell.interpret.latent import named
from policyengine.shell.interpret.links import below, through
from policyengine.shell.interpret.machine import Machine, Target, Variable, versions
from policyengine.shell.interpret.processes import led, standard
from policyengine.shell.interpret.stored import file_stream, stored
from policyengine.shell.interpret.streams import (
    NOTHING,
    OUTER_INPUT,
    Sink,
    Stream,
    stream_of_value,
)
from policyengine.shell.interpret.words import expand, expand_body, expand_one
from policyengine.shell.nodes import Literal, Redirect
from policyengine.shell.paths import Path, Place, on_macos, resolve
from policyengine.shell.values import UNKNOWN, Value, tail_of

FETCHED: Taints = frozenset({Taint.FETCHED})
_NETWORK = re.compile(r"/dev/(?:tcp|udp)/([^/]*)/?([^/]*)\Z").match
_ZERO = re.compile(r"/dev/(?:null|full)\Z").match
_ENDLESS = frozenset({"/dev/zero", "/dev/urandom", "/dev/random"})
_OUT = Target("out")
_NULL = Target("null")


class Wiring(NamedTuple):
    """What redirections change: the input (None: unchanged) and where standard output goes (None: unchanged)."""

    stdin: Stream | None = None
    stdout: Target | None = None


_UNCHANGED = Wiring()
FIELDS = 2  # arguments that a redirection counts for: it takes as long as two


class redirected:  # in lower case: used as a function; one of `contextlib` costs three times as much
    """Interpret something with its redirections in force."""

    __slots__ = ("_machine", "_origin", "_out", "_sink", "_stdin", "_wiring")

    def __init__(self, machine: Machine, redirects: Sequence[Redirect], origin: str) -> None:
        self._machine = machine
        self._origin = origin
        self._wiring = wire(machine, redirects, origin)

    def __enter__(self) -> None:
        machine, (stdin, stdout) = self._machine, self._wiring
        self._stdin, self._out = machine.stdin, machine.out
        if stdin is not None:
            machine.stdin = stdin
        self._sink = None
        if stdout is not None and stdout.kind != "out":
            self._sink = machine.out = Sink(machine.out)
            machine.out.peer = stdout.peer

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        machine, (stdin, stdout) = self._machine, self._wiring
        if stdin is not None:
            machine.stdin = self._stdin
        machine.out = self._out
        if failed is None and self._sink is not None and stdout is not None:
            deliver(machine, stdout, self._sink.stream(), self._origin)


def in_redirects(machine: Machine, redirects: Sequence[Redirect], run: Callable[[], None]) -> None:
    """Run a compound command with its redirections, once for each combination of the values that these read."""

    def inside() -> None:
        with redirected(machine, redirects, ""):
            run()

    if redirects:
        each(machine, inside)
    else:
        run()


def permanent(machine: Machine, redirects: Sequence[Redirect]) -> None:
    """`exec` with redirections alone: the shell's own descriptors change (bash manual 4.1, exec)."""
    wiring = wire(machine, redirects, "exec")
    if wiring.stdin is not None:
        machine.stdin = wiring.stdin
    if wiring.stdout is not None:
        deliver(machine, wiring.stdout, Stream(None), "exec")
        if machine.out is not None:
            machine.out.add(Stream(None))  # by way of a copy of the descriptor, what follows may still get there
        machine.out = Sink()
        machine.out.peer = wiring.stdout.peer
        if wiring.stdout.kind == "file" and not wiring.stdout.unknown:
            if not wiring.stdout.append:
                machine.write_file(wiring.stdout.path, NOTHING)
            machine.out.into = wiring.stdout.path


def wire(machine: Machine, redirects: Sequence[Redirect], origin: str) -> Wiring:
    """Open what the redirections name, in order."""
    wiring = _UNCHANGED
    machine.spend(len(redirects) * FIELDS)
    for redirect in redirects:
        if redirect.fd != "2" or not _is_idle(redirect):
            wiring = _KINDS[redirect.op](machine, redirect, wiring, origin)
    return wiring


def _is_idle(redirect: Redirect) -> bool:
    """The two everyday ways to lead errors away, which nothing here depends on."""
    parts = redirect.target.parts
    return len(parts) == 1 and type(parts[0]) is Literal and (redirect.op, parts[0].text) in _IDLE


_IDLE = frozenset({(">&", "1"), (">", "/dev/null"), (">>", "/dev/null")})


def deliver(machine: Machine, target: Target, stream: Stream, origin: str) -> None:
    """Let collected output arrive where standard output led."""
    if target.kind == "file":
        if origin == "yes" or (origin == "cat" and stream.path in _ENDLESS):
            machine.effects.append(Exhaust("infinite-write", machine.where, target.span, origin))
        taint = stream.taint
        machine.effects.append(
            FileWrite(
                target.path,
                target.unknown,
                target.glob,
                target.append,
                taint,
                False,
                machine.where,
                target.span,
                origin,
                target.tail,
            )
        )
        if not target.unknown and not target.glob:
            machine.write_file(target.path, as_copied(stream, origin), append=target.append)
    elif target.kind == "peer" and target.peer is not None and stream.text != "":
        host = target.peer[0]
        machine.effects.append(
            Transfer(host, stream.path, "", not host, stream.taint, machine.where, target.span, origin)
        )
    elif target.kind == "command" and target.body is not None:
        machine.pipes.pop(target.path, None)
        printed = machine.capture(target.body.body, stream)
        if target.path.isdigit():  # a coprocess: another descriptor reads what it prints
            machine.descriptors = {**machine.descriptors, int(target.path): printed}
        else:
            machine.emit(printed)


# ------------------------------------------------------------------------------------------------------------ operators
def _input(machine: Machine, redirect: Redirect, wiring: Wiring, origin: str) -> Wiring:
    value = _name(machine, redirect)
    peer = network(machine, value, origin)
    stream = Stream(None, FETCHED, "", peer) if peer else read_stream(machine, value, origin)
    if stream.choices:
        at = picked(machine, f"/{id(redirect)}", len(stream.choices))
        stream = stream if at is None else stream.chosen(stream.choices[at])
    return _attach(machine, redirect.fd or "0", stream, wiring)


def _output(machine: Machine, redirect: Redirect, wiring: Wiring, origin: str) -> Wiring:
    target = _opened(machine, _name(machine, redirect), append=">>" in redirect.op, origin=origin)
    return _lead(machine, redirect.fd or "1", target, wiring, origin)


def _both(machine: Machine, redirect: Redirect, wiring: Wiring, origin: str) -> Wiring:
    """`<>`: open for reading and writing."""
    value = _name(machine, redirect)
    peer = network(machine, value, origin)
    fd = redirect.fd or "0"
    if peer is None:
        stream = read_stream(machine, value, origin)
        target = _opened(machine, value, append=True, origin=origin)
        deliver(machine, target, NOTHING, origin)
        if fd == "1":
            return Wiring(wiring.stdin, target)
        wiring = _attach(machine, fd, stream, wiring)
        if fd != "0":  # what is written through it can be read through it
            number = _number(machine, fd) if fd.isdigit() else max(machine.descriptors)
            machine.descriptors = {**machine.descriptors, number: target}
        return wiring
    if fd in ("0", "1"):
        stream = Stream(None, FETCHED, "", peer)
        return Wiring(stream, wiring.stdout) if fd == "0" else Wiring(wiring.stdin, Target("peer", peer=peer))
    machine.descriptors = {**machine.descriptors, _number(machine, fd): Target("peer", peer=peer, span=value.span)}
    return wiring


def _duplicate(machine: Machine, redirect: Redirect, wiring: Wiring, origin: str) -> Wiring:
    """`<&n`, `>&n`; `>&word` sends both outputs to a file."""
    value = expand_one(machine, redirect.target)
    fd = redirect.fd or ("0" if redirect.op == "<&" else "1")
    text = value.text.rstrip("-")
    if value.exact and (text.isdigit() or value.text == "-"):
        found = _leads(machine, text, wiring) if text else _NULL
        return wiring if found is None else _copied(machine, fd, found, wiring)
    if not value.exact and (redirect.fd is not None or redirect.op == "<&"):  # an unknown descriptor
        return _attach(machine, fd, Stream(None, value.taint), wiring) if redirect.op == "<&" else wiring
    target = _opened(machine, value, append=False, origin=origin)
    return _lead(machine, fd, target, wiring, origin)


def _text(machine: Machine, redirect: Redirect, wiring: Wiring, origin: str) -> Wiring:
    """Here-documents and here-strings."""
    del origin
    if redirect.heredoc is None:
        stream = stream_of_value(expand_one(machine, redirect.target), "\n")
    else:
        stream = stream_of_value(expand_body(machine, redirect.heredoc.body))
    return _attach(machine, redirect.fd or "0", stream, wiring)


_KINDS: dict[str, Callable[[Machine, Redirect, Wiring, str], Wiring]] = {
    "<": _input,
    ">": _output,
    ">>": _output,
    ">|": _output,
    "<>": _both,
    "<&": _duplicate,
    ">&": _duplicate,
    "&>": _output,
    "&>>": _output,
    "<<": _text,
    "<<-": _text,
    "<<<": _text,
}


def _name(machine: Machine, redirect: Redirect) -> Value:
    values = expand(machine, redirect.target)
    return values[0] if len(values) == 1 else UNKNOWN._replace(span=machine.span(redirect.start, redirect.end))


def _number(machine: Machine, fd: str) -> int:
    if fd.isdigit():
        return int(fd[:6])
    number = 10 + len(machine.descriptors)
    named(machine, Value(fd[1:-1]))
    machine.put(fd.strip("{}"), Variable((Value(str(number)),)))
    return number


def _attach(machine: Machine, fd: str, stream: Stream, wiring: Wiring) -> Wiring:
    if fd == "0":
        return Wiring(stream, wiring.stdout)
    number = _number(machine, fd)
    machine.descriptors = {**machine.descriptors, number: stream}
    path = f"/dev/fd/{number}"
    machine.files[path] = versions(path, stream)
    return wiring


def _lead(machine: Machine, fd: str, target: Target, wiring: Wiring, origin: str) -> Wiring:
    if fd == "1":
        if wiring.stdout is not None and wiring.stdout.kind == "file":
            deliver(machine, wiring.stdout, NOTHING, origin)  # opened and left empty
        return Wiring(wiring.stdin, target)
    if target.kind in ("file", "command"):  # a file is written and a process runs, whatever arrives
        deliver(machine, target, Stream(None), origin)
    if fd != "2":
        machine.descriptors = {**machine.descriptors, _number(machine, fd): target}
    return wiring


def _leads(machine: Machine, number: str, wiring: Wiring) -> Target | Stream | None:
    """What a descriptor is connected to at this point."""
    if number == "0":
        return wiring.stdin or machine.stdin
    if number == "1":
        return wiring.stdout or _current_output(machine)
    return machine.descriptors.get(int(number[:6]))


def _current_output(machine: Machine) -> Target:
    peer = machine.out.peer if machine.out is not None else None
    return Target("peer", peer=peer) if peer else _OUT


def _copied(machine: Machine, fd: str, found: Target | Stream, wiring: Wiring) -> Wiring:
    peer = found.peer
    if fd == "0":
        return Wiring(held_by(machine, found), wiring.stdout)
    target = found if isinstance(found, Target) else Target("peer", peer=peer) if peer else _NULL
    if fd == "1":
        return Wiring(wiring.stdin, target)
    if fd != "2":
        machine.descriptors = {**machine.descriptors, _number(machine, fd): found}
    return wiring


def held_by(machine: Machine, found: Target | Stream | None) -> Stream:
    """What is read through a descriptor."""
    if isinstance(found, Stream):
        return found
    if found is not None and found.kind == "file":
        return file_stream(machine, Path(found.path, found.unknown))
    return Stream(None, FETCHED, "", found.peer) if found is not None and found.peer else OUTER_INPUT


# -------------------------------------------------------------------------------------------------------------- opening
def place_of(machine: Machine, value: Value, cwd: Place | None = None) -> Path:
    """The path that a value names."""
    if value.text[:6] == "/proc/":
        value = led(value, cwd or machine.cwd)
    found = resolve(value.text, cwd or machine.cwd, exact=value.exact, glob=value.glob)
    if machine.links:
        found = found._replace(path=below(machine.links, found.path))
    return found if machine.situation.platform != "darwin" else found._replace(path=on_macos(found.path))


def _opened_path(machine: Machine, value: Value) -> Path:
    """The path of what is opened by a name: links are followed."""
    path = place_of(machine, value)
    return path._replace(path=through(machine.links, path.path)) if machine.links else path


def network(machine: Machine, value: Value, origin: str) -> tuple[str, str] | None:
    """`/dev/tcp/host/port` in a redirection is a connection (bash manual 3.6)."""
    found = _NETWORK(value.text) if value.text.startswith("/dev/") else None
    if found is None:
        return None
    host, port = found[1], found[2]
    machine.effects.append(
        Connect(host, port, "", "raw", not value.exact, False, False, machine.where, value.span, origin)
    )
    return host, port


def read_stream(machine: Machine, value: Value, origin: str) -> Stream:
    """Read a file named by a value: the effect, and what is known of its contents."""
    name = standard(value)
    if name:
        return _special(machine, name)
    path = _opened_path(machine, value)
    tail = tail_of(value) if path.unknown else ""
    machine.effects.append(FileRead(path.path, path.unknown, path.glob, False, machine.where, value.span, origin, tail))
    return file_stream(machine, path, tail)


def _special(machine: Machine, text: str) -> Stream:
    if _ZERO(text):
        return NOTHING
    known = machine.file(text)
    return stored(known) if known else machine.stdin


def named_target(machine: Machine, name: str) -> Target:
    """Where the name of a standard stream or of a descriptor leads."""
    held = machine.descriptors.get(int(name[8:14])) if name[:8] == "/dev/fd/" else None
    if isinstance(held, Target):
        return held
    body = machine.pipes.get(name)  # it starts with the statement, unless something arrives before
    kind = "command" if body is not None else "out" if name.endswith(("stdout", "fd/1")) else "null"
    return Target(kind, name, body=body)


def _opened(machine: Machine, value: Value, *, append: bool, origin: str) -> Target:
    name = standard(value)
    if name:
        return named_target(machine, name)
    peer = network(machine, value, origin)
    if peer is not None:
        return Target("peer", peer=peer, span=value.span)
    path = _opened_path(machine, value)
    tail = tail_of(value) if path.unknown else ""
    return Target("file", path.path, path.unknown, append, span=value.span, glob=path.glob, tail=tail)
