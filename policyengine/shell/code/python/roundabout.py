"""Functions that are reached another way than by name: through the dictionaries of modules, or handed to others."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from policyengine.shell.code.acts import ARGUMENT
from policyengine.shell.code.python.bindings import one_of
from policyengine.shell.values import UNKNOWN, Value

HOME = Value("~")  # a home directory; whoever places paths expands it
_SCOPES = frozenset({"globals", "locals", "vars"})
_HOMES = frozenset({"HOME", "USERPROFILE"})


class Named(Protocol):
    """What a scope knows of names and texts."""

    def name_of(self, node: ast.expr) -> str | None:
        """The dotted name of a function or module."""

    def text(self, node: ast.expr | None, depth: int = 0) -> Value:
        """The text of an expression."""


def through_dictionary(scope: Named, node: ast.Subscript) -> str | None:
    """`os.__dict__["system"]`, `vars(os)["system"]`, `sys.modules["os"]`, `globals()["eval"]`; `os.?` for any key."""
    owner = node.value
    key = scope.text(node.slice)
    name = key.text if plainly(key) else "?"
    if isinstance(owner, ast.Attribute) and owner.attr == "__dict__":
        module = scope.name_of(owner.value)
        return None if module is None else f"{module}.{name}"
    if isinstance(owner, ast.Call) and scope.name_of(owner.func) in _SCOPES:
        module = scope.name_of(owner.args[0]) if owner.args else None
        return f"{module}.{name}" if module is not None else name
    return name if scope.name_of(owner) in ("sys.modules", "__builtins__") else None


def plainly(value: Value) -> bool:
    """Whether a text is written out: neither unknown nor an argument that somebody else gives."""
    return value.exact and "\0" not in value.text


_UNWRAPPED = frozenset({"sorted", "list", "tuple", "set", "reversed", "iter"})


def unwrapped(scope: Named, node: ast.expr) -> ast.expr:
    """The list that is only sorted, copied or turned around."""
    while isinstance(node, ast.Call) and node.args and scope.name_of(node.func) in _UNWRAPPED:
        node = node.args[0]
    return node


def handed(scope: Named, node: ast.Call, known: Mapping[str, object]) -> Iterator[ast.Call]:
    """Calls that others make of what they are given: `map(os.system, texts)`, `Thread(target=os.system, args=…)`."""
    given = next((keyword.value for keyword in node.keywords if keyword.arg == "args"), None)
    places = [(argument, node.args[at + 1 :]) for at, argument in enumerate(node.args)]
    places += [(keyword.value, []) for keyword in node.keywords if keyword.arg in ("target", "func", "key", "function")]
    for function, rest in places:
        if not isinstance(function, ast.Attribute | ast.Subscript | ast.Name):
            continue
        name = scope.name_of(function)
        if name is None or name not in known or ("." not in name and name not in ("exec", "eval")):
            continue
        following = [given] if given is not None else rest
        first = following[0] if following else None
        groups = [[item] for item in first.elts] if isinstance(first, ast.List | ast.Tuple | ast.Set) else [following]
        for group in groups:
            yield ast.copy_location(ast.Call(func=function, args=list(group), keywords=[]), node)


def environment(scope: Named, node: ast.expr) -> Value | None:
    """`os.environ["HOME"]`, `os.getenv("HOME")`, `Path.home()`: a home directory."""
    if isinstance(node, ast.Subscript):
        return HOME if scope.name_of(node.value) == "os.environ" and scope.text(node.slice).text in _HOMES else None
    if not isinstance(node, ast.Call):
        return None
    name = scope.name_of(node.func)
    if name in ("pathlib.Path.home", "pathlib.PosixPath.home"):
        return HOME
    if name in ("os.getenv", "os.environ.get") and node.args and scope.text(node.args[0]).text in _HOMES:
        return HOME
    return None


def walked(scope: Named, node: ast.expr) -> Value | None:
    """What a loop over the files of a directory gives: some path below it."""
    if not isinstance(node, ast.Call):
        return None
    name = scope.name_of(node.func) or ""
    if name in ("os.walk", "os.fwalk", "os.scandir") and node.args:
        top = scope.text(node.args[0])
    elif name in ("glob.glob", "glob.iglob") and node.args:
        pattern = scope.text(node.args[0])
        return pattern._replace(glob=True) if plainly(pattern) else Value(pattern.text.partition("*")[0], exact=False)
    elif isinstance(node.func, ast.Attribute) and node.func.attr in ("iterdir", "glob", "rglob"):
        top = scope.text(node.func.value)
        pattern = scope.text(node.args[0]) if node.args else UNKNOWN
        if node.func.attr != "iterdir" and plainly(top) and plainly(pattern):
            between = "/**/" if node.func.attr == "rglob" else "/"
            return Value(f"{top.text or '.'}{between}{pattern.text}", glob=True)
    else:
        return None
    return Value(top.text + "/", exact=False, taint=top.taint) if top.exact and top.text else None


def percent(left: Value, right: list[Value]) -> Value:
    """`"%s" % x`, for texts and whole numbers without widths."""
    pieces = left.text.split("%")
    if not left.exact or len(pieces) - 1 != len(right) or any(piece[:1] not in ("s", "d") for piece in pieces[1:]):
        return Value(pieces[0], exact=False, taint=left.taint)
    return _filled(pieces[0], [(value, piece[1:]) for value, piece in zip(right, pieces[1:], strict=True)])


def braces(left: Value, right: list[Value]) -> Value:
    """`"{}".format(x)`, for fields without names and widths."""
    pieces = left.text.split("{}")
    if not left.exact or len(pieces) - 1 != len(right) or any("{" in piece or "}" in piece for piece in pieces):
        return Value(left.text.partition("{")[0], exact=False, taint=left.taint)
    return _filled(pieces[0], list(zip(right, pieces[1:], strict=True)))


def _filled(start: str, rest: list[tuple[Value, str]]) -> Value:
    text = [start]
    for value, after in rest:
        text.append(value.text)
        if not value.exact:
            return Value("".join(text), exact=False, taint=value.taint)
        text.append(after)
    return Value("".join(text), taint=frozenset().union(*[value.taint for value, _ in rest]))


def operands(node: ast.expr, text: Callable[[ast.expr], Value]) -> list[Value]:
    """What stands behind `%`: the members of a tuple, or one value."""
    return [text(item) for item in node.elts] if isinstance(node, ast.Tuple) else [text(node)]


def argument(scope: Named, node: ast.Subscript) -> Value | None:
    """`sys.argv[1]`: an argument that whoever started the code knows."""
    if scope.name_of(node.value) != "sys.argv":
        return None
    cut = node.slice
    number = cut.value if isinstance(cut, ast.Constant) and isinstance(cut.value, int) else -1
    return Value(f"{ARGUMENT}{number}") if number > 0 else UNKNOWN


def either(scope: Named, node: ast.IfExp | ast.BoolOp, depth: int) -> Value:
    """`a if x else b`, `a or b`: one of several."""
    choices = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
    return one_of([scope.text(choice, depth) for choice in choices])
