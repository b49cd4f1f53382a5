"""Matchers of rules as tests. A matcher is plain data, a list of `[operator, argument]` that must all hold.

    in [v, …] · like [glob, …] · matches RE2 · any [taint, …] · inside|outside|apart|zone [zone, …] · contains v
    item [position or null, matcher] · over n · not matcher

`value_test` takes a value alone (arguments of a request, items of a list). `effect_test` takes an effect and what is
known of the call, since places depend on both. A value that is missing or of another type satisfies only `not`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from policyengine.effects import Effect, FileAttribute, FileDelete, FileRead, FileWrite
from policyengine.patterns import glob_test
from policyengine.policies.ruleset.sight import Sight
from policyengine.policies.ruleset.zones import NONE

# Plain data out of a bundle: its shape was checked when it was compiled.
Matcher: TypeAlias = Sequence[Sequence[Any]]
ValueTest: TypeAlias = Callable[[object], bool]
EffectTest: TypeAlias = Callable[[Any, Sight], bool]  # Any: the effect class whose field positions were compiled in

PLACE_OPERATORS = frozenset({"inside", "outside", "apart", "zone"})
PATHS = frozenset({"path", "mount"})  # fields that hold a path
HOSTS = frozenset({"host"})  # fields that hold a host
# Effects whose `unknown` and `glob` speak of their path; elsewhere `unknown` is about a host, program or other target.
ON_FILES: frozenset[type[Effect]] = frozenset({FileRead, FileWrite, FileDelete, FileAttribute})
RECURSIVE: frozenset[type[Effect]] = frozenset({FileRead, FileDelete, FileAttribute})  # may mean all below a directory

TAILED: frozenset[type[Effect]] = frozenset({FileRead, FileWrite})  # say how the path ends


# --------------------------------------------------------------------------------------------------------------- values
def value_test(matcher: Matcher) -> ValueTest:
    """Compile a matcher on a value."""
    tests = [_VALUES[operator](argument) for operator, argument in matcher]
    return tests[0] if len(tests) == 1 else lambda value: all(test(value) for test in tests)


def _in(values: Sequence[object]) -> ValueTest:
    known = frozenset(map(_tagged, values))
    return lambda value: (value is None or isinstance(value, str | int | float)) and _tagged(value) in known


def _tagged(value: object) -> tuple[bool, object]:
    return isinstance(value, bool), value  # true is not 1


def _like(globs: Sequence[str]) -> ValueTest:
    tests = [glob_test(glob) for glob in globs]
    return lambda value: isinstance(value, str) and any(test(value) for test in tests)


def _matches(pattern: str) -> ValueTest:
    return lambda value: isinstance(value, str) and _regex(pattern).search(_encodable(value)) is not None


@lru_cache(maxsize=1024)
def _regex(pattern: str) -> Any:  # Any: RE2 comes without types
    import re2  # noqa: PLC0415  loaded only where a rule on the way has a regular expression

    return re2.compile(pattern)


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _any(taints: Sequence[str]) -> ValueTest:
    wanted = frozenset(taints)
    return lambda value: isinstance(value, frozenset) and not wanted.isdisjoint(value)


def _contains(wanted: object) -> ValueTest:
    test = _in([wanted])
    return lambda value: _is_list(value) and any(map(test, value))  # type: ignore[call-overload]  # it is iterable


def _item(argument: Sequence[Any]) -> ValueTest:
    position, matcher = argument
    test = value_test(matcher)
    if position is None:
        return lambda value: _is_list(value) and any(map(test, value))  # type: ignore[call-overload]  # it is iterable
    at = int(position)
    return lambda value: isinstance(value, tuple) and -len(value) <= at < len(value) and test(value[at])


def _is_list(value: object) -> bool:
    return isinstance(value, tuple | frozenset)


def _over(limit: float) -> ValueTest:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value > limit


def _not(matcher: Matcher) -> ValueTest:
    test = value_test(matcher)
    return lambda value: not test(value)


_VALUES: Mapping[str, Callable[[Any], ValueTest]] = {
    "in": _in,
    "like": _like,
    "matches": _matches,
    "any": _any,
    "contains": _contains,
    "item": _item,
    "over": _over,
    "not": _not,
}


# -------------------------------------------------------------------------------------------------------------- effects
def effect_test(kind: type[Effect], field: str, matcher: Matcher) -> EffectTest:
    """Compile a matcher on a field of one kind of effect."""
    tests = [_one(kind, field, operator, argument) for operator, argument in matcher]
    return tests[0] if len(tests) == 1 else lambda effect, sight: all(test(effect, sight) for test in tests)


def _one(kind: type[Effect], field: str, operator: str, argument: Any) -> EffectTest:
    if operator == "not" and any(inner in PLACE_OPERATORS for inner, _ in argument):
        test = effect_test(kind, field, argument)
        return lambda effect, sight: not test(effect, sight)
    if operator in PLACE_OPERATORS:
        return _host_test(kind, argument) if field in HOSTS else _place_test(kind, field, operator, argument)
    index = kind._fields.index(field)
    if operator == "in" and len(argument) == 1:
        wanted = argument[0]
        return lambda effect, _: effect[index] == wanted
    plain = _VALUES[operator](argument)
    return lambda effect, _: plain(effect[index])


def zones_of(kind: type[Effect], field: str) -> Callable[[Any, Sight], frozenset[str]]:
    """How to find the zones to which something belongs that the field of an effect names."""
    found, index = _zones_of(kind, field), kind._fields.index(field)
    if kind not in TAILED:
        return found
    tail = kind._fields.index("tail")
    return lambda effect, sight: (
        found(effect, sight) | sight.ended(effect[index], effect[tail]) if effect[tail] else found(effect, sight)
    )


def _zones_of(kind: type[Effect], field: str) -> Callable[[Any, Sight], frozenset[str]]:
    index = kind._fields.index(field)
    if field in HOSTS:
        return lambda effect, sight: sight.hosts(effect[index])
    if kind in RECURSIVE:
        return lambda effect, sight: (sight.swept if effect.recursive else sight.touched)(
            effect[index], effect.unknown, effect.glob
        )
    if kind in ON_FILES:
        return lambda effect, sight: sight.touched(effect[index], effect.unknown, effect.glob)
    return lambda effect, sight: sight.touched(effect[index], False, False) if effect[index] else NONE  # mostly none


def _host_test(kind: type[Effect], zones: Sequence[str]) -> EffectTest:
    wanted, found = frozenset(zones), zones_of(kind, "host")
    return lambda effect, sight: not wanted.isdisjoint(found(effect, sight))


def _place_test(kind: type[Effect], field: str, operator: str, zones: Sequence[str]) -> EffectTest:
    index, wanted = kind._fields.index(field), frozenset(zones)
    if operator == "zone":
        touched = zones_of(kind, field)
        return lambda effect, sight: not wanted.isdisjoint(touched(effect, sight))
    if kind not in ON_FILES:
        if operator == "inside":
            return lambda effect, sight: not wanted.isdisjoint(sight.inside(effect[index], False, False))
        # An empty path is no path, so it is not outside of anything either.
        return lambda effect, sight: (
            effect[index] != "" and wanted.isdisjoint(sight.inside(effect[index], False, False))
        )
    if operator == "inside":
        return lambda effect, sight: not wanted.isdisjoint(sight.inside(effect[index], effect.unknown, effect.glob))
    if operator == "apart":
        return lambda effect, sight: sight.apart(effect[index], effect.unknown, effect.glob, wanted)
    return lambda effect, sight: wanted.isdisjoint(sight.inside(effect[index], effect.unknown, effect.glob))
