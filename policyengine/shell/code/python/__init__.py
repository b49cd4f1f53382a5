"""Python code by its own syntax tree: the calls that touch files, processes, the network or code itself.

Names are followed through imports, assignments of constants and simple string operations; calls of other functions have
no effect of their own, dynamic access to what matters is Opaque.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from policyengine.effects import HOLE
from policyengine.records import NamedTuple
from policyengine.shell.code.acts import LOOKING, Act, Kind
from policyengine.shell.code.python.bindings import FUNCTIONS, blocks, leave, mark
from policyengine.shell.code.python.calls import CALLS, METHODS, PREFIXES
from policyengine.shell.code.python.escapes import Escapes
from policyengine.shell.code.python.expressions import LETTER
from policyengine.shell.code.python.files import Handler
from policyengine.shell.code.python.repeats import Given, Repeats, given_to, unknown_to
from policyengine.shell.code.python.roundabout import handed
from policyengine.shell.code.python.values import Scope
from policyengine.shell.paths import base_name, without_exe
from policyengine.shell.values import Value

MAX_CODE = 64 * 1024  # characters that are parsed
MAX_NODES = 20_000
MAX_NAMES = 20  # of one import
MAX_OPEN = 80  # brackets in brackets: Python's own parser gives up at 200 and this reader before that

__all__ = ["read_python"]


def read_python(text: str) -> list[Act]:
    """What Python code does."""
    if len(text) > MAX_CODE or _nesting(text) > MAX_OPEN:
        return [Act(Kind.OPAQUE, Value(""), ("code too long or too deep to be read",))]
    readable = _ESCAPE.sub(_valid, text) if "\\" in text else text
    readable = readable.replace(HOLE, LETTER)
    try:
        tree = ast.parse(_without_magics(readable))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [Act(Kind.OPAQUE, Value(""), ("not valid Python",))]
    return _Reader(text, tree, exact=readable == text).read(tree)


def is_filled_in(template: str) -> bool:
    """Whether every hole of the code lies in a text, and nothing that the code does depends on it or matters."""
    if len(template) > MAX_CODE or _nesting(template) > MAX_OPEN or "\\" in template:
        return False
    try:
        tree = ast.parse(template.replace(HOLE, LETTER))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    inside = sum(text.count(LETTER) for text in texts)
    return inside == template.count(HOLE) and all(act.kind in LOOKING for act in read_python(template))


_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPABLE = frozenset("\n\r\\'\"abfnrtv01234567xNuU")


def _valid(found: re.Match[str]) -> str:
    """Python warns about unknown escapes, on the standard error of whoever asked; doubled they mean the same."""
    return found[0] if found[1] in _ESCAPABLE else "\\" + found[0]


def _nesting(text: str) -> int:
    depth = deepest = 0
    for character in text:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth -= 1
    return deepest


def _without_magics(text: str) -> str:
    return text if "\n!" not in text and "\n%" not in text and text[:1] not in "!%" else _magics_blanked(text)


def _magics_blanked(text: str) -> str:
    """Notebook lines `!cmd` and `%magic` as calls of a shell, of the same length as far as that goes."""
    lines = [
        f"__import__('os').system({line[1:].strip()!r})" if line[:1] == "!" else "pass" if line[:1] == "%" else line
        for line in text.split("\n")
    ]
    return "\n".join(lines)


class _Block(NamedTuple):
    """Nodes that run or not, or in a function; `mark` says where they began, once they have.

    `given` lets names hold something when it begins; `name` is that of a function that is read at a call.
    """

    nodes: Sequence[ast.AST]
    function: bool
    given: Given | None = None
    name: str = ""
    mark: tuple[int, int, int] | None = None


class _Reader:
    """One pass over a tree, statements in order; loops over known values are read once for each of them.

    Functions that are only called by their name are read where they are called, others as if they were.
    """

    def __init__(self, text: str, tree: ast.Module, *, exact: bool) -> None:
        self.acts: list[Act] = []
        self.scope = Scope()
        self.escapes = Escapes()
        self.repeats = Repeats(tree, text)
        self.entered: list[str] = []  # functions that are being read at a call
        self.starts = _line_starts(text)
        self.located = exact and text.isascii()

    def read(self, tree: ast.Module) -> list[Act]:
        nodes = 0
        pending: list[ast.AST | _Block] = list(reversed(tree.body))
        while pending:
            node = pending.pop()
            if isinstance(node, _Block):
                self._enter_or_leave(node, pending)
                continue
            nodes += 1
            if nodes > MAX_NODES:
                self.acts.append(Act(Kind.OPAQUE, Value(""), ("too much code to be read",)))
                break
            self.scope.learn(node)
            self.acts += self.escapes.of(node, self.scope)
            if isinstance(node, ast.Call):
                self._call(node)
                self._hand(node)
                pending += self._own(node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self.acts += _imported(node)
            elif isinstance(node, ast.While) and _forks_on(node, self.scope):
                self.acts.append(Act(Kind.EXHAUST, more=("fork-bomb",)))
            pending.extend(reversed(self._parts(node)))
        self._driven()
        texts = {act.value.text for act in self.acts if act.words and act.kind in _WRITING}
        return [act for act in self.acts if act.words or act.kind not in _WRITING or act.value.text not in texts]

    def _enter_or_leave(self, block: _Block, pending: list[ast.AST | _Block]) -> None:
        if block.mark is not None:
            leave(self.scope, block.mark, function=block.function)
            if block.name:
                self.entered.remove(block.name)
            return
        pending.append(block._replace(mark=mark(self.scope)))
        if block.name:
            self.entered.append(block.name)
        if block.given is not None:
            block.given(self.scope)
        pending.extend(reversed(block.nodes))

    def _handler(self, name: str) -> Handler | None:
        handler = CALLS.get(name) or next(
            (CALLS[full] for star in self.scope.stars if (full := f"{star}.{name}") in CALLS), None
        )
        return handler or next((make for start, make in PREFIXES.items() if name.startswith(start)), None)

    def _hand(self, node: ast.Call) -> None:
        for made in handed(self.scope, node, CALLS):
            self.escapes.accounted(made.func)
            self._call(made)

    def _own(self, node: ast.Call) -> list[_Block]:
        """The body of a function of the code's own, with what this call gives it."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        function = self.repeats.own.get(name)
        if function is None:
            return []
        if name not in self.entered and self.repeats.afford(function.body, 1):
            self.escapes.accounted(*node.args, *[keyword.value for keyword in node.keywords])
            return [_Block(function.body, _is_closed(function.body), given_to(self.scope, function, node), name)]
        if name in self.repeats.read:
            return []
        self.repeats.read.add(name)
        return [_Block(function.body, _is_closed(function.body), unknown_to(function))]

    def _call(self, node: ast.Call) -> None:
        name = self.scope.name_of(node.func)
        found: list[Act] = []
        if name is not None:
            handler = self._handler(name)
            if handler is not None:
                found = handler(node, self.scope)
            elif name[:1] == "?":
                found = [Act(Kind.OPAQUE, more=("which function is called is not known",))]
        if not found and isinstance(node.func, ast.Attribute):
            method = METHODS.get(node.func.attr)
            if method is not None and (name is None or name not in CALLS):
                found = method(node, self.scope)
        start, end = self._offsets(node)
        self.acts += [act._replace(start=start, end=end) for act in found]

    def _parts(self, node: ast.AST) -> list[ast.AST | _Block]:
        """The children of a node, those together that run or not, or several times."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and self.repeats.own.get(node.name) is node:
            return [node.args]
        children = _children(node)
        if isinstance(node, FUNCTIONS):
            return [_Block(children, _is_closed(children))]
        if isinstance(node, _COMPREHENSIONS) and len(node.generators) == 1:
            made = [child for child in children if not isinstance(child, ast.comprehension)]
            rounds = self.repeats.rounds(self.scope, node.generators[0], made)
            return [node.generators[0], *[_Block(made, False, given) for given in rounds]] if rounds else [*children]
        inside = blocks(node)
        return _in_blocks(node, children, inside, self._rounds(node)) if inside else [*children]

    def _rounds(self, node: ast.AST) -> list[Given]:
        if not isinstance(node, ast.For):
            return []
        self.escapes.accounted(*node.iter.elts if isinstance(node.iter, ast.List | ast.Tuple) else ())
        return self.repeats.rounds(self.scope, node, node.body)

    def _offsets(self, node: ast.Call) -> tuple[int, int]:
        last = node.end_lineno or node.lineno
        if not self.located:  # columns are counted in bytes
            return 0, 0
        if last > len(self.starts):
            return 0, 0
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[last - 1] + (node.end_col_offset or 0)

    def _driven(self) -> None:
        """A connection that becomes a shell's input, or beside which unknown commands run: the peer gives them."""
        unknown = any(
            (act.kind in (Kind.SHELL, Kind.CODE) and not act.value.exact)
            or (act.kind is Kind.COMMAND and act.words and (not act.words[0].exact or _is_open_shell(act.words)))
            for act in self.acts
        )
        if not (self.scope.duplicated or unknown):
            return
        for act in list(self.acts):
            if act.kind in (Kind.CONNECT, Kind.LISTEN):
                self.acts.append(act._replace(kind=Kind.DRIVEN))


