"""Real bash, contained: what it accepts, and which commands it executes.

A *server* is one bash in fresh user-visible namespaces (mount, process, network, IPC), a root directory that holds bash
and its libraries and nothing else, an unprivileged user, and limits on time, memory, files and processes. It reads a
batch of scripts and forks a subshell for each: syntax alone with extglob off, then on, then two executions under
different assignments of exit statuses. The command words of scripts are *markers*, a letter and a number (`m7`): shell
functions, or (in the second execution of one batch in 16, since each then costs a process) unknown commands handled
by `command_not_found_handle`. Both take their exit status from a bit of the assignment, so that a run can be repeated.
Each execution traces to a file of its own, whose size is limited: that ends endless loops long before their time is up.
"""

from __future__ import annotations

import os
import random
import resource
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fuzz.trace import Run, commands, split

MARKERS = 60  # exit statuses are bits of a 60-bit assignment; more markers share bits
STALL_SECONDS = 12.0  # without progress for so long, the server is ended and its script counts as timed out
_LOCALE = Path("/usr/lib/locale/C.utf8")
USER = 61234  # no account; limits on processes count per user
FILE_BYTES = 16 << 20
TRACE_KIB = 64  # of one execution; the longest that ends by itself writes about 15

# Arguments: the limit of a trace in KiB, the nonce, the first assignment, the second. `wait --` is ours, and only ours:
# scripts write `wait`.
_SERVER = r"""
__limit=$1 __nonce=$2 __one=$3 __two=$4 __names=
set --
shopt -u extglob expand_aliases
for __i in {0..59}; do for __l in m e v; do
  eval "$__l$__i() ((__S>>$__i&1))"
  __names+=" $__l$__i"
done; done
command_not_found_handle() ((__S>>${1//[^0-9]/}%60&1))
FUNCNEST=40
exec 61>>/log/status
mapfile -d '' -t __s </log/batch
for __i in "${!__s[@]}"; do
  __t=${__s[__i]}
  ( eval "set -n
$__t" )
  builtin printf '%s:%s:=%s\n' "$__nonce" "n$__i" $? >&61
  if [[ $__t == *[?*+@!]\(* ]]; then
    ( shopt -s extglob; eval "set -n
$__t" )
    builtin printf '%s:%s:=%s\n' "$__nonce" "x$__i" $? >&61
  fi
  ( cd "/w/a$__i" && exec 60>"/log/a$__i" && BASH_XTRACEFD=60 PS4="+$__nonce:a$__i: " __S=$__one &&
    ulimit -t 1 -f $__limit && set -Tx && eval "$__t"; wait -- )
  builtin printf '%s:%s:=%s\n' "$__nonce" "a$__i" $? >&61
done
((__two & 15)) || unset -f $__names
for __i in "${!__s[@]}"; do
  __t=${__s[__i]}
  ( cd "/w/b$__i" && exec 60>"/log/b$__i" && BASH_XTRACEFD=60 PS4="+$__nonce:b$__i: " __S=$__two &&
    ulimit -t 1 -f $__limit && set -Tx && eval "$__t"; wait -- )
  builtin printf '%s:%s:=%s\n' "$__nonce" "b$__i" $? >&61
done
"""


class Observation(NamedTuple):
    """What bash made of one script.

    `valid` is `bash -n`, `valid_extglob` the same with `-O extglob`; both as a shell that reads a file would
    judge. `runs` are the two executions.
    """

    valid: bool
    valid_extglob: bool
    runs: tuple[Run, Run]

    @property
    def executed(self) -> frozenset[tuple[str, ...]]:
        """The words of every command that ran in either execution."""
        return frozenset(words for run in self.runs for words in run.executed)


def missing() -> str:
    """Why this machine cannot contain bash, or an empty string."""
    if why := lacks("bash", "unshare", "ldd"):
        return why
    try:
        with Sandbox() as sandbox:
            observation = sandbox.observe(["m1 a"], seed=1)[0]
    except OSError as error:
        return f"cannot make namespaces: {error}"
    return "" if ("m1", "a") in observation.executed else "cannot make namespaces"


def lacks(*programs: str) -> str:
    """Why this machine cannot run these in a root directory of their own, or an empty string."""
    for program in programs:
        if shutil.which(program) is None:
            return f"no `{program}` here"
    return "" if os.geteuid() == 0 else "needs root for namespaces and a root directory of its own"


