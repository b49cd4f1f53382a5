"""Commands that bash 5.2 joins to one when it prints a substitution, as it does before it runs it (print_cmd.c).

Behind a here-document it takes a `;` for the line's end that it has printed already: `$(a <<E; b; c` runs `b c`. Once
more for each substitution around. Newlines, `&`, `&&` and `||` stay, and all of what is in functions.
"""

from __future__ import annotations

from policyengine.shell.lexer import Steps, run
from policyengine.shell.nodes import (
    AndOr,
    Assignment,
    Background,
    Case,
    CommandSubstitution,
    Condition,
    Coprocess,
    Function,
    Group,
    If,
    Literal,
    Parameter,
    Pipeline,
    Redirect,
    SimpleCommand,
    Statement,
    Unread,
    Word,
    WordPart,
)

MAX_PRINTINGS = 4  # that are followed; each costs as much as the body is long
_HEREDOCS = frozenset(("<<", "<<-"))


def joined(body: tuple[Statement, ...], semicolons: set[int], times: int) -> tuple[Statement, ...]:
    """The commands that come of others in a substitution's body, when it is printed so many times.

    Args:
        body: what was read.
        semicolons: the starts of the statements that a `;` ends.
        times: how many substitutions there are, with those around.
    """
    found: list[Statement] = []
    lost: set[int] = set()
    for _ in range(min(times, MAX_PRINTINGS)):
        printer = _Printer(semicolons, lost)
        run(printer.several(body))
        found += printer.joined
        if not printer.losing:
            return tuple(found)
        lost |= printer.losing
    if times > MAX_PRINTINGS:
        found.append(_unread(body[0].start, body[-1].end))
    return tuple(found)


def _unread(start: int, end: int) -> SimpleCommand:
    """A command of which nothing is known."""
    unread = Unread("", f"in more than {MAX_PRINTINGS} substitutions, which bash prints", (), start, end)
    word = Word((CommandSubstitution(unread, False, start, end),), start, end)
    return SimpleCommand((), (word,), (), start, end)


