"""Declarations, requests and engines for tests of tool policies."""

from __future__ import annotations

from typing import Any

from policyengine.effects import Effect, Facts
from policyengine.engine import Engine
from policyengine.model import (
    ANONYMOUS,
    Context,
    Finding,
    Request,
    Resource,
    ResourceKind,
    Verdict,
    freeze_object,
)
from policyengine.policies.tool import Metadata, SideEffect, Workspace
from policyengine.policy import Policy
from policyengine.state import START

FLAGS = tuple(SideEffect)


def said(*side_effects: str, **more: Any) -> Metadata:
    """A classified tool with these side effects that may touch any file."""
    declared = {"classified": True, "workspace": Workspace.ANY, **more}
    return Metadata(side_effects=frozenset(map(SideEffect, side_effects)), **declared)


def read_only(**more: Any) -> Metadata:
    """What TinyAgents calls `ToolPolicy::read_only()`."""
    return said("read_only", background_safe=True, **more)


def request(tool: str, arguments: dict[str, Any] | None = None, **context: Any) -> Request:
    """A call; with `arguments` left out, the question about the tool."""
    return Request(
        principal=ANONYMOUS,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, tool),
        arguments=None if arguments is None else freeze_object(arguments),
        context=Context(**context),
    )


def judged(policy: Policy, tool: str, *effects: Effect, **context: Any) -> Verdict:
    """What a policy says of a call with these effects."""
    return policy.evaluate(request(tool, {}, **context), Facts(effects), START)


def bound(policy: Policy, tool: str, **context: Any) -> Verdict:
    """What it says of the tool."""
    return policy.evaluate(request(tool, **context), Facts(), START)


def rules(verdict: Verdict) -> list[str]:
    """The rules of a verdict's findings."""
    return [finding.rule for finding in verdict.findings]


def engine(*policies: Policy, effects: tuple[Effect, ...] = ()) -> Engine:
    """An engine whose calls all have the same effects."""
    return Engine(analyze=lambda request, state: Facts(effects), policies=policies)


def only(verdict: Verdict) -> Finding:
    """The one finding of a verdict."""
    (finding,) = verdict.findings
    return finding
