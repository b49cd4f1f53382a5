"""What deny and ask rules find in a call: they look more broadly than what allows does.

One command of a line is enough, also behind a wrapper, in a substitution or in code that was read; a file counts
whatever reads or writes it; a value that is not known may be the one that the rule means (`Match.MAYBE`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeGuard, TypeVar

from policyengine.effects import (
    Connect,
    Effect,
    Execute,
    Facts,
    FileAttribute,
    FileDelete,
    FileRead,
    FileWrite,
    Transfer,
    Where,
)
from policyengine.model import Frozen, Request
from policyengine.patterns import lazily
from policyengine.policies.permissions.commands import STAR, CommandPattern, Match, catches_command, spelled_out
from policyengine.policies.permissions.coverage import SUBJECTS, Means
from policyengine.policies.permissions.globs import fits
from policyengine.policies.permissions.hosts import names_host
from policyengine.policies.permissions.paths import (
    DEEP,
    Anchor,
    PathPattern,
    may_begin,
    may_lie_below,
    may_name,
    names_all_below,
    segments_at,
)
from policyengine.policies.permissions.rules import Source
from policyengine.policies.permissions.syntax import About, ToolPattern, is_parameter, names_subject, names_tool
from policyengine.records import NamedTuple, replace

TouchesFile: TypeAlias = FileRead | FileWrite | FileDelete | FileAttribute
T = TypeVar("T")
READS = (FileRead,)
CHANGES = (FileWrite, FileDelete, FileAttribute)
# Programs that show a file as they change it.
EDITORS = frozenset({
    "ed", "red", "ex", "vi", "vim", "nvim", "view", "vis", "nvi", "nano", "pico", "emacs", "emacsclient", "micro", "hx",
    "helix", "kak", "joe", "ne", "mcedit",
})  # fmt: skip
_PORT = lazily(r":\d+\Z").sub
_PROCESS_CWD = lazily(r"\A/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/cwd(?=/|\Z)").sub  # proc(5)


class Caught(NamedTuple):
    """What a rule found: which effect (None: the call itself), and how surely.

    `beside`: the file may lie among those that a search reads, whose tool leaves out what its host denies.
    """

    effect: Effect | None
    match: Match
    beside: bool = False


MAX_WORK = 3_000_000  # steps of all comparisons of one call; beyond, each rule may be about what is left
MAX_EFFECTS = 2_000  # files or commands of one call that a rule is compared with; what is over may be what it means


class Call:
    """One call, as rules look at it: its commands by program, its files each once."""

    def __init__(self, request: Request, facts: Facts, means: Means) -> None:
        self.request = request
        self.facts = facts
        self.means = means
        run = [effect for effect in facts.effects if type(effect) is Execute]
        self.commands = run + [other for command in run if (other := spelled_out(command)) is not None]
        self._left = MAX_WORK
        self._programs: dict[str, list[Execute]] = {}
        for command in self.commands:
            name = "" if command.unknown else command.program.casefold()
            self._programs.setdefault(name, []).append(command)
        self.files: dict[TouchesFile, TouchesFile] = {}
        for effect in facts.effects:
            if isinstance(effect, FileRead | FileWrite | FileDelete | FileAttribute):
                self.files.setdefault(effect._replace(span=None, origin=""), effect)

    def affords(self, work: int) -> bool:
        """Whether there is time left for a comparison of so many steps, of which all rules share a number."""
        self._left -= work
        return self._left >= 0

    def commands_for(self, pattern: CommandPattern) -> Sequence[Execute]:
        """Give the commands that may be of the pattern's program."""
        name = pattern.words[0].rpartition("/")[2].casefold()
        if STAR in name:
            return self.commands
        return (*self._programs.get(name, ()), *self._programs.get("", ()))

    def caught(self, pattern: ToolPattern, source: Source) -> Iterator[Caught]:
        """Give everything in the call that a rule is about."""
        if _is_called(pattern, self.request, self.means):
            match = _call_caught(pattern, self.request)
            if match is not Match.NO:
                yield Caught(None, match)
        look = _LOOKS.get(pattern.about)
        if look is not None:
            yield from look(pattern, source, self)


def catches_tool(pattern: ToolPattern, request: Request, means: Means) -> bool:
    """Whether a rule is about every use of the tool that is called."""
    return pattern.specifier is None and _is_called(pattern, request, means)


