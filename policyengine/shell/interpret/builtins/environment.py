"""Builtins that change variables, options and the working directory (bash manual 4.1-4.3)."""

from __future__ import annotations

import itertools
import re

from policyengine.effects import SetVariable, System
from policyengine.patterns import lazily
from policyengine.shell.interpret.arithmetic import arithmetic
from policyengine.shell.interpret.arrays import any_number, key_of, with_element
from policyengine.shell.interpret.assignments import ACTIVE, assign, give, set_variable
from policyengine.shell.interpret.builtins.call import Call, flags, operands
from policyengine.shell.interpret.customs import anywhere
from policyengine.shell.interpret.held import holds, run_held
from policyengine.shell.interpret.latent import assigned, named
from policyengine.shell.interpret.machine import Machine, Variable
from policyengine.shell.interpret.parameters import variable_values
from policyengine.shell.interpret.redirects import place_of
from policyengine.shell.interpret.secrets import PATH_MAX
from policyengine.shell.interpret.several import join_values
from policyengine.shell.interpret.streams import Stream
from policyengine.shell.nodes import Assignment, Literal, Word
from policyengine.shell.paths import Place
from policyengine.shell.values import UNKNOWN, Value

_NAME = lazily(r"[A-Za-z_]\w*\Z")
_ASSIGNED = lazily(r"([A-Za-z_]\w*(?:\[[^\]]*+\])?)(\+?)=")


def cd(machine: Machine, call: Call) -> None:
    """`cd [DIR]`: home without an operand, the former directory for `-`. `CDPATH` is not followed."""
    given = operands(call)
    if not given:
        home = variable_values(machine, "HOME")
        target = home[0] if home else UNKNOWN
    elif given[0].text == "-" and given[0].exact:
        target = machine.cells.get("/oldpwd", UNKNOWN)
    else:
        target = given[0]
    _move(machine, target)


def _move(machine: Machine, target: Value) -> None:
    old = machine.cwd
    found = place_of(machine, target)
    machine.put("/oldpwd", Value(old.path, old.exact))
    known = not (found.unknown or found.glob) and len(found.path) <= PATH_MAX
    machine.put("/cwd", Place(found.path[:PATH_MAX], known))


def pushd(machine: Machine, call: Call) -> None:
    """`pushd DIR`; without one the two topmost directories change places."""
    stack: tuple[Place, ...] = machine.cells.get("/stack") or ()
    given = operands(call)
    if given and not given[0].text.startswith("+"):
        machine.put("/stack", (machine.cwd, *stack))
        _move(machine, given[0])
    elif stack:
        machine.put("/stack", (machine.cwd, *stack[1:]))
        _move(machine, Value(stack[0].path, stack[0].exact))


def popd(machine: Machine, call: Call) -> None:
    """Return to the directory on top of the stack."""
    del call
    stack: tuple[Place, ...] = machine.cells.get("/stack") or ()
    machine.put("/stack", stack[1:])
    _move(machine, Value(stack[0].path, stack[0].exact) if stack else UNKNOWN)


def pwd(machine: Machine, call: Call) -> None:
    """Print the working directory."""
    del call
    place = machine.cwd
    machine.emit(Stream(place.path + "\n" if place.exact else None))


# --------------------------------------------------------------------------------------------------------- declarations
def declare(machine: Machine, call: Call) -> None:
    """`declare`, `typeset`, `local`, `readonly`, `export`: assignments with attributes."""
    letters = "".join(
        sorted({letter for letter in flags(call) if letter in "xnluiaA"} | _IMPLIED.get(call.name, set()))
    )
    if call.name == "export" and "n" in flags(call):
        letters = ""
    if "f" in flags(call):
        _export_functions(machine, call)
        return
    hides = _hides(machine, call)
    for value, word in zip(call.arguments, _words(call), strict=True):
        _declare(machine, value, word, letters, hides=hides)


def declare_array(machine: Machine, call: Call, node: Assignment) -> None:
    """Interpret `declare NAME=(…)`, the rest of the call being interpreted already."""
    if _hides(machine, call) and machine.local is not None:
        machine.local.append((node.name, machine.variable(node.name)))
        machine.put(node.name, None)
    assign(machine, node, attributes="".join(sorted({letter for letter in flags(call) if letter in "xnluiaA"})))


