"""Python code that runs several times: loops over what is written out, and functions of the code's own."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from policyengine.shell.code.python.lists import words_of
from policyengine.shell.code.python.roundabout import unwrapped
from policyengine.shell.code.python.values import Scope
from policyengine.shell.values import UNKNOWN, Value

MAX_ROUNDS = 16  # of a loop that is read once for each of its values
MAX_AGAIN = 1500  # nodes that are read once more for a further round or call

Given = Callable[[Scope], None]  # what names hold when a round or a call begins
Own = dict[str, ast.FunctionDef | ast.AsyncFunctionDef]


class Repeats:
    """Which functions are read where they are called, and how much may still be read once more."""

    def __init__(self, tree: ast.Module, text: str) -> None:
        self.own = _own(tree) if "def" in text else {}
        self.left = MAX_AGAIN
        self.read: set[str] = set()  # functions that were read with arguments that are not known

    def afford(self, nodes: Sequence[ast.AST], times: int) -> bool:
        """Whether that may be read so many times more; it counts, then."""
        if times > 0 and self.left > 0:
            size = sum(1 for node in nodes for _ in itertools.islice(ast.walk(node), self.left))
            self.left -= size * times
        return times == 0 or self.left > 0

    def rounds(self, scope: Scope, node: ast.For | ast.comprehension, body: Sequence[ast.AST]) -> list[Given]:
        """What the loop's names hold in each round; nothing where that is not known, or too much."""
        found = _rounds(scope, node.target, unwrapped(scope, node.iter))
        return found if found and len(found) <= MAX_ROUNDS and self.afford(body, len(found) - 1) else []


def _rounds(scope: Scope, target: ast.expr, looped: ast.expr) -> list[Given]:
    if isinstance(looped, ast.List | ast.Tuple | ast.Set):
        if any(isinstance(item, ast.Starred) for item in looped.elts):
            return []
        return [partial(Scope.assign, target=target, value=item) for item in looped.elts]
    if isinstance(looped, ast.Call) and isinstance(looped.func, ast.Attribute) and looped.func.attr == "items":
        owner = looped.func.value
        if isinstance(owner, ast.Dict) and None not in owner.keys:
            pairs = zip(owner.keys, owner.values, strict=True)
            items = [ast.Tuple([key, value]) for key, value in pairs if key is not None]
            return [partial(Scope.assign, target=target, value=item) for item in items]
    if not isinstance(target, ast.Name):
        return []
    words = _numbers(scope, looped) or words_of(scope, looped) or ()
    return [partial(Scope.hold, name=target.id, text=word) for word in words if not (word.many or word.glob)]


def _numbers(scope: Scope, looped: ast.expr) -> list[Value]:
    if not (isinstance(looped, ast.Call) and scope.name_of(looped.func) == "range"):
        return []
    given = [item.value for item in looped.args if isinstance(item, ast.Constant) and isinstance(item.value, int)]
    if not 0 < len(given) == len(looped.args) <= 3 or (len(given) == 3 and given[2] == 0):
        return []
    return [Value(str(number)) for number in itertools.islice(range(*given), MAX_ROUNDS + 1)]


# -------------------------------------------------------------------------------------------------------- own functions
def _own(tree: ast.Module) -> Own:
    """Functions that are only ever called by their name: they are read at their calls, with what these give them."""
    defined: Counter[str] = Counter()
    used: Counter[str] = Counter()
    called: Counter[str] = Counter()
    methods: set[int] = set()
    functions: Own = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            methods |= {id(inner) for inner in node.body}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            defined[node.name] += 1
            if not node.decorator_list and id(node) not in methods:
                functions[node.name] = node
        elif isinstance(node, ast.Name):
            used[node.id] += 1
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called[node.func.id] += 1
    return {name: node for name, node in functions.items() if defined[name] == 1 and 0 < called[name] == used[name]}


def given_to(scope: Scope, function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call) -> Given:
    """What the parameters of a function hold in a call."""
    held = [(name, _what(scope, node)) for name, node in _arguments(function.args, call)]

    def enter(inside: Scope) -> None:
        for name, (text, words, alias) in held:
            inside.objects.pop(name, None)
            inside.handles.pop(name, None)
            inside.hold(name, text, words)
            if alias is not None:
                inside.names[name] = alias

    return enter


def _what(scope: Scope, node: ast.expr | None) -> tuple[Value, tuple[Value, ...] | None, str | None]:
    alias = scope.alias_of(node) if node is not None else None
    return scope.text(node), scope.words(node), alias


def _arguments(parameters: ast.arguments, call: ast.Call) -> Iterator[tuple[str, ast.expr | None]]:
    names = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    first = len(names) - len(parameters.defaults)
    found: dict[str, ast.expr | None] = dict.fromkeys(names)
    found |= dict(zip(names[first:], parameters.defaults, strict=True))
    found |= {one.arg: default for one, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)}
    starred = any(isinstance(item, ast.Starred) for item in call.args)
    found |= dict.fromkeys(names) if starred else dict(zip(names, call.args, strict=False))
    known = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    found |= {name: value for name, value in known.items() if name in found}
    if parameters.vararg is not None:
        found[parameters.vararg.arg] = ast.Tuple(call.args if starred else call.args[len(names) :])
    if parameters.kwarg is not None:
        found[parameters.kwarg.arg] = None
    yield from found.items()


def unknown_to(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Given:
    """The parameters of a function in some call."""
    parameters = function.args
    given = [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs, parameters.vararg, parameters.kwarg]

    def enter(inside: Scope) -> None:
        for parameter in given:
            if parameter is not None:
                inside.hold(parameter.arg, UNKNOWN)

    return enter
