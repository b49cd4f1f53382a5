"""What Python expressions stand for: constant texts, dotted names, and what assignments say about them."""

from __future__ import annotations

import ast
import codecs
import itertools
from collections.abc import Callable
from typing import Any

from policyengine.effects import CLEAN, HOLE, Taint, Taints
from policyengine.shell.code.python.bindings import Bindings, one_of, put_into
from policyengine.shell.code.python.decoders import DECODERS, MAX_TEXT, decoded
from policyengine.shell.code.python.roundabout import (
    argument,
    braces,
    either,
    environment,
    operands,
    percent,
    through_dictionary,
    walked,
)
from policyengine.shell.values import UNKNOWN, Value, from_template

LETTER = "\U00010480"  # stands for a hole where the code is parsed: a letter, so that it may be a name
MAX_DEPTH = 30  # of an expression whose value is computed
_DECODED: Taints = frozenset({Taint.DECODED})
_FETCHED: Taints = frozenset({Taint.FETCHED})
_CLASSES = {"Path", "PurePath", "PosixPath"}

_OPAQUE_DECODERS = frozenset(
    {"marshal.loads", "pickle.loads", "codecs.decode", "gzip.decompress", "bz2.decompress", "lzma.decompress"}
)
_SAME = frozenset(
    {
        "str", "bytes", "bytearray", "compile", "shlex.quote", "pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath",
        "os.fspath", "os.path.expanduser", "os.path.abspath", "os.path.realpath", "os.path.normpath",
    }
)  # fmt: skip
_SAME_METHODS = frozenset({"decode", "encode", "strip", "expanduser", "resolve", "absolute", "read", "text", "content"})
_ALIASED = frozenset({"eval", "exec", "open", "compile", "__import__", "getattr"})
_OPENING = frozenset({"open", "io.open", "codecs.open", "os.fdopen", "tarfile.open", "zipfile.ZipFile"})
MAX_SCANNED = 300  # nodes of an expression that are looked at for where its value comes from
_FETCHING = (
    "urllib.request.urlopen",
    "requests.get",
    "requests.post",
    "urllib2.urlopen",
    "httpx.get",
    "urllib.urlopen",
)


