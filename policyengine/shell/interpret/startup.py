"""Files that shells read at their start (bash manual 6.2, zsh manual 5.1): what is written there runs later."""

from __future__ import annotations

from policyengine.effects import (
    Connect,
    Effect,
    EvaluateCode,
    Exhaust,
    FileAttribute,
    FileDelete,
    Taint,
    Transfer,
    Where,
)
from policyengine.shell.interpret.evaluate import shell_text, source_file
from policyengine.shell.interpret.machine import Limit, Machine
from policyengine.shell.paths import base_name

_NAMES = frozenset({
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".kshrc", ".shrc", ".xprofile", "bash.bashrc", "bashrc", "profile", "zshrc", "zshenv",
    "zprofile",
})  # fmt: skip
_DEFINITE = (FileDelete, FileAttribute, Exhaust, Transfer)


def read_at_start(machine: Machine) -> None:
    """Interpret what was written into such files, for what it would do for certain; its aliases are used some day."""
    for path in [path for path in machine.files if base_name(path) in _NAMES and machine.where is Where.HERE]:
        at, depth = len(machine.effects), machine.depth
        try:
            machine.forked(lambda path=path: _read(machine, path))  # type: ignore[misc]
        except Limit:  # what is found up to here counts
            machine.depth = depth
        machine.effects[at:] = [effect for effect in machine.effects[at:] if _is_definite(effect)]


def _read(machine: Machine, path: str) -> None:
    before = set(machine.cells)
    source_file(machine, path, False, None, lambda text: shell_text(machine, text))
    for key in [key for key in machine.cells if key.endswith("=") and key not in before]:
        alias = machine.cells[key]
        if alias is not None:
            machine.forked(lambda alias=alias: shell_text(machine, alias))  # type: ignore[misc]


def _is_definite(effect: Effect) -> bool:
    """Harm by its own nature; that a line sets variables or is not understood is said by the writing of the file."""
    if isinstance(effect, EvaluateCode):
        return Taint.FETCHED in effect.taint or Taint.DECODED in effect.taint
    if isinstance(effect, Connect):
        return effect.shell
    return isinstance(effect, _DEFINITE) and not getattr(effect, "unknown", False)
