"""One call of a described program while what its arguments mean becomes effects."""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.effects import CLEAN, Connect, Execute, Span, Taint, Transfer, Where
from policyengine.shell.interpret.content import content_of
from policyengine.shell.interpret.evaluate import ScriptFile, run_file
from policyengine.shell.interpret.machine import Machine, Variable
from policyengine.shell.interpret.redirects import place_of
from policyengine.shell.interpret.streams import Stream
from policyengine.shell.paths import Path, Place, resolve
from policyengine.shell.programs import Reading, Use
from policyengine.shell.urls import split_host, split_url
from policyengine.shell.values import Value

_UNKNOWN_OUTPUT = Stream(None, frozenset({Taint.INPUT}))


class Invocation:
    """One call of a described program while its uses become effects."""

    __slots__ = (
        "_content", "arguments", "assigned", "below", "connected", "cwd", "functions", "machine", "origin", "peer",
        "printed", "reading", "recursive", "span",
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
        self.functions: list[Value] = []  # definitions of functions that it hands on through the environment
        self.below: list[Value] | None = None  # paths that `find` passes on, the same for each of its commands
        self.printed = False  # its output has been accounted for
        self.connected = False
        self.peer: tuple[str, str] | None = None

    @property
    def content(self) -> Stream:
        """What the program makes of its inputs."""
        if self._content is None:
            self._content = content_of(self.machine, self.origin, self.arguments, self.reading, self.cwd)
        return self._content

    def handed_on(self) -> None:
        """Set what the call puts into the environment of what it starts."""
        for name, value in self.assigned:
            self.machine.put(name, Variable((value,), "x"))
            self.machine.exports[name] = None

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
        path = resolve(f"{words[0].text.replace('.', '/')}.py", self.cwd).path
        if machine.where is Where.HERE and machine.file(path):
            script = ScriptFile(path, False, words[1:], words[0].span, "python")
            machine.forked(lambda: run_file(machine, script, machine.file(path)))
        machine.emit(_UNKNOWN_OUTPUT)
