"""Scripts that are run by their own first line (execve(2)): `#!PROGRAM ARGUMENT`, and behind it the script's path.

What the line names without options is a language of `language_of`; everything else is a command like any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from policyengine.effects import WrittenFile
from policyengine.shell.interpret.evaluate import ScriptFile, language_of, run_file
from policyengine.shell.interpret.joining import one_of
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.paths import base_name
from policyengine.shell.values import Value

_LINE = re.compile(r"#![ \t]*([^\s\0]+)(?:[ \t]+([^\n\0]*?))?[ \t]*(?:\n|\Z)").match
_PLAIN = re.compile(r"-[A-Za-z]*\Z|\Z").match  # letters that change nothing of what runs
_MARK = "#!"  # before a path: it is being run by its first line


def run_itself(machine: Machine, file: ScriptFile, versions: Sequence[WrittenFile]) -> None:
    """Run a file that this run wrote, in each version that it may hold, by the first line of that."""
    started = {words: None for words in (_words(file.path, version.text or "") for version in versions) if words}
    scripts = [version for version in versions if not _words(file.path, version.text or "")]
    if not started:
        run_file(machine, file, scripts)
        return
    if _MARK + file.path in machine.calling:
        return
    machine.calling[_MARK + file.path] = machine.asynchronous
    runs = [lambda: run_file(machine, file, scripts)] if scripts else []
    rest = [Value(file.path, span=file.span), *file.arguments]
    for words in started:
        values = [*[Value(word, span=file.span) for word in words], *rest]
        runs.append(lambda values=values: machine.runner.words(machine, values))  # type: ignore[misc]
    one_of(machine, runs)
    del machine.calling[_MARK + file.path]


def _words(path: str, text: str) -> tuple[str, ...]:
    """The command that the first line names, or none where the script is code in a language that is known by it."""
    found = _LINE(text) if text[:2] == "#!" else None
    if found is None:
        return ()
    program, argument = found[1], found[2] or ""
    through_env = base_name(program) == "env" and argument[:1] != "-"
    if language_of(path, text) and (through_env or _PLAIN(argument)):
        return ()
    return (program, argument) if argument and not through_env else (program, *argument.split())