def _is_open_shell(words: Sequence[Value]) -> bool:
    """A shell that is given nothing to run takes its commands from what is written to it."""
    name = without_exe(base_name(words[0].text.replace("\\", "/"))).lower()
    return name in _SHELLS and all(word.text[:1] in ("-", "/") and word.text[1:2] != "c" for word in words[1:])


_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "cmd", "powershell", "pwsh"})


def _imported(node: ast.Import | ast.ImportFrom) -> list[Act]:
    """The files that an import runs, if the project has them: `a.b` is `a/b.py`."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif node.module:
        names = [node.module, *[f"{node.module}.{alias.name}" for alias in node.names[:MAX_NAMES]]]
    else:
        names = [alias.name for alias in node.names[:MAX_NAMES]]
    return [Act(Kind.MODULE, Value(name.replace(".", "/")), ("python",)) for name in names]


_WRITING = (Kind.WRITE, Kind.APPEND)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _in_blocks(
    node: ast.AST, children: Sequence[ast.AST], inside: Sequence[Sequence[ast.AST]], rounds: Sequence[Given]
) -> list[ast.AST | _Block]:
    apart = {id(inner) for block in inside for inner in block}
    parts: list[ast.AST | _Block] = [child for child in children if id(child) not in apart]
    at = len(parts) - len(getattr(node, "handlers", ()))
    new = [_Block(block, False) for block in inside]
    first = [new[0]._replace(given=given) for given in rounds] or new[:1]
    return [*parts[:at], *first, *parts[at:], *new[1:]]


def _is_closed(nodes: Sequence[ast.AST]) -> bool:
    """Whether what a function assigns is its own."""
    return not any(isinstance(child, ast.Global | ast.Nonlocal) for child in nodes)


def _children(node: ast.AST) -> list[ast.AST]:
    """What is evaluated in a node, in that order: the loops of a comprehension before what it makes.

    What has no fields (operators, `Load`) does nothing by itself, and is half of the nodes.
    """
    children: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)  # as `ast.iter_fields` does, in half the time
        if isinstance(value, ast.AST):
            if value._fields:
                children.append(value)
        elif isinstance(value, list):
            children += [child for child in value if isinstance(child, ast.AST) and child._fields]
    if isinstance(node, _COMPREHENSIONS):
        children.sort(key=lambda child: not isinstance(child, ast.comprehension))
    return children


def _forks_on(node: ast.While, scope: Scope) -> bool:
    """`while True: os.fork()`."""
    if not (isinstance(node.test, ast.Constant) and node.test.value):
        return False
    return any(
        isinstance(item, ast.Expr) and isinstance(item.value, ast.Call) and scope.name_of(item.value.func) == "os.fork"
        for item in node.body
    )


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for at, character in enumerate(text):
        if character == "\n":
            starts.append(at + 1)
    return starts