def _hides(machine: Machine, call: Call) -> bool:
    return machine.local is not None and call.name in ("local", "declare", "typeset") and "g" not in flags(call)


_IMPLIED = {"export": {"x"}}


def _words(call: Call) -> list[Word | None]:
    """The word of each argument where they correspond; an array assignment can only be read from its word."""
    return list(call.words) if len(call.words) == len(call.arguments) else [None] * len(call.arguments)


def _declare(machine: Machine, value: Value, word: Word | None, letters: str, *, hides: bool) -> None:
    if value.text[:1] in ("-", "+"):
        return
    found = _ASSIGNED.match(value.text)
    name = found[1] if found else value.text
    named(machine, value._replace(text=value.text.partition("=")[0]))
    array = name.partition("[")[0]
    if not _NAME.match(array) or (found is None and not value.exact):
        return
    if hides and machine.local is not None:
        machine.local.append((array, machine.variable(array)))
    if found is not None:
        _set(machine, value, found, word, letters)
    else:
        _mark(machine, array, letters + "a" * (array != name), value, anew=hides or "x" not in letters)


def _set(machine: Machine, value: Value, found: re.Match[str], word: Word | None, letters: str) -> None:
    """`declare NAME=TEXT`, of which the name and the sign are found."""
    name, text = found[1], value._replace(text=value.text[found.end() :])
    array = name.partition("[")[0]
    if text.text[:1] == "(" and text.text[-1:] == ")" and _is_array(machine, array, letters):
        _mark(machine, array, letters, value, anew=True)
        assigned(machine, value)
    elif found[2] and word is not None:
        node = Assignment(name, None, True, _plain(text, word), None, word.start, word.end)
        assign(machine, node, attributes=letters)
    else:
        if "n" in letters:  # a reference that is declared again refers elsewhere, and is not followed
            machine.put(name, Variable(()))
        set_variable(machine, name, text, letters, value.span)


def _mark(machine: Machine, name: str, letters: str, word: Value, *, anew: bool) -> None:
    """`declare NAME`: a variable gets attributes, one that is not set as well where it starts `anew`."""
    old = machine.variable(name)
    if old is not None:
        machine.put(name, old._replace(attributes="".join({*old.attributes, *letters})))
    elif anew:
        machine.put(name, Variable((), letters, {}) if {"a", "A"} & {*letters} else Variable((Value(""),), letters))
    if "x" in letters:
        _export(machine, name, word)


def _is_array(machine: Machine, name: str, letters: str) -> bool:
    old = machine.variable(name)
    return bool({"a", "A"} & {*letters}) or (old is not None and (old.items is not None or "A" in old.attributes))


def _export(machine: Machine, name: str, word: Value) -> None:
    """From now on programs see what a variable holds."""
    machine.exports[name] = None
    known = variable_values(machine, name)
    text = known[0] if known else Value("")
    machine.effects.append(SetVariable(name, text.text, not text.exact, machine.where, word.span, "export"))
    if holds(name) and known:
        run_held(machine, name, text._replace(span=word.span))


def _plain(value: Value, word: Word) -> Word:
    return Word((Literal(value.text, word.start, word.end),), word.start, word.end)


def _export_functions(machine: Machine, call: Call) -> None:
    for value in operands(call):
        if machine.cells.get(value.text + "()") is not None:
            machine.exports[value.text + "()"] = None


def unset(machine: Machine, call: Call) -> None:
    """Remove variables, or functions with `-f`."""
    for value in operands(call):
        named(machine, value)
        name, bracket, subscript = value.text.partition("[")
        if bracket and subscript not in ("@]", "*]"):
            _unset_element(machine, name, value._replace(text=subscript.rpartition("]")[0]))
            continue
        if "f" in flags(call) or (machine.cells.get(name + "()") is not None and machine.variable(name) is None):
            machine.put(name + "()", None)
        else:
            machine.put(name, Variable(()))
            if name in ACTIVE:
                machine.effects.append(SetVariable(name, "", False, machine.where, value.span, call.name))


