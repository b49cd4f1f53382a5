"""The examples of rules, run: a rule has to be in the findings of its matches, and in none of its near-misses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policyengine.config.compiler import checked_rules, read_documents
from policyengine.config.rules import CheckedRule, ExampleSpec
from policyengine.config.sources import SourceFile
from policyengine.engine import Engine
from policyengine.model import Context, Decision, Principal, Request, Resource, ResourceKind, freeze_object
from policyengine.state import START

SHELL_TOOL = "bash"  # the tool whose `command` an example that is a text is


@dataclass(frozen=True, slots=True)
class Example:
    """One call that a rule speaks of; `matches` says whether the rule has to be among the findings."""

    rule: str
    request: Request
    text: str
    matches: bool
    file: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Result:
    """What came of an example."""

    example: Example
    decision: Decision

    @property
    def holds(self) -> bool:
        """Whether the rule was found as the example says."""
        return any(finding.rule == self.example.rule for finding in self.decision.findings) is self.example.matches


def rule_examples(files: Sequence[SourceFile], profile: str) -> Iterator[Example]:
    """Give the examples of every rule that a profile has.

    Raises:
        LoadError: a rule is wrong.
    """
    for rule in checked_rules(files, read_documents(files)):
        if rule.is_in(profile):
            yield from _examples(rule)


def run(engine: Engine, example: Example) -> Result:
    """Decide an example's call, in a fresh run."""
    decision, _ = engine.decide(example.request, START)
    return Result(example, decision)


def _examples(rule: CheckedRule) -> Iterator[Example]:
    shown = rule.spec.examples
    calls = [(call, True) for call in shown.match] + [(call, False) for call in shown.passing]
    for call, matches in calls:
        yield Example(rule.spec.id, _request(call), _text(call), matches, rule.file, rule.line)


def _text(call: ExampleSpec) -> str:
    return call if isinstance(call, str) else f"{call.tool} {call.arguments}"


def _request(call: ExampleSpec) -> Request:
    if isinstance(call, str):
        return _invoke(SHELL_TOOL, {"command": call}, Principal(), Context())
    return _invoke(call.tool, call.arguments, call.principal.made(), call.context.made())


def _invoke(tool: str, arguments: Mapping[str, Any], principal: Principal, context: Context) -> Request:
    return Request(
        principal=principal,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, tool),
        arguments=freeze_object(arguments),
        context=context,
    )
