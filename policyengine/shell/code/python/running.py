"""Calls of Python's library, and of common packages, that run code or commands which they are given as texts."""

from __future__ import annotations

import ast

from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.code.python.files import Handler, argument_of, on
from policyengine.shell.code.python.values import Scope
from policyengine.shell.values import Value


def _code(at: int, *names: str) -> Handler:
    """A statement as text; what is a function is read where it is defined."""

    def handler(node: ast.Call, scope: Scope) -> list[Act]:
        given = argument_of(node, at, *names)
        value = scope.text(given)
        function = isinstance(given, ast.Lambda | ast.Attribute) or (
            isinstance(given, ast.Name) and given.id not in scope.objects
        )
        if given is None or (function and not (value.text or value.rest)):
            return []
        return [Act(Kind.CODE, value, ("python",))]

    return handler


def _timed(node: ast.Call, scope: Scope) -> list[Act]:
    """`timeit.timeit(stmt, setup)`."""
    return [act for handler in (_code(1, "setup"), _code(0, "stmt")) for act in handler(node, scope)]


def _browser(node: ast.Call, scope: Scope) -> list[Act]:
    """`webbrowser.get("cmd %s")`: a command for the address; one word names a browser that is registered."""
    words = scope.words(argument_of(node, 0, "using", "name"))
    if words is not None:
        return [Act(Kind.COMMAND, words=words)]
    value = scope.text(argument_of(node, 0, "using", "name"))
    command = value._replace(text=value.text.replace("%s", "about:blank"))
    return [Act(Kind.SHELL, command)] if " " in value.text or not value.exact else []


def _read_any(node: ast.Call, scope: Scope) -> list[Act]:
    """Readers that take a path or an address."""
    value = scope.text(argument_of(node, 0, "filepath_or_buffer", "path", "io", "filename", "fname", "dotenv_path"))
    return [Act(Kind.FETCH if "://" in value.text else Kind.READ, value)] if node.args or node.keywords else []


def _settings(node: ast.Call, scope: Scope) -> list[Act]:
    """`dotenv_values()` reads `.env` unless another file is named."""
    return _read_any(node, scope) or [Act(Kind.READ, Value(".env"))]


def _of_notebook(node: ast.Call, scope: Scope) -> list[Act]:
    """`get_ipython().run_line_magic("sx", "ls")`, `run_cell_magic("bash", "", "ls")`."""
    return [Act(Kind.SHELL, scope.text(node.args[-1]))] if node.args else []


_IPYTHON = "get_ipython."
RUNNING: dict[str, Handler] = {
    "timeit.timeit": _timed,
    "timeit.repeat": _timed,
    "timeit.Timer": _timed,
    **{f"{module}.{name}": _code(0) for module in ("cProfile", "profile") for name in ("run", "runctx")},
    **{f"{module}.Profile.{name}": _code(0) for module in ("cProfile", "profile") for name in ("run", "runctx")},
    "pdb.run": _code(0),
    "pdb.runeval": _code(0),
    "bdb.Bdb.run": _code(0),
    "trace.Trace.run": _code(0),
    "trace.Trace.runctx": _code(0),
    **{
        f"code.{made}.{name}": _code(0)
        for made in ("InteractiveInterpreter", "InteractiveConsole")
        for name in ("runsource", "runcode", "push")
    },
    f"{_IPYTHON}system": on(Kind.SHELL, 0),
    f"{_IPYTHON}getoutput": on(Kind.SHELL, 0),
    f"{_IPYTHON}run_cell": _code(0),
    f"{_IPYTHON}ex": _code(0),
    f"{_IPYTHON}ev": _code(0),
    f"{_IPYTHON}run_line_magic": _of_notebook,
    f"{_IPYTHON}run_cell_magic": _of_notebook,
    "webbrowser.get": _browser,
    "webbrowser.GenericBrowser": _browser,
    "webbrowser.BackgroundBrowser": _browser,
    "pexpect.spawn": on(Kind.SHELL, 0),
    "pexpect.run": on(Kind.SHELL, 0),
    "invoke.run": on(Kind.SHELL, 0),
    "importlib.util.spec_from_file_location": on(Kind.SCRIPT, 1, "python"),
    "dotenv.dotenv_values": _settings,
    "dotenv.get_key": _read_any,
    "linecache.getline": _read_any,
    "linecache.getlines": _read_any,
    "configparser.ConfigParser.read": _read_any,
    "tarfile.open.add": _read_any,
    "zipfile.ZipFile.write": _read_any,
    **{f"pandas.read_{form}": _read_any for form in ("csv", "table", "json", "excel", "parquet", "pickle", "fwf")},
    **{f"numpy.{name}": _read_any for name in ("loadtxt", "genfromtxt", "fromfile", "load")},
}
