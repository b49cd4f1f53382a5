"""Text that bash expands once more where nobody expects it: expressions, subscripts, names of variables, prompts.

An arithmetic expression is evaluated recursively: the text of a variable that it names is an expression too, and a
subscript in any of them is expanded, substitutions included (bash manual 6.5, 6.7). Builtins that take the name of a
variable take `name[subscript]` as well, and `${x@P}` expands its value like a prompt (3.5.3). What `declare` gives to
an array is read as the elements in parentheses that it looks like.
"""

from __future__ import annotations

import re

from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.syntax import readings
from policyengine.shell.values import Value

MAX_NAMES = 400  # variables that one expression names, its own and those in their texts
_NAME = re.compile(r"[A-Za-z_]\w*")


def evaluated(machine: Machine, text: Value) -> None:
    """Text that is read as an arithmetic expression: what runs in it, and in the variables it leads to."""
    pending, seen = [text], set[str]()
    while pending:
        value = pending.pop()
        expanded(machine, value)
        names = set(_NAME.findall(value.text)) - seen
        if len(seen) + len(names) > MAX_NAMES:
            names = {name for name in names if machine.variable(name) is not None}
        seen |= names
        for name in sorted(names):
            pending.extend(_texts(machine, name))


def _texts(machine: Machine, name: str) -> list[Value]:
    variable = machine.variable(name)
    if variable is None:
        known = machine.situation.left.exports.get(name, "")
        values = [Value(known)] if known else []
    else:
        values = [*variable.choices, *(variable.items or {}).values()]
    return [value for value in values if value.text and not value.text.isdigit()]


def named(machine: Machine, name: Value) -> None:
    """Text that is taken as the name of a variable: its subscript is an expression."""
    if "[" in name.text:
        evaluated(machine, name)


def expanded(machine: Machine, text: Value) -> None:
    """Text that is expanded as if it stood in double quotes: its substitutions run."""
    if "$(" not in text.text and "`" not in text.text:
        return
    end = "_"
    while end in text.text.splitlines():
        end += "_"
    _read(machine, f": <<{end}\n{text.text}\n{end}\n", text)


def assigned(machine: Machine, text: Value) -> None:
    """Text that is read as an assignment once more, elements in parentheses and all (`declare -a 'x=(…)'`)."""
    _read(machine, f"{text.text}\n", text)


def _read(machine: Machine, code: str, text: Value) -> None:
    machine.read(len(code))
    base, fixed = machine.base, machine.fixed
    machine.base, machine.fixed = None, text.span
    machine.deeper()
    try:
        for script, _ in readings(code, "bash"):
            machine.runner.body(machine, script.body)
    finally:
        machine.base, machine.fixed = base, fixed
        machine.depth -= 1
