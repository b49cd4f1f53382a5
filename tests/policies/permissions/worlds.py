"""Calls judged by permission rules written in place, under the shipped rules or where every kind of effect asks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from policyengine.config import Ready, compiled, opened, ready, source_files
from policyengine.config.permissions import load_permissions, permissions_of
from policyengine.config.permissions_files import SettingsFile
from policyengine.effects import EFFECTS
from policyengine.model import (
    ANONYMOUS,
    Context,
    Decision,
    Outcome,
    Request,
    Resource,
    ResourceKind,
    Tier,
    freeze_object,
)
from policyengine.policies.permissions import Permissions
from policyengine.policies.ruleset import Profile, RuleSet, Zones
from policyengine.records import replace
from policyengine.state import START

FOLDER = "/home/agent"


@cache
def workstation() -> Ready:
    """The shipped rules on a person's own machine."""
    return ready()


@cache
def asking() -> Ready:
    """The shipped rules, and beside them every kind of effect asks."""
    bundle = compiled(source_files())
    rules, zones = bundle.group("rules workstation"), bundle.group("zones")
    profile = Profile("asking", dict.fromkeys(EFFECTS, Outcome.ASK))
    every = RuleSet("rules", profile, lambda kind: rules.get(kind, ()), lambda: Zones(**zones["all"]))
    return replace(opened(bundle, "workstation"), rules=every)


def settings(lists: Mapping[str, Any], tier: Tier = Tier.USER, path: str = f"{FOLDER}/s.json") -> SettingsFile:
    """A settings file with these lists of rules."""
    return SettingsFile(path=path, tier=tier, data=json.dumps({"permissions": lists}).encode())


def permissions(world: Ready, *files: SettingsFile) -> Permissions:
    """The policy of some files."""
    return permissions_of(world, load_permissions(files).rules)


def request(
    command: str | None = None, tool: str = "bash", arguments: Mapping[str, Any] | None = None, **context: Any
) -> Request:
    """A call of a shell with a command, or of a tool."""
    given = {"command": command} if command is not None else arguments
    return Request(
        principal=ANONYMOUS,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, tool),
        arguments=None if given is None else freeze_object(given),
        context=Context(**context),
    )


def decide(call: Request, files: Sequence[SettingsFile], world: Ready | None = None) -> Decision:
    """Decide a call where every effect asks, unless another world is given."""
    here = asking() if world is None else world
    policy = permissions(here, *files)
    return here.engine(policy, grantors=(policy,)).decide(call, START)[0]


def outcome(call: Request, lists: Mapping[str, Any], world: Ready | None = None) -> str:
    """The word of the answer."""
    return decide(call, [settings(lists)], world).outcome.word