class Sandbox:
    """A root directory with bash in it, kept for many batches; a context manager that removes it."""

    def __init__(self) -> None:
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.root = Path(tempfile.mkdtemp(prefix="fuzz-bash-", dir=base))
        self.root.chmod(0o755)
        for name in ("bin", "dev", "proc", "log", "w"):
            (self.root / name).mkdir()
        static = shutil.which("bash-static") is not None
        install(self.root, "bash-static" if static else "bash")
        if static:  # the same program, which forks a fifth cheaper
            (self.root / "bin/bash-static").rename(self.root / "bin/bash")
        (self.root / "dev/fd").symlink_to("/proc/self/fd")
        (self.root / "bin/server").write_text(_SERVER)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def observe(self, scripts: Sequence[str], seed: int) -> list[Observation]:
        """What bash makes of each script. One that stalls the server is cut off, and the others run in new ones."""
        if not scripts:
            return []
        nonce = secrets.token_hex(6)
        self._lay_out(scripts)
        ended = self._serve([str(TRACE_KIB), nonce, *(str(part) for part in assignments(seed))])
        lines, statuses = split("".join(self._written(nonce.encode())), nonce)
        if ended:
            return [_observation(lines, statuses, index) for index in range(len(scripts))]
        guilty = _unfinished(statuses, len(scripts))
        cut_off = _observation(lines, statuses, guilty)
        return [*self.observe(scripts[:guilty], seed), cut_off, *self.observe(scripts[guilty + 1 :], seed)]

    def _lay_out(self, scripts: Sequence[str]) -> None:
        """Empty the working directories and the traces, and write the batch."""
        for name in ("w", "log"):
            shutil.rmtree(self.root / name)
            (self.root / name).mkdir()
        os.chown(self.root / "log", USER, USER)
        for index in range(len(scripts)):
            for run in "ab":
                place = f"{self.root}/w/{run}{index}"
                os.mkdir(place)
                os.chown(place, USER, USER)
        (self.root / "log/batch").write_bytes(b"".join(text.encode("utf-8", "replace") + b"\0" for text in scripts))

    def _written(self, nonce: bytes) -> Iterator[str]:
        """What the server wrote. The last line of a trace that met its limit may be cut off, so it is left out."""
        for path in (self.root / "log").iterdir():
            if path.name != "batch":
                raw = path.read_bytes()
                whole = (
                    raw if len(raw) < TRACE_KIB << 10 or path.name == "status" else raw[: raw.rfind(nonce)].rstrip(b"+")
                )
                yield whole.decode("utf-8", "replace")

    def _serve(self, arguments: list[str]) -> bool:
        """Run one server to its end; false if it had to be ended for lack of progress."""
        log = self.root / "log/status"
        server = contained(self.root, ["/bin/bash", "--noprofile", "--norc", "/bin/server", *arguments])
        size, since = -1, time.monotonic()
        while True:
            try:
                server.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                now = log.stat().st_size if log.exists() else 0
                if now != size:
                    size, since = now, time.monotonic()
                elif time.monotonic() - since > STALL_SECONDS:
                    server.kill()
                    server.wait()
                    return False
            else:
                return server.returncode == 0


def install(root: Path, *programs: str) -> None:
    """Copy programs and what they load into `root`: programs to `/bin`, libraries and locale where they were."""
    if _LOCALE.is_dir():
        shutil.copytree(_LOCALE, root / str(_LOCALE).lstrip("/"))
    for program in programs:
        source = shutil.which(program)
        if source is None:
            raise FileNotFoundError(f"no `{program}` here")
        shutil.copy(source, root / "bin" / program)
        listing = subprocess.run(["ldd", source], capture_output=True, text=True, check=False).stdout
        for library in (word for word in listing.split() if word.startswith("/")):
            target = root / library.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, target)


def contained(root: Path, command: list[str], path: str = "/nonexistent") -> subprocess.Popen[bytes]:
    """Start a program inside `root` in namespaces of its own, without network, as nobody, with limits."""
    unshare = [
        str(shutil.which("unshare")),
        "--mount",
        "--net",
        "--ipc",
        "--uts",
        "--pid",
        "--fork",
        "--kill-child",
        f"--root={root}",
    ]
    unshare += ["--mount-proc", f"--setuid={USER}", f"--setgid={USER}", "--wd=/", "--"]
    return subprocess.Popen(
        [*unshare, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": path, "LC_ALL": "C.UTF-8", "HOME": "/w"},
        preexec_fn=_limit,  # noqa: PLW1509  one thread
        close_fds=True,
    )


def _limit() -> None:
    for what, most in (
        (resource.RLIMIT_CPU, 120),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NPROC, 150),
        (resource.RLIMIT_AS, 1 << 30),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def assignments(seed: int) -> tuple[int, int]:
    """Two complementary assignments of exit statuses: what fails in the first run succeeds in the second."""
    first = random.Random(seed).getrandbits(MARKERS)
    return first, ~first & (1 << MARKERS) - 1


def _unfinished(statuses: dict[str, int], count: int) -> int:
    """The first script whose first run did not end, or else whose second did not."""
    wanting = (index for run in "ab" for index in range(count) if f"{run}{index}" not in statuses)
    return next(wanting, count - 1)


def _observation(lines: dict[str, list[str]], statuses: dict[str, int], index: int) -> Observation:
    runs = [Run(_executed(lines.get(f"{run}{index}", [])), statuses.get(f"{run}{index}")) for run in "ab"]
    valid = statuses.get(f"n{index}") == 0
    return Observation(valid, statuses.get(f"x{index}", statuses.get(f"n{index}")) == 0, (runs[0], runs[1]))


def _executed(lines: list[str]) -> tuple[tuple[str, ...], ...]:
    """The commands of one run, without the `eval` that started it and the `wait` that ended it."""
    return tuple(words for words in commands(lines[1:]) if words != ("wait", "--"))
