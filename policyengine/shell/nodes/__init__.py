"""The syntax tree of shell text: what the parser builds and every pass reads.

All nodes are named tuples (measured beside slotted and frozen dataclasses: cheapest to build, and equality, hashing and
`_fields` come free). Every node ends with `start` and `end`: code-point offsets `[start, end)` into the text that was
parsed. Nodes inside backticks carry offsets into the outer text too.

    Script      = statements
    Statement   = SimpleCommand | Pipeline | AndOr | Background | Group | Subshell | If | While | For | ArithmeticFor
                | Select | Case | Condition | ArithmeticCommand | Function | Coprocess
                (with redirects where bash has them)
    Word        = parts
    WordPart    = Literal | Escaped | SingleQuoted | DoubleQuoted | Parameter | CommandSubstitution
                | ProcessSubstitution | Arithmetic | ExtendedGlob

A here-document's body is a Word of one part: SingleQuoted where its delimiter was quoted, else DoubleQuoted. `time` or
`!` alone is a Pipeline of no commands. `declare a=(1 2)` and its like put arrays into `assignments`; their other
arguments stay words. What a bad substitution (`${+}`) holds is a Parameter without a name. `${ cmd; }` is a
substitution, as in bash 5.3. `$((…))` that may be commands is an Arithmetic with them as a last CommandSubstitution.

`walk` visits every node below one, derived from the fields, so no child can be forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from policyengine.shell.nodes.commands import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    ArrayElement,
    Assignment,
    Background,
    Case,
    CaseArm,
    Condition,
    Coprocess,
    For,
    Function,
    Group,
    Heredoc,
    If,
    IfBranch,
    Pipeline,
    Redirect,
    Select,
    SimpleCommand,
    Statement,
    Subshell,
    While,
)
from policyengine.shell.nodes.node import node
from policyengine.shell.nodes.words import (
    Arithmetic,
    CommandSubstitution,
    DoubleQuoted,
    Escaped,
    ExtendedGlob,
    Literal,
    Parameter,
    ProcessSubstitution,
    SingleQuoted,
    Unread,
    Word,
    WordPart,
)

__all__ = [
    "AndOr",
    "Arithmetic",
    "ArithmeticCommand",
    "ArithmeticFor",
    "ArrayElement",
    "Assignment",
    "Background",
    "Case",
    "CaseArm",
    "CommandSubstitution",
    "Condition",
    "Coprocess",
    "DoubleQuoted",
    "Escaped",
    "ExtendedGlob",
    "For",
    "Function",
    "Group",
    "Heredoc",
    "If",
    "IfBranch",
    "Literal",
    "Node",
    "Parameter",
    "Pipeline",
    "ProcessSubstitution",
    "Redirect",
    "Script",
    "Select",
    "SimpleCommand",
    "SingleQuoted",
    "Statement",
    "Subshell",
    "Unread",
    "While",
    "Word",
    "WordPart",
    "walk",
]


@node
class Script:
    """A whole text, or the body of a substitution: statements in source order."""

    body: tuple[Statement, ...]
    start: int
    end: int

    def commands(self) -> Iterator[SimpleCommand]:
        """Every simple command, nested ones included, ordered by where it starts.

        Function bodies and substitutions inside heredocs, arithmetic, subscripts and `[[ ]]` are included; `[[`, `((`,
        alias expansions and the strings of `eval` are not.
        """
        # A `$((…))` that may be commands or arithmetic holds what nests in it twice.
        found = {id(node): node for node in walk(self) if isinstance(node, SimpleCommand)}
        return iter(sorted(found.values(), key=lambda command: command.start))


Node: TypeAlias = (
    Script | Statement | Word | WordPart | Unread | ArrayElement | Assignment | Heredoc | Redirect | IfBranch | CaseArm
)


def walk(node: Node) -> Iterator[Node]:
    """Every node at and below `node`, parents before children, in no recursion: derived from the fields."""
    pending: list[object] = [node]
    while pending:
        current = pending.pop()
        children: tuple[object, ...] = tuple(current)  # type: ignore[arg-type]  # only nodes and tuples get here
        if hasattr(current, "_fields"):  # plain tuples hold children and have no fields
            yield current  # type: ignore[misc]  # everything with fields in a tree is a Node
        pending.extend(child for child in reversed(children) if isinstance(child, _HOLDERS))


_HOLDERS = (tuple, Heredoc)
