"""The rule set as a policy: what each effect costs by the profile and by the rules that match it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from policyengine.effects import KINDS, Effect, Facts
from policyengine.model import Finding, Outcome, Request, Severity, Verdict
from policyengine.policies.ruleset.index import Index, Plain, Rule
from policyengine.policies.ruleset.requests import RequestIndex
from policyengine.policies.ruleset.sight import Sight, Zones
from policyengine.records import NamedTuple
from policyengine.state import RunState

REQUESTS = "request"  # under which rules over requests stand beside the kinds of effects
SEVERITIES: Mapping[Outcome, Severity] = {
    Outcome.ALLOW: Severity.INFO,
    Outcome.ASK: Severity.LOW,
    Outcome.DENY: Severity.MEDIUM,
}  # of a profile's own answer, and the least that a rule's answer may have


class Profile(NamedTuple):
    """A named answer for every kind of effect."""

    name: str
    outcomes: Mapping[str, Outcome]


class RuleSet:
    """Compiled rules under one profile.

    `rules` gives the compiled rules of a kind of effect (or of `REQUESTS`); it is asked once for each kind, when an
    effect of that kind is first judged, so that a short-lived process decodes only what it needs. `zones` likewise.
    """

    __slots__ = ("_indexes", "_made", "_profile", "_requests", "_rules", "_zones", "name")

    def __init__(
        self, name: str, profile: Profile, rules: Callable[[str], Sequence[Plain]], zones: Callable[[], Zones]
    ) -> None:
        self.name = name
        self._profile = profile
        self._rules = rules
        self._zones = zones
        self._made: Zones | None = None
        self._requests: RequestIndex | None = None
        self._indexes: dict[type[Effect], tuple[Index, Rule | None]] = {}

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge each effect, and the request itself."""
        sight = Sight(self._ready_zones, request.context, facts.effects)
        findings: list[Finding] = []
        for effect in facts.effects:
            index, default = self._indexes.get(type(effect)) or self._index(type(effect))
            matching = index.matching(effect, sight)
            if default is not None:
                matching.append(default)
            if matching:
                findings += [rule.finding(effect, effect.span) for rule in matching]
        findings += [rule.finding(None, None) for rule in self._ready_requests().matching(request)]
        return _verdict(self.name, findings)

    def _index(self, kind: type[Effect]) -> tuple[Index, Rule | None]:
        name = KINDS[kind]
        made = self._indexes[kind] = Index(kind, self._rules(name)), self._default(name)
        return made

    def _default(self, kind: str) -> Rule | None:
        outcome = self._profile.outcomes[kind]
        if outcome is Outcome.ALLOW:
            return None
        verb = "asks about" if outcome is Outcome.ASK else "denies"
        return Rule(
            id=f"profile.{kind}",
            message=f"The profile {self._profile.name} {verb} every effect of the kind {kind}.",
            outcome=outcome,
            severity=SEVERITIES[outcome],
            instead="",
            references=(),
            labels=frozenset(),
            shadow=False,
            tests=(),
        )

    def _ready_zones(self) -> Zones:
        self._made = self._made or self._zones()
        return self._made

    def _ready_requests(self) -> RequestIndex:
        self._requests = self._requests or RequestIndex(self._rules(REQUESTS))
        return self._requests


def _verdict(name: str, findings: list[Finding]) -> Verdict:
    if not findings:
        return Verdict(policy=name, outcome=Outcome.ALLOW)
    outcome = max((finding.outcome for finding in findings if not finding.shadow), default=Outcome.ALLOW)
    return Verdict(policy=name, outcome=outcome, findings=tuple(findings))
