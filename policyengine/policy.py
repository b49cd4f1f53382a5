"""What every policy looks like, how their verdicts become one, and how granted asks are discharged.

Combining is `max` over ALLOW < ASK < DENY, so that the order of policies cannot matter and adding one never loosens.
Only `discharge` lowers, and only an ASK of which every finding is named by a grant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Protocol

from policyengine.effects import Effect, Facts
from policyengine.model import (
    Context,
    Control,
    ControlKind,
    Finding,
    Grant,
    Obligation,
    ObligationKind,
    Outcome,
    Request,
    Severity,
    Tier,
    Verdict,
    digest_of,
    enforced,
)
from policyengine.records import replace
from policyengine.state import RunState

_rank = attrgetter("rank")
COMBINED = "combined"  # name of the verdict that stands for all
DISCOVERY = "tool_search"  # the one tool that a build with deferred tools generates, to find them by


class Policy(Protocol):
    """A policy that needs nothing but its arguments: the same question always has the same answer."""

    @property
    def name(self) -> str:
        """Name the policy in findings and records."""

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge a request. With `request.arguments` None, the answer is a bound below the answers for all arguments."""


class CataloguePolicy(Policy, Protocol):
    """A policy that judges a whole catalogue faster than one name after the other."""

    def bounds(self, request: Request, names: Sequence[str], state: RunState) -> list[Verdict]:
        """Give for each name, in order, what `evaluate` says about the request with that name and no arguments.

        The same verdict should be the same object wherever it is given: then it is looked at once.
        """


class Grantor(Protocol):
    """Who has standing answers for some asks, and names those that they are for."""

    def grants(self, request: Request, facts: Facts, verdict: Verdict) -> Sequence[Grant]:
        """Give grants for asks of a verdict; each names the rules and the effects that it answers."""


class RemotePolicy(Policy, Protocol):
    """A policy that asks somebody else; `deadline` is in seconds, and an answer after it is refused."""

    @property
    def deadline(self) -> float:
        """Say how many seconds the answer may take."""

    async def aevaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge a request without blocking the event loop; the same answer as `evaluate`."""


# ------------------------------------------------------------------------------------------------------------- combine
def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """Join verdicts into the strictest: no verdict at all is DENY, as are two rewrites that differ."""
    given = tuple(verdicts)
    if not given:
        return refusal(COMBINED, "engine.no-policies", "No policy answered, so nothing is allowed.")
    findings: list[Finding] = []
    for verdict in given:
        if verdict.findings or verdict.outcome is not Outcome.ALLOW:
            findings += verdict.explained
    controls = [verdict.control for verdict in given if verdict.control is not None]
    if len(controls) > 1 and _rewrites_differ(controls):
        findings.append(_finding("engine.rewrites-differ", "Two policies want different arguments."))
        controls = [control for control in controls if control.kind is not ControlKind.REWRITE]
    outcome = enforced(findings) if findings else Outcome.ALLOW
    obligations = [obligation for verdict in given for obligation in verdict.obligations]
    return Verdict(
        policy=COMBINED,
        outcome=outcome,
        findings=strictest_first(findings),
        obligations=merged(obligations) if obligations else (),
        control=strongest(controls) if controls else None,
    )


def unrewritten(verdict: Verdict) -> Verdict:
    """Give a verdict without a wish to rewrite arguments: where a tool is judged without any, there are none."""
    if verdict.control is None or verdict.control.kind is not ControlKind.REWRITE:
        return verdict
    return replace(verdict, control=None)


def refusal(policy: str, code: str, message: str) -> Verdict:
    """Deny for a reason of the engine's own."""
    return Verdict(policy=policy, outcome=Outcome.DENY, findings=(_finding(code, message),))


def _finding(code: str, message: str) -> Finding:
    return Finding(rule=code, code=code, message=message, outcome=Outcome.DENY, severity=Severity.HIGH)


