"""The calls of Python's library that do something outside the program, and what they do."""

from __future__ import annotations

import ast
from collections.abc import Callable

from policyengine.effects import Taint
from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.code.python.values import Scope
from policyengine.shell.values import UNKNOWN, Value

Handler = Callable[[ast.Call, Scope], list[Act]]


def _argument(node: ast.Call, at: int, *names: str) -> ast.expr | None:
    """A positional argument or the keyword of that name."""
    if at < len(node.args):
        return node.args[at]
    return next((keyword.value for keyword in node.keywords if keyword.arg in names), None)


def _on(kind: Kind, at: int = 0, *more: str) -> Handler:
    """A call that does something with the text of one argument."""

    def handler(node: ast.Call, scope: Scope) -> list[Act]:
        value = scope.text(_argument(node, at, "path", "name", "filename", "src", "url"))
        return [Act(kind, value, more)]

    return handler


def _run(node: ast.Call, scope: Scope) -> list[Act]:
    """`subprocess.run` and its relatives: a list of words, or a text for a shell."""
    command = _argument(node, 0, "args", "cmd")
    words = scope.words(command)
    streams = [keyword.value for keyword in node.keywords if keyword.arg in ("stdin", "stdout")]
    scope.duplicated |= any(isinstance(stream, ast.Call | ast.Name) for stream in streams)
    if words is not None and not scope.truth(node, "shell"):
        return [Act(Kind.COMMAND, words=words)] if words else []
    text = scope.text(command) if words is None else words[0]
    if scope.truth(node, "shell") or (text.exact and " " not in text.text and text.text):
        kind = Kind.SHELL if scope.truth(node, "shell") else Kind.COMMAND
        return [Act(kind, text, words=(text,))]
    return [Act(Kind.COMMAND, words=(text,))]


def _shell(node: ast.Call, scope: Scope) -> list[Act]:
    return [Act(Kind.SHELL, scope.text(_argument(node, 0, "command", "cmd")))]


def _execv(node: ast.Call, scope: Scope) -> list[Act]:
    """`os.execv(path, args)`, `os.execl(path, arg0, …)`, `os.spawnv(mode, path, args)`."""
    arguments = list(node.args)
    name = scope.name_of(node.func) or ""
    if "spawn" in name and "posix" not in name:
        arguments = arguments[1:]
    program = scope.text(arguments[0]) if arguments else UNKNOWN
    words = scope.words(arguments[1]) if len(arguments) > 1 else None
    rest = words[1:] if words is not None else tuple(scope.text(item) for item in arguments[2:])
    return [Act(Kind.COMMAND, words=(program, *rest))]


def _open(node: ast.Call, scope: Scope) -> list[Act]:
    """`open(path, mode)`: text written through it is not followed."""
    value = scope.text(_argument(node, 0, "file", "filename", "path"))
    mode = _argument(node, 1, "mode")
    return [Act(_kind_of(scope.text(mode)), value)] if mode is not None else [Act(Kind.READ, value)]


def _write_opened(node: ast.Call, scope: Scope) -> list[Act]:
    """`open(path, "w").write(text)`, and `f.write(text)` for an `f` that was opened before."""
    assert isinstance(node.func, ast.Attribute)
    return _into(node.func.value, node.args[0], scope) if node.args else []


def _into(file: ast.expr, text: ast.expr, scope: Scope) -> list[Act]:
    """A text that goes into an open file: the first one takes the place of what was there, further ones are added."""
    opened = scope.handles.get(file.id) if isinstance(file, ast.Name) else file
    if not isinstance(opened, ast.Call):
        return []
    name = scope.name_of(opened.func) or ""
    if name in ("open", "io.open", "codecs.open"):
        acts = _open(opened, scope)
    elif isinstance(opened.func, ast.Attribute) and opened.func.attr == "open":
        acts = _path_open(opened, scope)
    else:
        return []
    again = getattr(opened, "written", False)  # marked below: nodes are objects of this reading alone
    opened.written = True  # type: ignore[attr-defined]
    words = (scope.text(text),)
    return [
        act._replace(kind=Kind.APPEND if again else act.kind, words=words)
        for act in acts if act.kind in (Kind.WRITE, Kind.APPEND)
    ]  # fmt: skip


def _print(node: ast.Call, scope: Scope) -> list[Act]:
    """`print(text, file=f)`."""
    file = next((keyword.value for keyword in node.keywords if keyword.arg == "file"), None)
    return _into(file, node.args[0], scope) if file is not None and node.args else []


