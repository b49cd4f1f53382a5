"""The second harness: wrapper programs run for real, and what they started is compared with the reported effects.

The root directory holds bash, the wrappers and *marker programs* `m0` … `m39`, which write down their name and
arguments and
exit with 0. There is no network and nothing else to run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fuzz.bash import USER, contained, install
from fuzz.wrappers import MARKER_PROGRAMS

BATCH_SECONDS = 120
_STDBUF = Path("/usr/libexec/coreutils/libstdbuf.so")  # what stdbuf preloads into its command
_MARKER = """#!/bin/bash -p
IFS=$'\\x1f'
w=("${0##*/}" "$@")
printf '%s\\x1e' "${w[*]}" >>/log/ran
"""
_DRIVER = """mapfile -d '' -t s </log/batch
for i in "${!s[@]}"; do
  cd "/w/$i" && printf '=%s\\x1e' "$i" >>/log/ran
  timeout -k 1 5 bash -c "${s[i]}" </dev/null >/dev/null 2>&1
done
"""


class Started(NamedTuple):
    """One run of a marker program: its name and arguments."""

    program: str
    arguments: tuple[str, ...]


class WrapperSandbox:
    """A root directory with wrappers and marker programs; a context manager that removes it."""

    def __init__(self, programs: frozenset[str]) -> None:
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.root = Path(tempfile.mkdtemp(prefix="fuzz-wrap-", dir=base))
        self.root.chmod(0o755)
        for name in ("bin", "dev", "proc", "log", "w", "tmp", "usr/libexec/coreutils"):
            (self.root / name).mkdir(parents=True)
        install(self.root, *sorted({"bash", "timeout", *programs}))
        (self.root / "dev/fd").symlink_to("/proc/self/fd")
        (self.root / "dev/null").touch()
        (self.root / "dev/null").chmod(0o666)
        (self.root / "bin/driver").write_text(_DRIVER)
        (self.root / "tmp").chmod(0o1777)
        if _STDBUF.exists():
            shutil.copy(_STDBUF, self.root / str(_STDBUF).lstrip("/"))
        for number in range(MARKER_PROGRAMS):
            marker = self.root / f"bin/m{number}"
            marker.write_text(_MARKER)
            marker.chmod(0o755)

    def __enter__(self) -> WrapperSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self, scripts: Sequence[str]) -> list[tuple[Started, ...]]:
        """The marker programs that each script started, in order."""
        shutil.rmtree(self.root / "w")
        for index in range(len(scripts)):
            place = self.root / "w" / str(index)
            place.mkdir(parents=True)
            (place / "lock1").touch()
            os.chown(place, USER, USER)
        (self.root / "log/batch").write_bytes(b"".join(text.encode() + b"\0" for text in scripts))
        (self.root / "log/ran").write_bytes(b"")
        os.chown(self.root / "log/ran", USER, USER)
        driver = contained(self.root, ["/bin/bash", "--norc", "/bin/driver"], path="/bin")
        try:
            driver.wait(timeout=BATCH_SECONDS)
        except subprocess.TimeoutExpired:
            driver.kill()
            driver.wait()
        return _started((self.root / "log/ran").read_text(encoding="utf-8", errors="replace"), len(scripts))


def _started(log: str, count: int) -> list[tuple[Started, ...]]:
    found: list[list[Started]] = [[] for _ in range(count)]
    current = 0
    for record in log.split("\x1e")[:-1]:
        if record[0] == "=":
            current = int(record[1:])
        else:
            name, *arguments = record.split("\x1f")
            found[current].append(Started(name, tuple(arguments)))
    return [tuple(one) for one in found]
