"""Functions and modules that matter, where they go a way on which this reader does not follow them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.code.python.calls import CALLS, PREFIXES
from policyengine.shell.code.python.values import Scope
from policyengine.shell.values import UNKNOWN

# Modules that hold what starts programs, deletes, or reaches the interpreter.
_MODULES = frozenset({"os", "posix", "subprocess", "shutil", "builtins", "pty", "ctypes"})
_STARTING = ("os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn", "os.remove", "os.unlink", "os.rmdir",
             "subprocess.", "shutil.rmtree", "pty.spawn", "exec", "eval", "builtins.exec", "builtins.eval")  # fmt: skip
# Ways round the names of things (Python data model 3.2; the usual escapes from sandboxes).
_INNER = frozenset(
    {"__subclasses__", "__globals__", "__builtins__", "__getattribute__", "__code__", "f_globals", "f_builtins"}
)
# Functions that only look at what they are given, or put something in its place for a while.
_LOOKING = frozenset(
    {
        "print", "repr", "str", "id", "type", "help", "dir", "vars", "hasattr", "getattr", "setattr", "delattr",
        "callable", "isinstance", "issubclass", "len", "bool", "hash",
        "inspect.getsource", "inspect.signature", "inspect.getfile",
        "inspect.getmembers", "inspect.getdoc", "inspect.getsourcefile", "inspect.isfunction", "importlib.reload",
    }
)  # fmt: skip
_PATCHING = frozenset({"object", "setattr", "delattr", "setitem", "multiple"})  # methods of `mock.patch`, `monkeypatch`

_NOTHING: Sequence[Act] = ()


class Escapes:
    """Mentions of what matters that were not accounted for, as the nodes come by: parents before their parts."""

    def __init__(self) -> None:
        self.seen: set[int] = set()  # nodes whose meaning somebody else has found

    def accounted(self, *nodes: ast.AST | None) -> None:
        """Take note that these nodes are understood."""
        self.seen.update(map(id, nodes))

    def of(self, node: ast.AST, scope: Scope) -> Sequence[Act]:
        """What the node lets go."""
        kind = type(node)
        if kind is ast.Call or kind in _PARTS:
            self.seen.update(map(id, _followed(node, scope)))
        if kind is not ast.Name and kind is not ast.Attribute:
            return _NOTHING
        return self._mentioned(node, scope)  # type: ignore[arg-type]  # one of those two

    def _mentioned(self, node: ast.Name | ast.Attribute, scope: Scope) -> Sequence[Act]:
        if not isinstance(node.ctx, ast.Load):
            return _NOTHING
        if isinstance(node, ast.Attribute):
            if node.attr in _INNER:
                return [Act(Kind.OPAQUE, UNKNOWN, (f"`{node.attr}` reaches everything",))]
            if _module_of(node.value, scope) in _MODULES:
                return [Act(Kind.OPAQUE, UNKNOWN, (f"what `{node.attr}` takes out of a module is not known",))]
            self.seen.add(id(node.value))
        if id(node) in self.seen:
            return _NOTHING
        name = scope.name_of(node) or ""
        if name in _MODULES and (isinstance(node, ast.Attribute) or node.id in scope.names):
            return [Act(Kind.OPAQUE, UNKNOWN, (f"where the module `{name}` goes is not known",))]
        if name.startswith(_STARTING) and (name in CALLS or name.startswith(tuple(PREFIXES))):
            return [Act(Kind.OPAQUE, UNKNOWN, (f"where the function `{name}` goes is not known",))]
        return _NOTHING


def _module_of(node: ast.expr, scope: Scope) -> str | None:
    """The module whose dictionary this is: `os.__dict__`, `vars(os)`."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return scope.name_of(node.value)
    is_vars = isinstance(node, ast.Call) and node.args and scope.name_of(node.func) == "vars"
    return scope.name_of(node.args[0]) if is_vars and isinstance(node, ast.Call) else None


def _followed(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Parts of a node in which a mention means nothing by itself, or is followed."""
    if isinstance(node, ast.Call):
        yield node.func
        name = scope.name_of(node.func) or ""
        if name in _LOOKING or (isinstance(node.func, ast.Attribute) and node.func.attr in _PATCHING):
            yield from node.args
        return
    parts = _PARTS.get(type(node))
    for part in parts(node) if parts is not None else ():
        if part is not None:
            yield from ast.walk(part) if isinstance(node, _ANNOTATED) else (part,)


def _assigned(node: ast.Assign) -> list[ast.expr]:
    target = node.targets[0]
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        return node.value.elts
    return [node.value] if all(isinstance(target, ast.Name) for target in node.targets) else []


_ANNOTATED = (ast.arg, ast.FunctionDef, ast.AsyncFunctionDef, ast.ExceptHandler)
_PARTS: dict[type, Callable[..., Sequence[ast.AST | None]]] = {
    ast.Assign: _assigned,
    ast.AnnAssign: lambda node: [node.annotation, node.value],
    ast.Compare: lambda node: [node.left, *node.comparators],
    ast.Subscript: lambda node: [node.value],
    ast.Expr: lambda node: [node.value],
    ast.arg: lambda node: [node.annotation],
    ast.FunctionDef: lambda node: [node.returns],
    ast.AsyncFunctionDef: lambda node: [node.returns],
    ast.ExceptHandler: lambda node: [node.type],
}
