"""Permission rules as a policy, and as one who grants: deny and ask rules judge, allow rules answer named asks.

What an allow rule never answers: a deny, an ask of a permission rule, an ask that is about no effect, and those that
the profile keeps to a person (`Standing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policyengine.effects import Effect, Execute, Facts
from policyengine.model import Finding, Grant, Outcome, Request, Severity, Tier, Verdict
from policyengine.policies.permissions.catching import Call, Caught, catches_tool
from policyengine.policies.permissions.commands import Match, covers_command, would_cover
from policyengine.policies.permissions.coverage import NO_MEANS, Allowed, Coverage, Means
from policyengine.policies.permissions.globs import fits
from policyengine.policies.permissions.index import Index
from policyengine.policies.permissions.rules import Rule
from policyengine.policy import placeless
from policyengine.records import Record
from policyengine.state import RunState

NAME = "permissions"
OWN = "permission."  # how the ids of this policy's findings begin
DENIED = f"{OWN}denied"
MAY_BE_DENIED = f"{OWN}may-be-denied"
ASKED = f"{OWN}asked"
BESIDE = f"{OWN}beside-denied"
TOOL_NAME = f"{OWN}tool-name"
UNKNOWN_WORD = f"{OWN}unknown-word"
MAX_FINDINGS = 50  # of one rule about one call


class Standing(Record):
    """Which asks a profile lets standing rules answer, by globs over the ids of its rules.

    Attributes:
        never: only a person answers, for the one call.
        particular: a rule without a star answers: it names the very command or file.
    """

    never: tuple[str, ...] = ()
    particular: tuple[str, ...] = ()


ALL_STANDING = Standing()


class Permissions:
    """Rules of all sources together: deny before ask before allow, whatever their order and however narrow they are."""

    __slots__ = ("_allowed", "_means", "_standing", "_strict", "name")

    def __init__(self, rules: Iterable[Rule], means: Means = NO_MEANS, standing: Standing = ALL_STANDING) -> None:
        given = tuple(rules)
        self.name = NAME
        strict = [rule for rule in given if rule.outcome is not Outcome.ALLOW]
        allowing = [rule for rule in given if rule.outcome is Outcome.ALLOW and rule.source.tier is not Tier.PROJECT]
        self._strict = Index(strict, means.naming)
        self._allowed = Index(allowing, means.naming)
        self._means = means
        self._standing = standing

    # --------------------------------------------------------------------------------------------------------- judging
    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge a call by the deny and ask rules; without arguments, by those about every use of a tool."""
        del state
        findings = list(_doubtful_name(request))
        if request.arguments is None:
            named = self._strict.for_tool(request)
            whole = [rule for rule in named if catches_tool(rule.pattern, request, self._means)]
            findings += [_finding(rule, Caught(None, Match.YES)) for rule in whole]
        elif rules := self._strict.for_call(request, facts):
            call = Call(request, facts, self._means)
            for rule in rules:
                findings += _findings(rule, list(call.caught(rule.pattern, rule.source)))
        findings += self._nearly_allowed(request, facts)
        outcome = max((finding.outcome for finding in findings), default=Outcome.ALLOW)
        return Verdict(policy=NAME, outcome=outcome, findings=tuple(findings))

    def _nearly_allowed(self, request: Request, facts: Facts) -> Iterable[Finding]:
        """Say which allow rule does not answer because a word is not known before the command runs."""
        unsure = [one for one in facts.effects if type(one) is Execute and None in one.arguments][:MAX_FINDINGS]
        rules = self._allowed.for_call(request, facts) if unsure else ()
        for command in unsure:
            for rule in rules:
                pattern = rule.pattern.command
                if pattern is None or pattern.exact or covers_command(pattern, command, request.context.cwd):
                    continue
                if would_cover(pattern, command, request.context.cwd):
                    yield _unknown_word(rule, command)
                    break

    # -------------------------------------------------------------------------------------------------------- granting
    def grants(self, request: Request, facts: Facts, verdict: Verdict) -> Sequence[Grant]:
        """Give the answers of the allow rules to a verdict's asks, one grant for each rule that answers some."""
        rules = [rule for rule in self._allowed.for_call(request, facts) if _holds_here(rule, request)]
        if not rules:
            return ()
        allowed = {Allowed(rule.pattern, rule.source.folder): rule for rule in reversed(rules)}
        every = Coverage(tuple(reversed(allowed)), request, facts, self._means)
        narrow = tuple(one for one in reversed(allowed) if one.pattern.is_particular)
        particular = Coverage(narrow, request, facts, self._means)
        given: dict[Rule, tuple[set[str], set[Effect]]] = {}
        left: set[Effect] = set()  # which stand somewhere else too, where no rule covers them
        for finding in verdict.findings:
            if finding.outcome is not Outcome.ASK or finding.shadow or finding.effect is None:
                continue
            answers: tuple[Allowed, ...] = ()
            if _is_answerable(finding, self._standing):
                coverage = particular if _is_one_of(finding.rule, self._standing.particular) else every
                answers = coverage.answering(finding.effect)
            if not answers:
                left.add(placeless(finding.effect))
            for one in answers:
                ids, effects = given.setdefault(allowed[one], (set(), set()))
                ids.add(finding.rule)
                effects.add(placeless(finding.effect))
        return [_grant(rule, ids, effects - left) for rule, (ids, effects) in given.items() if effects - left]


