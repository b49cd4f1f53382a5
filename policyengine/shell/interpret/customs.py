"""What other shells than bash, and some of bash's options, do otherwise where that decides what runs.

Of zsh: its aliases that stand for any word, the arrays that hold its tables (zshmodules(1), zsh/parameter) and
commands put into the table of programs. Functions that shells call of themselves belong here too.
"""

from __future__ import annotations

from policyengine.patterns import lazily
from policyengine.shell.interpret.evaluate import shell_text
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.values import Value

IN_SHELL = frozenset({"zsh", "unknown"})  # the last element of a pipeline runs in the shell itself
PERHAPS_IN_SHELL = frozenset({"ksh"})  # ksh93 does so, other shells of that name do not
_NAMING = frozenset({"aliases", "commands", "functions"})  # arrays of names and what they mean from then on
_ANYWHERE = {"galiases": ": ", "saliases": ""}  # what may stand before such an alias
# Of bash (bash manual 3.7.2), zsh (zshmisc(1) section SPECIAL FUNCTIONS) and ksh93 (discipline functions).
_IMPLICIT = lazily(
    r"(?:command_not_found_handler?|TRAP[A-Z0-9]+|precmd|preexec|chpwd|periodic|zshexit|zshaddhistory"
    r"|.*\.(?:get|set|append|unset))\Z"
)


def is_implicit(name: str) -> bool:
    """Whether a shell calls a function of this name by itself."""
    return _IMPLICIT.match(name) is not None


def renamed(machine: Machine, name: str, text: Value) -> None:
    """Let a name mean a command from now on, as an alias does, in scripts as well."""
    machine.aliasing = True
    machine.put(name + "=", text)


def anywhere(machine: Machine, text: Value, before: str = ": ") -> None:
    """An alias that stands for a word anywhere (`alias -g`), or stands before names with some ending (`alias -s`)."""
    machine.forked(lambda: shell_text(machine, text._replace(text=before + text.text)))


def put_in_table(machine: Machine, table: str, key: str | None, text: Value) -> None:
    """An element given to one of zsh's tables."""
    if table in _NAMING and key is not None:
        renamed(machine, key, text)
    elif table in _ANYWHERE:
        anywhere(machine, text, _ANYWHERE[table])
