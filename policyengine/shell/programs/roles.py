"""Which operand has which role: a list of roles counted from both ends, laid over the operands of a call."""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.shell.programs.parts import Elements, Operand, Roles
from policyengine.shell.values import Value

MAX_CACHED = 8  # numbers of operands for which a list of roles remembers its layout


def roles_of(operands: Sequence[Value], elements: Elements) -> Roles:
    """Lay the described roles over the operands.

    A value that stands for many arguments, or a glob, may take several roles in turn and so shifts those after it:
    every number of arguments that matters is tried, and an operand gets each role that it has in one of these trials.
    """
    if elements.assign is not None:
        return _after_assignments(operands, elements.assign, elements)
    if any([value.many or value.glob for value in operands]):
        return _merged(operands, elements.items, [value.many for value in operands])
    return _counted(len(operands), elements)


def _counted(count: int, elements: Elements) -> Roles:
    roles = elements.cache.get(count)
    if roles is None:
        roles = _from_layout(_layout(count, elements.items))
        if count <= MAX_CACHED:
            elements.cache[count] = roles
    return roles


def is_assignment(value: Value) -> bool:
    """Whether a word certainly has the form `NAME=VALUE`; env and sudo take any name (env(1), `BASH_FUNC_f%%=…`)."""
    name, equals, _ = value.text.partition("=")
    return equals == "=" and name != ""


def _after_assignments(operands: Sequence[Value], assign: Operand, elements: Elements) -> Roles:
    count = next((index for index, value in enumerate(operands) if not is_assignment(value)), len(operands))
    rest = operands[count:]
    # A word that is not known at all may be one more assignment, or none: then the tail begins after it.
    vanishing = [value.many or (not value.exact and "=" not in value.text) for value in rest]
    uncertain = any(vanishing) or any(value.glob for value in rest)
    after = _merged(rest, elements.items, vanishing) if uncertain else _counted(len(rest), elements)
    excess = None if after.excess is None else after.excess + count
    return Roles((*((assign,),) * count, *after.each), [(index + count, tail) for index, tail in after.tails], excess)


def _layout(count: int, elements: Sequence[Operand]) -> list[Operand | None]:
    """One element for each of `count` operands; None for those that are too many."""
    fixed = sum(element.quantity == "" and not element.tail for element in elements)
    optional = sum(element.quantity == "?" and not element.tail for element in elements)
    spare = max(0, count - fixed)
    several = max(0, spare - optional)
    laid: list[Operand | None] = []
    for element in elements:
        number = 1
        if element.tail:
            number = count - len(laid)
        elif element.quantity:
            number = several if element.quantity == "..." else min(1, spare)
            spare -= element.quantity == "?" and number
        laid += [element] * number
    return (laid + [None] * (count - len(laid)))[:count]


def _from_layout(laid: Sequence[Operand | None]) -> Roles:
    excess = next((index for index, element in enumerate(laid) if element is None), None)
    start = next((index for index, element in enumerate(laid) if element is not None and element.tail), None)
    each = [() if element is None or element.tail else (element,) for element in laid]
    if start is None:
        return Roles(each, (), excess)
    tail = laid[start]
    assert tail is not None
    return Roles(each, ((start, tail),), excess)


def _merged(operands: Sequence[Value], elements: Sequence[Operand], vanishing: Sequence[bool]) -> Roles:
    trials = list(_trials(operands, elements, vanishing))
    each = [
        tuple(dict.fromkeys(role for trial in trials for role in trial.each[index])) for index in range(len(operands))
    ]
    tails = list(dict.fromkeys(tail for trial in trials for tail in trial.tails))
    excesses = [trial.excess for trial in trials]
    return Roles(each, tails, None if None in excesses else excesses[0])


def _trials(operands: Sequence[Value], elements: Sequence[Operand], vanishing: Sequence[bool]) -> list[Roles]:
    trials = []
    for copies in range(len(elements) + 2):
        numbers = [
            copies if gone else max(1, copies) if value.glob else 1
            for value, gone in zip(operands, vanishing, strict=True)
        ]
        enough = sum(numbers) >= sum(element.quantity != "?" for element in elements)
        if enough or copies == len(elements) + 1:
            trials.append(_gathered(_from_layout(_layout(sum(numbers), elements)), numbers))
    return trials


def _number(value: Value, vanishing: bool, copies: int) -> int:
    if vanishing:
        return copies
    return max(1, copies) if value.glob else 1


def _gathered(roles: Roles, numbers: Sequence[int]) -> Roles:
    """Bring the roles of expanded operands back to the operands that they came from."""
    owners = [index for index, number in enumerate(numbers) for _ in range(number)]
    each: list[list[Operand]] = [[] for _ in numbers]
    for owner, role in zip(owners, roles.each, strict=True):
        each[owner] += role
    excess = None if roles.excess is None else owners[roles.excess]
    return Roles(each, [(owners[start], tail) for start, tail in roles.tails], excess)
