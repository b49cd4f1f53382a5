"""What allow rules cover of a call: each effect by itself, never a text as a whole.

A command's rule covers that the command runs, and of what else it does what its own words say: what the same rule's
words would do with plain operands (`Example`). So an option that writes, runs or loads something is not covered by a
rule that does not name it, nor is what else runs: substitutions, other commands of the line, the program behind a
wrapper. A redirection is the shell's, and needs a rule about the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from policyengine.effects import (
    FATAL_CAUSES,
    Connect,
    Effect,
    Execute,
    Facts,
    FileRead,
    FileWrite,
    Opaque,
    SetVariable,
    Where,
)
from policyengine.model import Request
from policyengine.policies.permissions.attribution import HARMLESS_WRAPPERS, Commands, is_redirection
from policyengine.policies.permissions.commands import PLAIN, STAR, CommandPattern, Synonyms, covers_command, none_known
from policyengine.policies.permissions.examples import READING, Example, Reader, key_of, keys_of
from policyengine.policies.permissions.hosts import is_plain_web, names_host
from policyengine.policies.permissions.paths import Anchor, PathPattern, names_all_below, names_path, segments_at
from policyengine.policies.permissions.syntax import About, ToolPattern, names_subject, names_tool
from policyengine.policy import placeless
from policyengine.records import NamedTuple

Naming: TypeAlias = Callable[[str], str]  # a tool's name → the name under which it is described
# Variables that choose a language, a time zone, colours or verbosity, never a program.
HARMLESS_VARIABLES = frozenset({
    "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "TZ", "NO_COLOR",
    "FORCE_COLOR", "CLICOLOR", "CI", "COLUMNS", "LINES", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE",
    "RUST_BACKTRACE", "RUST_LOG",
})  # fmt: skip
SUBJECTS = {  # arguments of a call that name the agent or skill
    About.AGENT: ("subagent_type", "agent_type", "agent", "agent_name", "name", "type"),
    About.SKILL: ("skill", "command", "skill_name", "name"),
}


def as_written(name: str) -> str:
    """Take a tool's name for itself."""
    return name


class Allowed(NamedTuple):
    """A pattern that allows, and the folder of the settings that it is from (absolute, normal; empty: none)."""

    pattern: ToolPattern
    folder: str = ""


class Means(NamedTuple):
    """What patterns are compared by, beside the call.

    Attributes:
        read: what a text would do in the call's place; without it, a command's rule covers the kinds of effects that
            are common to commands and start no code.
        naming: a tool's name → the name under which it is described, so that `Bash` means every shell tool.
        real: a path → what it leads to, links followed; nothing is asked where there is no file system to ask.
        synonyms: a rule's words → other spellings of its subcommands and options, and the word that each stands for.
    """

    read: Reader | None = None
    naming: Naming = as_written
    real: Naming = as_written
    synonyms: Synonyms = none_known


NO_MEANS = Means()
MAX_COMPARED = 100_000  # comparisons of one call's effects with rules


