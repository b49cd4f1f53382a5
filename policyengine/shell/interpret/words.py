"""Expansion of words into values, in bash's order (bash manual 3.5): braces, tilde, parameters, splitting, globs.

`expand` gives the fields of a word in a command, `expand_one` the single text of an assignment, here-string or pattern.
What is not known stays visible as such: a value is exact, or a certain prefix with the taint of what follows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from policyengine.effects import CLEAN, HOLE, Cause, Span, Taints
from policyengine.shell.interpret.arithmetic import arithmetic
from policyengine.shell.interpret.braces import alternatives
from policyengine.shell.interpret.choices import chosen
from policyengine.shell.interpret.machine import Machine, versions
from policyengine.shell.interpret.notes import Step, note_stream
from policyengine.shell.interpret.parameters import operand, parameter
from policyengine.shell.interpret.splitting import separators
from policyengine.shell.interpret.streams import MAX_TEXT
from policyengine.shell.interpret.tildes import PREFIX, home, in_parts, in_value, in_word, is_assigning, leading
from policyengine.shell.nodes import (
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
from policyengine.shell.values import Value, from_template

_ACTIVE = re.compile(f"[*?\\[{{~{HOLE}]").search  # characters that make a literal more than its text
_GLOB = re.compile(r"[*?]|\[[^\]]").search
_GLOB_CHARACTER = re.compile(r"[*?\[]")
_new = tuple.__new__

CHARACTERS_AS_FIELD = 256  # of a text that expansions make: so many count as one more of them (`x=$x$x`)


def expand_all(machine: Machine, words: Sequence[Word]) -> list[Value]:
    """The fields of all words of a command."""
    values: list[Value] = []
    base, active = machine.base, _ACTIVE
    for word in words:
        parts = word.parts
        if len(parts) == 1 and base is not None:
            part = parts[0]
            if type(part) is Literal:
                text = part.text
                if not active(text):  # nearly every word: no call below
                    span = (word.start + base, word.end + base)
                    values.append(_new(Value, (text, True, False, False, CLEAN, span, "")))
                    continue
        if not values:
            values += _name(machine, word)
        elif values[0].text in _DECLARING and is_assigning(parts):
            values.append(_declared(machine, word))
        else:
            values += expand(machine, word)
    return values


# Builtins whose arguments are expanded like assignments where they look like such (bash manual 3.4, 4.2).
_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})


def _declared(machine: Machine, word: Word) -> Value:
    builder = Fields(machine, machine.span(word.start, word.end), single=True)
    for part in in_parts(machine, word.parts):
        _part(builder, part, quoted=False)
    return builder.value()


def _name(machine: Machine, word: Word) -> list[Value]:
    """The fields of a command's name; where it is a substitution that prints nothing, the next word is the name."""
    part = word.parts[0] if len(word.parts) == 1 else None
    if type(part) is not CommandSubstitution:
        return expand(machine, word)
    builder = Fields(machine, machine.span(word.start, word.end))
    builder.add((substitution(machine, part, silent=True),), quoted=False)
    builder.end()
    return builder.done


def expand(machine: Machine, word: Word) -> list[Value]:
    """The fields of one word: none, one or several."""
    span = machine.span(word.start, word.end)
    if len(word.parts) == 1:
        value = _at_once(machine, word.parts[0], span)
        if value is not None:
            return [value]
    if any(type(part) is Literal and "{" in part.text for part in word.parts):
        chosen = alternatives(word.parts)
        if chosen is None:
            prefix = _leading_text(word.parts).partition("{")[0]
            return [Value(prefix, exact=False, many=True, span=span)]
        return [value for parts in chosen for value in _fields(machine, parts, span)]
    first = word.parts[0] if word.parts else None
    assigning = type(first) is Literal and "=" in first.text
    return _fields(machine, in_parts(machine, word.parts) if assigning else word.parts, span)


def _at_once(machine: Machine, part: WordPart, span: Span | None) -> Value | None:
    """The field of a word of one part that need not be built, as nearly all words are; else None."""
    only: object = part.parts[0] if type(part) is DoubleQuoted and len(part.parts) == 1 else part
    if type(only) is not Literal and type(only) is not SingleQuoted:
        return None
    text, glob = only.text, False
    if only is part and type(only) is Literal:
        glob = _GLOB(text) is not None
        if "~" in text:
            text = in_word(machine, text)
        if "{" in only.text or (glob and text != only.text):
            return None
    if HOLE in text or len(text) > MAX_TEXT:
        return None
    return _new(Value, (text, True, False, glob, CLEAN, span, ""))