def _kind_of(mode: Value) -> Kind:
    if not mode.exact:
        return Kind.WRITE
    return Kind.APPEND if "a" in mode.text else Kind.WRITE if set(mode.text) & set("wx+") else Kind.READ


def _path_method(kind: Kind) -> Handler:
    """A method of a path: `Path(x).unlink()`; of other objects with a method of that name nothing is said."""

    def handler(node: ast.Call, scope: Scope) -> list[Act]:
        assert isinstance(node.func, ast.Attribute)
        owner = node.func.value
        if not _is_path(owner, scope):
            return []
        words = (scope.text(node.args[0]),) if node.args and kind is Kind.WRITE else ()
        return [Act(kind, scope.text(owner), words=words)]

    return handler


_PATH_MAKERS = frozenset({"home", "cwd", "joinpath"})


def _is_path(node: ast.expr, scope: Scope) -> bool:
    while isinstance(node, ast.BinOp):
        node = node.left
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("home", "cwd", "joinpath")
    ):
        node = node.func.value
    name = scope.name_of(node.func) if isinstance(node, ast.Call) else scope.name_of(node)
    return name is not None and name.startswith("pathlib.")


def _path_open(node: ast.Call, scope: Scope) -> list[Act]:
    assert isinstance(node.func, ast.Attribute)
    if not _is_path(node.func.value, scope):
        return []
    mode = _argument(node, 0, "mode")
    return [Act(_kind_of(scope.text(mode)) if mode is not None else Kind.READ, scope.text(node.func.value))]


def _chmod_method(node: ast.Call, scope: Scope) -> list[Act]:
    assert isinstance(node.func, ast.Attribute)
    if not _is_path(node.func.value, scope):
        return []
    return [Act(Kind.ATTRIBUTE, scope.text(node.func.value), ("mode", _octal(_argument(node, 0, "mode"))))]


def _move(node: ast.Call, scope: Scope) -> list[Act]:
    source, target = scope.text(_argument(node, 0, "src")), scope.text(_argument(node, 1, "dst"))
    return [Act(Kind.READ, source), Act(Kind.DELETE, source), Act(Kind.WRITE, target)]


def _copy(node: ast.Call, scope: Scope) -> list[Act]:
    return [
        Act(Kind.READ, scope.text(_argument(node, 0, "src"))),
        Act(Kind.WRITE, scope.text(_argument(node, 1, "dst"))),
    ]


def _chmod(node: ast.Call, scope: Scope) -> list[Act]:
    return [Act(Kind.ATTRIBUTE, scope.text(_argument(node, 0, "path")), ("mode", _octal(_argument(node, 1, "mode"))))]


def _octal(node: ast.expr | None) -> str:
    return f"{node.value:o}" if isinstance(node, ast.Constant) and isinstance(node.value, int) else ""


def _chown(node: ast.Call, scope: Scope) -> list[Act]:
    return [Act(Kind.ATTRIBUTE, scope.text(_argument(node, 0, "path")), ("owner", ""))]


def _connect(node: ast.Call, scope: Scope) -> list[Act]:
    """`socket.connect((host, port))`, `socket.create_connection((host, port))`."""
    address = _argument(node, 0, "address")
    if not isinstance(address, ast.Tuple) or len(address.elts) < 2:
        name = scope.name_of(node.func) or ""
        return [Act(Kind.CONNECT, UNKNOWN)] if name.startswith("socket.") else []
    return [Act(Kind.CONNECT, scope.text(address.elts[0]), (scope.text(address.elts[1]).text,))]


def _bind(node: ast.Call, scope: Scope) -> list[Act]:
    address = _argument(node, 0)
    if not isinstance(address, ast.Tuple) or len(address.elts) < 2:
        return []
    return [Act(Kind.LISTEN, scope.text(address.elts[0]), (scope.text(address.elts[1]).text,))]


def _duplicate(node: ast.Call, scope: Scope) -> list[Act]:
    """`os.dup2(socket, 0)` and `pty.spawn`: a connection becomes a standard stream."""
    del node
    scope.duplicated = True
    return []


def _spawn(node: ast.Call, scope: Scope) -> list[Act]:
    scope.duplicated = True
    words = scope.words(_argument(node, 0, "argv"))
    return [Act(Kind.COMMAND, words=words if words is not None else (scope.text(_argument(node, 0, "argv")),))]


