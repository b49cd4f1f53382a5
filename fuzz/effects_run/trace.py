"""What `strace -f -y` wrote, as events: which process did what to which path, program or address."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

from fuzz.effects_run.root import WORKSPACE


class Verb(Enum):
    """What a system call does to its path or address."""

    READ = auto()
    WRITE = auto()  # opened for writing, created, truncated, renamed or linked to
    DELETE = auto()
    ATTRIBUTE = auto()
    EXECUTE = auto()
    CONNECT = auto()
    LISTEN = auto()


class Event(NamedTuple):
    """One system call's act. `target` is an absolute path, or `address:port`; `error` is empty after success."""

    pid: int
    program: str
    verb: Verb
    target: str
    error: str = ""


class _Path(NamedTuple):
    """Where a call has a path: the index of the argument, of the directory before it (None: the working directory)."""

    verb: Verb
    path: int
    folder: int | None = None


_OPEN: Final = {"open": (0, None, 1), "openat": (1, 0, 2), "openat2": (1, 0, 2)}
_WRITES = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC)\b")
_PATHS: Final[dict[str, tuple[_Path, ...]]] = {
    "creat": (_Path(Verb.WRITE, 0),),
    "truncate": (_Path(Verb.WRITE, 0),),
    "mkdir": (_Path(Verb.WRITE, 0),),
    "mkdirat": (_Path(Verb.WRITE, 1, 0),),
    "mknod": (_Path(Verb.WRITE, 0),),
    "mknodat": (_Path(Verb.WRITE, 1, 0),),
    "link": (_Path(Verb.READ, 0), _Path(Verb.WRITE, 1)),
    "linkat": (_Path(Verb.READ, 1, 0), _Path(Verb.WRITE, 3, 2)),
    "symlink": (_Path(Verb.READ, 0), _Path(Verb.WRITE, 1)),
    "symlinkat": (_Path(Verb.READ, 0), _Path(Verb.WRITE, 2, 1)),
    "rename": (_Path(Verb.DELETE, 0), _Path(Verb.READ, 0), _Path(Verb.WRITE, 1)),
    "renameat": (_Path(Verb.DELETE, 1, 0), _Path(Verb.READ, 1, 0), _Path(Verb.WRITE, 3, 2)),
    "renameat2": (_Path(Verb.DELETE, 1, 0), _Path(Verb.READ, 1, 0), _Path(Verb.WRITE, 3, 2)),
    "unlink": (_Path(Verb.DELETE, 0),),
    "unlinkat": (_Path(Verb.DELETE, 1, 0),),
    "rmdir": (_Path(Verb.DELETE, 0),),
    **{name: (_Path(Verb.ATTRIBUTE, 0),) for name in ("chmod", "chown", "lchown", "utime", "utimes")},
    **{name: (_Path(Verb.ATTRIBUTE, 0),) for name in ("setxattr", "lsetxattr", "removexattr", "lremovexattr")},
    **{name: (_Path(Verb.ATTRIBUTE, -1, 0),) for name in ("fchmod", "fchown", "fsetxattr", "fremovexattr")},
    **{name: (_Path(Verb.ATTRIBUTE, 1, 0),) for name in ("fchmodat", "fchownat", "futimesat", "utimensat")},
    **{name: (_Path(Verb.READ, 0),) for name in ("stat", "lstat", "access", "readlink", "getxattr", "lgetxattr")},
    **{name: (_Path(Verb.READ, 1, 0),) for name in ("newfstatat", "statx", "faccessat", "faccessat2", "readlinkat")},
}
_FORKS = ("clone", "clone3", "fork", "vfork")
_ADDRESS = {"connect": Verb.CONNECT, "sendto": Verb.CONNECT, "sendmsg": Verb.CONNECT, "sendmmsg": Verb.CONNECT}
_INET = re.compile(
    r'sin6?_port=htons\((?P<port>\d+)\).*?(?:inet_addr\("(?P<four>[^"]*)"\)|inet_pton\(AF_INET6, "(?P<six>[^"]*)")'
)
_LINE = re.compile(r"(?P<pid>\d+) +(?P<call>\w+)\((?P<rest>.*)\Z", re.DOTALL)
_RESUMED = re.compile(r"(?P<pid>\d+) +<\.\.\. (?P<call>\w+) resumed>(?P<rest>.*)\Z", re.DOTALL)
_UNFINISHED = " <unfinished ...>"
_RESULT = re.compile(
    r"(?P<arguments>.*)\)\s+= (?P<value>-?\d+|\?)(?:<.*>)?(?: (?P<error>E[A-Z0-9]+) .*)?(?: .*)?\Z", re.DOTALL
)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_NAMED = {"n": b"\n", "t": b"\t", "r": b"\r", "v": b"\v", "f": b"\f", "a": b"\a", "b": b"\b"}
_ITEM = re.compile(
    r'"(?:[^"\\]|\\.)*"(?:\.\.\.)?|\d+<(?:[^>\\]|\\.|->)*>|AT_FDCWD<(?:[^>\\]|\\.)*>|[({\[]|[)}\]]|, |.', re.DOTALL
)


class _Call(NamedTuple):
    pid: int
    name: str
    arguments: list[str]
    value: str
    error: str


