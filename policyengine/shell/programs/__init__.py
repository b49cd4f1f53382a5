"""How a program's arguments are read: descriptions (data) applied to argument lists. No YAML, no pydantic, no I/O."""

from __future__ import annotations

from policyengine.shell.programs.finder import Programs
from policyengine.shell.programs.grammar import Program
from policyengine.shell.programs.reader import read_arguments
from policyengine.shell.programs.reading import Draft, Reading, Tail, Use, filled

__all__ = ["Draft", "Program", "Programs", "Reading", "Tail", "Use", "filled", "read_arguments"]
