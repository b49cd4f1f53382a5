"""Applying a program's grammar to an argument list: options, operands and subcommands, one pass from left to right."""

from __future__ import annotations

import re
from collections.abc import Sequence

from policyengine.effects import Cause, Span
from policyengine.shell.programs.composed import joined
from policyengine.shell.programs.grammar import Program
from policyengine.shell.programs.meaning import meaning_of
from policyengine.shell.programs.parts import FLAG, Option
from policyengine.shell.programs.reading import Draft, Reading, Tail, Use
from policyengine.shell.programs.roles import is_assignment
from policyengine.shell.programs.templates import drafts_of
from policyengine.shell.programs.vocabulary import EFFECTLESS_ROLES, TAIL_ROLES
from policyengine.shell.values import Value

MAX_DETAIL = 80  # characters of an unknown option that a report repeats
FIND_HOLE = "{}"  # also what `xargs -i` means without a value
HOLE = ("hole",)


def read_arguments(program: Program, arguments: Sequence[Value]) -> Reading:
    """Read the arguments (without the command name). Pure and total; linear in the number of characters."""
    scan = Scan(program, arguments)
    scan.run()
    return meaning_of(scan)


class Scan:
    """What a pass over the arguments has found so far."""

    __slots__ = (
        "arguments",
        "at",
        "drafts",
        "early",
        "events",
        "flags",
        "given",
        "opaque",
        "open",
        "operands",
        "path",
        "positions",
        "program",
        "tails",
        "uses",
    )

    def __init__(self, program: Program, arguments: Sequence[Value]) -> None:
        self.program = program  # the grammar in force: the innermost subcommand's
        self.path = [program]
        self.arguments = arguments
        self.at = 0  # index of the next argument
        self.open = program.opens  # options may still come
        self.operands: list[Value] = []
        self.positions: list[int] = []  # index of each operand among the arguments
        self.events: list[Use | int] = []  # in argument order: an option's use, or the index of an operand
        self.early: list[Use] = []
        self.uses: list[Use] = []  # all of them, once the operands have their roles
        self.tails: list[Tail] = []
        self.drafts: list[Draft] = []
        self.flags: set[str] = set()
        self.given: dict[str, list[Value]] = {}  # the values of each option
        self.opaque: list[tuple[Cause, str, Span | None]] = []

    def run(self) -> None:
        """Read every argument."""
        arguments, total = self.arguments, len(self.arguments)
        if self.program.bundled_first and total and arguments[0].text[:1] not in ("-", ""):
            self.at = 1
            self._bundle(arguments[0], "-" + arguments[0].text)
        while self.at < total:
            value = arguments[self.at]
            text = value.text
            self.at += 1
            if text[:1] in ("-", "+") and self.open and (text != "-" or not value.exact):
                if self.program.options.get(text) is not FLAG or not value.exact:
                    self._option(value, text)
            elif self.program.plain:
                self.events.append(len(self.operands))
                self.operands.append(value)
            else:
                self._operand(value, text)

    # ------------------------------------------------------------------------------------------------------- operands
    def _operand(self, value: Value, text: str) -> None:
        program = self.program
        if program.subcommands:
            self._descend(value)
            return
        if program.keyvalue and self._key_value(value):
            return
        if text in program.ignore and value.exact:
            if text in program.options:
                self._apply(program.options[text], text, None, 0)
            return
        if self.open and (self._begins_tail(value) or self._ends_options(value)):
            self.open = False
        self.events.append(len(self.operands))
        self.operands.append(value)
        self.positions.append(self.at - 1)

    def _begins_tail(self, value: Value) -> bool:
        elements = self.program.elements
        if elements.tail_at < 0:
            return False
        if elements.assign is not None:
            return not is_assignment(value)
        return len(self.operands) >= elements.tail_at

    def _ends_options(self, value: Value) -> bool:
        return self.program.posix and (self.program.elements.assign is None or not is_assignment(value))

    def _descend(self, value: Value) -> None:
        child = self.program.subcommand(value.text) if value.exact and not value.glob else None
        if child is None:
            cause = Cause.OPTION if value.exact else Cause.VALUE
            self.opaque.append((cause, f"{self.program.name} {value.text}"[:MAX_DETAIL], value.span))
            self.at = len(self.arguments)
            return
        self.program = child
        self.path.append(child)
        self.open = child.opens

    def _key_value(self, value: Value) -> bool:
        key, equals, rest = value.text.partition("=")
        option = self.program.options.get(key) if equals else None
        if option is None:
            if value.exact and not self.program.elements.items:
                self._unknown(value)
                return True
            return False
        self._apply(option, key, part(value, rest), 0)
        return True

    # -------------------------------------------------------------------------------------------------------- options
    def _option(self, value: Value, text: str) -> None:
        program = self.program
        option = program.options.get(text)
        if option is not None and value.exact:
            self._apply(option, text, None, option.takes)
        elif text == "--" and value.exact:
            self.open = False
            self.flags.add("dashdash")
        elif text[0] == "+":
            self._plus(value, text)
        elif program.numeric and text[1:2].isdigit():
            self._number(value, text)
        elif not program.bundles:
            self._single(value, text)
        elif text.startswith("--"):
            self._long(value, text)
        else:
            self._bundle(value, text)

    def _plus(self, value: Value, text: str) -> None:
        """Read `+word`: the rest of the word is the value of an option spelled `+`, else a flag, else an operand."""
        option = self.program.options.get("+")
        if option is not None:
            self._apply(option, "+", part(value, text[1:]), option.takes)
        elif not self.program.plus:
            self._operand(value, text)

    def _number(self, value: Value, text: str) -> None:
        rest = text[1:].lstrip("0123456789")
        if rest or not value.exact:
            self._option(value._replace(text="-" + rest), "-" + rest)

    def _long(self, value: Value, text: str) -> None:
        name, equals, rest = text.partition("=")
        if " " in name and value.exact and self.program.style == "gnu":
            return  # no option has blanks in its name: the program refuses the call (getopt_long(3))
        option = self.program.options.get(name) if equals or value.exact else None
        if option is None and (equals or value.exact) and self.program.style == "gnu":
            option = self.program.abbreviated(name) if len(name) > 2 else None
        if option is not None:
            self._apply(option, name, part(value, rest) if equals else None, option.takes)
        elif not (self.program.negatable and value.exact and f"--{name[5:]}" in self.program.options):
            self._unknown(value)

    def _single(self, value: Value, text: str) -> None:
        options = self.program.options
        name, equals, rest = text.partition("=")
        option = options.get(name)
        if option is None and name.startswith("--"):
            option = options.get(name[1:])
        if option is None or not (equals or value.exact):
            self._unknown(value)
        else:
            self._apply(option, name, part(value, rest) if equals else None, option.takes)

    def _bundle(self, value: Value, text: str) -> None:
        options = self.program.options
        old_style = text is not value.text  # tar's first word without a dash: values follow in order
        index, end = 1, len(text)
        while index < end:
            name = "-" + text[index]
            option = options.get(name)
            index += 1
            if option is None:
                self._unknown(value._replace(text=name))
                return
            if option.takes and not old_style:
                attached = index < end or not value.exact
                index += self.program.equals and text[index : index + 1] == "="
                self._apply(option, name, part(value, text[index:]) if attached else None, option.takes)
                return
            if not option.trivial:
                self._apply(option, name, None, option.takes)
            if self.program.equals and text[index : index + 1] == "=":
                return
            while option.digits and index < end and text[index].isdigit():
                index += 1
        if not value.exact or end == 1:
            self._unknown(value)

    def _unknown(self, value: Value) -> None:
        self.opaque.append((Cause.OPTION, value.text.partition("=")[0][:MAX_DETAIL], value.span))

    # ---------------------------------------------------------------------------------------------------------- values
    def _apply(self, option: Option, spelling: str, attached: Value | None, takes: int) -> None:
        if option.sets:
            self.flags.update(option.sets)
        if option.until:
            self._until(option)
        elif option.takes:
            self._values(option, attached, takes)
        elif option.templates:
            self.drafts += drafts_of(option.templates, self, None, None)
        if option.stop:
            self.open = False

    def _values(self, option: Option, attached: Value | None, takes: int) -> None:
        values = [] if attached is None else [attached]
        if option.optional:
            takes = len(values)
        while len(values) < takes and self.at < len(self.arguments):
            values.append(self.arguments[self.at])
            self.at += 1
        if option.trivial:
            return
        if option.before:
            self._give_roles(option, values)
            self._beginnings(option, values)
            return
        self.given.setdefault(option.name, []).append(values[0] if values else Value(""))
        if not values and option.roles == HOLE:
            values = [Value(FIND_HOLE)]
        if option.keys is not None:
            self._keyed(option, values)
            if option.roles:
                self._give_roles(option._replace(split=""), values)
        else:
            self._give_roles(option, values)
            self.drafts += drafts_of(option.templates, self, values[0] if values else None, None)

    def _beginnings(self, option: Option, values: list[Value]) -> None:
        for value in values:
            for item in split(value, option.split) if option.split else (value,):
                if option.before in item.text or not item.exact:
                    beginning = before(item, option.before)
                    self.given.setdefault(option.name, []).append(beginning)
                    self.drafts += drafts_of(option.templates, self, beginning, None)

    def _give_roles(self, option: Option, values: list[Value]) -> None:
        for role, value in zip(option.roles, values, strict=False):
            if role in TAIL_ROLES:
                self._tail(option, role, value)
            elif role == "shell" and option.stop:
                self._use(option, role, joined([_line(value), *map(_word, self._rest())]))
            elif option.split:
                for item in split(value, option.split):
                    self._use(option, role, item)
            else:
                self._use(option, role, value)

    def _use(self, option: Option, role: str, value: Value) -> None:
        if role in EFFECTLESS_ROLES:
            return
        if role == "bang-shell":
            if not value.text.startswith("!") and (value.exact or value.text):
                return
            role, value = "shell", part(value, value.text[1:])
        use = Use(role, value, option.name, option.where)
        if option.first:
            self.early.append(use)
        else:
            self.events.append(use)

    def _tail(self, option: Option, role: str, value: Value) -> None:
        rest = self._rest() if option.stop else ()
        words = split(value, option.split) if option.split else (value,)
        self.tails.append(Tail((*words, *rest), option.where, module=role == "module", again=role == "again"))

    def _rest(self) -> Sequence[Value]:
        rest = self.arguments[self.at :]
        self.at = len(self.arguments)
        return rest

    def _until(self, option: Option) -> None:
        """Take every word up to one of `until`; `+` ends the words of find -exec only after `{}` (POSIX find)."""
        start = self.at
        arguments = self.arguments
        while self.at < len(arguments) and not self._ends(option, start):
            self.at += 1
        words = tuple(arguments[start : self.at])
        self.at += 1
        if words and option.roles == ("command",):
            hole = FIND_HOLE
            if option.appends:
                words, hole = self._appending(words)
            self.tails.append(Tail(words, option.where, "paths", hole))
        else:
            self._give_roles(option._replace(roles=option.roles * len(words)), list(words))

    def _appending(self, words: tuple[Value, ...]) -> tuple[tuple[Value, ...], str]:
        """The words, and the place in them for paths; a path without its ending is like a path (fd(1), --exec)."""
        if any("{/" in word.text for word in words):
            self.opaque.append((Cause.VALUE, "a part of the paths that are found", words[0].span))
        placed = tuple([word._replace(text=word.text.replace("{.}", FIND_HOLE)) for word in words])
        return placed, FIND_HOLE if any(FIND_HOLE in word.text or "{/" in word.text for word in placed) else ""

    def _ends(self, option: Option, start: int) -> bool:
        text = self.arguments[self.at].text
        if text not in option.until:
            return False
        return text != "+" or (self.at > start and self.arguments[self.at - 1].text == FIND_HOLE)

    def _keyed(self, option: Option, values: list[Value]) -> None:
        assert option.keys is not None
        for value in values:
            for item in split(value, option.split) if option.split else (value,):
                self._key(option, option.keys.find(_key_of(item)), item)

    def _key(self, option: Option, meaning: Option | None, item: Value) -> None:
        key = _key_of(item)
        rest = item.text[len(key) :].lstrip()
        known = item.exact or rest != ""
        if meaning is None or not known:
            self._unknown(item._replace(text=f"{option.name} {key}"))
            return
        if meaning.sets:
            self.flags.update(meaning.sets)
        given = part(item, rest.removeprefix("=").lstrip())
        if rest:
            self._give_roles(meaning._replace(name=option.name, first=option.first), [given])
        self.drafts += drafts_of(meaning.templates, self, given, part(item, item.text[: len(key)])._replace(exact=True))


