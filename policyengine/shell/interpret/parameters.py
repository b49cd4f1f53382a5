"""Parameter expansion (bash manual 3.5.3): what a variable and the operator on it give, as far as it is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from policyengine.effects import CLEAN, HOLE, Taint, Taints
from policyengine.shell.interpret.arrays import ANY, any_number, any_of, candidates, elements, is_sure, key_of
from policyengine.shell.interpret.choices import chosen, picked
from policyengine.shell.interpret.globs import computable, replaced, without_prefix, without_suffix
from policyengine.shell.interpret.latent import expanded, named
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.several import SURROUNDINGS, common
from policyengine.shell.interpret.streams import MAX_TEXT
from policyengine.shell.nodes import Literal, Parameter, Word
from policyengine.shell.values import UNKNOWN, Value, from_template

MAX_REFERENCES = 8
EXPANDED = 3  # fields that reading one parameter counts for, beside those that it gives
UNKNOWN_NAME = "__unknown"  # stands in generated code for what is not known
_new = tuple.__new__
_MANY = Value("", exact=False, many=True)


def parameter(machine: Machine, part: Parameter, *, quoted: bool) -> tuple[Value, ...]:
    """The values of `$name` or `${…}`: one, or for `$@` and whole arrays one for each element."""
    machine.spend(EXPANDED)
    span = machine.span(part.start, part.end)
    values = tuple([_new(Value, (*value[:5], span, value.rest)) for value in _values(machine, part)])
    listed = _is_list(part)
    if quoted and (len(values) > 1 if not listed else part.name == "*" or _subscript(part) == "*"):
        return (_joined(values),)
    return values if listed or values else (Value("", span=span),)


def _values(machine: Machine, part: Parameter) -> tuple[Value, ...]:
    if part.prefix == "#":
        return (_length(base_values(machine, part)),)
    if part.prefix == "!":
        return _indirect(machine, part)
    values = base_values(machine, part)
    return values if not part.op else _operated(machine, part, values)


def _is_list(part: Parameter) -> bool:
    return part.prefix != "#" and (part.name in ("@", "*") or _subscript(part) in ("@", "*"))


def _subscript(part: Parameter) -> str:
    return part.subscript.static or "" if part.subscript is not None else ""


# --------------------------------------------------------------------------------------------------------- plain values
def base_values(machine: Machine, part: Parameter) -> tuple[Value, ...]:
    """The values before any operator; empty for a parameter that is certainly unset."""
    name = part.name
    special = _SPECIAL.get(name)
    if special is not None:
        return special(machine)
    if name.isdigit():
        return _positional(machine, int(name))
    if part.subscript is not None:
        return _elements(machine, name, part.subscript)
    return variable_values(machine, name) if name else (UNKNOWN,)  # a bad substitution


def variable_values(machine: Machine, name: str) -> tuple[Value, ...]:
    """The value of a variable, at present one of its choices; empty where it is certainly unset."""
    name = referred(machine, name)
    variable = machine.variable(name)
    if variable is None:
        return _inherited(machine, name)
    if "n" in variable.attributes:
        return (UNKNOWN,)
    if len(variable.choices) == 1:
        return variable.choices
    if not variable.choices:
        if variable.items and machine.shell == "zsh":  # all elements that hold something (zshparam(1))
            return _all(variable.items)
        return _element(machine, name, variable.items or {}, "0")
    return (chosen(machine, name, variable.choices, common(variable.choices)),)


def referred(machine: Machine, name: str) -> str:
    """The variable that a name reference stands for (`declare -n`), at most a few steps on."""
    for _ in range(MAX_REFERENCES):
        variable = machine.variable(name)
        if variable is None or "n" not in variable.attributes or not variable.choices:
            break
        target = variable.choices[0]
        if not target.exact or not target.text:
            break
        name = target.text
    return name


def _inherited(machine: Machine, name: str) -> tuple[Value, ...]:
    if name[-1:] == "]":  # a reference to an element
        array, _, subscript = name[:-1].partition("[")
        variable = machine.variable(array)
        return _element(machine, array, elements(variable), key_of(machine, variable, Value(subscript)))
    situation = machine.situation
    known = _SHELL_VARIABLES.get(name)
    if known is not None:
        return (known(machine),)
    if name == UNKNOWN_NAME:
        return (UNKNOWN,)
    if name in situation.left.exports:  # perhaps the shell is still the same one
        at = picked(machine, name, 2)
        if at != 1:
            return (from_template(situation.left.exports[name]) if at == 0 else UNKNOWN,)
    if situation.env is None:
        return (UNKNOWN,)
    return (Value(situation.env[name]),) if name in situation.env else ()


def _place(machine: Machine) -> Value:
    return Value(machine.cwd.path, machine.cwd.exact)


_SHELL_VARIABLES: dict[str, Callable[[Machine], Value]] = {
    "HOME": lambda machine: Value(machine.situation.home),
    "PWD": _place,
    "OLDPWD": lambda machine: machine.cells.get("/oldpwd", UNKNOWN),
    "IFS": lambda _: Value(" \t\n"),
    "RANDOM": lambda _: UNKNOWN,
    "SECONDS": lambda _: UNKNOWN,
    "BASH": lambda _: Value("/bin/bash"),
    "OSTYPE": lambda machine: Value("darwin" if machine.situation.platform == "darwin" else "linux-gnu"),
}


def _arguments(machine: Machine) -> tuple[Value, ...]:
    return machine.positional if machine.positional is not None else (_MANY,)


def _count(machine: Machine) -> tuple[Value, ...]:
    values = _arguments(machine)
    return (Value(str(len(values))) if not any(value.many for value in values) else UNKNOWN,)


def _job(machine: Machine) -> tuple[Value, ...]:
    """The last job; nothing, or one of an earlier call, where none was started for certain (bash manual 3.4.2)."""
    job = machine.variable("!")
    return job.choices if job is not None and len(job.choices) == 1 else (UNKNOWN,)


_PROCESS = Value("$$")  # this very shell, whatever its number is: files named after it are found again
_SPECIAL: dict[str, Callable[[Machine], tuple[Value, ...]]] = {
    "@": _arguments,
    "*": _arguments,
    "#": _count,
    "?": lambda _: (UNKNOWN,),
    "$": lambda _: (_PROCESS,),
    "!": _job,
    "-": lambda _: (UNKNOWN,),
    "_": lambda _: (UNKNOWN,),
    "0": lambda machine: (machine.cells.get("/0", Value("bash")),),
}


def _positional(machine: Machine, number: int) -> tuple[Value, ...]:
    values = _arguments(machine)
    for at, value in enumerate(values):
        if value.many:
            return (value._replace(many=False),)
        if at + 1 == number:
            return (value,)
    return ()


def _elements(machine: Machine, name: str, subscript: Word) -> tuple[Value, ...]:
    from policyengine.shell.interpret.words import expand_one  # noqa: PLC0415  words expands parameters: one of the two is late

    key, name = expand_one(machine, subscript), referred(machine, name)
    variable = machine.variable(name)
    if key.text not in ("@", "*"):
        at = key_of(machine, variable, key)
    elif variable is not None and variable.items is not None:
        way = picked(machine, f"{name}[@]", len(variable.ways)) if variable.ways else None
        return _all(variable.items if way is None else variable.ways[way])
    if variable is None:
        return (_MANY,) if name in _BASH_ARRAYS or machine.situation.env is None else ()
    if variable.items is None:
        return variable_values(machine, name) if key.text in ("@", "*") or at in ("0", None) else ()
    return _element(machine, name, variable.items, at)


def _all(items: Mapping[str, Value]) -> tuple[Value, ...]:
    """The values of all elements."""
    values = tuple(items.values())
    return values if is_sure(items) else (any_number(values),)


def _element(machine: Machine, name: str, items: Mapping[str, Value], key: str | None) -> tuple[Value, ...]:
    """The value of an element, at present one of its choices; empty where it is certainly unset."""
    if key is None:
        machine.spend(len(items))
    values = candidates(items, key)
    return values if len(values) <= 1 else (chosen(machine, f"{name}[{key}]", values, any_of(values)),)


_BASH_ARRAYS = frozenset({"BASH_SOURCE", "PIPESTATUS", "FUNCNAME", "BASH_LINENO", "DIRSTACK", "GROUPS", "BASH_REMATCH"})


# ------------------------------------------------------------------------------------------------------------ operators
def _indirect(machine: Machine, part: Parameter) -> tuple[Value, ...]:
    if part.op in ("*", "@") or _subscript(part) in ("@", "*"):
        return _subscripts(machine, part)
    names = base_values(machine, part)
    for name in names:
        named(machine, name)
    if len(names) != 1 or not names[0].exact:
        return (UNKNOWN,)
    plain = Parameter(names[0].text, "", None, part.op, part.arguments, part.start, part.end)
    return _values(machine, plain)


def _subscripts(machine: Machine, part: Parameter) -> tuple[Value, ...]:
    """The subscripts of an array, or names of variables."""
    variable = machine.variable(part.name)
    if part.op or variable is None or variable.items is None or ANY in variable.items:
        return (_MANY,)
    return tuple(map(Value, variable.items))


def _length(values: Sequence[Value]) -> Value:
    if len(values) == 1 and not values[0].many:
        return Value(str(len(values[0].text))) if values[0].exact else UNKNOWN
    return UNKNOWN if any(value.many for value in values) else Value(str(len(values)))


def _operated(machine: Machine, part: Parameter, values: tuple[Value, ...]) -> tuple[Value, ...]:
    operator = part.op.lstrip(":")
    if operator in ("-", "=", "+", "?") and (part.op != ":" or operator):
        return _defaulted(machine, part, values, operator)
    arguments = _operands(machine, part)
    if part.op == "@" and arguments and arguments[0].text == "P":
        for value in values:
            expanded(machine, value)
    transform = _TRANSFORMS.get(part.op)
    if part.op == ":" and _is_list(part):
        return _slice(values, arguments)
    if transform is None:
        return tuple([_lost(value, arguments) for value in values])
    return tuple([_applied(transform, value, arguments) for value in values])


def _operands(machine: Machine, part: Parameter) -> list[Value]:
    from policyengine.shell.interpret.arithmetic import arithmetic  # noqa: PLC0415  as above
    from policyengine.shell.interpret.words import expand_one  # noqa: PLC0415  as above

    if part.op == ":":
        return [arithmetic(machine, expand_one(machine, word)) for word in part.arguments]
    return [expand_one(machine, word, pattern=at == 0) for at, word in enumerate(part.arguments)]


def operand(machine: Machine, part: Parameter) -> Word | None:
    """The operand of `${name-word}` or `${name+word}` if that is what it gives, and if its quotes matter."""
    operator = part.op.lstrip(":")
    word = part.arguments[0]
    if operator not in ("-", "+") or part.prefix or all(type(inner) is Literal for inner in word.parts):
        return None
    values = base_values(machine, part)
    unset = _is_unset(part, values)
    certain = bool(values) and values[0].exact and not unset
    if certain or unset:
        return word if certain is (operator == "+") else None
    at = picked(machine, _choice(part), 2)
    return word if at is not None and (at == 0) is (operator == "-") else None


def _is_unset(part: Parameter, values: tuple[Value, ...]) -> bool:
    return not values or (part.op[0] == ":" and len(values) == 1 and values[0].exact and not values[0].text)


def _choice(part: Parameter) -> str:
    return f"/{part.start}:{part.name}"


def _defaulted(machine: Machine, part: Parameter, values: tuple[Value, ...], operator: str) -> tuple[Value, ...]:
    from policyengine.shell.interpret.words import expand_one  # noqa: PLC0415  as above

    word = expand_one(machine, part.arguments[0]) if part.arguments else Value("")
    unset = _is_unset(part, values)
    certain = bool(values) and values[0].exact and not unset
    if operator == "?":
        return values or (Value(""),)
    if operator == "+":
        return (word,) if certain else (Value(""),) if unset else (_either(machine, part, Value(""), word),)
    result = values if certain else (word,) if unset else (_either(machine, part, word, values[0]),)
    if operator == "=" and not certain and part.name.isidentifier():
        from policyengine.shell.interpret.assignments import give  # noqa: PLC0415  as above

        give(machine, part.name, result, machine.span(part.start, part.end))
    return result


def _either(machine: Machine, part: Parameter, known: Value, other: Value) -> Value:
    """An unknown variable with a default: both are looked at, as two choices of the expression."""
    if other.template == HOLE and machine.variable(part.name) is None:
        other = other._replace(taint=other.taint | SURROUNDINGS)
    return chosen(machine, _choice(part), (known, other), common((known, other)))


def _slice(values: tuple[Value, ...], arguments: Sequence[Value]) -> tuple[Value, ...]:
    if not all(argument.exact for argument in arguments) or any(value.many for value in values):
        return (Value("", exact=False, many=True, taint=_taint(values)),)
    numbers = [int(argument.text) for argument in arguments]
    start = max(numbers[0] - 1, 0) if numbers[0] >= 0 else numbers[0]
    end = start + numbers[1] if len(numbers) > 1 else None
    return values[start:end]


def _lost(value: Value, arguments: Sequence[Value]) -> Value:
    return Value("", exact=False, many=value.many, taint=value.taint | _taint(tuple(arguments)))


def _applied(transform: Callable[..., str | None], value: Value, arguments: Sequence[Value]) -> Value:
    texts = [argument.text for argument in arguments]
    if not value.exact or not all(argument.exact for argument in arguments) or len(value.text) > MAX_TEXT:
        return _lost(value, arguments)
    result = transform(value.text, *texts) if computable(value.text, "".join(texts)) else None
    if result is None:
        return _lost(value, arguments)
    taint = value.taint | _DECODED if transform is _SWAPPED or transform is _ALL_SWAPPED else value.taint
    return value._replace(text=result, glob=False, taint=taint)


def _substring(text: str, offset: str, length: str = "") -> str | None:
    start = int(offset)
    start = max(len(text) + start, 0) if start < 0 else start
    if not length:
        return text[start:]
    size = int(length)
    return text[start : size if size < 0 else start + size]


def _case(change: Callable[[str], str], *, every: bool) -> Callable[..., str | None]:
    def apply(text: str, pattern: str = "") -> str | None:
        if pattern:
            return None
        return change(text) if every else change(text[:1]) + text[1:]

    return apply


def _quoted(text: str, how: str = "") -> str | None:
    """`${x@U}` and the like (bash manual 3.5.3, parameter transformation)."""
    changes: dict[str, Callable[[str], str]] = {
        "U": str.upper,
        "L": str.lower,
        "u": lambda word: word[:1].upper() + word[1:],
        "Q": lambda word: "'" + word.replace("'", "'\\''") + "'",
    }
    return changes[how](text) if how in changes else None


def _replacing(*, every: bool, anchor: str) -> Callable[..., str | None]:
    return lambda text, pattern, by="": replaced(text, pattern, by, every=every, anchor=anchor) if pattern else text


# Exchanging cases is undocumented in bash, and used by nothing but obfuscators.
_SWAPPED = _case(str.swapcase, every=False)
_ALL_SWAPPED = _case(str.swapcase, every=True)
_DECODED: Taints = frozenset({Taint.DECODED})

_TRANSFORMS: dict[str, Callable[..., str | None]] = {
    ":": _substring,
    "#": lambda text, pattern: without_prefix(text, pattern, longest=False),
    "##": lambda text, pattern: without_prefix(text, pattern, longest=True),
    "%": lambda text, pattern: without_suffix(text, pattern, longest=False),
    "%%": lambda text, pattern: without_suffix(text, pattern, longest=True),
    "/": _replacing(every=False, anchor=""),
    "//": _replacing(every=True, anchor=""),
    "/#": _replacing(every=False, anchor="#"),
    "/%": _replacing(every=False, anchor="%"),
    "^": _case(str.upper, every=False),
    "^^": _case(str.upper, every=True),
    ",": _case(str.lower, every=False),
    ",,": _case(str.lower, every=True),
    "~": _SWAPPED,
    "~~": _ALL_SWAPPED,
    "@": _quoted,
}


def _joined(values: tuple[Value, ...]) -> Value:
    """`"$*"`: one text, the elements joined with blanks."""
    span = values[0].span if values else None
    return from_template(" ".join([value.template for value in values]), _taint(values), span)


def _taint(values: Sequence[Value]) -> Taints:
    return frozenset().union(*[value.taint for value in values]) if values else CLEAN
