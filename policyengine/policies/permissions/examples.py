"""What a rule's own words would do: the measure of what it covers.

`Bash(sort:*)` is read as `sort A B`, so reading is covered and `-o` is not; `Bash(sort -o:*)` covers it. Where the
words leave open which of a program's commands runs (`Bash(git *)`), the call's own words are read without the options
that the rule does not name, and what cannot be taken back is left out.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from policyengine.effects import (
    Cause,
    Cloud,
    Connect,
    Container,
    Database,
    Effect,
    Escalate,
    EvaluateCode,
    Execute,
    Facts,
    FileAttribute,
    FileDelete,
    FileRead,
    FileWrite,
    Opaque,
    Package,
    Persist,
    Process,
    System,
    Transfer,
    VersionControl,
)
from policyengine.model import Request
from policyengine.policies.permissions.commands import STAR, CommandPattern
from policyengine.policies.permissions.syntax import ToolPattern
from policyengine.policy import placeless

# What a text would do in the place of a request, as the analysis has it.
Reader: TypeAlias = Callable[[Request, str], Facts]
Key: TypeAlias = tuple[object, ...]

# What stands for words that a rule leaves open: at most one (a name or a number), one, two or more.
OPERANDS = (((), ("A",), ("1",)), (("A",), ("1",)), (("A", "B"),))
# Fields that tell kinds of effects apart beside their class: what is done, not to what.
FIELDS: dict[type[Effect], tuple[str, ...]] = {
    FileRead: ("unknown",),
    FileWrite: ("unknown",),
    FileDelete: ("unknown", "recursive"),
    FileAttribute: ("unknown", "attribute"),
    EvaluateCode: ("source",),
    Transfer: ("unknown",),
    Escalate: ("method",),
    Persist: ("mechanism",),
    Process: ("unknown", "action", "by"),
    System: ("unknown", "area", "action"),
    Package: ("action", "scope"),
    VersionControl: ("action",),
    Database: ("action",),
    Cloud: ("action",),
    Container: ("action", "privilege"),
    Opaque: ("cause",),
}
# What a command's rule covers where nothing can be read: kinds that are common to commands and start no code.
COMMON: tuple[Effect, ...] = (
    FileRead("/"), FileWrite("/"), FileDelete("/"), FileDelete("/", recursive=True), Connect("a"), Transfer("a"),
    EvaluateCode("", "file"), Opaque(Cause.PROGRAM), Opaque(Cause.OPTION),
)  # fmt: skip


# What cannot be taken back, or lets somebody in.
GRAVE: dict[type[Effect], frozenset[str]] = {
    VersionControl: frozenset({
        "discard", "rewrite", "clean", "drop", "force-push", "delete-remote", "delete-branch", "delete-repository",
        "hook", "config", "publish", "release",
    }),
    Cloud: frozenset({"delete", "secret", "security", "blind", "execute", "login"}),
    Database: frozenset({"destroy", "admin", "execute"}),
    Package: frozenset({"publish", "remove", "login", "config"}),
    Container: frozenset({"prune", "remove", "push", "login"}),
}  # fmt: skip
GRAVE_AREAS = frozenset({"config", "security", "user"})  # of the machine: what runs later, and who may
FOREIGN = frozenset({"url", "git"})  # sources of packages that no index vouches for
READING = ("", "GET", "HEAD")  # methods of a connection that only reads
GENTLE = frozenset({"record", "branch", "switch", "merge", "stash", "tag"})  # what a repository takes back


def key_of(effect: Effect) -> Key:
    """What kind of thing is done, without what it is done to."""
    kind = type(effect)
    if isinstance(effect, VersionControl) and effect.action in GENTLE:
        return (kind, effect.where, "gentle")
    if isinstance(effect, Connect):
        return (kind, effect.where, effect.unknown, effect.listen, effect.shell, effect.method.upper() in READING)
    if isinstance(effect, Package) and effect.source in FOREIGN:
        return (kind, effect.where, effect.action, effect.scope, "foreign")
    return (kind, effect.where, *(getattr(effect, name) for name in FIELDS.get(kind, ())))  # names of fields: FIELDS


def keys_of(effect: Effect) -> tuple[Key, ...]:
    """Give the kinds by which a rule may cover an effect: at any host, and at this one."""
    return (key_of(effect), _key_at_host(effect)) if isinstance(effect, Connect | Transfer) else (key_of(effect),)


def _key_at_host(effect: Connect | Transfer) -> Key:
    return (*key_of(effect), effect.host)


def _named_keys(effects: Sequence[Effect], words: Sequence[str]) -> Iterator[Key]:
    """The kinds of effects, those at hosts only there where the rule's own words name hosts."""
    peers = {effect for effect in effects if isinstance(effect, Connect | Transfer)}
    named = {peer for peer in peers if peer.host and any(peer.host in word.lower() for word in words[1:])}
    yield from map(_key_at_host, named)
    yield from (key_of(effect) for effect in effects if not (named and effect in peers))


