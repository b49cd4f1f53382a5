"""What Python expressions stand for: constant texts, dotted names, and what assignments say about them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from typing import Any

from policyengine.effects import CLEAN, Taint, Taints
from policyengine.shell.code.python.bindings import Bindings, one_of
from policyengine.shell.code.python.decoders import DECODERS, MAX_TEXT
from policyengine.shell.code.python.expressions import EXPRESSIONS, FETCHING, OPAQUE_DECODERS, TEMPORARY, constant
from policyengine.shell.code.python.lists import changed, words_of
from policyengine.shell.code.python.roundabout import plainly, through_dictionary, unwrapped, walked
from policyengine.shell.values import UNKNOWN, Value

MAX_DEPTH = 30  # of an expression whose value is computed
_DECODED: Taints = frozenset({Taint.DECODED})
_FETCHED: Taints = frozenset({Taint.FETCHED})
_ALIASED = frozenset({"eval", "exec", "open", "compile", "__import__", "getattr"})
_OPENING = frozenset({"open", "io.open", "codecs.open", "os.fdopen", "tarfile.open", "zipfile.ZipFile"})
MAX_SCANNED = 300  # nodes of an expression that are looked at for where its value comes from


class Scope:
    """Imports, constant variables, and whether a descriptor was made a standard stream."""

    __slots__ = ("constants", "duplicated", "handles", "lists", "names", "objects", "stars")

    def __init__(self) -> None:
        self.names: Bindings[str] = Bindings()  # local name → dotted name that was imported
        self.constants: Bindings[Value] = Bindings()
        self.lists: Bindings[tuple[Value, ...]] = Bindings()
        self.objects: dict[str, str] = {}  # variable → class or function whose result it holds
        self.handles: dict[str, ast.Call] = {}  # variable → the call that opened the file
        self.stars: list[str] = []  # modules of which all names were imported
        self.duplicated = False

    # -------------------------------------------------------------------------------------------------------- learning
    def learn(self, node: ast.AST) -> None:
        """Take note of imports and assignments."""
        lesson = _LESSONS.get(type(node))
        if lesson is not None:
            lesson(self, node)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            head = alias.name.partition(".")[0]
            self.names[alias.asname or head] = alias.name if alias.asname else head

    def _import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(node.module or "")
            self.names[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"

    def _assignment(self, node: ast.Assign) -> None:
        for target in node.targets:
            self.assign(target, node.value)
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                self.lists.forget(target.value.id)

    def _annotated(self, node: ast.AnnAssign | ast.NamedExpr) -> None:
        if node.value is not None:
            self.assign(node.target, node.value)

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            taint = self.taint_of(node)
            self.constants[node.target.id] = UNKNOWN._replace(taint=taint)
            self._relist(node.target.id, changed(self, node.target.id, "extend", [node.value]))

    def _call(self, node: ast.Call) -> None:
        """A list that a method of its own or somebody else was given may have changed."""
        func = node.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
            self._relist(func.value.id, changed(self, func.value.id, func.attr, node.args))
        for one in node.args if not self.name_of(func) else ():
            if isinstance(one, ast.Name):
                self.lists.forget(one.id)

    def _relist(self, name: str, words: tuple[Value, ...] | None) -> None:
        if words is None:
            self.lists.forget(name)
        elif words is not self.lists.get(name):
            self.lists[name] = words

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.constants[node.name] = UNKNOWN._replace(taint=self.taint_of(node))

    def _with(self, node: ast.With) -> None:
        for item in node.items:
            if isinstance(item.optional_vars, ast.Name):
                self.assign(item.optional_vars, item.context_expr)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """Take note of what a name, or each of a tuple of names, holds from now on."""
        if isinstance(target, ast.Name):
            self._name(target.id, value)
        elif not isinstance(target, ast.Tuple | ast.List):
            return
        elif isinstance(value, ast.Tuple | ast.List) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                self.assign(one, other)
        elif isinstance(value, ast.Call) and self.name_of(value.func) in TEMPORARY:
            for one in target.elts:
                self.assign(one, value)

    def _name(self, name: str, value: ast.expr) -> None:
        self.hold(name, self.text(value), self.words(value))
        self.handles.pop(name, None)
        dotted = self.name_of(value.func) if isinstance(value, ast.Call) else None
        if isinstance(value, ast.Call) and dotted is not None:
            self._result(name, value, dotted)
            return
        self.objects.pop(name, None)
        alias = self.alias_of(value)
        if alias is not None:
            self.names[name] = alias

    def _result(self, name: str, call: ast.Call, dotted: str) -> None:
        self.objects[name] = dotted
        if dotted in _OPENING or dotted.startswith("pathlib."):
            self.handles[name] = call
        if dotted in ("__import__", "importlib.import_module") and call.args:
            module = self.text(call.args[0])
            if plainly(module):
                self.names[name] = module.text

    def alias_of(self, value: ast.expr) -> str | None:
        """The function or module that an expression is another name of."""
        if not isinstance(value, ast.Attribute | ast.Name | ast.Subscript):
            return None
        name = self.name_of(value)
        known = isinstance(value, ast.Name) and value.id in self.names
        return name if name is not None and ("." in name or name in _ALIASED or known) else None

    def hold(self, name: str, text: Value, words: tuple[Value, ...] | None = None) -> None:
        """Let a name hold a text that is known as far as that goes, or a list of such texts."""
        self.names.forget(name)
        self.constants[name] = text
        self._relist(name, words)

    def _iterate(self, node: ast.For | ast.comprehension) -> None:
        looped = unwrapped(self, node.iter)
        below = walked(self, looped)
        if below is not None:
            first = node.target.elts[0] if isinstance(node.target, ast.Tuple) and node.target.elts else node.target
            if isinstance(first, ast.Name):
                self.constants[first.id] = below
                if isinstance(looped, ast.Call) and (self.name_of(looped.func) or "").startswith("pathlib."):
                    self.objects[first.id] = "pathlib.Path"
            return
        if isinstance(node.target, ast.Name):
            values = self.words(node.iter)
            self.hold(node.target.id, one_of(values) if values else UNKNOWN)

    # ----------------------------------------------------------------------------------------------------------- names
    def name_of(self, node: ast.expr) -> str | None:
        """The dotted name of a function: `os.system`, also through imports, `__import__` and constant `getattr`."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        root = self._root(node)
        return None if root is None else _usual(".".join([root, *reversed(parts)]))

    def _root(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self.names.get(node.id) or self.objects.get(node.id) or node.id
        if isinstance(node, ast.Subscript):
            return through_dictionary(self, node)
        if not isinstance(node, ast.Call):
            return None
        called = self.name_of(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else None
        if called in ("__import__", "importlib.import_module", "sys.modules.get") and node.args:
            module = self.text(node.args[0])
            return module.text if plainly(module) else "?"
        if called in ("getattr", "inspect.getattr_static") and len(node.args) > 1:
            owner, name = self.name_of(node.args[0]), self.text(node.args[1])
            return _usual(f"{owner}.{name.text if plainly(name) else '?'}")
        return called

    # ---------------------------------------------------------------------------------------------------------- values
    def text(self, node: ast.expr | None, depth: int = 0) -> Value:
        """The text of an expression, as far as it is constant; bytes count as their Latin-1 text."""
        if node is None or depth > MAX_DEPTH:
            return UNKNOWN
        if isinstance(node, ast.Constant):
            return constant(node.value)
        handler = EXPRESSIONS.get(type(node))
        value = handler(self, node, depth + 1) if handler is not None else UNKNOWN
        if depth == 0 and not value.exact:
            value = value._replace(taint=value.taint | self.taint_of(node))
        return value if len(value.text) + len(value.rest) <= MAX_TEXT else UNKNOWN._replace(taint=value.taint)

    def taint_of(self, node: ast.AST) -> Taints:
        """Where a value comes from, by everything in its expression: decoders, exclusive or, downloads, variables."""
        taint: Taints = CLEAN
        for inner in itertools.islice(ast.walk(node), MAX_SCANNED):
            if isinstance(inner, ast.BitXor):
                taint |= _DECODED
            elif isinstance(inner, ast.Name) and inner.id in self.constants:
                taint |= self.constants[inner.id].taint
            elif isinstance(inner, ast.Call):
                name = self.name_of(inner.func) or ""
                decodes = name in DECODERS or name in OPAQUE_DECODERS
                taint |= _DECODED if decodes else _FETCHED if name.startswith(FETCHING) else CLEAN
        return taint

    def words(self, node: ast.expr | None) -> tuple[Value, ...] | None:
        """A list of constant words, or None where it is no list."""
        return words_of(self, node)

    def truth(self, node: ast.Call, name: str) -> bool:
        """Whether a keyword argument is given and not false."""
        return any(
            keyword.arg == name and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
            for keyword in node.keywords
        )


# Modules that are other names of one, and this very module; a function called by its method.
_SAME = {"posix": "os.", "nt": "os.", "__main__": "", "builtins": "", "__builtins__": ""}


def _usual(name: str) -> str:
    """The usual name of a function that has several."""
    module, dot, rest = name.partition(".")
    if dot and module in _SAME:
        name = _SAME[module] + rest
    return name.removesuffix(".__call__")


_LESSONS: dict[type, Callable[[Scope, Any], None]] = {
    ast.Import: Scope._import,
    ast.ImportFrom: Scope._import_from,
    ast.Assign: Scope._assignment,
    ast.AnnAssign: Scope._annotated,
    ast.NamedExpr: Scope._annotated,
    ast.AugAssign: Scope._augmented,
    ast.Call: Scope._call,
    ast.FunctionDef: Scope._function,
    ast.AsyncFunctionDef: Scope._function,
    ast.For: Scope._iterate,
    ast.comprehension: Scope._iterate,
    ast.With: Scope._with,
}
