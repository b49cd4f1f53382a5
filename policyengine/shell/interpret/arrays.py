"""Arrays (bash manual 6.7): which element a subscript names, and what is known of the elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policyengine.shell.interpret.arithmetic import arithmetic
from policyengine.shell.interpret.latent import evaluated
from policyengine.shell.interpret.machine import Machine, Variable
from policyengine.shell.interpret.several import common, join_values
from policyengine.shell.values import UNKNOWN, Value

MAX_ELEMENTS = 256  # of an array that are kept one by one
MAX_WAYS = 8  # arrays of which one is kept that is one of several: three conditions
MAX_SEVERAL = 4 * 1024  # characters of all the texts of which a value is one
ANY = "@"  # the key of elements whose subscripts are not known, of all together


def elements(variable: Variable | None) -> dict[str, Value]:
    """The elements by their subscripts; a plain variable is its own first element."""
    if variable is None:
        return {}
    if variable.items is not None:
        return dict(variable.items)
    return {"0": any_of(variable.choices)} if variable.choices else {}


def any_of(values: Sequence[Value]) -> Value:
    """What is known of a value that is one of these, or more like them."""
    distinct = tuple(dict.fromkeys(value._replace(span=None, many=False) for value in values))
    if len(distinct) == 1:
        return distinct[0]
    texts = "\n".join(value.template for value in distinct)
    return common(distinct)._replace(rest=f"\n{texts}"[:MAX_SEVERAL])


def any_number(values: Sequence[Value]) -> Value:
    """Any number of values, these among them."""
    return any_of([UNKNOWN, *values])._replace(many=True)


def key_of(machine: Machine, variable: Variable | None, subscript: Value) -> str | None:
    """The key of the element that a subscript names, an expression or any text; None where that is not known."""
    if variable is not None and "A" in variable.attributes:
        evaluated(machine, subscript)
        return subscript.text if subscript.exact else None
    number = arithmetic(machine, subscript)
    if not number.exact:
        return None
    at = int(number.text)
    if at > 0 and machine.shell == "zsh":
        at -= 1  # its first element has number 1 (zshparam(1))
    return str(at if at >= 0 else following(elements(variable)) + at)


def following(items: Mapping[str, Value]) -> int:
    """The subscript behind the last one."""
    return max((int(key) for key in items if key.isdecimal()), default=-1) + 1


def is_sure(items: Mapping[str, Value]) -> bool:
    """Whether it is known which elements there are."""
    return ANY not in items or (len(items) == 1 and items[ANY].exact)


def with_element(items: dict[str, Value], key: str | None, value: Value) -> dict[str, Value]:
    """The elements with one more, or another value for one."""
    if key is None or value.many:
        key, value = ANY, any_of([items[ANY], value]) if ANY in items else value
    items[key] = value
    return items if len(items) <= MAX_ELEMENTS else {ANY: UNKNOWN._replace(many=True)}


def candidates(items: Mapping[str, Value], key: str | None) -> tuple[Value, ...]:
    """The values that the element of that key may have, or any element; empty where it is certainly unset."""
    values = list(items.values()) if key is None else [items[at] for at in (key, ANY) if at in items]
    return join_values([value._replace(many=False) for value in values])


def joined_elements(one: Mapping[str, Value], other: Mapping[str, Value]) -> dict[str, Value]:
    """The elements of an array that is one of two."""
    same = {key: value for key, value in one.items() if other.get(key) == value}
    changed = [value for items in (one, other) for key, value in items.items() if key not in same]
    if one.keys() != other.keys():
        changed.append(Value(""))
    return with_element(same, None, any_number(changed)) if changed else same


def join_variables(one: Variable | None, other: Variable | None) -> Variable | None:
    """A variable that is one of two; unset counts as the empty text."""
    if one is None and other is None:
        return None
    unset = Variable((Value(""),))
    first, second = one or unset, other or unset
    attributes = "".join(sorted({*first.attributes, *second.attributes}))
    if first.items is None and second.items is None:
        return Variable(
            join_values((*(first.choices or unset.choices), *(second.choices or unset.choices))), attributes
        )
    items = joined_elements(elements(first), elements(second))
    return Variable((), attributes, items, _distinct([*ways_of(one), *ways_of(other)]))


def ways_of(variable: Variable | None) -> tuple[Mapping[str, Value], ...]:
    """The arrays of which a variable is one."""
    return variable.ways if variable is not None and variable.ways else (elements(variable),)


def _distinct(ways: Sequence[Mapping[str, Value]]) -> tuple[Mapping[str, Value], ...]:
    """Each once, if they are few and it is known what is in them."""
    found = [way for at, way in enumerate(ways) if way not in ways[:at]]
    return tuple(found) if len(found) <= MAX_WAYS and not any(ANY in way for way in found) else ()