def expand_one(machine: Machine, word: Word | None, *, assignment: bool = False, pattern: bool = False) -> Value:
    """The single text of a word: no splitting and no globs.

    In an `assignment` a tilde also counts after `:`; in a `pattern` quoted pattern characters are put in brackets.
    """
    if word is None:
        return Value("")
    span = machine.span(word.start, word.end)
    builder = Fields(machine, span, single=True)
    builder.glob = pattern
    last = len(word.parts) - 1
    for at, part in enumerate(word.parts):
        if type(part) is Literal and "~" in part.text:
            builder.plain(
                in_value(machine, part.text, starts=at == 0, ends=at == last)
                if assignment
                else leading(machine, part.text)
                if at == 0
                else part.text
            )
        else:
            _part(builder, part, quoted=False)
    return builder.value()


def expand_body(machine: Machine, word: Word) -> Value:
    """A here-document's body or an arithmetic text: as if double-quoted, so quotes inside are ordinary characters."""
    builder = Fields(machine, machine.span(word.start, word.end), single=True)
    for part in word.parts:
        _part(builder, part, quoted=True)
    return builder.value()


class Fields:
    """Builds the fields of one word."""

    __slots__ = ("done", "exact", "glob", "machine", "many", "pieces", "rest", "single", "span", "started", "taint")

    def __init__(self, machine: Machine, span: Span | None, *, single: bool = False) -> None:
        self.machine = machine
        self.span = span
        self.single = single
        self.done: list[Value] = []
        self._clear()

    def _clear(self) -> None:
        self.pieces: list[tuple[str, bool]] = []  # text, and whether globs in it are active
        self.rest: list[str] = []  # what is written behind the first unknown piece
        self.exact = True
        self.many = False
        self.glob = False
        self.started = False
        self.taint: Taints = CLEAN

    def plain(self, text: str) -> None:
        """Quoted or inert text."""
        self.started = True
        if HOLE in text:
            self._holed(text, many=False)
        elif self.exact:
            self.pieces.append((text, False))
        else:
            self.rest.append(text)

    def active(self, text: str) -> None:
        """Unquoted literal text: globs in it are active."""
        self.started = True
        if HOLE in text:
            self._holed(text, many=not self.single)
        elif self.exact:
            self.pieces.append((text, True))
        else:
            self.rest.append(text)
        if not self.single and _GLOB(text):
            self.glob = True

    def unknown(self, taint: Taints, *, many: bool) -> None:
        """From here on nothing is known but what is written."""
        self.started = True
        if not self.exact:
            self.rest.append(HOLE)
        self.exact = False
        self.many |= many
        self.taint |= taint

    def _holed(self, text: str, *, many: bool) -> None:
        known, _, rest = text.partition(HOLE)
        self.plain(known)
        self.unknown(CLEAN, many=many)
        self.rest.append(rest)

    def add(self, values: Sequence[Value], *, quoted: bool) -> None:
        """The result of an expansion: several values make several fields."""
        if len(values) > 1:
            self.machine.spend(len(values))
        for at, value in enumerate(values):
            if at:
                self.pieces.append((" ", False)) if self.single else self.end()
            self._value(value, quoted=quoted)

    def _value(self, value: Value, *, quoted: bool) -> None:
        self.taint |= value.taint
        if value.glob and not self.single:  # a name that stands for all matching ones, quoted or not
            self.active(value.text)
        elif quoted or self.single:
            self.plain(value.text)
        else:
            self._split(value.text)
        if not value.exact:
            self.unknown(value.taint, many=value.many or not (quoted or self.single))
            if value.rest:
                self.rest.append(value.rest)

    def _split(self, text: str) -> None:
        if not text:
            return
        ifs = separators(self.machine)
        if ifs is None:
            self.active(text)
            return
        pieces = ifs.split(text)
        self.machine.spend(len(pieces))
        for at, piece in enumerate(pieces):
            if at:
                self.end()
            if piece:
                self.active(piece)

    def end(self) -> None:
        """Close the field that is being built, if there is one."""
        if self.started:
            self.done.append(self.value())
        self._clear()

    def value(self) -> Value:
        """The field built so far."""
        text = "".join([piece for piece, _ in self.pieces]) if len(self.pieces) != 1 else self.pieces[0][0]
        if self.glob:
            text = "".join(
                [piece if active else _GLOB_CHARACTER.sub(r"[\g<0>]", piece) for piece, active in self.pieces]
            )
        exact = self.exact
        if len(text) > CHARACTERS_AS_FIELD:
            self.machine.spend(len(text) // CHARACTERS_AS_FIELD)
            text, exact = text[:MAX_TEXT], exact and len(text) <= MAX_TEXT
        return Value(text, exact, self.many, self.glob, self.taint, self.span, "".join(self.rest)[:MAX_TEXT])


def _fields(machine: Machine, parts: Sequence[WordPart], span: Span | None) -> list[Value]:
    builder = Fields(machine, span)
    for at, part in enumerate(parts):
        if at == 0 and type(part) is Literal and part.text[:1] == "~":
            _leading_tilde(builder, part.text, alone=len(parts) == 1)
        else:
            _part(builder, part, quoted=False)
    builder.end()
    return builder.done


def _leading_tilde(builder: Fields, text: str, *, alone: bool) -> None:
    prefix = PREFIX.match(text)[0]  # type: ignore[index]  # it begins with a tilde
    rest = text[len(prefix) :]
    if not rest and not alone:  # `~"x"`: a quoted character in the prefix makes it inert (bash manual 3.5.2)
        builder.active(text)
        return
    known = home(builder.machine, prefix)
    if known is None:
        builder.unknown(CLEAN, many=False)
    else:
        builder.plain(known)
    builder.active(rest)


def _part(builder: Fields, part: WordPart, *, quoted: bool) -> None:
    machine = builder.machine
    match part:
        case Literal():
            builder.plain(part.text) if quoted else builder.active(part.text)
        case Escaped() | SingleQuoted():
            builder.plain(part.text)
        case DoubleQuoted():
            _double_quoted(builder, part)
        case Parameter():
            word = operand(machine, part) if part.arguments and not (quoted or builder.single) else None
            if word is None:
                builder.add(parameter(machine, part, quoted=quoted or builder.single), quoted=quoted)
            else:
                _operand(builder, word)
        case CommandSubstitution():
            builder.add((substitution(machine, part),), quoted=quoted)
        case ProcessSubstitution():
            builder.plain(_process(machine, part))
        case Arithmetic():
            builder.add((arithmetic(machine, expand_body(machine, part.expression)),), quoted=True)
        case ExtendedGlob():
            inner = expand_one(machine, part.pattern)
            builder.active(f"{part.op}({inner.text})")
            builder.glob = not builder.single


def _operand(builder: Fields, word: Word) -> None:
    """The word of `${name-word}` where that is what it gives: split like the result of an expansion, quotes aside."""
    for at, part in enumerate(word.parts):
        if type(part) is Literal:
            text = leading(builder.machine, part.text) if at == 0 else part.text
            builder.add((Value(text),), quoted=False)
        else:
            _part(builder, part, quoted=False)


def _double_quoted(builder: Fields, part: DoubleQuoted) -> None:
    only = part.parts[0] if len(part.parts) == 1 else None
    if not (type(only) is Parameter and only.name == "@"):  # `"$@"` without parameters is no field at all
        builder.plain("")
    for inner in part.parts:
        _part(builder, inner, quoted=True)


def substitution(machine: Machine, part: CommandSubstitution, *, silent: bool = False) -> Value:
    """What a command substitution leaves: its output without final newlines, at present one of its choices.

    What fails before it prints anything is no choice unless it may be `silent`: mostly it is meant to succeed.
    """
    span = machine.span(part.start, part.end)
    if isinstance(part.body, Unread):
        machine.opaque(Cause.UNPARSEABLE, part.body.message, span)
        machine.capture(part.body.before)
        return Value("", exact=False, span=span)
    key = f"/{id(part)}"
    if machine.picks is not None and key in machine.picks:  # the command is read again: the substitution need not be
        return machine.outputs[key][machine.picks[key]]
    out = machine.capture(part.body.body, silent=silent)
    if machine.notes is not None:
        note_stream(machine, Step.OUTPUT, "", out, span)
    if out.choices:
        values = [from_template(text.rstrip("\n"), out.taint, span) for text in out.choices]
        choices = machine.outputs[key] = tuple(dict.fromkeys(values))
        return chosen(machine, key, choices, out.value(span))
    if out.text is None:
        return Value(out.prefix, False, False, False, out.taint, span, out.rest.rstrip("\n"))
    return Value(out.text.rstrip("\n"), True, False, False, out.taint, span)


def _process(machine: Machine, part: ProcessSubstitution) -> str:
    """`<(…)`: a file that holds what the commands print. `>(…)`: they run when something is written to it."""
    path = f"/dev/fd/{machine.next_descriptor}"
    machine.next_descriptor -= 1
    if isinstance(part.body, Unread):
        machine.opaque(Cause.UNPARSEABLE, part.body.message, machine.span(part.start, part.end))
        machine.capture(part.body.before)
        return path
    if part.op == "<":
        out = machine.capture(part.body.body)
        machine.files[path] = versions(path, out)
    else:
        machine.pipes[path] = part.body
    return path


def _leading_text(parts: Sequence[WordPart]) -> str:
    return parts[0].text if parts and isinstance(parts[0], Literal | Escaped | SingleQuoted) else ""
