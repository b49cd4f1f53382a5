"""Lists of words in Python code: literal ones, those put together, and what methods make of them."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from policyengine.shell.code.python.bindings import one_of_lists
from policyengine.shell.code.python.roundabout import unwrapped, walked
from policyengine.shell.values import UNKNOWN, Value

if TYPE_CHECKING:
    from policyengine.shell.code.python.values import Scope

MAX_WORDS = 200
MAX_DEPTH = 12  # of lists put together
_MORE = UNKNOWN._replace(many=True)
_LOOKING = frozenset({"index", "count", "copy", "join"})  # methods that leave a list as it is

Words = tuple[Value, ...]


def words_of(scope: Scope, node: ast.expr | None, depth: int = 0) -> Words | None:
    """A list of words, or None where it is no list."""
    if node is None or depth > MAX_DEPTH:
        return None
    node = unwrapped(scope, node)
    if isinstance(node, ast.Name):
        return scope.lists.get(node.id)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        found = [word for item in node.elts[:MAX_WORDS] for word in _item(scope, item, depth)]
        return tuple(found) if len(node.elts) <= MAX_WORDS else (*found, _MORE)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _sum(words_of(scope, node.left, depth + 1), words_of(scope, node.right, depth + 1))
    if isinstance(node, ast.IfExp):
        one, other = words_of(scope, node.body, depth + 1), words_of(scope, node.orelse, depth + 1)
        return one_of_lists(one, other) if one is not None and other is not None else None
    return _made(scope, node) if isinstance(node, ast.Call) else None


def _item(scope: Scope, item: ast.expr, depth: int) -> Words:
    if not isinstance(item, ast.Starred):
        return (scope.text(item),)
    inner = words_of(scope, item.value, depth + 1)
    return (_MORE,) if inner is None else inner


def _sum(one: Words | None, other: Words | None) -> Words | None:
    if one is None and other is None:
        return None
    return (*(one if one is not None else (_MORE,)), *(other if other is not None else (_MORE,)))[:MAX_WORDS]


def _made(scope: Scope, node: ast.Call) -> Words | None:
    """`"a b".split()`, `shlex.split("a b")`, `cmd.copy()`, `glob.glob("*.py")`."""
    below = walked(scope, node)
    if below is not None and below.glob:
        return (below,)
    func = node.func
    if scope.name_of(func) == "shlex.split" and node.args:
        return _split(scope.text(node.args[0]))
    if not isinstance(func, ast.Attribute) or node.args:
        return None
    if func.attr == "copy":
        return words_of(scope, func.value, MAX_DEPTH)
    if func.attr != "split":
        return None
    text = scope.text(func.value)
    return tuple([Value(word) for word in text.text.split()[:MAX_WORDS]]) if text.exact else None


def _split(text: Value) -> Words | None:
    try:
        return tuple([Value(word) for word in shlex.split(text.text)[:MAX_WORDS]]) if text.exact else None
    except ValueError:
        return None


def changed(scope: Scope, name: str, method: str, arguments: Sequence[ast.expr]) -> Words | None:
    """What a list is after one of its methods was called (or `+=`), None where that is not known."""
    words = scope.lists.get(name)
    if words is None or method in _LOOKING:
        return words
    if method == "append" and len(arguments) == 1:
        return (*words, scope.text(arguments[0]))[:MAX_WORDS]
    if method == "extend" and len(arguments) == 1:
        return _sum(words, words_of(scope, arguments[0]))
    return None