_COMMON_KEYS = frozenset(map(key_of, COMMON))


class Example:
    """Reads rules' words in the place of one request, each once."""

    def __init__(self, request: Request, read: Reader | None) -> None:
        self._request = request
        self._read = read
        self._effects: dict[str, tuple[Effect, ...]] = {}

    def known(self, pattern: ToolPattern) -> frozenset[Effect]:
        """Give the effects of a rule's text as it stands."""
        return frozenset(placeless(effect) for effect in self._of(pattern.specifier or ""))

    def certain(self, pattern: ToolPattern) -> frozenset[Effect]:
        """The same without those that are not fully known: they may be others in another place."""
        return frozenset(effect for effect in self.known(pattern) if not _is_open(effect))

    def keys(self, pattern: ToolPattern, command: Execute) -> frozenset[Key]:
        """Give the kinds of effects that a rule covers of a command whose words it names."""
        if self._read is None:
            return _COMMON_KEYS
        assert pattern.command is not None
        effects = [effect for words in _sketches(pattern.command, command) for effect in self._of(shlex.join(words))]
        if any(type(effect) is Opaque and effect.cause is Cause.OPTION for effect in effects):
            left_open = (_without_options(pattern.command, command), _without_values(pattern.command, command))
            effects += [one for words in left_open for one in self._of(shlex.join(words)) if not _is_grave(one)]
        known = [effect for effect in effects if not (_is_unread(effect) or _is_input(effect))]
        return frozenset(_named_keys(known, pattern.command.words))

    def _of(self, text: str) -> tuple[Effect, ...]:
        if text not in self._effects:
            self._effects[text] = self._read(self._request, text).effects if self._read is not None else ()
        return self._effects[text]


def _sketches(pattern: CommandPattern, command: Execute) -> Iterator[list[str]]:
    """The rule's words with operands for its stars, as many as the call has: `git checkout A`, `git checkout A B`."""
    words = [word.replace(STAR, "A") for word in pattern.words]
    if not pattern.open:
        yield words
        return
    further = _without_options(pattern, command)[len(words) :]
    for operands in OPERANDS[min(len(further), len(OPERANDS) - 1)]:
        yield [*words, *operands]


def _without_options(pattern: CommandPattern, command: Execute) -> list[str]:
    named = frozenset(pattern.words)
    arguments: Iterable[str] = ("A" if word is None else word for word in command.arguments)
    return [command.program, *(word for word in arguments if word[:1] != "-" or word in named)]


def _without_values(pattern: CommandPattern, command: Execute) -> list[str]:
    """The same without the word behind each option, which may be its value."""
    words = _without_options(pattern, command)
    given = [command.program, *command.arguments]
    behind = {
        word for before, word in pairwise(given) if before is not None and before[:1] == "-" and "=" not in before
    }
    return [word for word in words if word not in behind or word in pattern.words]


def _is_grave(effect: Effect) -> bool:
    """What a rule has to name: it is no part of using a program as such (`Bash(git *)` and `git clean`)."""
    if isinstance(effect, FileDelete):
        return effect.recursive
    if isinstance(effect, System):
        return effect.area in GRAVE_AREAS
    if isinstance(effect, Package) and effect.source in FOREIGN:
        return True
    return getattr(effect, "action", "") in GRAVE.get(type(effect), ())  # of kinds that have actions: GRAVE


def _is_open(effect: Effect) -> bool:
    return bool(getattr(effect, "unknown", False)) or _is_unread(effect)  # not every kind has the field


def _is_unread(effect: Effect) -> bool:
    return type(effect) is Opaque and effect.cause in (Cause.VALUE, Cause.CODE)


def _is_input(effect: Effect) -> bool:
    """Code that a program without operands takes from its input: no word of the rule says what it is."""
    return type(effect) is EvaluateCode and effect.source == "stdin"