class Coverage:
    """What some patterns cover of one call."""

    def __init__(self, allowed: Sequence[Allowed], request: Request, facts: Facts, means: Means = NO_MEANS) -> None:
        self._allowed = allowed
        self._request = request
        self._commands = Commands(facts)
        self._left = MAX_COMPARED
        self._whole: dict[tuple[Allowed, Execute], bool] = {}
        self._example = Example(request, means.read)
        self._naming, self._real = means.naming, means.real

    def answering(self, effect: Effect) -> tuple[Allowed, ...]:
        """Give the patterns by which an effect is covered; none where it is not."""
        if type(effect) is Opaque and effect.cause in FATAL_CAUSES:
            return ()
        whole = next((one for one in self._allowed if self._is_whole(one.pattern)), None)
        if whole is not None:
            return (whole,)
        return self._by_itself(effect) or self._by_equality(effect) or self._by_command(effect)

    def is_called(self) -> bool:
        """Whether some pattern is about the tool that is called."""
        return any(self._is_whole(one.pattern) for one in self._allowed)

    # ------------------------------------------------------------------------------------------------------ whole tools
    def _is_whole(self, pattern: ToolPattern) -> bool:
        """Whether a pattern is about the tool that is called, in each use or in this one."""
        if not self._is_called(pattern):
            return False
        if pattern.specifier is None:
            return True
        names = SUBJECTS.get(pattern.about, ())
        given = [value for name in names if isinstance(value := (self._request.arguments or {}).get(name), str)]
        return bool(given) and all(names_subject(pattern, value) for value in given)

    def _is_called(self, pattern: ToolPattern) -> bool:
        tool = self._request.resource.id
        return names_tool(pattern, tool) or (
            pattern.about is not About.TOOL and self._naming(pattern.tool) == self._naming(tool)
        )

    # ------------------------------------------------------------------------------------------------- paths and hosts
    def _by_itself(self, effect: Effect) -> tuple[Allowed, ...]:
        match effect:
            case FileRead() | FileWrite():
                about = About.READ if type(effect) is FileRead else About.WRITE
                found = next((one for one in self._allowed if self._names_file(one, about, effect)), None)
            case Connect():
                found = next((one for one in self._allowed if _names_peer(one.pattern, effect)), None)
            case SetVariable():
                return self._by_variable(effect)
            case _:
                return ()
        return () if found is None else (found,)

    def _affords(self) -> bool:
        """Whether there is time left for one more comparison; what is not compared is not covered."""
        self._left -= 1
        return self._left >= 0

    def _names_file(self, one: Allowed, about: About, effect: FileRead | FileWrite) -> bool:
        pattern = one.pattern
        if pattern.about is not about or effect.unknown or effect.where is not Where.HERE or not self._affords():
            return False
        if pattern.path is None:
            return pattern.specifier is None  # `Read`: every file
        folder = anchor_of(pattern.path, one.folder, self._request)
        if folder is None:
            return False
        wanted = segments_at(pattern.path, folder)
        if effect.recursive and names_all_below(wanted, effect.path) and self._real(effect.path) == effect.path:
            return True
        paths = {effect.path} if effect.glob else {effect.path, self._real(effect.path)}
        return all(names_path(wanted, path, folder=pattern.path.folder, glob=effect.glob) for path in paths)

    def _by_variable(self, effect: SetVariable) -> tuple[Allowed, ...]:
        """A harmless variable before a command that is covered."""
        if effect.name not in HARMLESS_VARIABLES or effect.unknown or effect.span is None:
            return ()
        after = self._commands.at(effect.span[0])
        found = [self.answering(command) for command in after]
        return found[0] if found and all(found) else ()

    # -------------------------------------------------------------------------------------------------------- commands
    def _by_equality(self, effect: Effect) -> tuple[Allowed, ...]:
        """A rule without a star names its own effects, wherever they are; the unknown ones in the very same text."""
        for one in self._allowed:
            command = one.pattern.command
            if (
                command is None
                or not command.exact
                or command.words[0].rpartition("/")[2] not in self._commands.programs
            ):
                continue
            known = self._example.known(one.pattern) if self._is_same_text(one) else self._example.certain(one.pattern)
            if placeless(effect) in known:
                return (one,)
        return ()

    def _is_same_text(self, one: Allowed) -> bool:
        wanted = (one.pattern.specifier or "").strip()
        texts = [value for value in (self._request.arguments or {}).values() if isinstance(value, str)]
        return any(text.strip() == wanted for text in texts)

    def _by_command(self, effect: Effect) -> tuple[Allowed, ...]:
        if type(effect) is SetVariable:
            return ()
        found: list[Allowed] = []
        for owner in self._commands.owners(effect):
            one = next((one for one in self._allowed if self._covers(one, owner, effect)), None)
            if one is not None:
                found.append(one)
                continue
            inner = self._behind(owner) if effect is owner else ()
            if not inner:
                return ()
            found += inner
        return tuple(dict.fromkeys(found))

    def _covers(self, one: Allowed, owner: Execute, effect: Effect) -> bool:
        pattern = one.pattern
        if pattern.command is None or pattern.command.exact or not self._affords():
            return False
        named = self._named(pattern.command, owner)
        if named is None:
            return False
        if not self._is_whole_known(one, owner, named):
            return False
        if type(effect) is Execute:
            return True
        if type(effect) is FileWrite and is_redirection(effect, owner, self._request):
            return False
        return not self._example.keys(pattern, named).isdisjoint(keys_of(effect))

    def _is_whole_known(self, one: Allowed, owner: Execute, named: Execute) -> bool:
        """Whether all that a command runs itself is covered: code that its options give, commands within its words."""
        known = self._whole.get((one, owner))
        if known is None:
            self._whole[one, owner] = False  # while it is looked at
            codes = self._commands.code_of(owner)
            keys = self._example.keys(one.pattern, named) if codes else frozenset()
            known = all(key_of(code) in keys for code in codes) and all(
                (inner.program in PLAIN and not inner.path) or bool(self.answering(inner))
                for inner in self._commands.within(owner)
            )
            self._whole[one, owner] = known
        return known

    def _named(self, pattern: CommandPattern, owner: Execute) -> Execute | None:
        """The command whose words a rule names: this one, or one that starts it with words that the rule has."""
        folder = self._request.context.cwd
        if owner.where is Where.HERE and covers_command(pattern, owner, folder):
            return owner
        plain = next((at for at, word in enumerate(pattern.words) if STAR in word), len(pattern.words))
        for outer, place in self._commands.around(owner):
            if plain >= place + 2 and outer.where is Where.HERE and covers_command(pattern, outer, folder):
                return outer
        return None

    def _behind(self, wrapper: Execute) -> tuple[Allowed, ...]:
        """What covers the command behind a harmless wrapper."""
        if wrapper.program not in HARMLESS_WRAPPERS or wrapper.path:
            return ()
        inner = self._commands.carried(wrapper)
        return self.answering(inner[0]) if len(inner) == 1 else ()


def anchor_of(path: PathPattern, folder: str, request: Request) -> str | None:
    """The directory at which a pattern begins; None where there is none.

    What begins at the working directory has to begin within the workspace: a call could have led anywhere.
    """
    context = request.context
    match path.anchor:
        case Anchor.ROOT:
            return "/"
        case Anchor.HOME:
            return context.home or None
        case Anchor.SETTINGS:
            return folder or None
        case Anchor.HERE:
            roots = [root.rstrip("/") for root in context.workspace]
            inside = any(f"{context.cwd}/".startswith(f"{root}/") for root in roots)
            return context.cwd if inside else None


def _names_peer(pattern: ToolPattern, effect: Connect) -> bool:
    if pattern.about is not About.HOST or effect.unknown or effect.listen or effect.shell:
        return False
    if effect.method.upper() not in READING or not is_plain_web(effect.url):
        return False
    return pattern.specifier is None if pattern.host is None else names_host(pattern.host, effect.host)