def _holds_here(rule: Rule, request: Request) -> bool:
    root = rule.source.project.rstrip("/")
    return not rule.source.project or f"{request.context.cwd}/".startswith(f"{root}/")


def _is_answerable(finding: Finding, standing: Standing) -> bool:
    return not finding.rule.startswith(OWN) and not _is_one_of(finding.rule, standing.never)


def _is_one_of(rule: str, globs: Iterable[str]) -> bool:
    return any(fits(glob, rule) for glob in globs)


def _grant(rule: Rule, ids: set[str], effects: set[Effect]) -> Grant:
    return Grant(source=rule.title, tier=rule.source.tier, rules=frozenset(ids), effects=frozenset(effects))


# ------------------------------------------------------------------------------------------------------------- findings
def _findings(rule: Rule, found: Sequence[Caught]) -> Iterable[Finding]:
    for one in found[:MAX_FINDINGS]:
        yield _finding(rule, one)
    if len(found) > MAX_FINDINGS:
        worst = max(found[MAX_FINDINGS:], key=lambda one: one.match)
        yield _finding(rule, worst._replace(effect=None))


def _finding(rule: Rule, one: Caught) -> Finding:
    code, outcome, severity, verb = _answer(rule, one)
    reason = f" {rule.reason}" if rule.reason else ""
    return Finding(
        rule=code,
        code=code,
        message=f"The rule {rule.title} {verb}.{reason}",
        outcome=outcome,
        severity=severity,
        span=None if one.effect is None else one.effect.span,
        effect=one.effect,
    )


def _answer(rule: Rule, one: Caught) -> tuple[str, Outcome, Severity, str]:
    if one.beside:
        return BESIDE, Outcome.ALLOW, Severity.MEDIUM, "is about files that may lie among those searched here"
    if rule.outcome is Outcome.ASK:
        doubt = "" if one.match is Match.YES else " as far as can be told"
        return ASKED, Outcome.ASK, Severity.LOW, f"asks about this{doubt}"
    if one.match is Match.YES:
        return DENIED, Outcome.DENY, Severity.HIGH, "denies this"
    return (
        MAY_BE_DENIED,
        Outcome.ASK,
        Severity.MEDIUM,
        "may deny this: that depends on what is not known",
    )


def _unknown_word(rule: Rule, command: Execute) -> Finding:
    return Finding(
        rule=UNKNOWN_WORD,
        code=UNKNOWN_WORD,
        message=f"The rule {rule.title} answers for this command only with words that are known before it runs.",
        outcome=Outcome.ALLOW,
        severity=Severity.INFO,
        span=command.span,
        instead="Write the value where a variable or a substitution stands.",
        effect=command,
    )


def _doubtful_name(request: Request) -> Iterable[Finding]:
    """A tool whose name looks like another's: rules name tools in ASCII, so others are refused where rules are kept."""
    name = request.resource.id
    if not name.isascii() or not name.isprintable():
        yield Finding(
            rule=TOOL_NAME,
            code=TOOL_NAME,
            message="The tool's name has characters that may look like others; permission rules cannot be told for it.",
            outcome=Outcome.DENY,
            severity=Severity.HIGH,
        )
