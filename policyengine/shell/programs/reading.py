"""What a program's arguments turn out to mean: roles, further commands and drafts of effects, not yet effects.

The interpreter turns a Reading into effects: it alone knows the current directory, standard input and the variables.
Roles, `output` and `input` are the words of `rules/commands/README.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from policyengine.effects import HOLE, Cause, Span, Taints, Where
from policyengine.records import NamedTuple
from policyengine.shell.values import Value, from_template

Field: TypeAlias = Value | str | bool | Where | Cause | Taints


class Use(NamedTuple):
    """One value in one role.

    Attributes:
        role: a role of the README (`read`, `host`, `code:python` …); made-up roles are already resolved.
        value: the value alone (`f` of `--file=f`), joined with blanks where the description joins words.
        option: canonical spelling of the option that it belongs to; empty for an operand.
        where: the machine on which the role's effect happens.
    """

    role: str
    value: Value
    option: str = ""
    where: Where = Where.HERE


class Tail(NamedTuple):
    """Words that are a command of their own (role `command`).

    Attributes:
        words: command name first, as written (`hole` not yet replaced); never empty.
        where: the machine on which the command runs.
        appended: what the program adds to the words: `""` nothing, `"stdin"` arguments read from standard input
            (xargs), `"paths"` paths below the program's operands (find -exec).
        hole: text inside `words` that the added arguments replace (`{}` of find, the value of `xargs -I`); when it is
            empty they are appended at the end. See `filled`.
        module: the first word names a module of the interpreter (`python -m pip …`); where no program of that name is
            described, a module of the project or of an installed package runs: an Execute, not Opaque(program).
        again: they are arguments of the program itself; one word alone is the text of such a command (tmux bind-key).
    """

    words: tuple[Value, ...]
    where: Where = Where.HERE
    appended: str = ""
    hole: str = ""
    module: bool = False
    again: bool = False


class Draft(NamedTuple):
    """An effect template with its references replaced.

    `kind` is a dotted effect kind; `fields` holds only fields that the template names. A reference gives a Value (a
    `path` still has to be resolved against the current directory; `unknown` and `glob` follow from the Value), one to
    something absent gives `""`, constants stay what they were (`where` a Where, `cause` a Cause, `taint` a frozenset).
    """

    kind: str
    fields: Mapping[str, Field]


class Reading(NamedTuple):
    """The meaning of one argument list.

    Attributes:
        uses: in the order of the arguments (a `chdir` holds for the uses after it), except that options marked `first`
            in the description come first.
        tails: further commands.
        drafts: effects stated by templates; one for each value where a template refers to many.
        flags: names set by options and overlays.
        opaque: cause, detail and span of everything that the description does not account for.
        output: what standard output carries.
        input: what happens to standard input.
        operands: all operands of the innermost subcommand, in order.
    """

    uses: tuple[Use, ...] = ()
    tails: tuple[Tail, ...] = ()
    drafts: tuple[Draft, ...] = ()
    flags: frozenset[str] = frozenset()
    opaque: tuple[tuple[Cause, str, Span | None], ...] = ()
    output: str = "listing"
    input: str = "data"
    operands: tuple[Value, ...] = ()


def filled(tail: Tail, value: Value) -> tuple[Value, ...]:
    """Give the tail's words with `value` put into its hole, or appended where it has none."""
    if not tail.hole:
        return (*tail.words, value) if tail.appended else tail.words
    return tuple(_put(word, tail.hole, value) if tail.hole in word.text else word for word in tail.words)


def _put(word: Value, hole: str, value: Value) -> Value:
    if word.text == hole and word.exact:
        return value._replace(span=word.span)
    if value.exact and not value.many:
        return word._replace(text=word.text.replace(hole, value.text), taint=word.taint | value.taint)
    filled = word.template.replace(hole, HOLE if value.many else value.template)
    return from_template(filled, word.taint | value.taint, word.span)._replace(many=word.many, glob=word.glob)
