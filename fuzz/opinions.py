"""Second opinions: where bashlex and tree-sitter-bash read a text, whether they see the commands that our reader sees.

Both read less than bash does and bash remains the judge: a marker that is known to be a command and that a second
opinion sees while our reader does not is a finding; the rest is counted.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_MARKER = re.compile(r"[mdev]\d+")
Opinion = Callable[[str], frozenset[str]]


@dataclass
class Comparison:
    """What one second opinion made of some texts.

    `agreed`: the same commands as ours; `fewer`: it lacks some that the grammar knows of; `mistaken`: it takes data for
    commands; `more`: texts in which it sees commands that the grammar knows of and we do not report. Only the last is
    held against us.
    """

    read: int = 0
    agreed: int = 0
    fewer: int = 0
    mistaken: int = 0
    more: list[str] = field(default_factory=list)

    def add(self, text: str, known: frozenset[str], theirs: frozenset[str], ours: frozenset[str]) -> None:
        """Count one text that the second opinion reads."""
        self.read += 1
        self.agreed += theirs == ours
        self.fewer += not known <= theirs
        self.mistaken += not theirs <= known
        if (theirs & known) - ours:
            self.more.append(text)


def opinions() -> dict[str, Opinion]:
    """The second opinions that are installed, by name."""
    found: dict[str, Opinion] = {}
    for name, module, make in (("bashlex", "bashlex", _bashlex), ("tree-sitter", "tree_sitter_bash", _tree_sitter)):
        try:
            importlib.import_module(module)
        except ImportError:
            print(f"skipped: second opinion `{name}` is not installed")
        else:
            found[name] = make()
    return found


def ask(opinion: Opinion, text: str) -> frozenset[str] | None:
    """The markers in command position, or None where the text is not read. Foreign parsers raise whatever they like."""
    try:
        return opinion(text)
    except Exception:  # bashlex raises NotImplementedError, AttributeError, ParsingError and others
        return None


def _bashlex() -> Opinion:
    import bashlex

    def commands(node: Any) -> list[str]:  # bashlex has no types
        found = []
        if node.kind == "command":
            found += [part.word for part in node.parts if part.kind == "word"][:1]
        for name in ("parts", "list", "command", "output", "heredoc"):
            below = getattr(node, name, None)
            for child in below if isinstance(below, list) else [below]:
                if hasattr(child, "kind"):
                    found += commands(child)
        return found

    def read(text: str) -> frozenset[str]:
        return _markers(name for tree in bashlex.parse(text) for name in commands(tree))

    return read


def _tree_sitter() -> Opinion:
    tree_sitter, grammar = importlib.import_module("tree_sitter"), importlib.import_module("tree_sitter_bash")
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))

    def read(text: str) -> frozenset[str]:
        root = parser.parse(text.encode()).root_node
        if root.has_error:
            raise ValueError("not read")
        found, pending = [], [root]
        while pending:
            node = pending.pop()
            pending += node.children
            if node.type == "command_name" and node.text is not None:
                found.append(node.text.decode())
        return _markers(found)

    return read


def _markers(names: Any) -> frozenset[str]:
    return frozenset(name for name in names if _MARKER.fullmatch(name))
