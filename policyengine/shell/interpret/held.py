"""Variables that hold commands: what programs and the shell itself run out of them."""

from __future__ import annotations

import re

from policyengine.effects import Opaque
from policyengine.shell.interpret.evaluate import shell_text
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.redirects import place_of
from policyengine.shell.interpret.streams import NOTHING
from policyengine.shell.values import Value

# Shell text: git(1) section ENVIRONMENT, man(1), less(1), systemctl(1), ssh(1), bash manual 5.2.
_COMMANDS = frozenset({
    "PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
    "SYSTEMD_EDITOR", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND",
    "PROMPT_COMMAND", "LESSOPEN", "LESSCLOSE", "BROWSER", "FZF_DEFAULT_COMMAND", "RSYNC_RSH", "CC", "CXX", "CPP", "LD",
    "RUSTC_WRAPPER", "CVS_RSH", "SVN_SSH",
})  # fmt: skip
_PROMPTS = frozenset({"PS0", "PS1", "PS2", "PS4"})  # expanded as in double quotes (bash manual 6.9)
_FILES = frozenset({"BASH_ENV", "ENV"})  # read before anything else (bash manual 6.2)
HOLDING = _COMMANDS | _PROMPTS | _FILES


def run_held(machine: Machine, name: str, value: Value) -> None:
    """Add what the text in a variable does. That a part of it is not understood is no news: setting it is an effect."""
    for code in _code(machine, name, value):
        at = len(machine.effects)
        out, machine.out = machine.out, None
        machine.forked(lambda code=code: _run(machine, code))  # type: ignore[misc]
        machine.out = out
        machine.effects[at:] = [effect for effect in machine.effects[at:] if type(effect) is not Opaque]


def _run(machine: Machine, code: Value) -> None:
    machine.stdin = NOTHING
    shell_text(machine, code)


def function_of(name: str, value: Value) -> Value | None:
    """What a variable of an exported function defines: `BASH_FUNC_f%%=() { …; }` (bash manual 3.3)."""
    found = _FUNCTION(name)
    if found is None or not value.text.startswith("()"):
        return None
    return value._replace(text=f"{found[1]} {value.text}")


_FUNCTION = re.compile(r"BASH_FUNC_(.+)(?:%%|\(\))\Z", re.DOTALL).match


def _code(machine: Machine, name: str, value: Value) -> list[Value]:
    if name in _COMMANDS:
        return [value._replace(text=value.text.lstrip("|-"))]
    if name in _PROMPTS:
        text = value.text.replace('"', "")
        return [value._replace(text=f': "{text}"')] if "$(" in text or "`" in text else []
    path = place_of(machine, value)
    versions = () if path.unknown else machine.file(path.path)
    return [Value(version.text, span=value.span) for version in versions if version.text is not None]
