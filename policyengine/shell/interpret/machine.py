"""The state of an interpretation: what has been found so far, and what is known of the shells that run.

One mutable `Machine` is passed to every function of this folder. What belongs to one shell process (variables,
functions, aliases, working directory, options) lives in `cells` and is changed only by `put`, which keeps a trail:
entering a subshell costs nothing, leaving it undoes what it changed, and joining branches compares only that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from policyengine.effects import (
    HOLE,
    NOTHING_LEFT,
    Cause,
    Effect,
    Left,
    Opaque,
    Span,
    Taints,
    Where,
    WrittenFile,
)
from policyengine.records import NamedTuple
from policyengine.shell.interpret.alternatives import apart
from policyengine.shell.interpret.notes import Note, Step, note_stream, note_variable
from policyengine.shell.interpret.streams import MAX_TEXT, OUTER_INPUT, Sink, Stream
from policyengine.shell.interpret.trees import LAID, arrived_at
from policyengine.shell.interpret.ways import NO_WAYS, Ways, in_program, in_subshell
from policyengine.shell.nodes import Function, Script, Statement
from policyengine.shell.paths import Place
from policyengine.shell.programs import Program, Programs
from policyengine.shell.values import Value

MAX_BYTES = 256 * 1024  # of the analysed text, in UTF-8
MAX_DEPTH = 40  # nesting of statements, substitutions, code strings and calls together
MAX_COMMANDS, CHARACTERS_PER_COMMAND = 700, 64  # simple commands that are interpreted; one more for each so many
MAX_FIELDS, CHARACTERS_PER_FIELD = 10_000, 4  # arguments and what comes out of expansions; likewise
MAX_CODE = 64 * 1024  # characters of computed and nested code beyond the length of the text itself
MAX_PASSES = 200  # loop bodies interpreted more than once, over the whole call
MAX_VERSIONS = 16  # alternatives kept of one file's text
MAX_APPENDED = 4  # texts of a file to which something is appended; beyond, only the last one grows


Answer = TypeVar("Answer")


class Situation(NamedTuple):
    """Where and in what state the call starts. `env` is None where the environment is unknown, `cwd` empty if that is.

    `written` holds the files that this run wrote or fetched earlier, `left` what else earlier calls left.
    """

    cwd: str = "/workspace"
    home: str = "/home/agent"
    workspace: tuple[str, ...] = ("/workspace",)
    env: Mapping[str, str] | None = None
    dialect: str = "bash"
    platform: str = "linux"
    written: Mapping[str, WrittenFile] = {}
    left: Left = NOTHING_LEFT


class Variable(NamedTuple):
    """A shell variable: the values it may have, its attributes (letters of `declare`), its elements if an array.

    Of an array that is one of several, `items` is what they have in common, and `ways` the arrays, where they are few.
    """

    choices: tuple[Value, ...]
    attributes: str = ""
    items: Mapping[str, Value] | None = None
    ways: tuple[Mapping[str, Value], ...] = ()


class Definition(NamedTuple):
    """A function, and where its text stands (`base` and `fixed` of the machine)."""

    node: Function
    base: int | None
    fixed: Span | None


class Target(NamedTuple):
    """Where a file descriptor leads: the surrounding output (`out`), a file, a connection, a command, or nowhere."""

    kind: str  # out | file | peer | command | null
    path: str = ""
    unknown: bool = False
    append: bool = False
    peer: tuple[str, str] | None = None
    body: Script | None = None
    span: Span | None = None
    glob: bool = False
    tail: str = ""


class Runner(Protocol):
    """The two ways down that words and builtins need, given to the machine so that no module imports upwards."""

    def body(self, machine: Machine, statements: Sequence[Statement]) -> None:
        """Interpret statements in the current shell."""

    def words(self, machine: Machine, values: Sequence[Value]) -> None:
        """Interpret a command whose words are already expanded; the first one is its name."""


class Limit(Exception):
    """A limit was exceeded: what was found so far stands."""


class Machine:
    """See the module. `base` and `fixed` map offsets of the text being read to the outermost text."""

    __slots__ = (
        "aliasing", "asynchronous", "base", "called", "calling", "cells", "code", "combinations", "commands",
        "conditional", "depth", "described", "descriptors", "effects", "exporting", "exports", "fields", "fifos",
        "files", "fixed", "given", "jobs", "later", "links", "local", "most_commands", "most_fields", "next_descriptor",
        "notes", "out", "outputs", "passes", "picks", "pipes", "positional", "programs", "runner", "scopes", "seen",
        "situation", "source", "stdin", "texts", "trail", "traps", "trees", "ways", "where",
    )  # fmt: skip

    def __init__(self, source: str, situation: Situation, programs: Programs, runner: Runner) -> None:
        self.source = source
        self.situation = situation
        self.programs = programs
        self.runner = runner
        self.effects: list[Effect] = []
        self.files: dict[str, tuple[WrittenFile, ...]] = {}
        self.fifos: dict[str, None] = {}  # what is written into one reaches whoever reads it, sooner or later
        self.later: dict[str, tuple[WrittenFile, ...]] = {}  # what files hold in the end, for who may read them then
        self.jobs = False  # whether something ran in the background
        self.trees: dict[str, Taints] = dict(situation.left.trees)
        self.links: dict[str, str] = dict(situation.left.links)
        self.cells: dict[str, Any] = {"/cwd": Place(situation.cwd, bool(situation.cwd))}  # Any: by key, see `put`
        self.trail: list[tuple[str, Any]] = []
        self.where = Where.HERE
        self.base: int | None = 0
        self.fixed: Span | None = None
        self.stdin = OUTER_INPUT
        self.out: Sink | None = None
        self.descriptors: dict[int, Target | Stream] = {}  # replaced, never changed
        self.pipes: dict[str, Script] = {}
        self.next_descriptor = 63
        self.positional: tuple[Value, ...] | None = ()
        self.notes: list[Note] | None = None  # a list where somebody wants to follow
        self.conditional = self.asynchronous = 0
        self.calling: dict[str, int] = {}
        self.given: dict[str, int] = {}  # how many arguments the function has that runs, by its key
        self.picks: dict[str, int] | None = None
        self.combinations = 1  # of choices that are tried for what is read now
        self.outputs: dict[str, tuple[Value, ...]] = {}  # choices that substitutions gave, those of `picks` among them
        self.seen: dict[str, int] = {}  # variables with several choices that were read since the last reset
        self.described: dict[str, Program | None] = {}
        self.commands = self.fields = self.code = 0
        self.ways = NO_WAYS
        self.texts = 1  # that are tried in turn as what is read
        self.scopes = 0  # that were numbered so far
        self.most_commands = MAX_COMMANDS + len(source) // CHARACTERS_PER_COMMAND
        self.most_fields = MAX_FIELDS + len(source) // CHARACTERS_PER_FIELD
        self.passes = 0
        self.depth = 0
        self.aliasing = self.exporting = False
        self.traps: list[Callable[[], None]] = []  # code that runs at the end
        self.called: set[str] = set()  # functions that were called
        self.exports: dict[str, None] = {}  # names that were ever exported, in order
        self.local: list[tuple[str, Any]] | None = None  # what `local` hid, in the function that runs

    # ------------------------------------------------------------------------------------------------ one shell's state
    def put(self, key: str, value: object) -> None:
        """Set a cell: a variable by its name, a function by `name()`, an alias by `name=`, options and cwd by `/…`."""
        if type(value) is Variable and (key[-1:] in (")", "=") or key[:1] == "/"):
            return  # no name: `unset 'f()'` must not touch what is kept under such keys
        self.trail.append((key, self.cells.get(key)))
        self.cells[key] = value
        if self.notes is not None and type(value) is Variable:
            note_variable(self, key, value.choices or tuple((value.items or {}).values()))

    def undo(self, mark: int) -> None:
        """Restore all cells to what they were when the trail had this length."""
        trail, cells = self.trail, self.cells
        while len(trail) > mark:
            key, value = trail.pop()
            if value is None:
                cells.pop(key, None)
            else:
                cells[key] = value

    def changes(self, mark: int) -> dict[str, Any]:
        """The cells changed since then, with their present values (None: removed)."""
        return {key: self.cells.get(key) for key, _ in self.trail[mark:]}

    @property
    def cwd(self) -> Place:
        """The working directory."""
        place: Place = self.cells["/cwd"]
        return place

    @property
    def shell(self) -> str:
        """Which shell runs: that of the call, or one that it started."""
        shell: str | None = self.cells.get("/shell")
        return shell or self.situation.dialect

    def variable(self, name: str) -> Variable | None:
        """A variable as this text has set it."""
        found: Variable | None = self.cells.get(name)
        return found

    # ---------------------------------------------------------------------------------------------------- what is found
    def span(self, start: int, end: int) -> Span | None:
        """Offsets of the text being read, in the outermost text."""
        return (start + self.base, end + self.base) if self.base is not None else self.fixed

    def opaque(self, cause: Cause, detail: str, span: Span | None, origin: str = "") -> None:
        """Record that something is not known."""
        self.effects.append(Opaque(cause, detail, self.where, span, origin))

    def program(self, name: str) -> Program | None:
        """The description of a program, looked up once for each name."""
        found = self.described.get(name)
        if found is None and name not in self.described:
            found = self.described[name] = self.programs.find(name)
        return found

    def step(self) -> None:
        """Count one command.

        Raises:
            Limit: there were too many.
        """
        self.commands += 1
        if self.commands > self.most_commands:
            raise Limit(f"more than {self.most_commands} commands")

    def write_file(self, path: str, stream: Stream, *, append: bool = False) -> None:
        """Remember what a file holds now; both versions where the write may not have happened."""
        old = self.file(path)
        if path in self.fifos:
            old, append = tuple([item for item in old if item.text is not None]), True
        texts: Sequence[str | None] = stream.choices or (stream.template,)
        if append and old:
            grown = old if len(old) * len(texts) <= MAX_APPENDED else old[-1:]
            texts = [_appended(item.text, text) for item in grown for text in texts]
        taint = stream.taint | frozenset(taint for item in old if append for taint in item.taint)
        if append and any(item.text is None for item in old) and not taint:
            taint = LAID
        new = [WrittenFile(path, text, taint) for text in dict.fromkeys(texts)]
        kept = (*[item for item in old if self.conditional and item not in new], *new)
        if len(kept) > MAX_VERSIONS:
            self.opaque(Cause.LIMIT, f"more than {MAX_VERSIONS} texts that a file may hold", None)
        self.files[path] = kept[-MAX_VERSIONS:]
        if self.notes is not None:
            note_stream(self, Step.FILE, path, stream._replace(text=new[-1].text, taint=taint), stream.span)

    def file(self, path: str) -> tuple[WrittenFile, ...]:
        """What the run knows of a file: the versions that it may hold; empty for a file it did not write."""
        found = self.files.get(path)
        if self.later and path in self.later and (self.asynchronous or path in self.fifos):
            return self.later[path] if path in self.fifos else (*(found or ()), *self.later[path])
        if found is not None:
            return found
        earlier = self.situation.written.get(path)
        if earlier is not None:
            return apart(earlier)
        return arrived_at(self.trees, path) if self.trees else ()

    def emit(self, stream: Stream) -> None:
        """Write to the current output."""
        if self.out is not None:
            self.out.add(stream)
            if self.out.into:
                self.write_file(self.out.into, stream, append=True)

    def spend(self, fields: int) -> None:
        """Count arguments, those that an expansion gave once more.

        Raises:
            Limit: there were too many.
        """
        self.fields += fields
        if self.fields > self.most_fields:
            raise Limit("too many arguments from expansions")

    def read(self, characters: int) -> None:
        """Count characters of code inside the text.

        Raises:
            Limit: there were too many.
        """
        self.code += characters
        if self.code > MAX_CODE + len(self.source):
            raise Limit("too much code inside code")

    # ----------------------------------------------------------------------------------------------------------- scopes
    def deeper(self) -> None:
        """Count one level of nesting.

        Raises:
            Limit: there were too many.
        """
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.depth -= 1
            raise Limit(f"nesting deeper than {MAX_DEPTH} levels")

    def scope(self, run: Callable[[], Answer], kind: Callable[[int, Ways], Ways]) -> Answer:
        """Run something that can be left, and go on where it was."""
        outer, self.scopes = self.ways, self.scopes + 1
        number = self.scopes
        self.ways = kind(number, outer)
        try:
            return run()
        finally:
            self.ways = outer
            if self.out is not None:
                self.out.arrive(number)

    def leave(self, way: int | None) -> None:
        """Leave what has that number: what comes next is printed by others."""
        if self.out is not None and way is not None:
            self.out.leave(way)

    def forked(self, run: Callable[[], Answer]) -> Answer:
        """Run something as a subshell would: what it changes is undone."""
        mark, trail = len(self.trail), self.trail
        saved = self.positional, self.descriptors, self.stdin, self.out
        try:
            return self.scope(run, in_subshell)
        finally:
            if len(trail) > mark:
                self.undo(mark)
            self.positional, self.descriptors, self.stdin, self.out = saved

    def process(self, run: Callable[[], Answer]) -> Answer:
        """Run something as a new program of the same machine would run it: only what is exported is there."""
        self.spend(len(self.exports) // 4)
        saved = self.cells, self.trail, self.positional, self.local
        self.cells = {name: self.cells[name] for name in self.exports if _exported(self.cells.get(name))}
        self.cells["/cwd"] = saved[0]["/cwd"]
        self.trail, self.local = [], None
        try:
            return self.scope(run, in_program)
        finally:
            self.cells, self.trail, self.positional, self.local = saved

    def elsewhere(self, where: Where, run: Callable[[], Answer]) -> Answer:
        """Run something in a container or on another host: nothing is known of its files, variables and directories."""
        saved = self.where, self.situation, self.files, self.trees, self.links
        self.where, self.files, self.trees, self.links = where, {}, {}, {}
        self.situation = self.situation._replace(env=None, written={}, left=NOTHING_LEFT)
        try:
            return self.process(lambda: self._away(run))
        finally:
            self.where, self.situation, self.files, self.trees, self.links = saved

    def _away(self, run: Callable[[], Answer]) -> Answer:
        self.cells = {"/cwd": Place("", exact=False)}
        return run()

    def capture(self, statements: Sequence[Statement], stdin: Stream | None = None, *, silent: bool = False) -> Stream:
        """What statements print when a subshell runs them; `silent` as for `Sink.stream`."""
        outer, self.out = self.out, Sink()
        sink = self.out
        try:
            self.deeper()
            self.forked(lambda: self.feed(statements, stdin))
            self.depth -= 1
        finally:
            self.out = outer
        return sink.stream(silent=silent)

    def feed(self, statements: Sequence[Statement], stdin: Stream | None) -> None:
        """Interpret statements with that input."""
        if stdin is not None:
            self.stdin = stdin
        self.runner.body(self, statements)


def versions(path: str, stream: Stream) -> tuple[WrittenFile, ...]:
    """What a file holds that receives the stream."""
    return tuple([WrittenFile(path, text, stream.taint) for text in stream.choices or (stream.template,)])


def _appended(before: str | None, text: str | None) -> str | None:
    """What a file holds behind which a text was put; what is not known of it, or is too long, is a hole in a line."""
    if text is None:
        return None
    return (before if before is not None and len(before) <= MAX_TEXT else f"{HOLE}\n") + text


def _exported(cell: object) -> bool:
    return isinstance(cell, tuple) and not (isinstance(cell, Variable) and "x" not in cell.attributes)