def _fetch(method: str) -> Handler:
    def handler(node: ast.Call, scope: Scope) -> list[Act]:
        body = any(keyword.arg in ("data", "json", "files", "content") for keyword in node.keywords)
        at = 1 if method == "*" else 0
        used = scope.text(node.args[0]).text.upper() if method == "*" and node.args else method
        kind = Kind.SEND if body or used not in ("GET", "HEAD", "OPTIONS") else Kind.FETCH
        return [Act(kind, _url(scope, _argument(node, at, "url", "fullurl")), (used,))]

    return handler


def _url(scope: Scope, node: ast.expr | None) -> Value:
    if isinstance(node, ast.Call) and (scope.name_of(node.func) or "").endswith("Request"):
        return scope.text(_argument(node, 0, "url"))
    return scope.text(node)


def _retrieve(node: ast.Call, scope: Scope) -> list[Act]:
    target = _argument(node, 1, "filename")
    acts = [Act(Kind.FETCH, scope.text(_argument(node, 0, "url")), ("GET",))]

    if target is not None:
        acts.append(Act(Kind.WRITE, scope.text(target)._replace(taint=frozenset({Taint.FETCHED}))))
    return acts


def _host(node: ast.Call, scope: Scope) -> list[Act]:
    """`http.client.HTTPConnection(host)`, `smtplib.SMTP(host)`, `ftplib.FTP(host)`."""
    port = _argument(node, 1, "port")
    return [
        Act(Kind.CONNECT, scope.text(_argument(node, 0, "host")), (scope.text(port).text if port is not None else "",))
    ]


def _evaluate(node: ast.Call, scope: Scope) -> list[Act]:
    """`exec`, `eval`: constant code is read, other code is not."""
    return [Act(Kind.CODE, scope.text(_argument(node, 0, "source")), ("python",))]


def _import(node: ast.Call, scope: Scope) -> list[Act]:
    name = scope.text(_argument(node, 0, "name"))
    if not name.exact:
        return [Act(Kind.OPAQUE, name, ("which module is imported is not known",))]
    return [Act(Kind.MODULE, Value(name.text.replace(".", "/")), ("python",))]


def _getattr(node: ast.Call, scope: Scope) -> list[Act]:
    """`getattr` of a module with an unknown name may be any of its functions."""
    owner = scope.name_of(node.args[0]) if node.args else None
    name = scope.text(_argument(node, 1, "name"))
    if owner in ("os", "subprocess", "builtins", "__builtins__", "socket", "shutil", "posix", "?") and not name.exact:
        return [Act(Kind.OPAQUE, UNKNOWN, (f"which function of `{owner}` is used is not known",))]
    return []


def _unknown_function(node: ast.Call, scope: Scope) -> list[Act]:
    name = scope.name_of(node.func) or "?"
    return [Act(Kind.OPAQUE, UNKNOWN, (f"which function of `{name.rpartition('.')[0]}` is called is not known",))]


def _lines_of(node: ast.Call, scope: Scope) -> list[Act]:
    """`fileinput.input(files, inplace=True)` writes what is printed into the files."""
    files = _argument(node, 0, "files")
    names = scope.words(files)
    kind = Kind.WRITE if scope.truth(node, "inplace") else Kind.READ
    return [Act(kind, value) for value in (names if names is not None else [scope.text(files)])]


def _loads(node: ast.Call, scope: Scope) -> list[Act]:
    """Unpickling runs what the data says (CWE-502)."""
    value = scope.text(_argument(node, 0))
    return [Act(Kind.OPAQUE, value, ("deserialised data can run code",))]


def _kill(node: ast.Call, scope: Scope) -> list[Act]:
    return [Act(Kind.SIGNAL, scope.text(_argument(node, 0, "pid")))]


def _identity(node: ast.Call, scope: Scope) -> list[Act]:
    return [Act(Kind.ESCALATE, scope.text(_argument(node, 0)), ("setuid",))]


def _putenv(node: ast.Call, scope: Scope) -> list[Act]:
    return [Act(Kind.VARIABLE, scope.text(_argument(node, 1)), (scope.text(_argument(node, 0)).text,))]


_REMOVE, _TREE, _READ, _WRITE = _on(Kind.DELETE), _on(Kind.DELETE_TREE), _on(Kind.READ), _on(Kind.WRITE)

