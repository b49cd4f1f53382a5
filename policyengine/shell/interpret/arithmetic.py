"""Arithmetic over constants (bash manual 6.5): what can be computed is, the rest is an unknown number.

Assignments inside an expression make their variables unknown. What bash runs when it evaluates
a text is found by `latent`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from policyengine.patterns import lazily
from policyengine.shell.interpret.latent import evaluated
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.values import UNKNOWN, Value

MAX_LENGTH = 2000  # characters of one expression; longer ones are not computed
MAX_TOKENS = 200

_TOKEN = lazily(r"\s*(?:(0[xX][0-9a-fA-F]+|\d+)|([A-Za-z_]\w*)|(\*\*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^!~()]))")
_ASSIGNED = lazily(
    r"(?<!\w)([A-Za-z_]\w*+)(?:\[[^\]]*+\])?\s*+(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*+([A-Za-z_]\w*+)"
)
_LEVEL = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "%": 10, "**": 11,
}  # fmt: skip
_APPLY: dict[str, Callable[[int, int], int]] = {
    "||": lambda a, b: int(bool(a or b)), "&&": lambda a, b: int(bool(a and b)), "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b, "&": lambda a, b: a & b, "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b), "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b), "<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63),
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "%": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1), "**": lambda a, b: a ** min(b, 64) if b >= 0 else 0,
}  # fmt: skip


def arithmetic(machine: Machine, text: Value) -> Value:
    """The value of an expression whose expansions are done."""
    if not text.text.isdigit():
        evaluated(machine, text)
    if len(text.text) > MAX_LENGTH:
        return Value("", exact=False, span=text.span)
    for found in _ASSIGNED.finditer(text.text):
        _changed(machine, found[1] or found[2])
    number = evaluate(machine, text.text) if text.exact else None
    if number is None:
        return Value("", exact=False, span=text.span)
    return Value(str(number), span=text.span)


def _changed(machine: Machine, name: str) -> None:
    """Some number was assigned to a variable, or to an element of it."""
    old = machine.variable(name)
    if old is not None and old.items is not None:
        machine.put(name, old._replace(items={**old.items, "@": UNKNOWN}))
    else:
        from policyengine.shell.interpret.assignments import give  # noqa: PLC0415  assigning computes subscripts

        give(machine, name, (UNKNOWN,))


def evaluate(machine: Machine, text: str) -> int | None:
    """The number of a constant expression, or None where it is not one."""
    tokens = _tokens(text)
    if tokens is None:
        return None
    reader = _Reader(machine, tokens)
    try:
        number = reader.level(0)
    except (IndexError, ZeroDivisionError, ValueError, RecursionError):
        return None
    return number if reader.at == len(tokens) and number is not None else None


def _tokens(text: str) -> list[str] | None:
    tokens: list[str] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found or len(tokens) > MAX_TOKENS:
            return None
        tokens.append(found[1] or found[2] or found[3])
        at = found.end()
    return tokens


class _Reader:
    """Precedence climbing over tokens; every operand may be unknown (None), and then so is the result."""

    __slots__ = ("at", "depth", "machine", "tokens")

    def __init__(self, machine: Machine, tokens: list[str]) -> None:
        self.machine = machine
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def level(self, lowest: int) -> int | None:
        left = self.operand()
        while self.at < len(self.tokens):
            operator = self.tokens[self.at]
            level = _LEVEL.get(operator, -1)
            if level < max(lowest, 1):
                return left
            self.at += 1
            right = self.level(level if operator == "**" else level + 1)
            left = None if left is None or right is None else _wrapped(_APPLY[operator](left, right))
        return left

    def operand(self) -> int | None:
        self.depth += 1
        if self.depth > MAX_TOKENS // 4:
            raise ValueError
        sign = self.tokens[self.at]
        self.at += 1
        number = self.prefixed(sign) if sign in "-+!~(" else self.atom(sign)
        self.depth -= 1
        return number

    def prefixed(self, sign: str) -> int | None:
        if sign == "(":
            number = self.level(0)
            self.at += 1
            return number
        number = self.operand()
        if number is None:
            return None
        return {"-": -number, "+": number, "!": int(not number), "~": ~number}[sign]

    def atom(self, sign: str) -> int | None:
        if sign[0].isdigit():
            return int(sign, 16 if sign[:2] in ("0x", "0X") else 8 if sign[0] == "0" and len(sign) > 1 else 10)
        variable = self.machine.variable(sign)
        if variable is None or len(variable.choices) != 1:
            return None
        value = variable.choices[0]
        text = value.text.strip()
        return (
            int(text) if value.exact and re.fullmatch(r"-?\d{1,18}", text) else 0 if value.exact and not text else None
        )


def _wrapped(number: int) -> int:
    """Bash computes with 64-bit integers."""
    number &= (1 << 64) - 1
    return number - (1 << 64) if number >> 63 else number
