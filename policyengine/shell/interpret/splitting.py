"""Word splitting (bash manual 3.5.7): what separates the words of an expansion."""

from __future__ import annotations

import re
from functools import lru_cache

from policyengine.shell.interpret.machine import Machine

IFS = " \t\n"


@lru_cache(maxsize=16)
def _splitter(ifs: str) -> re.Pattern[str]:
    """Runs of blanks separate once, every other separator separates each time (bash manual 3.5.7)."""
    blanks = "".join(re.escape(char) for char in ifs if char in IFS)
    others = "".join(re.escape(char) for char in ifs if char not in IFS)
    if not others:
        return re.compile(f"[{blanks}]+")
    return re.compile(f"[{blanks}]*[{others}][{blanks}]*|[{blanks}]+" if blanks else f"[{others}]")


def separators(machine: Machine) -> re.Pattern[str] | None:
    """What separates words; None where nothing does, as where `IFS` is empty."""
    variable = machine.variable("IFS")
    if variable is None or not variable.choices:
        return _splitter(IFS)
    ifs = variable.choices[0]
    if not ifs.exact:
        return _splitter(IFS)
    return _splitter(ifs.text) if ifs.text else None