class _Processes:
    """What is known of the processes: working directory and program."""

    def __init__(self) -> None:
        self.cwd: dict[int, str] = {}
        self.program: dict[int, str] = {}
        self.forking: list[int] = []

    def meet(self, pid: int) -> None:
        """A process that was not seen before has what the last one that forked had."""
        if pid not in self.cwd:
            parent = self.forking[-1] if self.forking else 0
            self.cwd[pid] = self.cwd.get(parent, WORKSPACE)
            self.program[pid] = self.program.get(parent, "")


def events(text: str) -> list[Event]:
    """Every act of a trace, in order; the start of the first program is left out."""
    processes = _Processes()
    found = [event for call in _calls(text, processes) for event in _acts(call, processes)]
    first = next((at for at, event in enumerate(found) if event.verb is Verb.EXECUTE), -1)
    return found[:first] + found[first + 1 :] if first >= 0 else found


def _calls(text: str, processes: _Processes) -> Iterator[_Call]:
    begun: dict[int, str] = {}
    for written in text.split("\n"):
        line, resumed = written, _RESUMED.match(written)
        if resumed is not None:
            line = f"{resumed['pid']} {begun.pop(int(resumed['pid']), resumed['call'] + '(')}{resumed['rest']}"
        matched = _LINE.match(line)
        if matched is None:
            continue
        pid = int(matched["pid"])
        processes.meet(pid)
        if matched["call"] in _FORKS:
            processes.forking.append(pid)
        if line.endswith(_UNFINISHED):
            begun[pid] = f"{matched['call']}({matched['rest'].removesuffix(_UNFINISHED)}"
            continue
        result = _RESULT.match(matched["rest"])
        if result is not None:
            yield _Call(pid, matched["call"], _split(result["arguments"]), result["value"], result["error"] or "")


def _split(text: str) -> list[str]:
    """The arguments of a call: cut at commas outside of strings, structures and descriptors' paths."""
    parts, depth = [""], 0
    for item in _ITEM.findall(text):
        depth += (item in "({[") - (item in ")}]")
        if item == ", " and depth == 0:
            parts.append("")
        else:
            parts[-1] += item
    return parts


def _acts(call: _Call, processes: _Processes) -> Iterator[Event]:
    pid, name, arguments = call.pid, call.name, call.arguments
    if name in ("chdir", "fchdir") and not call.error:
        processes.cwd[pid] = _path(call, processes, _Path(Verb.READ, 0) if name == "chdir" else _Path(Verb.READ, -1, 0))
    elif name in ("execve", "execveat"):
        yield from _executions(call, processes)
    elif name in _OPEN:
        path, folder, flags = _OPEN[name]
        if "O_TMPFILE" not in arguments[flags]:
            verb = Verb.WRITE if _WRITES.search(arguments[flags]) else Verb.READ
            where = _Path(verb, path, folder)
            yield Event(pid, processes.program[pid], verb, _path(call, processes, where), call.error)
    elif name in _ADDRESS:
        yield from _addresses(call, processes, _ADDRESS[name])
    elif name == "bind":
        yield from _addresses(call, processes, Verb.LISTEN)
    for where in _PATHS.get(name, ()):
        target = _path(call, processes, where)
        if target:
            yield Event(pid, processes.program[pid], where.verb, target, call.error)


def _executions(call: _Call, processes: _Processes) -> Iterator[Event]:
    where = _Path(Verb.EXECUTE, 0) if call.name == "execve" else _Path(Verb.EXECUTE, 1, 0)
    target = _path(call, processes, where)
    yield Event(call.pid, processes.program[call.pid], Verb.EXECUTE, target, call.error)
    if not call.error:
        processes.program[call.pid] = target.rpartition("/")[2]


def _addresses(call: _Call, processes: _Processes, verb: Verb) -> Iterator[Event]:
    for found in _INET.finditer(", ".join(call.arguments[1:])):
        if verb is Verb.LISTEN and found["port"] == "0":  # a port that the system picks: where answers arrive
            continue
        target = f"{found['four'] or found['six']}:{found['port']}"
        yield Event(call.pid, processes.program[call.pid], verb, target, call.error)


def _path(call: _Call, processes: _Processes, where: _Path) -> str:
    """An absolute, lexically normal path; empty where the call names none."""
    folder = processes.cwd[call.pid]
    if where.folder is not None:
        folder = _descriptor(call.arguments[where.folder]) or folder
    if where.path < 0 or call.arguments[where.path] == "NULL":
        return folder if where.folder is not None and folder.startswith("/") else ""
    text = unescaped(call.arguments[where.path])
    if not text and (where.folder is None or not folder.startswith("/")):
        return ""
    return posixpath.normpath(posixpath.join(folder, text)).replace("//", "/")


def _descriptor(argument: str) -> str:
    _, found, rest = argument.partition("<")
    return unescaped(f'"{rest.removesuffix(">")}"') if found else ""


def unescaped(argument: str) -> str:
    """The text of a string argument as strace prints it, C escapes undone."""
    inner = argument.removesuffix("...")[1:-1] if argument.startswith('"') else argument
    if "\\" not in inner:
        return inner
    return b"".join(_bytes(inner)).decode("utf-8", "replace")


def _bytes(text: str) -> Iterable[bytes]:
    at = 0
    for found in _ESCAPE.finditer(text):
        yield text[at : found.start()].encode()
        octal, hexadecimal, named = found.groups()
        if octal or hexadecimal:
            yield bytes([int(octal, 8) if octal else int(hexadecimal, 16)])
        else:
            yield _NAMED.get(named, named.encode())
        at = found.end()
    yield text[at:].encode()
