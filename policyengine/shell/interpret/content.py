"""What a described program makes of what it reads: text where it can be computed, and taint."""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.effects import HOLE, Taint, Taints
from policyengine.shell.code import awk_texts, jq_texts, sed_texts
from policyengine.shell.interpret.compute import COMPUTED
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.processes import standard
from policyengine.shell.interpret.redirects import place_of
from policyengine.shell.interpret.stored import file_stream, stored
from policyengine.shell.interpret.streams import NOTHING, OUTER_INPUT, Stream
from policyengine.shell.paths import Place
from policyengine.shell.programs import Reading, Use
from policyengine.shell.urls import is_remote
from policyengine.shell.values import Value, tail_of

TAINTS: dict[str, Taints] = {
    "fetched": frozenset({Taint.FETCHED}),
    "decoded": frozenset({Taint.DECODED}),
    "secret": frozenset({Taint.SECRET}),
    "generated": frozenset({Taint.GENERATED}),
    "processes": frozenset({Taint.PROCESSES}),
}
SOURCES = frozenset({"read", "move", "link", "source"})
_COPYING = frozenset({"ln", "dd"})  # and what writes its sources to a destination
# What they print are lines of what they read: which, they say in ways that are not computed here.
_CHOOSING = frozenset({
    "head", "tail", "sort", "uniq", "grep", "egrep", "fgrep", "rg", "shuf", "sponge", "pv", "column", "nl", "strings",
    "fmt", "fold", "iconv", "dos2unix", "cut", "look", "comm", "paste", "awk", "gawk", "mawk", "sed", "gsed", "perl",
})  # fmt: skip
_PRINTING = {"code:sed": sed_texts, "code:awk": awk_texts, "code:jq": jq_texts}
_PASSING = _CHOOSING | {"cat", "tee"}
_NETWORK = frozenset({"url", "host"})


def _arrives(use: Use) -> bool:
    return use.role in _NETWORK or (use.role == "source" and is_remote(use.value.text))


def content_of(machine: Machine, name: str, arguments: Sequence[Value], reading: Reading, cwd: Place) -> Stream:
    """The stream that a call prints or writes."""
    inputs = _inputs(machine, reading, cwd)
    one = inputs[0] if len(inputs) == 1 else _joined(inputs)
    taint = one.taint
    if reading.output in TAINTS:
        taint = TAINTS[reading.output] if reading.output != "decoded" else taint | TAINTS["decoded"]
    if reading.output not in ("generated", "secret") and any(_arrives(use) for use in reading.uses):
        taint |= TAINTS["fetched"]
    if name == "rev" or (name == "tr" and sum(len(value.text) > 2 for value in arguments) > 1):
        taint |= TAINTS["decoded"]  # letters exchanged for others
    copied = name in _COPYING or any(use.role == "onto" for use in reading.uses)
    text = _text(name, arguments, inputs, copied=copied)
    written = _written(reading)
    if written and (text is None or HOLE in text):
        text = "\n".join([HOLE, *written, text or HOLE])
    if text is None or HOLE not in text:
        return Stream(text, taint, one.path, one.peer, one.driven, one.span)
    known, _, rest = text.partition(HOLE)
    return Stream(None, taint, one.path, one.peer, one.driven, one.span, known, rest)


def _joined(inputs: Sequence[Stream]) -> Stream:
    """What is known of several inputs together, their texts aside."""
    return Stream(
        None,
        frozenset().union(*[stream.taint for stream in inputs]),
        next((stream.path for stream in inputs if stream.path), ""),
        next((stream.peer for stream in inputs if stream.peer), None),
        any(stream.driven for stream in inputs),
    )


def _written(reading: Reading) -> list[str]:
    """Texts in the code of a filter that it may print."""
    if not any(use.role in _PRINTING for use in reading.uses):
        return []
    return [line for use in reading.uses if use.role in _PRINTING for line in _PRINTING[use.role](use.value.text)]


def _text(name: str, arguments: Sequence[Value], inputs: Sequence[Stream], *, copied: bool) -> str | None:
    """What is printed, with holes where programs that hand on what they read read them."""
    if None in [stream.text for stream in inputs]:
        if not (copied or name in _PASSING) or not any(stream.template for stream in inputs):
            return None
        inputs = [stream._replace(text=stream.template or HOLE) for stream in inputs]
    computed = COMPUTED.get(name)
    whole = "".join([stream.text or "" for stream in inputs])
    made = computed(list(arguments), whole) if computed is not None else None
    if made is not None or (computed is not None and name not in _CHOOSING):
        return made
    return whole if copied else f"{HOLE}\n{whole}" if name in _CHOOSING and whole else None


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
    name = standard(value)
    if name:
        known = machine.file(name)
        return stored(known) if known else machine.stdin
    path = place_of(machine, value, cwd)
    stream = file_stream(machine, path, tail_of(value) if path.unknown else "")
    return stream if stream.path == path.path else stream._replace(path=path.path)
