"""The calls of Python's library that do something outside the program, and what they do."""

from __future__ import annotations

import ast

from policyengine.effects import Taint
from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.code.python.files import FILE_CALLS, FILE_METHODS, Handler, argument_of, on
from policyengine.shell.code.python.roundabout import plainly
from policyengine.shell.code.python.running import RUNNING
from policyengine.shell.code.python.values import Scope
from policyengine.shell.values import UNKNOWN, Value


def _run(node: ast.Call, scope: Scope) -> list[Act]:
    """`subprocess.run` and its relatives: a list of words, or a text for a shell."""
    command = argument_of(node, 0, "args", "cmd")
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
    return [Act(Kind.SHELL, scope.text(argument_of(node, 0, "command", "cmd")))]


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


def _connect(node: ast.Call, scope: Scope) -> list[Act]:
    """`socket.connect((host, port))`, `socket.create_connection((host, port))`."""
    address = argument_of(node, 0, "address")
    if not isinstance(address, ast.Tuple) or len(address.elts) < 2:
        name = scope.name_of(node.func) or ""
        return [Act(Kind.CONNECT, UNKNOWN)] if name.startswith("socket.") else []
    return [Act(Kind.CONNECT, scope.text(address.elts[0]), (scope.text(address.elts[1]).text,))]


def _bind(node: ast.Call, scope: Scope) -> list[Act]:
    address = argument_of(node, 0)
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
    words = scope.words(argument_of(node, 0, "argv"))
    return [Act(Kind.COMMAND, words=words if words is not None else (scope.text(argument_of(node, 0, "argv")),))]


def _fetch(method: str) -> Handler:
    def handler(node: ast.Call, scope: Scope) -> list[Act]:
        body = any(keyword.arg in ("data", "json", "files", "content") for keyword in node.keywords)
        at = 1 if method == "*" else 0
        used = scope.text(node.args[0]).text.upper() if method == "*" and node.args else method
        kind = Kind.SEND if body or used not in ("GET", "HEAD", "OPTIONS") else Kind.FETCH
        return [Act(kind, _url(scope, argument_of(node, at, "url", "fullurl")), (used,))]

    return handler


def _url(scope: Scope, node: ast.expr | None) -> Value:
    if isinstance(node, ast.Call) and (scope.name_of(node.func) or "").endswith("Request"):
        return scope.text(argument_of(node, 0, "url"))
    return scope.text(node)


def _retrieve(node: ast.Call, scope: Scope) -> list[Act]:
    target = argument_of(node, 1, "filename")
    acts = [Act(Kind.FETCH, scope.text(argument_of(node, 0, "url")), ("GET",))]

    if target is not None:
        acts.append(Act(Kind.WRITE, scope.text(target)._replace(taint=frozenset({Taint.FETCHED}))))
    return acts


def _host(node: ast.Call, scope: Scope) -> list[Act]:
    """`http.client.HTTPConnection(host)`, `smtplib.SMTP(host)`, `ftplib.FTP(host)`."""
    port = argument_of(node, 1, "port")
    return [
        Act(
            Kind.CONNECT, scope.text(argument_of(node, 0, "host")), (scope.text(port).text if port is not None else "",)
        )
    ]


def _evaluate(node: ast.Call, scope: Scope) -> list[Act]:
    """`exec`, `eval`: constant code is read, other code is not."""
    return [Act(Kind.CODE, scope.text(argument_of(node, 0, "source")), ("python",))]


def _import(node: ast.Call, scope: Scope) -> list[Act]:
    name = scope.text(argument_of(node, 0, "name"))
    if not plainly(name):
        return [Act(Kind.OPAQUE, UNKNOWN, ("which module is imported is not known",))]
    return [Act(Kind.MODULE, Value(name.text.replace(".", "/")), ("python",))]


def _getattr(node: ast.Call, scope: Scope) -> list[Act]:
    """`getattr` of a module with an unknown name may be any of its functions."""
    owner = scope.name_of(node.args[0]) if node.args else None
    name = scope.text(argument_of(node, 1, "name"))
    if owner in ("os", "subprocess", "builtins", "__builtins__", "socket", "shutil", "posix", "?") and not plainly(
        name
    ):
        return [Act(Kind.OPAQUE, UNKNOWN, (f"which function of `{owner}` is used is not known",))]
    return []


def _unknown_function(node: ast.Call, scope: Scope) -> list[Act]:
    name = scope.name_of(node.func) or "?"
    return [Act(Kind.OPAQUE, UNKNOWN, (f"which function of `{name.rpartition('.')[0]}` is called is not known",))]


def _loads(node: ast.Call, scope: Scope) -> list[Act]:
    """Unpickling runs what the data says (CWE-502)."""
    value = scope.text(argument_of(node, 0))
    return [Act(Kind.OPAQUE, value, ("deserialised data can run code",))]


def _kill(node: ast.Call, scope: Scope) -> list[Act]:
    return [Act(Kind.SIGNAL, scope.text(argument_of(node, 0, "pid")))]


def _identity(node: ast.Call, scope: Scope) -> list[Act]:
    return [Act(Kind.ESCALATE, scope.text(argument_of(node, 0)), ("setuid",))]


def _putenv(node: ast.Call, scope: Scope) -> list[Act]:
    return [Act(Kind.VARIABLE, scope.text(argument_of(node, 1)), (scope.text(argument_of(node, 0)).text,))]


CALLS: dict[str, Handler] = {
    **FILE_CALLS,
    **RUNNING,
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
    "runpy.run_path": on(Kind.SCRIPT, 0, "python"),
    "execfile": on(Kind.SCRIPT, 0, "python"),
    "runpy.run_module": _import,
    "__import__": _import,
    "importlib.import_module": _import,
    "getattr": _getattr,
    **{f"{module}.?": _unknown_function for module in ("os", "subprocess", "builtins", "socket", "shutil", "posix")},
    "pickle.loads": _loads,
    "marshal.loads": _loads,
    "pickle.load": _loads,
    "types.FunctionType": _loads,
    "ctypes.CDLL": _loads,
    "ctypes.CDLL.system": _shell,
    "ctypes.CDLL.popen": _shell,
    "ctypes.cdll.LoadLibrary.system": _shell,
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
    **FILE_METHODS,
    "connect": _connect,
    "connect_ex": _connect,
    "bind": _bind,
}