def strictest_first(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Order findings by outcome and severity, then by where they point and what they are called."""
    return tuple(findings) if len(findings) < 2 else tuple(sorted(findings, key=_rank))


def merged(obligations: Iterable[Obligation]) -> tuple[Obligation, ...]:
    """Merge obligations of one kind: the smallest number of bytes, and every name."""
    kinds: dict[ObligationKind, Obligation] = {}
    for obligation in obligations:
        known = kinds.setdefault(obligation.kind, obligation)
        limits = [one.limit for one in (known, obligation) if one.limit is not None]
        limit = min(limits, default=None)
        kinds[obligation.kind] = Obligation(kind=obligation.kind, limit=limit, names=known.names | obligation.names)
    return tuple(kinds[kind] for kind in ObligationKind if kind in kinds)


_STRENGTH = {ControlKind.INTERRUPT: 2, ControlKind.STOP: 1, ControlKind.REWRITE: 0}


def _rewrites_differ(controls: Sequence[Control]) -> bool:
    rewrites = [control.arguments for control in controls if control.kind is ControlKind.REWRITE]
    return len(rewrites) > 1 and len({digest_of(arguments) for arguments in rewrites}) > 1


def strongest(controls: Iterable[Control]) -> Control | None:
    """Pick interrupt before stop before rewrite, and of equals the one that was asked for first; None of none.

    That holds for the policies of one call, and for the calls of one reply: what is pending is never replaced by less.
    """
    return min(controls, key=lambda one: (-_STRENGTH[one.kind], one.at, one.text), default=None)


# ----------------------------------------------------------------------------------------------------------- discharge
def discharge(verdict: Verdict, grants: Iterable[Grant], now: float | None) -> tuple[Grant, ...]:
    """Find the grants that answer every ASK of a verdict: with them it becomes ALLOW; none where one ASK stays open.

    Args:
        verdict: the combined verdict; a DENY is never discharged.
        grants: those on offer. The project tier grants nothing; one with an end or uses left must still have them.
        now: seconds since the epoch; None where it is not known, and then a grant that ends counts as ended.
    """
    if verdict.outcome is not Outcome.ASK:
        return ()
    usable = sorted((grant for grant in grants if _is_usable(grant, now)), key=_worth)
    used: dict[int, Grant] = {}
    for finding in verdict.findings:
        if finding.outcome is not Outcome.ASK or finding.shadow:
            continue
        index = next((index for index, grant in enumerate(usable) if _answers(grant, finding)), None)
        if index is None:
            return ()
        used[index] = usable[index]
    return tuple(used.values())


def call_digest(request: Request, cwd: str | None) -> str:
    """Name a call and where it would run, for a grant that is for nothing else.

    `cwd` is that of the run's persistent shell (`RunState.cwd`).
    """
    return digest_of((request.resource.kind.value, request.resource.id, request.action, request.arguments_digest,
                      place_digest(request.context, cwd)))  # fmt: skip


def place_digest(context: Context, cwd: str | None) -> str:
    """Name where a call would run: one directory's configuration and scripts are not another's."""
    return digest_of((context.cwd, cwd, context.home, context.workspace, context.shell.value, context.platform,
                      context.sandbox))  # fmt: skip


def about(request: Request, cwd: str | None, grants: tuple[Grant, ...]) -> tuple[Grant, ...]:
    """Leave out the grants that are for another call."""
    if not any(grant.call for grant in grants):
        return grants
    here = call_digest(request, cwd)
    return tuple(grant for grant in grants if grant.call in ("", here))


def _is_usable(grant: Grant, now: float | None) -> bool:
    if grant.tier is Tier.PROJECT:
        return False
    if grant.until is not None and not (now is not None and now < grant.until):
        return False
    return grant.uses is None or grant.uses > 0


def _worth(grant: Grant) -> tuple[object, ...]:
    """Standing grants go before those that are used up, so that the latter are kept for what only they answer."""
    return (grant.uses is not None, grant.until is not None, grant.tier, grant.source, sorted(grant.rules))


def _answers(grant: Grant, finding: Finding) -> bool:
    if finding.rule not in grant.rules or finding.rule.startswith("engine."):
        return False
    if grant.effects is None:
        return True
    return finding.effect is not None and placeless(finding.effect) in {placeless(one) for one in grant.effects}


def placeless(effect: Effect) -> Effect:
    """Give an effect without its place in a text: a grant is for what is done, wherever it is written."""
    return effect._replace(span=None)