def _is_called(pattern: ToolPattern, request: Request, means: Means) -> bool:
    tool = request.resource.id
    if names_tool(_folded(pattern), tool.casefold()):
        return True
    return not pattern.is_glob and means.naming(pattern.tool).casefold() == means.naming(tool).casefold()


def _folded(pattern: ToolPattern) -> ToolPattern:
    return pattern.named(pattern.tool.casefold())


def _call_caught(pattern: ToolPattern, request: Request) -> Match:
    """What the call's own arguments say: a bare name is about each use, a specifier about a name or a parameter."""
    if pattern.specifier is None:
        return Match.YES
    arguments = request.arguments or {}
    if is_parameter(pattern):
        name, _, value = pattern.specifier.partition(":")
        given = arguments.get(name.strip())
        return Match.YES if given is not None and fits(value.strip(), _literal(given)) else Match.NO
    subjects = SUBJECTS.get(pattern.about, ())
    if pattern.about is About.TOOL:
        return Match.MAYBE  # a specifier that nothing is known of
    folded = pattern.specified(pattern.specifier.casefold())
    given_names = [text.casefold() for subject in subjects if isinstance(text := arguments.get(subject), str)]
    return Match.YES if any(names_subject(folded, name.removeprefix("/")) for name in given_names) else Match.NO


def _literal(value: Frozen) -> str:
    return ("false", "true")[value] if isinstance(value, bool) else str(value)


# ------------------------------------------------------------------------------------------------------------- commands
def _commands(pattern: ToolPattern, _: Source, call: Call) -> Iterator[Caught]:
    if pattern.command is None:
        if pattern.specifier is None:
            yield from (Caught(command, Match.YES) for command in call.commands)
        return
    others = [_best(part, call) for part in pattern.command.rest]
    least = min(others, default=Match.YES)  # a rule for a pipeline is about lines that have all its commands
    words = len(pattern.command.words)
    found = call.commands_for(pattern.command) if least is not Match.NO else ()
    for command in _bounded(call, found, lambda command: words * (len(command.arguments) + 4)):
        match = Match.MAYBE if command is None else catches_command(pattern.command, command, call.means.synonyms)
        if match is not Match.NO:
            yield Caught(command, min(least, match))


def _best(pattern: CommandPattern, call: Call) -> Match:
    commands = call.commands_for(pattern)[:MAX_EFFECTS]
    if not call.affords(4 * len(commands)):
        return Match.MAYBE
    return max((catches_command(pattern, command, call.means.synonyms) for command in commands), default=Match.NO)


def _bounded(call: Call, given: Sequence[T], work: Callable[[T], int]) -> Iterator[T | None]:
    """The first so many, as far as there is time for them, and None for those that are over."""
    for one in given[:MAX_EFFECTS]:
        if not call.affords(work(one)):
            yield None
            return
        yield one
    if len(given) > MAX_EFFECTS:
        yield None


# ---------------------------------------------------------------------------------------------------------------- files
def _reads(pattern: ToolPattern, source: Source, call: Call) -> Iterator[Caught]:
    yield from _files(pattern, source, call)
    if call.means.naming(call.request.resource.id) == call.means.naming("Edit"):  # which shows what it changes
        yield from _files(replace(pattern, about=About.WRITE), source, call)
    shown = [effect for effect in call.facts.effects if _is_sent(effect) or _is_opened(effect)]
    for effect in shown[:MAX_EFFECTS]:
        match = _path_caught(pattern, source, call, FileRead(effect.path))
        if match is not Match.NO:
            yield Caught(effect, match)


def _is_sent(effect: Effect) -> TypeGuard[Transfer]:
    return type(effect) is Transfer and bool(effect.path)


def _is_opened(effect: Effect) -> TypeGuard[FileWrite]:
    return type(effect) is FileWrite and effect.origin in EDITORS and not effect.unknown


