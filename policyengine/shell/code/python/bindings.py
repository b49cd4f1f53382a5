"""What names stand for at one place of Python code: branches may have assigned it, functions keep it to themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Protocol, TypeVar

from policyengine.effects import HOLE
from policyengine.shell.values import UNKNOWN, Value

MAX_SEVERAL = 4096  # characters of all the texts of which a value is one

Bound = TypeVar("Bound")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_BLOCKS = ("body", "orelse", "finalbody")
_BRANCHING = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.ExceptHandler, ast.match_case)


class Bindings(dict[str, Bound]):
    """A dictionary that knows what its entries held before."""

    def __init__(self) -> None:
        super().__init__()
        self.trail: list[tuple[str, Bound | None]] = []

    def __setitem__(self, name: str, value: Bound) -> None:
        self.trail.append((name, self.get(name)))
        super().__setitem__(name, value)

    def forget(self, name: str) -> None:
        """Remove an entry, if there is one."""
        if name in self:
            self.trail.append((name, self.pop(name)))

    def undo(self, mark: int) -> None:
        """Make everything what it was when the trail had that length."""
        while len(self.trail) > mark:
            name, value = self.trail.pop()
            if value is None:
                self.pop(name, None)
            else:
                super().__setitem__(name, value)

    def changed(self, mark: int) -> Iterator[tuple[str, Bound]]:
        """What entries held that were changed since then, those that were there."""
        before: dict[str, Bound | None] = {}
        for name, value in self.trail[mark:]:
            before.setdefault(name, value)
        return ((name, value) for name, value in before.items() if value is not None)


class Names(Protocol):
    """What is known at one place: imported names, values of variables, words of lists."""

    names: Bindings[str]
    constants: Bindings[Value]
    lists: Bindings[tuple[Value, ...]]


def mark(known: Names) -> tuple[int, int, int]:
    """Where a function or a block begins."""
    return len(known.names.trail), len(known.constants.trail), len(known.lists.trail)


def leave(known: Names, began: tuple[int, int, int], *, function: bool) -> None:
    """It has ended: what a function assigned is gone, what a block assigned may have been or not."""
    names, constants, lists = began
    if function:
        known.names.undo(names)
        known.constants.undo(constants)
        known.lists.undo(lists)
        return
    for name, value in known.constants.changed(constants):
        known.constants[name] = one_of([value, known.constants.get(name, UNKNOWN)])
    for name, words in known.lists.changed(lists):
        if name in known.lists:
            known.lists[name] = one_of_lists(words, known.lists[name])


def blocks(node: ast.AST) -> Sequence[Sequence[ast.AST]]:
    """The statements of a node that run or not, block by block."""
    if not isinstance(node, _BRANCHING):
        return ()
    return [block for name in _BLOCKS if (block := getattr(node, name, None))]


def one_of(values: Sequence[Value]) -> Value:
    """What is known of a value that is one of these."""
    distinct = tuple(dict.fromkeys(value._replace(span=None) for value in values))
    if len(distinct) == 1:
        return distinct[0]
    texts = dict.fromkeys(text for value in distinct for text in value.template.split("\n") if text != HOLE)
    taint = frozenset().union(*[value.taint for value in distinct])
    return Value("", exact=False, taint=taint, rest="\n".join(["", *texts])[:MAX_SEVERAL])


def one_of_lists(one: Sequence[Value], other: Sequence[Value]) -> tuple[Value, ...]:
    """What is known of a list that is one of two."""
    more = UNKNOWN._replace(many=True)
    return tuple([one_of([a, b]) if a and b else more for a, b in zip_longest(one, other)])


def put_into(owner: Value, put: Value) -> Value:
    """A text that is not known, into which another one is put."""
    rest = f"{owner.rest}\n{put.template}\n{HOLE}"[:MAX_SEVERAL]
    return Value("", exact=False, taint=owner.taint | put.taint, rest=rest)
