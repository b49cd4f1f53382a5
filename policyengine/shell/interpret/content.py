"""What a described program makes of what it reads: text where it can be computed, and taint."""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.effects import Taint, Taints
from policyengine.shell.interpret.compute import COMPUTED
from policyengine.shell.interpret.machine import NOTHING, OUTER_INPUT, Machine, Stream
from policyengine.shell.interpret.redirects import file_stream, is_standard, place_of
from policyengine.shell.paths import Place
from policyengine.shell.programs import Reading, Use
from policyengine.shell.urls import is_remote
from policyengine.shell.values import Value

TAINTS: dict[str, Taints] = {
    "fetched": frozenset({Taint.FETCHED}),
    "decoded": frozenset({Taint.DECODED}),
    "secret": frozenset({Taint.SECRET}),
    "generated": frozenset({Taint.GENERATED}),
}
SOURCES = frozenset({"read", "move", "link", "source"})
_COPYING = frozenset({"cp", "mv", "install", "ln", "dd", "rsync", "scp"})
_NETWORK = frozenset({"url", "host"})


def _arrives(use: Use) -> bool:
    return use.role in _NETWORK or (use.role == "source" and is_remote(use.value.text))


def content_of(machine: Machine, name: str, arguments: Sequence[Value], reading: Reading, cwd: Place) -> Stream:
    """The stream that a call prints or writes."""
    inputs = _inputs(machine, reading, cwd)
    taint = frozenset().union(*[stream.taint for stream in inputs])
    if reading.output in TAINTS:
        taint = TAINTS[reading.output] if reading.output != "decoded" else taint | TAINTS["decoded"]
    if reading.output not in ("generated", "secret") and any(_arrives(use) for use in reading.uses):
        taint |= TAINTS["fetched"]
    if name == "rev" or (name == "tr" and sum(len(value.text) > 2 for value in arguments) > 1):
        taint |= TAINTS["decoded"]  # letters exchanged for others
    path = next((stream.path for stream in inputs if stream.path), "")
    peer = next((stream.peer for stream in inputs if stream.peer), None)
    driven = any(stream.driven for stream in inputs)
    return Stream(
        _text(name, arguments, inputs), taint, path, peer, driven, inputs[0].span if len(inputs) == 1 else None
    )


def _text(name: str, arguments: Sequence[Value], inputs: Sequence[Stream]) -> str | None:
    if any(stream.text is None for stream in inputs):
        return None
    computed = COMPUTED.get(name)
    whole = "".join([stream.text or "" for stream in inputs])
    return computed(list(arguments), whole) if computed else whole if name in _COPYING else None


def _inputs(machine: Machine, reading: Reading, cwd: Place) -> list[Stream]:
    inputs = [stream_of(machine, use, cwd) for use in reading.uses if use.role in SOURCES]
    if inputs:
        return inputs
    reads = reading.output in ("content", "decoded") or machine.stdin is not OUTER_INPUT
    return [machine.stdin if reads else NOTHING]


def stream_of(machine: Machine, use: Use, cwd: Place) -> Stream:
    """The contents of the file that a use names; of a standard stream, what it carries."""
    value = use.value
    if value.text == "-" and value.exact:
        return machine.stdin
    if is_standard(value.text):
        known = machine.file(value.text)
        return Stream(known[0].text, known[0].taint) if known else machine.stdin
    path = place_of(machine, value, cwd)
    return file_stream(machine, path)._replace(path=path.path)
