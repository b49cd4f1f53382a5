"""Running the command line as a process, the way a shell or a host does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

COMMAND = (sys.executable, "-m", "policyengine")
ROOT = Path(__file__).parents[2]


class Ended(NamedTuple):
    """How a process ended."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.split("\n") if line]


def run(*words: str, given: str | bytes = b"", env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Ended:
    """Run a command to its end; `given` is its standard input."""
    data = given.encode("utf-8", "surrogatepass") if isinstance(given, str) else given
    done = subprocess.run(
        [*COMMAND, *words], input=data, capture_output=True, env=_environment(env), cwd=cwd, timeout=120, check=False
    )
    return Ended(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


def shell(script: str, *, env: Mapping[str, str] | None = None) -> Ended:
    """Run a bash script in which `$PE` is the command line, for redirections that `subprocess` cannot make."""
    line = f'PE="{sys.executable} -m policyengine"\n{script}'
    done = subprocess.run(
        ["bash", "-c", line],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=_environment(env),
        timeout=120,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


def _environment(more: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **(more or {})}