def _unset_element(machine: Machine, name: str, subscript: Value) -> None:
    old = machine.variable(name)
    if old is not None and old.items is not None:
        key = key_of(machine, old, subscript)
        items = {at: value for at, value in old.items.items() if at != key}
        machine.put(name, old._replace(items=items if key is not None else with_element(items, None, Value(""))))


def shift(machine: Machine, call: Call) -> None:
    """Drop leading positional parameters."""
    count = call.arguments[0] if call.arguments else Value("1")
    values = machine.positional
    if values is None or not count.exact or not count.text.isdigit():
        machine.positional = None if values is None else (any_number(values),)
        return
    many = next((at for at, value in enumerate(values) if value.many), len(values))
    machine.positional = values[min(int(count.text), many) :]


def set_options(machine: Machine, call: Call) -> None:
    """`set -- a b` and `set a b` set the positional parameters; options are of no consequence here."""
    arguments = call.arguments
    texts = [value.text for value in arguments]
    if ("+o", "history") in itertools.pairwise(texts):
        machine.effects.append(System("log", "stop", "history", False, machine.where, call.span, call.name))
    for value, after in itertools.zip_longest(arguments, arguments[1:]):
        sign, letters = value.text[:1], value.text[1:]
        if sign not in ("-", "+") or value.text == "--":
            break
        if "a" in letters or (letters[-1:] == "o" and after is not None and after.text == "allexport"):
            machine.exporting = sign == "-"
    at = next(
        (at for at, value in enumerate(arguments) if value.text == "--" or value.text[:1] not in ("-", "+")), None
    )
    if at is None:
        return
    rest = arguments[at + 1 :] if arguments[at].text == "--" else arguments[at:]
    if at and arguments[at - 1].text in ("-o", "+o"):
        rest = rest[1:]
        if not rest:
            return
    machine.positional = tuple(rest)


def let(machine: Machine, call: Call) -> None:
    """Evaluate each argument as arithmetic."""
    for value in call.arguments:
        arithmetic(machine, value)


def shopt(machine: Machine, call: Call) -> None:
    """Of the options only `expand_aliases` matters, which makes aliases count in scripts, and `lastpipe`."""
    options = {value.text for value in call.arguments} if "s" in flags(call) else set()
    if "expand_aliases" in options:
        machine.aliasing = True
    if "lastpipe" in options:
        machine.put("/lastpipe", True)


def alias(machine: Machine, call: Call) -> None:
    """Define aliases; in zsh also those that stand for any word, and for names with some ending."""
    for value in operands(call):
        name, equals, text = value.text.partition("=")
        if equals and {"g", "s"} & {*flags(call)}:
            anywhere(machine, value._replace(text=text), ": " if "g" in flags(call) else "")
        elif equals:
            machine.put(name + "=", value._replace(text=text))


def unalias(machine: Machine, call: Call) -> None:
    """Remove aliases."""
    for value in operands(call):
        machine.put(value.text + "=", None)


def getopts(machine: Machine, call: Call) -> None:
    """The option found and its argument depend on the positional parameters."""
    given = call.arguments[2:] or machine.positional or [UNKNOWN]
    machine.spend(len(given))
    for name in ([call.arguments[1].text] if len(call.arguments) > 1 else []) + ["OPTIND"]:
        give(machine, name, (UNKNOWN,), call.span)
    machine.put("OPTARG", Variable(join_values([value._replace(many=False) for value in given])))


def wait(machine: Machine, call: Call) -> None:
    """`wait -p NAME`: the number of the job that ended goes into a variable."""
    for value, after in zip(call.arguments, call.arguments[1:], strict=False):
        if value.text[:1] == "-" and value.text.endswith("p"):
            named(machine, after)
            give(machine, after.text.partition("[")[0], (UNKNOWN,), call.span)


def test(machine: Machine, call: Call) -> None:
    """`test` and `[` look; of the variable that `-v` names they evaluate the subscript."""
    if any(value.text in ("-v", "-R") for value in call.arguments):
        for value in call.arguments:
            named(machine, value)


def nothing(machine: Machine, call: Call) -> None:
    """Builtins without any effect that matters and without output."""


def listing(machine: Machine, call: Call) -> None:
    """Builtins that only print something about the shell."""
    machine.emit(Stream(None))