CALLS: dict[str, Handler] = {
    "os.system": _shell,
    "os.popen": _shell,
    "subprocess.getoutput": _shell,
    "subprocess.getstatusoutput": _shell,
    "commands.getoutput": _shell,
    "asyncio.create_subprocess_shell": _shell,
    "subprocess.run": _run,
    "subprocess.call": _run,
    "subprocess.check_call": _run,
    "subprocess.check_output": _run,
    "subprocess.Popen": _run,
    "asyncio.create_subprocess_exec": lambda node, scope: [
        Act(Kind.COMMAND, words=tuple(scope.text(item) for item in node.args))
    ],
    "pty.spawn": _spawn,
    "os.posix_spawn": _execv,
    "open": _open,
    "print": _print,
    "io.open": _open,
    "codecs.open": _open,
    "gzip.open": _open,
    "os.open": lambda node, scope: (
        [
            Act(
                Kind.WRITE if "O_W" in ast.dump(node) or "O_RDWR" in ast.dump(node) else Kind.READ,
                scope.text(node.args[0]),
            )
        ]
        if node.args
        else []
    ),
    "os.remove": _REMOVE,
    "os.unlink": _REMOVE,
    "os.rmdir": _REMOVE,
    "os.removedirs": _REMOVE,
    "os.truncate": _WRITE,
    "shutil.rmtree": _TREE,
    "os.rename": _move,
    "os.replace": _move,
    "shutil.move": _move,
    "shutil.copy": _copy,
    "shutil.copy2": _copy,
    "shutil.copyfile": _copy,
    "shutil.copytree": _copy,
    "os.link": _copy,
    "os.symlink": _copy,
    "os.mkdir": _WRITE,
    "os.makedirs": _WRITE,
    "os.mkfifo": _WRITE,
    "os.chmod": _chmod,
    "os.chown": _chown,
    "os.chdir": _on(Kind.CHDIR),
    "socket.create_connection": _connect,
    "socket.socket.connect": _connect,
    "socket.socket.connect_ex": _connect,
    "socket.socket.bind": _bind,
    "os.dup2": _duplicate,
    "urllib.request.urlopen": _fetch("GET"),
    "urllib.urlopen": _fetch("GET"),
    "urllib2.urlopen": _fetch("GET"),
    "urllib.request.urlretrieve": _retrieve,
    "urllib.urlretrieve": _retrieve,
    "http.client.HTTPConnection": _host,
    "http.client.HTTPSConnection": _host,
    "smtplib.SMTP": _host,
    "smtplib.SMTP_SSL": _host,
    "ftplib.FTP": _host,
    "telnetlib.Telnet": _host,
    "exec": _evaluate,
    "eval": _evaluate,
    "builtins.exec": _evaluate,
    "builtins.eval": _evaluate,
    "__builtins__.exec": _evaluate,
    "__builtins__.eval": _evaluate,
    "code.interact": _evaluate,
    "runpy.run_path": _on(Kind.SCRIPT, 0, "python"),
    "execfile": _on(Kind.SCRIPT, 0, "python"),
    "runpy.run_module": _import,
    "__import__": _import,
    "importlib.import_module": _import,
    "getattr": _getattr,
    **{f"{module}.?": _unknown_function for module in ("os", "subprocess", "builtins", "socket", "shutil", "posix")},
    "fileinput.input": _lines_of,
    "fileinput.FileInput": _lines_of,
    "pickle.loads": _loads,
    "marshal.loads": _loads,
    "pickle.load": _loads,
    "types.FunctionType": _loads,
    "ctypes.CDLL": _loads,
    "os.kill": _kill,
    "os.killpg": _kill,
    "os.setuid": _identity,
    "os.setgid": _identity,
    "os.seteuid": _identity,
    "os.setreuid": _identity,
    "os.setresuid": _identity,
    "os.putenv": _putenv,
    **{
        f"{library}.{method}": _fetch(method.upper())
        for library in ("requests", "httpx", "requests.Session", "requests.session", "httpx.Client")
        for method in ("get", "post", "put", "patch", "delete", "head")
    },
    "requests.request": _fetch("*"),
    "httpx.request": _fetch("*"),
}

PREFIXES: dict[str, Handler] = {"os.exec": _execv, "os.spawn": _execv}

METHODS: dict[str, Handler] = {
    "unlink": _path_method(Kind.DELETE),
    "rmdir": _path_method(Kind.DELETE),
    "write_text": _path_method(Kind.WRITE),
    "write_bytes": _path_method(Kind.WRITE),
    "read_text": _path_method(Kind.READ),
    "read_bytes": _path_method(Kind.READ),
    "write": _write_opened,
    "writelines": _write_opened,
    "touch": _path_method(Kind.WRITE),
    "mkdir": _path_method(Kind.WRITE),
    "chmod": _chmod_method,
    "open": _path_open,
    "connect": _connect,
    "connect_ex": _connect,
    "bind": _bind,
}