class _Printer:
    """Goes through commands as bash does when it prints them, and notes only what decides on a `;`."""

    def __init__(self, semicolons: set[int], lost: set[int]) -> None:
        self.semicolons = semicolons
        self.lost = lost  # by printings before
        self.losing: set[int] = set()
        self.joined: list[Statement] = []
        self.connections = 0
        self.functions = 0
        self.deferred = False  # a here-document's body is still to be printed
        self.was_heredoc = False
        self.at_line = False  # nothing was printed behind a body yet
        self.last: SimpleCommand | None = None  # what was printed last, if it is a simple command
        self.joining: SimpleCommand | None = None

    def flush(self) -> None:
        """Print the bodies of here-documents that are due."""
        if self.deferred:
            self.deferred = False
            self.was_heredoc = self.at_line = True
            self.last = None

    def word(self) -> None:
        """Print something that is no simple command."""
        self.at_line = False
        self.last = self.joining = None

    def several(self, statements: tuple[Statement, ...]) -> Steps[None]:
        """A list: all but its last statement are before a connector."""
        separators = len(statements) - 1
        self.connections += separators
        for at, statement in enumerate(statements):
            yield self.statement(statement)
            if at:
                self.flush()
                self.connections -= 1
            if at < separators:
                self.separator(statement)

    def separator(self, before: Statement) -> None:
        """What is printed after a statement that is not the last."""
        if isinstance(before, Background):
            return
        semicolon = before.start in self.semicolons
        if before.start in self.lost:
            self.joining = self.last
        elif self.deferred:
            self.flush()
        elif not self.was_heredoc:
            self.word()
        else:
            self.was_heredoc = False
            if semicolon and not self.at_line and not self.functions:
                self.losing.add(before.start)
                self.joining = self.last
            else:
                self.word()

    def statement(self, node: Statement) -> Steps[None]:
        """One statement."""
        if isinstance(node, SimpleCommand):
            self.simple(node)
        elif isinstance(node, AndOr):
            yield self.connected(node.items)
        elif isinstance(node, Pipeline):
            self.prefix(["time"] * node.timed + ["!"] * node.negated, node.start)
            yield self.connected(node.commands)
        elif isinstance(node, Background):
            self.connections += 1
            yield self.statement(node.command)
            self.connections -= 1
            self.flush()
            self.last = self.joining = None
        elif isinstance(node, Coprocess) and isinstance(node.body, SimpleCommand):
            self.prefix(["coproc", node.name], node.start)
            self.simple(node.body)
        else:
            if isinstance(node, Condition) and self.joining is not None:
                self.joined.append(_with_words(self.joining, [_literal("[[", node.start), _any_words(node.start)]))
            yield self.compound(node)

    def prefix(self, words: list[str], start: int) -> None:
        """Reserved words before a command, which are arguments where the `;` before them is lost."""
        if self.joining is None:
            self.word()
        else:
            self.joining = _with_words(self.joining, [_literal(word, start) for word in words])

    def connected(self, items: tuple[Statement, ...]) -> Steps[None]:
        """Commands with `|`, `&&` or `||` between them."""
        self.connections += len(items) - 1
        for at, item in enumerate(items):
            yield self.statement(item)
            self.flush()
            if at:
                self.connections -= 1
            if at < len(items) - 1:
                self.last = self.joining = None
                self.at_line = False

    def compound(self, node: Statement) -> Steps[None]:
        """A compound command, coprocess or function: what lists it holds, and its redirections."""
        self.word()
        function = isinstance(node, Function)
        self.functions += function
        for part in _parts(node):
            yield self.several(part)
            self.flush()
            self.word()
        self.functions -= function
        if isinstance(node, Function):
            self.was_heredoc = False
            node = node.body
        if isinstance(node, Group) or not function:
            self.redirects(getattr(node, "redirects", ()))  # coprocesses have none of their own
        self.last = None

    def simple(self, node: SimpleCommand) -> None:
        """A simple command, joined to the one before where the `;` is lost."""
        if self.joining is not None:
            node = _join(self.joining, node)
            self.joined.append(node)
            self.joining = None
        self.last = node
        self.at_line = False
        self.redirects(node.redirects)

    def redirects(self, redirects: tuple[Redirect, ...]) -> None:
        """Redirections: a here-document's body is printed at once, or behind the connector."""
        if not redirects:
            return
        self.was_heredoc = False
        if any(one.op in _HEREDOCS for one in redirects):
            self.deferred = True
            if not self.connections:
                self.flush()


def _parts(node: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The lists that a compound command holds, in order."""
    if isinstance(node, If):
        lists = [part for branch in node.branches for part in (branch.condition, branch.body)]
        return (*lists, node.otherwise or ())
    if isinstance(node, Case):
        return tuple(arm.body for arm in node.arms)
    if isinstance(node, Function):
        return (node.body.body,) if isinstance(node.body, Group) else ((node.body,),)
    if isinstance(node, Coprocess):
        return ((node.body,),)
    if isinstance(node, Condition):
        return ()
    names = ("condition", "body")  # `while` has both, other commands the second or, like `((`, none
    return tuple(getattr(node, name) for name in names if hasattr(node, name))


def _literal(text: str, start: int) -> Word:
    return Word((Literal(text, start, start),), start, start)


def _any_words(start: int) -> Word:
    return Word((Parameter("@", "", None, "", (), start, start),), start, start)


def _with_words(node: SimpleCommand, words: list[Word]) -> SimpleCommand:
    return SimpleCommand(node.assignments, (*node.words, *words), node.redirects, node.start, node.end)


def _join(first: SimpleCommand, second: SimpleCommand) -> SimpleCommand:
    """One command of two: assignments of the second are arguments then."""
    words = (*first.words, *map(_argument, second.assignments), *second.words)
    redirects = (*first.redirects, *second.redirects)
    if first.words:
        return SimpleCommand(first.assignments, words, redirects, first.start, second.end)
    assignments = first.assignments + second.assignments
    return SimpleCommand(assignments, second.words, redirects, first.start, second.end)


def _argument(node: Assignment) -> Word:
    """An assignment as an argument; one to an element or of an array as a text that is not known."""
    value = node.value.parts if node.value is not None else ()
    head = f"{node.name}{'+' if node.append else ''}="
    parts: tuple[WordPart, ...] = (Literal(head, node.start, node.start), *value)
    return Word(parts, node.start, node.end)
