"""Names of standard streams, and paths below `/proc/PID` that lead elsewhere: a process's root, directory, program and
descriptors (proc(5)).

Mostly PID is the shell itself (`self`, `$$`) or what it started, by a number that is not known.
"""

from __future__ import annotations

import re

from policyengine.effects import HOLE
from policyengine.shell.paths import Place
from policyengine.shell.values import Value, from_template

_OWN = f"self|thread-self|\\$\\$|\\d*{HOLE}\\d*"
_LEADING = re.compile(
    rf"/proc/+(?:({_OWN})|\d+)(?:/+task/+[\d{HOLE}]+)?/+(?:(root)|(cwd)|(exe)|(environ)|fd/+(\d+))(?=/|\Z)"
).match
MAX_STEPS = 8  # from one root to the next (`/proc/self/root/proc/self/root/…`)
_STANDARD = re.compile(r"/dev/(?:null|stdin|stdout|stderr|tty|fd/\d+|full)\Z").match
STANDARD_INPUT = frozenset({"/dev/stdin", "/dev/fd/0"})
_SHELL = "/bin/bash"  # what `/proc/self/exe` is where the shell itself starts it


def led(value: Value, cwd: Place) -> Value:
    """The path to which one below `/proc/PID` leads; any other as it is."""
    for _ in range(MAX_STEPS):
        further = _led(value, cwd)
        if further is value:
            break
        value = further
    return value


def _led(value: Value, cwd: Place) -> Value:
    found = _LEADING(value.template)
    if found is None:
        return value
    own, root, directory, program, environment, _ = found.groups()
    sure = bool(own) and HOLE not in own
    rest = value.template[found.end() :]
    if root:
        return _at(value, rest or "/")
    if directory and sure and cwd.exact:
        return _at(value, cwd.path + rest)
    if program and own:
        return _at(value, _SHELL + rest)
    if environment and own and not sure:
        return value._replace(text="/proc/*/environ" + rest, exact=True, glob=True, rest="")
    name = _descriptor(value)
    return _at(value, name) if name else value


def _at(value: Value, template: str) -> Value:
    known = from_template(template)
    return value._replace(text=known.text, exact=known.exact, many=value.many and not known.exact, rest=known.rest)


def standard(value: Value) -> str:
    """The name of a standard stream or of nothing (`/dev/null`); empty for a file, which has a path."""
    text = value.text
    if text[:6] == "/proc/":
        return _descriptor(value)
    return text if text[:5] == "/dev/" and _STANDARD(text) else ""


def _descriptor(value: Value) -> str:
    """`/dev/fd/N` for one of the names of that under `/proc`; empty for everything else."""
    found = _LEADING(value.template)
    whole = found is not None and found.end() == len(value.template)
    return f"/dev/fd/{found[6]}" if found is not None and whole and found[1] and found[6] else ""
