"""Applying a program's grammar to an argument list."""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.shell.programs.grammar import Program
from policyengine.shell.programs.reading import Reading
from policyengine.shell.values import Value


def read_arguments(program: Program, arguments: Sequence[Value]) -> Reading:
    """What the arguments (without the command name) mean. Pure and total; linear in the number of characters."""
    return Reading(operands=tuple(arguments))
