"""Rule sets for tests, compiled from YAML written in place."""

from __future__ import annotations

import json
from typing import Any

from policyengine.config import compiled, opened
from policyengine.config.sources import SourceFile
from policyengine.effects import EFFECTS, Effect, Facts
from policyengine.model import (
    ANONYMOUS,
    Context,
    Finding,
    Request,
    Resource,
    ResourceKind,
    Tier,
    Verdict,
    freeze_object,
)
from policyengine.policies.ruleset import RuleSet
from policyengine.state import START

ZONES: dict[str, Any] = {
    "paths": {
        "keys": {"summary": "keys", "patterns": ["~/.ssh/**", "**/*.pem", "**/.env"],
                 "except": ["**/public.pem", "~/.ssh/config"]},
        "system": {"summary": "system", "patterns": ["/etc/**", "/usr/**", "/dev/sd*"]},
        "tops": {"summary": "tops", "patterns": ["/", "/etc", "~"]},
        "output": {"summary": "output", "patterns": ["**/dist", "**/dist/**", "**/*.egg-info"]},
        "deep": {"summary": "deep", "patterns": ["/sys/**/release_agent", "**/.git/hooks/**"]},
    },
    "hosts": {
        "loopback": {"summary": "here", "patterns": ["localhost", "*.localhost", "127.0.0.0/8", "::1"]},
        "private": {"summary": "near", "patterns": ["10.0.0.0/8", "fd00::/8"]},
    },
}  # fmt: skip
EXAMPLES = {"match": ["a"], "pass": ["b"]}


def rule(**keys: Any) -> dict[str, Any]:
    """A rule with everything that is not at issue filled in."""
    return {
        "id": "test.rule", "title": "Title", "effect": "file.read", "outcome": "ask", "severity": "medium",
        "why": "Why.", "instead": "Instead.",
        "references": [], "examples": EXAMPLES, **keys,
    }  # fmt: skip


def request_rule(**keys: Any) -> dict[str, Any]:
    """A rule over the request."""
    made = rule(request=True, **keys)
    del made["effect"]
    return made


def profile(name: str = "plain", outcomes: dict[str, str] | None = None, **effects: str) -> dict[str, Any]:
    """A profile that allows every kind but those given (`file_read` for `file.read`)."""
    answers = dict.fromkeys(EFFECTS, "allow") | {kind.replace("_", "."): word for kind, word in effects.items()}
    return {"name": name, "summary": "s", "outcomes": outcomes or {}, "effects": answers}


def source(content: str, value: object, tier: Tier = Tier.USER, inner: str = "x.yaml") -> SourceFile:
    """A source file of any content (JSON is YAML)."""
    return SourceFile(inner, inner, content, tier, json.dumps(value).encode())


def ruleset(*rules: dict[str, Any], using: dict[str, Any] | None = None) -> RuleSet:
    """Compile rules under a profile."""
    chosen = using or profile()
    files = [source("rules", list(rules)), source("profiles", chosen), source("zones", ZONES)]
    return opened(compiled(files), chosen["name"]).rules


def request(tool: str = "bash", arguments: dict[str, Any] | None = None, **context: Any) -> Request:
    """A request in a context that is the default but for what is given."""
    return Request(
        principal=ANONYMOUS,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, tool),
        arguments=None if arguments is None else freeze_object(arguments),
        context=Context(**context),
    )


def judged(rules: RuleSet, *effects: Effect, **context: Any) -> Verdict:
    """The verdict about effects."""
    return rules.evaluate(request(arguments={}, **context), Facts(effects), START)


def found(rules: RuleSet, *effects: Effect, **context: Any) -> list[str]:
    """The ids of the rules that are found in effects."""
    return [finding.rule for finding in judged(rules, *effects, **context).findings]


def only(verdict: Verdict) -> Finding:
    """The one finding of a verdict."""
    (finding,) = verdict.findings
    return finding
