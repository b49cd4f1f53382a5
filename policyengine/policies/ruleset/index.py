"""Rules made ready: for one kind of effect, those that may match an effect are found by table look-ups, not by a scan.

A rule stands under the values of one of its conditions: a field that must equal something, a zone, or a taint. Rules
without such a condition are the rest, and are tried on every effect of the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from policyengine.effects import EFFECTS, Effect, Span
from policyengine.model import Finding, Outcome, Severity
from policyengine.policies.ruleset.matchers import PLACE_OPERATORS, EffectTest, Matcher, effect_test, zones_of
from policyengine.policies.ruleset.sight import Sight
from policyengine.records import NamedTuple

Plain: TypeAlias = Mapping[str, Any]  # a compiled rule out of a bundle; its shape was checked when it was compiled
Buckets: TypeAlias = dict[object, list["Rule"]]


class Rule(NamedTuple):
    """What a rule says when it matches, and the conditions that its bucket does not already guarantee."""

    id: str
    message: str
    outcome: Outcome
    severity: Severity
    instead: str
    references: tuple[str, ...]
    labels: frozenset[str]
    shadow: bool
    tests: tuple[EffectTest, ...]

    def finding(self, effect: Effect | None, span: Span | None) -> Finding:
        """State the rule's finding about an effect, or about the request."""
        return Finding(
            rule=self.id,
            code=self.id,
            message=self.message,
            outcome=self.outcome,
            severity=self.severity,
            span=span,
            instead=self.instead,
            references=self.references,
            effect=effect,
            shadow=self.shadow,
            labels=self.labels,
        )


def rule_of(plain: Plain, tests: Sequence[EffectTest]) -> Rule:
    """Take a compiled rule's words and numbers."""
    return Rule(
        id=plain["id"],
        message=plain["message"],
        outcome=Outcome(plain["outcome"]),
        severity=Severity(plain["severity"]),
        instead=plain["instead"],
        references=tuple(plain["references"]),
        labels=frozenset(plain["labels"]),
        shadow=plain["shadow"],
        tests=tuple(tests),
    )


class Condition(NamedTuple):
    """One operator on one field of a rule."""

    field: str
    operator: str
    argument: Any  # plain data


class Index:
    """The rules over one kind of effect."""

    __slots__ = ("_equal", "_kind", "_rest", "_taints", "_zones")

    def __init__(self, kind: type[Effect], rules: Sequence[Plain]) -> None:
        self._kind = kind
        self._rest: list[Rule] = []
        self._equal: dict[int, Buckets] = {}
        self._taints: dict[int, Buckets] = {}
        self._zones: dict[str, tuple[Callable[[Any, Sight], frozenset[str]], Buckets]] = {}
        for plain in rules:
            self._insert(plain)

    def matching(self, effect: Effect, sight: Sight) -> list[Rule]:
        """Find the rules that match an effect."""
        found = [rule for rule in self._rest if _holds(rule, effect, sight)] if self._rest else []
        for position, buckets in self._equal.items():
            rules = buckets.get(effect[position])
            if rules:
                found += [rule for rule in rules if _holds(rule, effect, sight)]
        for position, buckets in self._taints.items():
            taints = effect[position]
            if taints:
                found += _of_several(taints, buckets, effect, sight)  # type: ignore[arg-type]  # a set of taints
        for zones, buckets in self._zones.values():
            names = zones(effect, sight)
            if names:
                found += _of_several(names, buckets, effect, sight)
        return found

    def _insert(self, plain: Plain) -> None:
        conditions = [
            Condition(field, operator, argument)
            for field, matcher in plain["where"].items()
            for operator, argument in matcher
        ]
        key = min(conditions, key=_cost, default=None)
        if key is not None and _cost(key) < _REST:
            conditions = [other for other in conditions if other is not key or other.operator == "inside"]
        rule = rule_of(plain, [*self._tests(conditions), *_companions(plain)])
        for bucket in self._buckets(key):
            bucket.append(rule)

    def _tests(self, conditions: Sequence[Condition]) -> Iterator[EffectTest]:
        for field, operator, argument in sorted(conditions, key=_price):
            yield effect_test(self._kind, field, [[operator, argument]])

    def _buckets(self, key: Condition | None) -> list[list[Rule]]:
        if key is None or _cost(key) == _REST:
            return [self._rest]
        if key.operator == "in":
            buckets = self._equal.setdefault(self._kind._fields.index(key.field), {})
        elif key.operator == "any":
            buckets = self._taints.setdefault(self._kind._fields.index(key.field), {})
        else:
            buckets = self._zones.setdefault(key.field, (zones_of(self._kind, key.field), {}))[1]
        return [buckets.setdefault(value, []) for value in dict.fromkeys(key.argument)]


# Which condition a rule is filed under: the most selective. Two-valued fields and `where` tell too little apart.
_REST = 9
_COSTS = {"in": 1, "zone": 2, "inside": 3, "any": 4}
_COARSE = frozenset({"where", "append", "unknown", "glob", "recursive", "listen", "shell", "read"})


def _cost(condition: Condition) -> int:
    if condition.operator == "in":
        return 5 if condition.field in _COARSE else 1
    return _COSTS.get(condition.operator, _REST)


def _price(condition: Condition) -> int:
    """In which order conditions are tried: comparisons, then text, then places."""
    return 0 if condition.operator == "in" else 2 if condition.operator in PLACE_OPERATORS else 1


def _of_several(values: frozenset[str], buckets: Buckets, effect: Effect, sight: Sight) -> list[Rule]:
    found: list[Rule] = []
    for value in values:
        for rule in buckets.get(value, ()):
            if _holds(rule, effect, sight) and rule not in found:
                found.append(rule)
    return found


def _holds(rule: Rule, effect: Effect, sight: Sight) -> bool:
    for test in rule.tests:  # noqa: SIM110  `all` with a generator costs twice as much
        if not test(effect, sight):
            return False
    return True


def _companions(plain: Plain) -> Iterator[EffectTest]:
    """Tests on the call's other effects."""
    for wanted in plain["with"]:
        yield _some_other(wanted["effect"], wanted["where"])
    for unwanted in plain["without"]:
        yield _none_other(unwanted["effect"], unwanted["where"])


def _some_other(kind: str, where: Mapping[str, Matcher]) -> EffectTest:
    cls = EFFECTS[kind]
    tests = [effect_test(cls, field, matcher) for field, matcher in where.items()]

    def first_two(sight: Sight) -> list[Effect]:
        fitting = (one for one in sight.effects if type(one) is cls and all(test(one, sight) for test in tests))
        return list(islice(fitting, 2))

    # Two are enough to know of another one than any effect; looked for once in a call, so the cost stays linear.
    return lambda effect, sight: any(other is not effect for other in sight.once(first_two))


def _none_other(kind: str, where: Mapping[str, Matcher]) -> EffectTest:
    some = _some_other(kind, where)
    return lambda effect, sight: not some(effect, sight)
