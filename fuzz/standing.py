"""How strict an answer is, over the real engine with the shipped rules."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Final

from policyengine.config import ready
from policyengine.engine import Engine
from policyengine.model import (
    ANONYMOUS,
    Context,
    Decision,
    Outcome,
    Request,
    Resource,
    ResourceKind,
    Severity,
    freeze_object,
)
from policyengine.state import START

PROFILES: Final = ("workstation", "sandbox")


class Standing(IntEnum):
    """How strict an answer is: nothing stands in the way, somebody hears of it or is asked, or it may not run."""

    PASS = 0
    HELD = 1
    DENY = 2


@cache
def engine(profile: str) -> Engine:
    """The engine of the shipped rules under one profile."""
    return ready(profile=profile).engine()


def decided(text: str, profile: str) -> Decision:
    """The decision about one shell command, in a fresh run."""
    request = Request(
        principal=ANONYMOUS,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, "bash"),
        arguments=freeze_object({"command": text}),
        context=Context(),
    )
    return engine(profile).decide(request, START)[0]


def standing_of(decision: Decision, profile: str) -> Standing:
    """How strict a decision is; where nobody can be asked, a finding of medium severity holds as an ask does."""
    if decision.outcome is not Outcome.ALLOW:
        return Standing.DENY if decision.outcome is Outcome.DENY else Standing.HELD
    flagged = profile == "sandbox" and any(
        finding.severity >= Severity.MEDIUM and not finding.shadow for finding in decision.findings
    )
    return Standing.HELD if flagged else Standing.PASS


def standing(text: str, profile: str) -> Standing:
    """How strict the answer to one shell command is."""
    return standing_of(decided(text, profile), profile)
