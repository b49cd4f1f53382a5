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

MANY = 32  # effects, from which on equal ones are looked for
MAX_FINDINGS = 200  # of one rule about one call; what is over is counted in one more
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
        """Judge each effect, and the request itself.

        The profile's own answer about an effect is left out where a rule that is enforced says at least as much.
        """
        sight = Sight(self._ready_zones, request.context, facts.effects)
        found = self._several(sight) if len(facts.effects) > MANY else self._each(sight)
        findings = _findings(found) if found else []
        requests = self._requests or self._ready_requests()
        findings += [rule.finding(None, None) for rule in requests.matching(request)]
        return _verdict(self.name, findings)

    def bounds(self, request: Request, names: Sequence[str], state: RunState) -> list[Verdict]:
        """Judge a catalogue: for each name what `evaluate` says without arguments."""
        made: dict[tuple[str, ...], Verdict] = {}
        verdicts = []
        for rules in self._ready_requests().bounds(request, names):
            key = tuple([rule.id for rule in rules]) if rules else ()
            verdict = made.get(key)
            if verdict is None:
                verdict = made[key] = _verdict(self.name, [rule.finding(None, None) for rule in rules])
            verdicts.append(verdict)
        return verdicts

    def _each(self, sight: Sight) -> list[tuple[Rule, Effect]]:
        found = []
        for effect in sight.effects:
            matching = self._matching(effect, sight)
            if matching:
                found += [(rule, effect) for rule in matching]
        return found

    def _several(self, sight: Sight) -> list[tuple[Rule, Effect]]:
        """The same where effects repeat themselves: those that differ in their spans alone are judged once."""
        known: dict[object, list[Rule]] = {}
        found = []
        for effect in sight.effects:
            key = (type(effect), effect[:-2], effect[-1])
            rules = known.get(key)
            if rules is None:
                rules = known[key] = self._matching(effect, sight)
            found += [(rule, effect) for rule in rules]
        return found

    def _matching(self, effect: Effect, sight: Sight) -> list[Rule]:
        index, default = self._indexes.get(type(effect)) or self._index(type(effect))
        matching = index.matching(effect, sight)
        if default is not None and not _says(matching, default.outcome):
            matching.append(default)
        return matching

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


def _says(rules: list[Rule], outcome: Outcome) -> bool:
    for rule in rules:  # noqa: SIM110  `any` with a generator costs twice as much
        if rule.outcome >= outcome and not rule.shadow:
            return True
    return False


def _findings(found: list[tuple[Rule, Effect]]) -> list[Finding]:
    """Each rule's findings up to `MAX_FINDINGS`. One about no effect counts the others: no grant for an effect fits."""
    if len(found) <= MAX_FINDINGS:
        return [rule.finding(effect, effect.span) for rule, effect in found]
    findings: list[Finding] = []
    counts: dict[str, int] = {}
    for rule, effect in found:
        count = counts[rule.id] = counts.get(rule.id, 0) + 1
        if count <= MAX_FINDINGS:
            findings.append(rule.finding(effect, effect.span))
    rules = {rule.id: rule for rule, _ in found}
    for name, count in counts.items():
        if count > MAX_FINDINGS:
            more = f"{rules[name].message} ({count - MAX_FINDINGS} more places)"
            findings.append(rules[name]._replace(message=more).finding(None, None))
    return findings


def _verdict(name: str, findings: list[Finding]) -> Verdict:
    if not findings:
        return Verdict(policy=name, outcome=Outcome.ALLOW)
    outcome = max((finding.outcome for finding in findings if not finding.shadow), default=Outcome.ALLOW)
    return Verdict(policy=name, outcome=outcome, findings=tuple(findings))