def part(value: Value, text: str) -> Value:
    """Make a part of a value: the same taint, span and certainty."""
    return Value(text, value.exact, False, value.glob, value.taint, value.span, value.rest)


_PLAIN_WORD = re.compile(r"[\w%+,./:=@-]+\Z", re.ASCII).match


def _line(value: Value) -> Value:
    """The text that `env -S` splits: it may begin with options of its own (env(1), -S)."""
    return value._replace(text=f"env {value.text}") if value.text[:1] == "-" else value


def _word(value: Value) -> Value:
    """A whole word after such a text, as that text would have to quote it."""
    if _PLAIN_WORD(value.text) or not value.exact:
        return value
    return value._replace(text="'" + value.text.replace("'", "'\\''") + "'")


def before(value: Value, separator: str) -> Value:
    """Take the text before a separator; it is known for certain where the separator is."""
    text, found, _ = value.text.partition(separator)
    return part(value, text)._replace(exact=value.exact or bool(found), rest="" if found else value.rest)


def split(value: Value, separator: str) -> tuple[Value, ...]:
    """Take a list apart; of a text that is not fully known the last item is not."""
    *items, last = value.text.split(separator)
    return (*(Value(item, True, False, value.glob, value.taint, value.span) for item in items), part(value, last))


def _key_of(item: Value) -> str:
    text = item.text
    end = next((index for index, character in enumerate(text) if character in "= \t"), len(text))
    return text[:end].lower()
