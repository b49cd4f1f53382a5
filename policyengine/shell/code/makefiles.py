"""Makefiles: the recipes, which make hands to a shell line by line (GNU make manual 5, POSIX make)."""

from __future__ import annotations

import re

from policyengine.patterns import lazily
from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.values import UNKNOWN, Value

MAX_CODE = 64 * 1024
_JOINED = lazily(r"\\\n\t?")
_ASSIGNED = lazily(r"^(?:export |override )?[ ]*(\w+)[ ]*(?:\?|::?)?=[ \t]*(.*)$", re.MULTILINE)
_ASSIGNED_BY_SHELL = lazily(
    r"^(?:export |override )?[ ]*\w+[ ]*!=[ \t]*(.*)$|\$[({]shell ([^\n]{0,4000}?)[)}]", re.MULTILINE
)
_INLINE = lazily(r"^[^\t\n#:=;]+:[^=\n;]*;(.*)$", re.MULTILINE)
_REFERENCE = lazily(r"\$(?:\$|\((\w+)\)|\{(\w+)\}|[({][^)}\n]*[)}]|[^\s])")
# Variables that make sets itself (GNU make manual 10.3) and whose values are programs that others describe.
_DEFAULTS = {"CC": "cc", "CXX": "g++", "AR": "ar", "RM": "rm -f", "MAKE": "make", "SHELL": "sh", "INSTALL": "install"}


def read_make(text: str) -> list[Act]:
    """Every recipe line, and what `$(shell …)` and `!=` run while the file is read."""
    if len(text) > MAX_CODE:
        return [Act(Kind.OPAQUE, UNKNOWN, ("code too long to be read",))]
    text = _JOINED.sub(" ", text)
    variables = _DEFAULTS | dict(_ASSIGNED.findall(text))
    lines = [line.lstrip("\t @+-") for line in text.split("\n") if line[:1] == "\t"]
    lines += [found[1].lstrip(" \t@+-") for found in _INLINE.finditer(text)]
    lines += [found[1] or found[2] or "" for found in _ASSIGNED_BY_SHELL.finditer(text)]
    return [Act(Kind.SHELL, Value(_as_shell(line, variables))) for line in lines if line.strip()]


def _as_shell(line: str, variables: dict[str, str]) -> str:
    """A recipe line as the shell gets it; what make alone knows becomes a variable that the shell does not know."""

    def replaced(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if found[0] == "$$":
            return "$"
        value = variables.get(name) if name else None
        return value if value is not None and "$" not in value else f"${{{name or 'automatic'}}}"

    return _REFERENCE.sub(replaced, line)