class Scope:
    """Imports, constant variables, and whether a descriptor was made a standard stream."""

    __slots__ = ("constants", "duplicated", "handles", "lists", "names", "objects")

    def __init__(self) -> None:
        self.names: Bindings[str] = Bindings()  # local name → dotted name that was imported
        self.constants: Bindings[Value] = Bindings()
        self.lists: Bindings[tuple[Value, ...]] = Bindings()
        self.objects: dict[str, str] = {}  # variable → class or function whose result it holds
        self.handles: dict[str, ast.Call] = {}  # variable → the call that opened the file
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
            self.names[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"

    def _assignment(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._assign(target, node.value)
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                self.lists.forget(target.value.id)

    def _annotated(self, node: ast.AnnAssign | ast.NamedExpr) -> None:
        if node.value is not None:
            self._assign(node.target, node.value)

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            taint = self.taint_of(node)
            self.constants[node.target.id] = UNKNOWN._replace(taint=taint)
            self.lists.forget(node.target.id)

    def _call(self, node: ast.Call) -> None:
        """A list that a method of its own or somebody else was given may have changed."""
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        for one in (owner, *node.args):
            if isinstance(one, ast.Name) and (one is owner or not self.name_of(node.func)):
                self.lists.forget(one.id)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.constants[node.name] = UNKNOWN._replace(taint=self.taint_of(node))

    def _with(self, node: ast.With) -> None:
        for item in node.items:
            if isinstance(item.optional_vars, ast.Name):
                self._assign(item.optional_vars, item.context_expr)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                self._assign(one, other)
            return
        if not isinstance(target, ast.Name):
            return
        name = target.id
        self.names.forget(name)
        self.constants[name] = self.text(value)
        words = self.words(value)
        if words is None:
            self.lists.forget(name)
        else:
            self.lists[name] = words
        dotted = self.name_of(value.func) if isinstance(value, ast.Call) else None
        self.handles.pop(name, None)
        if dotted is not None:
            self.objects[name] = dotted
            if dotted in _OPENING or dotted.startswith("pathlib."):
                self.handles[name] = value  # type: ignore[assignment]  # a call, as it has a function's name
            if dotted in ("__import__", "importlib.import_module") and value.args:  # type: ignore[attr-defined]
                module = self.text(value.args[0])  # type: ignore[attr-defined]
                if module.exact:
                    self.names[name] = module.text
        else:
            self.objects.pop(name, None)
            alias = self.name_of(value) if isinstance(value, ast.Attribute | ast.Name) else None
            if alias is not None and ("." in alias or alias in _ALIASED):
                self.names[name] = alias

    def _iterate(self, node: ast.For | ast.comprehension) -> None:
        below = walked(self, node.iter)
        if below is not None:
            first = node.target.elts[0] if isinstance(node.target, ast.Tuple) and node.target.elts else node.target
            if isinstance(first, ast.Name):
                self.constants[first.id] = below
                if isinstance(node.iter, ast.Call) and (self.name_of(node.iter.func) or "").startswith("pathlib."):
                    self.objects[first.id] = "pathlib.Path"
            return
        if isinstance(node.target, ast.Name):
            values = self.words(node.iter)
            self.constants[node.target.id] = one_of(values) if values else UNKNOWN
            self.lists.forget(node.target.id)

    # ----------------------------------------------------------------------------------------------------------- names
    def name_of(self, node: ast.expr) -> str | None:
        """The dotted name of a function: `os.system`, also through imports, `__import__` and constant `getattr`."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        root = self._root(node)
        return None if root is None else ".".join([root, *reversed(parts)])

    def _root(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self.names.get(node.id) or self.objects.get(node.id) or node.id
        if isinstance(node, ast.Subscript):
            return through_dictionary(self, node)
        if not isinstance(node, ast.Call):
            return None
        called = self.name_of(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else None
        if called in ("__import__", "importlib.import_module") and node.args:
            module = self.text(node.args[0])
            return module.text if module.exact else "?"
        if called == "getattr" and len(node.args) > 1:
            owner, name = self.name_of(node.args[0]), self.text(node.args[1])
            return f"{owner}.{name.text if name.exact else '?'}"
        return called

    # ---------------------------------------------------------------------------------------------------------- values
    def text(self, node: ast.expr | None, depth: int = 0) -> Value:
        """The text of an expression, as far as it is constant; bytes count as their Latin-1 text."""
        if node is None or depth > MAX_DEPTH:
            return UNKNOWN
        if isinstance(node, ast.Constant):
            return _constant(node.value)
        handler = _EXPRESSIONS.get(type(node))
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
                decodes = name in DECODERS or name in _OPAQUE_DECODERS
                taint |= _DECODED if decodes else _FETCHED if name.startswith(_FETCHING) else CLEAN
        return taint

    def words(self, node: ast.expr | None) -> tuple[Value, ...] | None:
        """A list of constant words, or None where it is no list."""
        if isinstance(node, ast.Name):
            return self.lists.get(node.id)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return tuple(
                [
                    self.text(item) if not isinstance(item, ast.Starred) else UNKNOWN._replace(many=True)
                    for item in node.elts
                ]
            )
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "split"
            and not node.args
        ):
            text = self.text(node.func.value)
            return tuple([Value(word) for word in text.text.split()]) if text.exact else None
        return None

    def truth(self, node: ast.Call, name: str) -> bool:
        """Whether a keyword argument is given and not false."""
        return any(
            keyword.arg == name and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
            for keyword in node.keywords
        )


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


def _constant(value: object) -> Value:
    if isinstance(value, str):
        return Value(value) if LETTER not in value else from_template(value.replace(LETTER, HOLE))
    if isinstance(value, bytes):
        return Value(value.decode("latin-1"))
    return Value(str(value)) if isinstance(value, int) and abs(value) < 10**18 else UNKNOWN


def _name(scope: Scope, node: ast.Name, depth: int) -> Value:
    del depth
    return scope.constants.get(node.id, UNKNOWN)


def _joined(scope: Scope, node: ast.JoinedStr, depth: int) -> Value:
    values = [scope.text(item.value if isinstance(item, ast.FormattedValue) else item, depth) for item in node.values]
    return _concatenated(values)


def _concatenated(values: list[Value]) -> Value:
    taint = frozenset().union(*[value.taint for value in values]) if values else CLEAN
    return from_template("".join([value.template for value in values]), taint)


def _binary(scope: Scope, node: ast.BinOp, depth: int) -> Value:
    if isinstance(node.op, ast.Mod):
        return percent(scope.text(node.left, depth), operands(node.right, lambda item: scope.text(item, depth)))
    left, right = scope.text(node.left, depth), scope.text(node.right, depth)
    if isinstance(node.op, ast.Add):
        return _concatenated([left, right])
    if isinstance(node.op, ast.Div):  # pathlib
        return right if right.text.startswith("/") else _concatenated([left, Value("/"), right])
    return UNKNOWN


def _call(scope: Scope, node: ast.Call, depth: int) -> Value:
    name = scope.name_of(node.func) or ""
    home = environment(scope, node)
    if home is not None:
        return home
    first = node.args[0] if node.args else None
    if name in DECODERS:
        return decoded(DECODERS[name], scope.text(first, depth))
    if name in _OPAQUE_DECODERS:
        return _codec(scope, node, depth) if name == "codecs.decode" else Value("", exact=False, taint=_DECODED)
    if name in _SAME:
        return scope.text(first, depth) if first is not None else UNKNOWN
    if name in ("re.sub", "re.subn") and len(node.args) > 2:
        return put_into(scope.text(node.args[2], depth), scope.text(node.args[1], depth))
    if name == "os.path.join":
        return _path_joined([scope.text(argument, depth) for argument in node.args])
    if (
        name == "chr"
        and isinstance(first, ast.Constant)
        and isinstance(first.value, int)
        and 0 <= first.value < 0x110000
    ):
        return Value(chr(first.value))
    if name.startswith(_FETCHING):
        return Value("", exact=False, taint=_FETCHED)
    if isinstance(node.func, ast.Attribute):
        return _method(scope, node, node.func, depth)
    return UNKNOWN


def _method(scope: Scope, node: ast.Call, func: ast.Attribute, depth: int) -> Value:
    owner = scope.text(func.value, depth)
    if func.attr in _SAME_METHODS:
        return owner if owner.exact or owner.taint else UNKNOWN
    if func.attr == "joinpath":
        return _path_joined([owner, *[scope.text(argument, depth) for argument in node.args]])
    if func.attr == "join" and node.args and owner.exact:
        words = scope.words(node.args[0])
        if words is not None and all(word.exact for word in words):
            return Value(owner.text.join(word.text for word in words))
    if func.attr == "replace" and owner.exact and len(node.args) == 2:
        old, new = (scope.text(argument, depth) for argument in node.args)
        if old.exact and new.exact and old.text:
            return owner._replace(text=owner.text.replace(old.text, new.text))
    if func.attr == "replace" and len(node.args) == 2:
        return put_into(owner, scope.text(node.args[1], depth))
    if func.attr == "format":
        return braces(owner, [scope.text(item, depth) for item in node.args])
    return UNKNOWN._replace(taint=owner.taint)


def _path_joined(values: list[Value]) -> Value:
    parts: list[Value] = []
    for value in values:
        if value.exact and value.text.startswith("/"):
            parts = []
        parts += [Value("/"), value] if parts else [value]
    return _concatenated(parts)


def _codec(scope: Scope, node: ast.Call, depth: int) -> Value:
    text, how = (scope.text(argument, depth) for argument in (*node.args, *[None] * 2)[:2])
    if not (text.exact and how.exact and how.text in ("rot13", "rot_13")):
        return Value("", exact=False, taint=_DECODED)
    return Value(codecs.decode(text.text, "rot13"), taint=_DECODED)


def _subscript(scope: Scope, node: ast.Subscript, depth: int) -> Value:
    given = environment(scope, node) or argument(scope, node)
    if given is not None:
        return given
    cut = node.slice
    words, at = scope.words(node.value), _integer(cut) if not isinstance(cut, ast.Slice) else None
    if words and isinstance(at, int) and -len(words) <= at < len(words):
        return words[at]
    owner = scope.text(node.value, depth)
    if not owner.exact or not isinstance(cut, ast.Slice):
        return UNKNOWN._replace(taint=owner.taint)
    lower, upper, step = map(_integer, (cut.lower, cut.upper, cut.step))
    if isinstance(lower, str) or isinstance(upper, str) or isinstance(step, str) or step == 0:
        return UNKNOWN
    return owner._replace(text=owner.text[lower:upper:step])


def _integer(node: ast.expr | None) -> int | str | None:
    if node is None:
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, int) else "?"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else "?"


def _attribute(scope: Scope, node: ast.Attribute, depth: int) -> Value:
    owner = scope.text(node.value, depth)
    return owner if node.attr in _SAME_METHODS and owner.taint else UNKNOWN


_EXPRESSIONS: dict[type, Callable[..., Value]] = {
    ast.IfExp: either,
    ast.BoolOp: either,
    ast.Name: _name,
    ast.JoinedStr: _joined,
    ast.BinOp: _binary,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
}
