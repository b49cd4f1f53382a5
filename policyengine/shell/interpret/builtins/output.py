"""Builtins that print and read: `echo`, `printf`, `read`, `mapfile` (bash manual 4.2)."""

from __future__ import annotations

import itertools
import re

from policyengine.effects import CLEAN, Taint, Taints
from policyengine.patterns import lazily
from policyengine.shell.interpret.assignments import give, give_array, set_variable
from policyengine.shell.interpret.builtins.call import Call, flags, operands
from policyengine.shell.interpret.latent import named
from policyengine.shell.interpret.machine import Machine, Variable
from policyengine.shell.interpret.redirects import held_by
from policyengine.shell.interpret.streams import MAX_TEXT, Stream, stream_of_value
from policyengine.shell.values import UNKNOWN, Value, from_template, hull

_ECHO_OPTION = lazily(r"-[neE]+\Z")
_ESCAPE = lazily(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(0?[0-7]{1,3})|(.))|\\\Z", re.DOTALL
)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
_DIRECTIVE = lazily(r"%(%|[-+ 0#']*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?([bcdiouxXsqeEfgG]|\([^)]*\)T))")
_NUMBERED = lazily(r"\\(?:x(?!1[bB])|u|U|0?(?!0?33)[0-7]{2,3})")
_DECODED: Taints = frozenset({Taint.DECODED})
MAX_ROUNDS = 200  # reuses of a printf format


