"""What programs print about the place where they run: a repository's directories, variables of the environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policyengine.effects import Where
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.parameters import variable_values
from policyengine.shell.interpret.streams import Stream, stream_of_value
from policyengine.shell.paths import Place, resolve
from policyengine.shell.values import Value


def reported(machine: Machine, name: str, arguments: Sequence[Value]) -> Stream | None:
    """The output of a call of one of `REPORTERS` that asks for what is known; None for all others."""
    if machine.where is not Where.HERE or not all(value.exact for value in arguments):
        return None
    return REPORTERS[name](machine, [value.text for value in arguments])


def _git(machine: Machine, words: list[str]) -> Stream | None:
    """`git rev-parse` with one of the options that ask for a directory (git-rev-parse(1)).

    A repository is taken to begin where the workspace does.
    """
    cwd = machine.cwd
    while words[:1] == ["-C"] and len(words) > 1:
        cwd, words = Place(resolve(words[1], cwd).path, cwd.exact), words[2:]
    if words[:1] != ["rev-parse"] or not cwd.exact:
        return None
    asked = [word for word in words[1:] if not word.startswith("--path-format=")]
    top = next((root for root in machine.situation.workspace if f"{cwd.path}/".startswith(f"{root}/")), "")
    store = ".git" if top in ("", cwd.path) and cwd is machine.cwd and len(asked) == len(words) - 1 else f"{top}/.git"
    if asked == ["--show-toplevel"] and top:
        return Stream(top + "\n")
    if asked == ["--absolute-git-dir"] and top:
        return Stream(f"{top}/.git\n")
    if asked in (["--git-dir"], ["--git-common-dir"]):
        return Stream(store + "\n")
    return Stream(f"{store}/{asked[1]}\n") if asked[:1] == ["--git-path"] and len(asked) == 2 else None


_PLACES = frozenset({"HOME", "PWD", "OLDPWD"})


def _printenv(machine: Machine, words: list[str]) -> Stream | None:
    values = variable_values(machine, words[0]) if len(words) == 1 and words[0] in _PLACES else ()
    return stream_of_value(values[0], "\n") if len(values) == 1 and values[0].exact else None


REPORTERS: dict[str, Callable[[Machine, list[str]], Stream | None]] = {"git": _git, "printenv": _printenv}
