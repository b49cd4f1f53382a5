"""A root directory in which real programs run: the machine's own, read only, with a small writable world beside them.

Writable are the workspace, the home directory and `/tmp`, laid out anew for every example. There is no network but a
loopback interface of its own, no other process to see, and no privilege. Names under `.test` lead either to the
loopback interface (`files.test`) or to an address that nothing routes to.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from fuzz.bash import USER, lacks
from fuzz.effects_run import holder

SECONDS = 10.0  # for one example
DAEMON_SECONDS = 1.5  # after so long, what a finished command left running is ended
WORKSPACE: Final = "/workspace"
HOME: Final = "/home/agent"
AREAS: Final = (WORKSPACE, HOME, "/tmp")
NAMES: Final = {"files.test": "127.0.0.1", "example.test": "198.51.100.7", "mirror.test": "198.51.100.8"}
ENVIRONMENT: Final = {
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
    "HOME": HOME,
    "USER": "agent",
    "LOGNAME": "agent",
    "SHELL": "/bin/bash",
    "LC_ALL": "C.UTF-8",
    "TERM": "dumb",
}
_CALLS = """open openat openat2 creat truncate mkdir mkdirat mknod mknodat link linkat symlink symlinkat rename renameat
renameat2 unlink unlinkat rmdir chmod fchmod fchmodat chown fchown lchown fchownat utime utimes futimesat utimensat
setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr execve execveat connect bind listen sendto sendmsg
sendmmsg chdir fchdir clone clone3 fork vfork stat lstat newfstatat statx access faccessat faccessat2 readlink
readlinkat getxattr lgetxattr"""


def missing() -> str:
    """Why this machine cannot run the oracle, or an empty string."""
    if why := lacks("bash", "strace", "unshare", "nsenter", "setpriv", "mount"):
        return why
    try:
        with Root() as root:
            ran = root.run("true", {})
    except OSError as error:
        return f"cannot make namespaces: {error}"
    return "" if ran.trace else "cannot trace"


class Ran(NamedTuple):
    """One traced run: what strace wrote, the exit status (None after a timeout), what there was before and after."""

    trace: str
    status: int | None
    before: frozenset[str]
    after: frozenset[str]
    said: str  # the end of standard error


class Root:
    """The root directory and its namespaces, for many examples; a context manager that removes them."""

    def __init__(self) -> None:
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.path = Path(tempfile.mkdtemp(prefix="effects-run-", dir=base))
        self.path.chmod(0o755)
        for name in (
            *holder.SYSTEM,
            "dev/shm",
            "dev/pts",
            "proc",
            "run",
            "own",
            "log",
            "workspace",
            "home/agent",
            "tmp",
        ):
            (self.path / name).mkdir(parents=True)
        for name in ("tmp", "dev/shm", "log"):
            (self.path / name).chmod(0o1777)
        for name, target in (
            ("fd", "/proc/self/fd"),
            ("stdin", "fd/0"),
            ("stdout", "fd/1"),
            ("stderr", "fd/2"),
            ("ptmx", "pts/ptmx"),
        ):
            (self.path / "dev" / name).symlink_to(target)
        self._own_files()
        self._holder = self._hold()

    def __enter__(self) -> Root:
        return self

    def __exit__(self, *_: object) -> None:
        self._holder.kill()
        self._holder.communicate()
        shutil.rmtree(self.path, ignore_errors=True)

    def _own_files(self) -> None:
        own = self.path / "own"
        hosts = [f"{address} {name}" for name, address in NAMES.items()]
        (own / "hosts").write_text("\n".join(["127.0.0.1 localhost", "::1 ip6-localhost", *hosts, ""]))
        (own / "resolv.conf").write_text("nameserver 127.0.0.1\n")
        account = f"agent:x:{USER}:{USER}:Agent:{HOME}:/bin/bash\n"
        (own / "passwd").write_text(Path("/etc/passwd").read_text() + account)
        (own / "group").write_text(Path("/etc/group").read_text() + f"agent:x:{USER}:\n")

    def _hold(self) -> subprocess.Popen[str]:
        command = ["unshare", "--mount", "--net", "--propagation", "private", "--kill-child", "--fork", "--"]
        command += [sys.executable, holder.__file__, str(self.path)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            process.kill()
            raise OSError("the namespaces' holder did not start")
        return process

    def run(self, text: str, files: Mapping[str, str], setup: str = "", stdin: str = "") -> Ran:
        """Run a bash text in a freshly laid out world, traced; `setup` runs before it, untraced."""
        self._lay_out(files)
        log = self.path / "log/trace"
        log.unlink(missing_ok=True)
        if setup:
            self._start(["bash", "--noprofile", "--norc", "-ec", setup], "", check=True)
        before = self._present()
        strace = ["strace", "-f", "--seccomp-bpf", "-y", "-s", "4096", "-o", "/log/trace", "-e"]
        strace.append("trace=" + ",".join(_CALLS.split()))
        status, said = self._start([*strace, "bash", "--noprofile", "--norc", "-c", text], stdin)
        trace = log.read_text(errors="replace") if log.exists() else ""
        return Ran(trace, status, before, self._present(), said)

    def _start(self, command: list[str], stdin: str, check: bool = False) -> tuple[int | None, str]:
        process = subprocess.Popen(
            [*self._inside(), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            preexec_fn=_limit,  # noqa: PLW1509  one thread
            start_new_session=True,
            text=True,
            errors="replace",
        )
        start, given = time.monotonic(), stdin
        while True:
            try:
                said = process.communicate(given, timeout=DAEMON_SECONDS)[1]
                break
            except subprocess.TimeoutExpired:
                given = ""
                status = _ended(self.path / "log/trace")
                if status is not None or time.monotonic() - start > SECONDS:
                    os.killpg(process.pid, signal.SIGKILL)  # with it the first process of the namespace, and so all
                    return status, process.communicate()[1][-300:]
        if check and process.returncode:
            raise OSError(f"`{command[-1]}` ended with {process.returncode}: {said[-300:]}")
        return process.returncode, said[-300:]

    def _inside(self) -> list[str]:
        spaces = f"/proc/{_child(self._holder.pid)}/ns"
        enter = ["nsenter", f"--mount={spaces}/mnt", f"--net={spaces}/net", "--"]
        enter += ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", f"--root={self.path}"]
        enter += ["--mount-proc", f"--wd={WORKSPACE}", "--", "setpriv", f"--reuid={USER}", f"--regid={USER}"]
        return [*enter, "--clear-groups", "--no-new-privs", "--"]

    def _lay_out(self, files: Mapping[str, str]) -> None:
        """Empty what is writable and write the given files; a name that ends in `/` is a directory."""
        for area in AREAS:
            place = self._at(area)
            for entry in place.iterdir():
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        for name, text in files.items():
            target = self._at(name.replace("~", HOME, 1) if name.startswith("~") else f"{WORKSPACE}/{name}")
            if name.endswith("/"):
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
                target.chmod(0o755 if text.startswith("#!") else 0o644)
        subprocess.run(["chown", "-R", f"{USER}:{USER}", *(str(self._at(area)) for area in AREAS[:2])], check=True)

    def _at(self, path: str) -> Path:
        return self.path / path.lstrip("/")

    def _present(self) -> frozenset[str]:
        """Every path there is in the writable areas, as seen from inside."""
        found = set(AREAS)
        for area in AREAS:
            for folder, folders, names in os.walk(self._at(area)):
                inside = "/" + os.path.relpath(folder, self.path)
                found.update(f"{inside}/{name}" for name in (*folders, *names))
        return frozenset(found)


def _ended(trace: Path) -> int | None:
    """The exit status of the first process of a trace, whose daemons may go on; None while it runs."""
    text = trace.read_text(errors="replace") if trace.exists() else ""
    first = text.partition(" ")[0]
    found = re.search(rf"^{first} +\+\+\+ exited with (\d+)", text, re.MULTILINE) if first else None
    return None if found is None else int(found[1])


def _child(pid: int) -> int:
    """The process in the namespaces: `unshare --fork` waits outside for it."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def _limit() -> None:
    for what, most in (
        (resource.RLIMIT_CPU, 20),
        (resource.RLIMIT_FSIZE, 64 << 20),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
