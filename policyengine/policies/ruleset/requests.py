"""Rules over the request alone: which tool, which arguments, who asks, in what circumstances.

Fields are `action`, `kind`, `tool`, `argument.NAME`, `principal.NAME` (`id`, `roles`, `internal`, `agent`,
`delegation`, `attributes.NAME`) and `context.NAME`. A rule that looks at arguments says nothing of a tool as such,
which is asked about without any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from policyengine.model import Request, Resource
from policyengine.policies.ruleset.index import Plain, Rule, rule_of
from policyengine.policies.ruleset.matchers import Matcher, ValueTest, value_test
from policyengine.records import NamedTuple, replace

Getter: TypeAlias = Callable[[Request], object]
ABSENT = object()  # satisfies no operator but `not`


class RequestRule(NamedTuple):
    """A rule, its tests, whether it can be judged without arguments, and whether it looks at the tool's name."""

    rule: Rule
    tests: tuple[tuple[Getter, ValueTest], ...]
    on_arguments: bool
    on_tool: bool

    def holds(self, request: Request) -> bool:
        """Whether every condition of the rule holds."""
        if self.on_arguments and request.arguments is None:
            return False
        return all(test(value(request)) for value, test in self.tests)


class RequestIndex:
    """Request rules, filed under the tools that they name."""

    __slots__ = ("_by_tool", "_rest")

    def __init__(self, rules: Sequence[Plain]) -> None:
        self._rest: list[RequestRule] = []
        self._by_tool: dict[object, list[RequestRule]] = {}
        for plain in rules:
            ready = _ready(plain)
            for bucket in self._buckets(plain["where"].get("tool", ())):
                bucket.append(ready)

    def matching(self, request: Request) -> list[Rule]:
        """Find the rules that match a request."""
        filed = self._by_tool.get(request.resource.id, ())
        return [ready.rule for ready in (*self._rest, *filed) if ready.holds(request)]

    def bounds(self, request: Request, names: Sequence[str]) -> list[tuple[Rule, ...]]:
        """Find for each name the rules that match the request with that name and without arguments."""
        asked = [ready for ready in self._rest if not ready.on_arguments]
        if any(ready.on_tool for ready in asked):
            return [tuple(self.matching(_about(request, name))) for name in names]
        shared = tuple(ready.rule for ready in asked if ready.holds(request))
        filed = self._by_tool
        return [tuple(self.matching(_about(request, name))) if name in filed else shared for name in names]

    def _buckets(self, matcher: Matcher) -> list[list[RequestRule]]:
        names = next((argument for operator, argument in matcher if operator == "in"), None)
        if names is None:
            return [self._rest]
        return [self._by_tool.setdefault(name, []) for name in dict.fromkeys(names)]


def _ready(plain: Plain) -> RequestRule:
    where: Mapping[str, Matcher] = plain["where"]
    tests = tuple((getter(field), value_test(matcher)) for field, matcher in where.items())
    on_arguments = any(field.startswith("argument.") for field in where)
    return RequestRule(rule_of(plain, ()), tests, on_arguments, "tool" in where)


def _about(request: Request, name: str) -> Request:
    return replace(request, resource=Resource(request.resource.kind, name), arguments=None)


def getter(field: str) -> Getter:
    """How to find the value of a field of rules over requests; KeyError where there is no such field."""
    head, _, name = field.partition(".")
    if head == "argument" and name:
        return lambda request: (request.arguments or {}).get(name, ABSENT)
    if field.startswith("principal.attributes."):
        attribute = field.removeprefix("principal.attributes.")
        return lambda request: request.principal.attributes.get(attribute, ABSENT)
    return _FIELDS[field]


_FIELDS: Mapping[str, Getter] = {
    "action": lambda request: request.action,
    "kind": lambda request: request.resource.kind,
    "tool": lambda request: request.resource.id,
    "principal.id": lambda request: request.principal.id,
    "principal.roles": lambda request: request.principal.roles,
    "principal.internal": lambda request: request.principal.internal,
    "principal.agent": lambda request: request.principal.agent,
    "principal.delegation": lambda request: request.principal.delegation,
    "context.shell": lambda request: request.context.shell,
    "context.platform": lambda request: request.context.platform,
    "context.sandbox": lambda request: request.context.sandbox,
    "context.depth": lambda request: request.context.depth,
    "context.tags": lambda request: request.context.tags,
    "context.skills": lambda request: request.context.active_skills,
    "context.cwd": lambda request: request.context.cwd,
    "context.model": lambda request: request.context.model,
}
REQUEST_FIELDS = frozenset(_FIELDS)