def unescaped(text: str, *, inert_named: bool = False) -> str:
    """Backslash escapes as `echo -e` and `printf` read them; unknown ones stay as they are."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    for base, digits in ((16, found[1]), (16, found[2]), (16, found[3]), (8, found[4])):
        if digits:
            code = int(digits, base)
            return chr(code & 255 if base == 8 else code) if code < 0x110000 else ""
    letter = found[5]
    if letter is None:
        return "\\"
    return _NAMED.get(letter, letter if letter in "\\'\"?" else "\\" + letter)


def echo(machine: Machine, call: Call) -> None:
    """Print the arguments; `-e` reads escapes, and so do `sh` and zsh without it."""
    if machine.out is None:
        return
    arguments = call.arguments
    at = 0
    while at < len(arguments) and arguments[at].exact and _ECHO_OPTION.match(arguments[at].text):
        at += 1
    options = "".join(value.text for value in arguments[:at])
    rest = arguments[at:]
    taint = _taint(rest)
    if not all(value.exact and not value.many for value in rest):
        machine.emit(stream_of_value(from_template(" ".join([value.template for value in rest]), taint), "\n"))
        return
    text = " ".join([value.text for value in rest])
    if "e" in options or machine.situation.dialect in ("sh", "zsh"):
        taint |= _escaped(text)
        text = unescaped(text)
    span = rest[0].span if len(rest) == 1 else hull(rest)
    machine.emit(Stream(text if "n" in options else text + "\n", taint, span=span))


def _taint(values: list[Value]) -> Taints:
    return frozenset().union(*[value.taint for value in values]) if values else CLEAN


def printf(machine: Machine, call: Call) -> None:
    """Print by a format, which is reused while arguments remain; `-v NAME` assigns instead."""
    arguments = call.arguments
    target = None
    if len(arguments) > 1 and arguments[0].text == "-v":
        named(machine, arguments[1])
        target, arguments = arguments[1].text, arguments[2:]
    elif arguments and arguments[0].text == "--":
        arguments = arguments[1:]
    if not arguments or (target is None and machine.out is None):
        return
    text = None
    if all(value.exact and not value.many for value in arguments):
        text = formatted(arguments[0].text, [value.text for value in arguments[1:]])
    taint = _taint(arguments) | _escaped(arguments[0].text)
    if target is None:
        machine.emit(Stream(text, taint, span=hull(arguments)))
    else:
        old = machine.variable(target)
        attributes = old.attributes if old is not None else ""
        set_variable(machine, target, Value(text or "", text is not None, taint=taint), attributes, call.span)


def _escaped(text: str) -> Taints:
    """Characters given by number are a way of not saying what they are; the escape of terminal colours aside."""
    return _DECODED if _NUMBERED.search(text) else CLEAN


def formatted(form: str, arguments: list[str]) -> str | None:
    """What `printf FORM ARGUMENTS…` prints, or None for directives that are not computed."""
    pieces = _DIRECTIVE.split(form)
    literals, wholes, letters = pieces[::3], pieces[1::3], pieces[2::3]
    takes = sum(1 for whole in wholes if whole != "%")
    rest = list(arguments)
    out: list[str] = []
    for _ in range(MAX_ROUNDS):
        for at, literal in enumerate(literals):
            out.append(unescaped(literal))
            if at < len(wholes):
                text = _converted(wholes[at], letters[at], rest)
                if text is None:
                    return None
                out.append(text)
        if not rest or not takes:
            break
    result = "".join(out)
    return result if len(result) <= MAX_TEXT and (not rest or not takes) else None


def _converted(whole: str, letter: str | None, rest: list[str]) -> str | None:
    if whole == "%":
        return "%"
    if "*" in whole:
        return None
    value = rest.pop(0) if rest else ""
    if letter == "s":
        return value if len(whole) == 1 else _padded(whole, value)
    if letter == "b":
        return unescaped(value)
    if letter == "c":
        return value[:1]
    if letter in ("d", "i", "x", "X", "o", "u"):
        return _number(whole, value or "0")
    return None


def _padded(whole: str, value: str) -> str | None:
    digits = whole[:-1]
    if not re.fullmatch(r"-?\d{0,3}(?:\.\d{1,3})?", digits):
        return None
    return f"%{whole}" % value


def _number(whole: str, value: str) -> str | None:
    if value[:1] in ("'", '"') and len(value) > 1:
        number = ord(value[1])
    else:
        try:
            number = int(value, 0)
        except ValueError:
            return None
    if not re.fullmatch(r"[-+ 0#]?\d{0,3}(?:\.\d{1,3})?[diuxXo]", whole):
        return None
    return f"%{whole.replace('i', 'd').replace('u', 'd')}" % number


def read(machine: Machine, call: Call) -> None:
    """Read a line into variables: known where standard input is, with the taint of what it reads."""
    names = _names(call)
    for value in call.arguments:
        named(machine, value)
    array = _option_value(call, "a") or ""
    source = _option_value(call, "u")
    given = machine.stdin if source is None else machine.descriptors.get(int(source[:6])) if source.isdigit() else None
    stdin = held_by(machine, given)
    if stdin.text is None:
        unknown = Value("", exact=False, taint=stdin.taint, rest=stdin.rest if stdin.rest[:1] == "\n" else "")
        for name in names or ["REPLY"]:
            give(machine, name, (unknown,), call.span)
        if array:
            give_array(machine, array, {"@": unknown._replace(many=True)})
        return
    line, rest = _record(call, stdin.text)
    if source is None:
        machine.stdin = stdin._replace(text=rest)
    elif isinstance(given, Stream):
        machine.descriptors = {**machine.descriptors, int(source[:6]): stdin._replace(text=rest)}
    if "r" not in flags(call):
        line = re.sub(r"\\(.)", r"\1", line)
    _distribute(machine, names, array, line, stdin.taint)


def _record(call: Call, text: str) -> tuple[str, str]:
    """What one call reads of a text, and what is left: `-d` gives what ends it, `-n` and `-N` how long it is."""
    delimiter, most, exactly = (_option_value(call, letter) for letter in "dnN")
    line, _, rest = text.partition("\n" if delimiter is None else delimiter[:1] or "\0")
    count = exactly or most or ""
    size = int(count[:6]) if count.isdecimal() else len(text)
    if exactly is not None or size < len(line):
        return text[:size], text[size:]
    return line, rest


def _distribute(machine: Machine, names: list[str], array: str, line: str, taint: Taints) -> None:
    ifs = machine.variable("IFS")
    separators = ifs.choices[0].text if ifs is not None and ifs.choices and ifs.choices[0].exact else None
    words = (
        line.split() if separators is None else re.split(f"[{re.escape(separators)}]", line) if separators else [line]
    )
    if array:
        give_array(machine, array, {str(at): Value(word, taint=taint) for at, word in enumerate(words)})
    for at, name in enumerate(names):
        last = at == len(names) - 1
        if last and at == 0:
            text = line.strip() if separators is None else line
        else:
            text = " ".join(words[at:]) if last else words[at] if at < len(words) else ""
        give(machine, name, (Value(text, taint=taint),))
    if not names and not array:
        machine.put("REPLY", Variable((Value(line, taint=taint),)))


_VALUED = "adinNptu"


def _names(call: Call) -> list[str]:
    """The operands of `read`, whose options may take the next argument."""
    names: list[str] = []
    skip = False
    for value in call.arguments:
        text = value.text
        if skip:
            skip = False
        elif text.startswith("-") and len(text) > 1:
            skip = text[-1] in _VALUED
        elif text.isidentifier():
            names.append(text)
    return names


def _option_value(call: Call, letter: str) -> str | None:
    """What an option of `read` is given, in the same argument or in the next one."""
    for value, after in itertools.zip_longest(call.arguments, call.arguments[1:]):
        letters = value.text[1:] if value.text[:1] == "-" else ""
        at = next((at for at, one in enumerate(letters) if one in _VALUED), len(letters))
        if letters[at : at + 1] == letter:
            return letters[at + 1 :] or (after.text if after is not None else "")
    return None


def mapfile(machine: Machine, call: Call) -> None:
    """Read lines into an array."""
    names = [value.text for value in operands(call) if value.text.isidentifier()]
    name = names[-1] if names else "MAPFILE"
    stdin = machine.stdin
    if stdin.text is None:
        give_array(machine, name, {"@": UNKNOWN._replace(taint=stdin.taint, many=True)})
        return
    end = "" if "t" in flags(call) else "\n"
    most = _option_value(call, "n") or ""
    parts = stdin.text.split("\n")
    count = min(len(parts) - (not parts[-1]), int(most[:6]) or len(parts) if most.isdecimal() else len(parts))
    lines = parts[:count]
    machine.stdin = stdin._replace(text="\n".join(parts[count:]))
    give_array(machine, name, {str(at): Value(line + end, taint=stdin.taint) for at, line in enumerate(lines)})
