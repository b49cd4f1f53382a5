"""`policyengine test`: every example of every rule and description, run through the whole engine."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from policyengine.cli.core import shell_request
from policyengine.cli.status import Status
from policyengine.cli.view import visible_text
from policyengine.config import Ready, compiled, opened, source_files
from policyengine.config.compiler import checked_rules, read_documents
from policyengine.config.detectors import ContentExample, detector_examples
from policyengine.config.rules import CheckedRule, ExampleSpec
from policyengine.config.specs import Example, examples
from policyengine.effects import Effect, as_json, kind_of
from policyengine.model import Context, Request, Resource, ResourceKind, freeze_object
from policyengine.policies.guardrails.content.detectors import Detectors, Text, places
from policyengine.state import START

LEFT_OUT = "process.execute"  # every command has it, so examples do not state it
UNSTATED = frozenset({"kind", "span", "origin"})  # no example is about these


def run(options: argparse.Namespace) -> int:
    """Print every example that does not hold, with its file and line; 1 if there is one."""
    files = source_files(options.rules, use_shipped=not options.no_shipped_rules)
    documents = read_documents(files)
    rules, programs = checked_rules(files, documents), list(examples(documents["commands"]))
    bundle = compiled(files)
    profiles = {name: opened(bundle, name) for name in bundle.group("profile")}
    failures = [
        *(failure for rule in rules for failure in _rule_failures(rule, profiles)),
        *(failure for example in programs for failure in _program_failures(example, profiles)),
    ]
    contents = list(detector_examples(documents["detectors"]))
    failures += _content_failures(contents, Detectors(bundle.group("detector")))
    total = (
        len(programs)
        + len(contents)
        + sum(len(rule.spec.examples.match) + len(rule.spec.examples.passing) for rule in rules)
    )
    print("\n".join([*map(visible_text, failures), f"{total - len(failures)} of {total} examples hold"]))
    return Status.ASK if failures else Status.ALLOW


def _rule_failures(rule: CheckedRule, profiles: Mapping[str, Ready]) -> Iterator[str]:
    """Every example that a rule should match and does not, or the other way round, in a profile that has the rule."""
    ready = next(ready for name, ready in profiles.items() if rule.is_in(name))
    place = f"{rule.file}:{rule.line}: `{rule.spec.id}`"
    for example in rule.spec.examples.match:
        if not _matches(rule, example, ready):
            yield f"{place} should match `{_text(example)}`"
    for example in rule.spec.examples.passing:
        if _matches(rule, example, ready):
            yield f"{place} should pass `{_text(example)}`"


def _matches(rule: CheckedRule, example: ExampleSpec, ready: Ready) -> bool:
    decision, _ = ready.engine().decide(_request(example), START)
    return any(finding.rule == rule.spec.id for finding in decision.findings)


def _request(example: ExampleSpec) -> Request:
    if isinstance(example, str):
        return shell_request(example, Context())
    return Request(
        principal=example.principal.made(),
        action="invoke",
        resource=Resource(ResourceKind.TOOL, example.tool),
        arguments=freeze_object(example.arguments),
        context=example.context.made(),
    )


def _text(example: ExampleSpec) -> str:
    return example if isinstance(example, str) else f"{example.tool} {example.arguments}"


def _program_failures(example: Example, profiles: Mapping[str, Ready]) -> Iterator[str]:
    """The example if its effects are not exactly those stated; no profile plays a part in that."""
    ready = next(iter(profiles.values()))
    facts = ready.analyze(shell_request(example.command, Context()), START)
    found = [effect for effect in facts.effects if kind_of(effect) != LEFT_OUT]
    missing, surplus = differences(example.effects, found)
    if missing or surplus:
        parts = [f"lacks {_stated(one)}" for one in missing] + [f"has also {_shown(one)}" for one in surplus]
        yield f"{example.file}:{example.line}: `{example.command}` {'; '.join(parts)}"


def _content_failures(examples: Sequence[ContentExample], detectors: Detectors) -> Iterator[str]:
    """Every example in which a detector should find something and does not, or the other way round."""
    for one in examples:
        found = any(True for _ in places(Text(one.text), detectors.by_id()[one.detector]))
        if found is not one.matches:
            yield f"{one.file}:{one.line}: `{one.detector}` should {'match' if one.matches else 'pass'} `{one.text}`"


Stated = tuple[str, Mapping[str, Any]]  # a kind of effect and the fields that count; Any: as YAML gives them


def differences(stated: Sequence[Stated], found: Sequence[Effect]) -> tuple[list[Stated], list[Effect]]:
    """Pair what is stated with what was found, each once: what is missing, and what is left over."""
    rest, missing = list(found), []
    for one in sorted(stated, key=lambda one: -len(one[1])):  # the most particular choose first
        partner = next((effect for effect in rest if _fits(one, effect)), None)
        if partner is None:
            missing.append(one)
        else:
            rest.remove(partner)
    return missing, rest


def _fits(stated: Stated, effect: Effect) -> bool:
    kind, fields = stated
    if kind_of(effect) != kind:
        return False
    values = as_json(effect)
    return all(_plain(values.get(name)) == _plain(value) for name, value in fields.items())


def _plain(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, list | tuple | frozenset) else value


def _stated(one: Stated) -> str:
    return f"{one[0]} {' '.join(f'{name}={value}' for name, value in one[1].items())}"


def _shown(effect: Effect) -> str:
    silent: tuple[object, ...] = ("", False, None, [], "here")
    fields = {name: value for name, value in as_json(effect).items() if name not in UNSTATED and value not in silent}
    return f"{kind_of(effect)} {' '.join(f'{name}={value}' for name, value in fields.items())}"