def _files(pattern: ToolPattern, source: Source, call: Call) -> Iterator[Caught]:
    kinds: tuple[type, ...] = READS if pattern.about is About.READ else CHANGES
    parts = 1 if pattern.path is None else len(pattern.path.segments)
    found = [effect for effect in call.files.values() if type(effect) in kinds]
    for effect in _bounded(call, found, lambda effect: parts * (len(effect.path) + 16)):
        match = Match.MAYBE if effect is None else _path_caught(pattern, source, call, effect)
        if match is not Match.NO:
            searched = effect is not None and type(effect) is FileRead and not effect.unknown and not call.commands
            yield Caught(effect, match, beside=match is Match.MAYBE and searched)


def _path_caught(pattern: ToolPattern, source: Source, call: Call, effect: TouchesFile) -> Match:
    if effect.where is not Where.HERE:
        return Match.NO
    if pattern.path is None:
        return Match.YES if pattern.specifier is None else Match.NO
    context = call.request.context
    fold = str.casefold  # whether upper case is another file is the file system's, and Linux has such mounts too
    path = _PROCESS_CWD(context.cwd.replace("\\", "\\\\"), effect.path)
    paths = {path} if effect.unknown or effect.glob else {path, call.means.real(path)}
    if pattern.path.is_around and not effect.unknown:
        paths = {one for one in paths if not _is_inside(one, call.request)}
    found = [
        _one_caught(pattern.path, tuple(map(fold, wanted)), fold(path), effect)
        for wanted in _begun(pattern.path, source, call.request)
        for path in paths
    ]
    return max(found, default=Match.NO)


def _is_inside(path: str, request: Request) -> bool:
    """Whether a path lies in the project: what `../**` is about lies around it."""
    roots = (request.context.cwd, *request.context.workspace)
    return any(f"{path}/".startswith(f"{root.rstrip('/')}/") for root in roots)


def _begun(path: PathPattern, source: Source, request: Request) -> set[tuple[str, ...]]:
    """The pattern from the root, for every place where it may be meant to begin."""
    context = request.context
    match path.anchor:
        case Anchor.ROOT:
            return {segments_at(path, "/")}
        case Anchor.HOME:
            return {segments_at(path, context.home)} if context.home else set()
        case Anchor.SETTINGS:  # many a rule says `/etc/x` for `//etc/x`
            return {segments_at(path, folder) for folder in (source.folder, *context.workspace, "/") if folder}
        case Anchor.HERE:
            floating = path if path.floats or path.segments[:1] == ("..",) else path.below()
            roots = (context.cwd, *context.workspace, *((source.project,) if source.project else ()))
            return {segments_at(floating, root) for root in roots}


def _may_be_proc(prefix: str) -> bool:
    """Whether a path may lie where links lead to every process's working directory and root (proc(5))."""
    return prefix.startswith("/proc/") or "/proc/".startswith(prefix)


def _one_caught(path: PathPattern, wanted: tuple[str, ...], have: str, effect: TouchesFile) -> Match:
    recursive = getattr(effect, "recursive", False)
    if effect.unknown:
        return Match.MAYBE if may_begin(wanted, have) or _may_be_proc(have) else Match.NO
    if may_name(wanted, have, folder=path.folder and not recursive, glob=effect.glob):
        return Match.YES
    if not recursive:
        return Match.NO
    if names_all_below(wanted, have):
        return Match.YES
    if not may_lie_below(wanted, have):
        return Match.NO
    return Match.MAYBE if type(effect) is FileRead or wanted[:1] == (DEEP,) or path.floats else Match.YES


# ---------------------------------------------------------------------------------------------------------------- hosts
def _hosts(pattern: ToolPattern, _: Source, call: Call) -> Iterator[Caught]:
    for effect in call.facts.effects:
        if type(effect) is not Connect and type(effect) is not Transfer:
            continue
        if pattern.host is None:
            if pattern.specifier is None and type(effect) is Connect and effect.url:
                yield Caught(effect, Match.YES)
        elif names_host(pattern.host, _host(effect)):
            yield Caught(effect, Match.YES)
        elif effect.unknown or (type(effect) is Connect and "\\" in effect.url):  # readers differ on where it leads
            yield Caught(effect, Match.MAYBE)


def _host(effect: Connect | Transfer) -> str:
    return _PORT("", effect.host)


_Look: TypeAlias = Callable[[ToolPattern, Source, Call], Iterator[Caught]]
_LOOKS: dict[About, _Look] = {
    About.COMMAND: _commands,
    About.READ: _reads,
    About.WRITE: _files,
    About.HOST: _hosts,
}
