"""Finds the few rules that may be about a call, so that a decision costs the same however many rules there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policyengine.effects import Connect, Execute, Facts, FileAttribute, FileDelete, FileRead, FileWrite, Transfer
from policyengine.model import Request
from policyengine.policies.permissions.commands import STAR, spelled_out
from policyengine.policies.permissions.coverage import Naming
from policyengine.policies.permissions.rules import Rule
from policyengine.policies.permissions.syntax import About, ToolPattern

_FILES = frozenset({FileRead, FileWrite, FileDelete, FileAttribute, Transfer})
_PEERS = frozenset({Connect, Transfer})


class Index:
    """Rules by what they are about: a tool's name, a command's program, files, hosts."""

    def __init__(self, rules: Iterable[Rule], naming: Naming) -> None:
        self._rules = tuple(rules)
        self._naming = naming
        self._tools: dict[str, list[int]] = {}
        self._programs: dict[str, list[int]] = {}
        self._any_tool: list[int] = []
        self._any_program: list[int] = []
        self._files: list[int] = []
        self._hosts: list[int] = []
        for at, rule in enumerate(self._rules):
            self._add(at, rule.pattern)

    def _add(self, at: int, pattern: ToolPattern) -> None:
        if pattern.is_glob:
            self._any_tool.append(at)
        elif pattern.command is None:
            for name in {pattern.tool.casefold(), self._naming(pattern.tool).casefold()}:
                self._tools.setdefault(name, []).append(at)
        match pattern.about:
            case About.COMMAND if pattern.command is not None:
                self._add_program(at, pattern.command.words[0])
            case About.COMMAND:
                self._any_program.append(at)
            case About.READ | About.WRITE:
                self._files.append(at)
            case About.HOST:
                self._hosts.append(at)
            case _:
                return

    def _add_program(self, at: int, word: str) -> None:
        name = word.rpartition("/")[2].casefold()
        if STAR in name:
            self._any_program.append(at)
        else:
            self._programs.setdefault(name, []).append(at)

    def for_tool(self, request: Request) -> Sequence[Rule]:
        """Give the rules that may name a call's tool, in their order."""
        return self._in_order(self._named(request.resource.id))

    def for_call(self, request: Request, facts: Facts) -> Sequence[Rule]:
        """Give the rules that may be about a call, in their order."""
        found = self._named(request.resource.id)
        kinds = {type(effect) for effect in facts.effects}
        if Execute in kinds:
            found += self._any_program
            commands = [effect for effect in facts.effects if type(effect) is Execute and not effect.unknown]
            others = [other for command in commands if (other := spelled_out(command)) is not None]
            programs = {command.program for command in (*commands, *others)}
            if any(type(effect) is Execute and (effect.unknown or not effect.program) for effect in facts.effects):
                found += [at for places in self._programs.values() for at in places]
            else:
                found += [at for program in programs for at in self._programs.get(program.casefold(), ())]
        found += self._files if not kinds.isdisjoint(_FILES) else []
        found += self._hosts if not kinds.isdisjoint(_PEERS) else []
        return self._in_order(found)

    def _named(self, tool: str) -> list[int]:
        names = {tool.casefold(), self._naming(tool).casefold()}
        end = tool.find("__", len("mcp__")) if tool.startswith("mcp__") else -1
        while end > 0:
            names.add(tool[:end].casefold())
            end = tool.find("__", end + 1)
        return [*self._any_tool, *(at for name in names for at in self._tools.get(name, ()))]

    def _in_order(self, places: Iterable[int]) -> Sequence[Rule]:
        return [self._rules[at] for at in sorted(set(places))]
