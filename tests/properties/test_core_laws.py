"""The laws of deciding, whatever the policies, rules, grants and effects are."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from policyengine.effects import (
    FATAL_CAUSES,
    Cause,
    Connect,
    Effect,
    Facts,
    FileDelete,
    FileRead,
    FileWrite,
    Opaque,
    Taint,
    Transfer,
    VersionControl,
    WrittenFile,
)
from policyengine.engine import Engine
from policyengine.model import (
    ANONYMOUS,
    Context,
    Control,
    ControlKind,
    Finding,
    Grant,
    Obligation,
    ObligationKind,
    Outcome,
    Request,
    Resource,
    ResourceKind,
    Severity,
    Tier,
    Verdict,
    digest_of,
    freeze,
    freeze_object,
)
from policyengine.policies.ruleset import RuleSet
from policyengine.policy import Policy, RemotePolicy, combine
from policyengine.state import START, RunState, from_json, remember, to_json
from tests.policies.rulesets import profile, request_rule, rule, ruleset

T = TypeVar("T")
NAMES = st.sampled_from("abc")
OUTCOMES = st.sampled_from(Outcome)
PATHS = st.sampled_from(
    ["", "/", "/etc/", "/etc/passwd", "/workspace/a", "/workspace/.env", "/tmp/x", "/home/agent/.ssh/id"]
)
TAINTS = st.frozensets(st.sampled_from(Taint), max_size=2)
EFFECTS: st.SearchStrategy[Effect] = st.one_of(
    st.builds(FileRead, PATHS, unknown=st.booleans(), glob=st.booleans()),
    st.builds(FileWrite, PATHS, unknown=st.booleans(), taint=TAINTS),
    st.builds(FileDelete, PATHS, recursive=st.booleans()),
    st.builds(Connect, st.sampled_from(["localhost", "10.0.0.1", "x.test"])),
    st.builds(Transfer, st.sampled_from(["", "x.test"]), path=PATHS, taint=TAINTS),
    st.builds(VersionControl, st.just("git"), st.sampled_from(["push", "record"])),
    st.builds(Opaque, st.sampled_from(Cause)),
)
FACTS = st.builds(Facts, st.lists(EFFECTS, max_size=4).map(tuple))
ARGUMENTS = st.dictionaries(NAMES, st.integers(0, 2), max_size=2)
FINDINGS = st.builds(
    Finding,
    rule=NAMES,
    code=NAMES,
    message=NAMES,
    outcome=OUTCOMES,
    severity=st.sampled_from(Severity),
    shadow=st.booleans(),
    effect=st.none() | EFFECTS,
)
OBLIGATIONS = st.builds(
    Obligation,
    kind=st.sampled_from(ObligationKind),
    limit=st.none() | st.integers(0, 3),
    names=st.frozensets(NAMES, max_size=2),
)
CONTROLS = st.one_of(
    st.builds(Control, kind=st.just(ControlKind.REWRITE), arguments=ARGUMENTS.map(freeze_object)),
    st.builds(
        Control,
        kind=st.sampled_from([ControlKind.STOP, ControlKind.INTERRUPT]),
        text=NAMES,
        at=st.sampled_from([0.0, 1.0]),
    ),
)
VERDICTS = st.builds(
    Verdict,
    policy=NAMES,
    outcome=OUTCOMES,
    findings=st.lists(FINDINGS, max_size=3).map(tuple),
    obligations=st.lists(OBLIGATIONS, max_size=2).map(tuple),
    control=st.none() | CONTROLS,
)
GRANTS = st.builds(
    Grant,
    source=NAMES,
    tier=st.sampled_from(Tier),
    rules=st.frozensets(NAMES, max_size=3),
    effects=st.none() | st.frozensets(EFFECTS, max_size=2),
    until=st.none() | st.sampled_from([0.0, 2.0]),
    uses=st.none() | st.integers(0, 2),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A policy that always gives the same verdict, here or elsewhere."""

    verdict: Any
    name: str = "fixed"
    deadline: float = 1.0

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Give it, or raise it."""
        if isinstance(self.verdict, Exception):
            raise self.verdict
        verdict: Verdict = self.verdict
        return verdict

    async def aevaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Give it, or raise it."""
        return self.evaluate(request, facts, state)


class Still:
    """A clock that stands still."""

    def seconds(self) -> float:
        """Read it."""
        return 0.0

    async def within(self, answer: Awaitable[T], seconds: float) -> T:
        """Wait."""
        return await answer


def _request(arguments: dict[str, Any] | None = None, tool: str = "bash") -> Request:
    return Request(
        principal=ANONYMOUS,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, tool),
        arguments=freeze_object(arguments or {}),
        context=Context(now=1.0),
    )


def _engine(facts: Facts, policies: list[Policy], remote: list[RemotePolicy] | None = None) -> Engine:
    return Engine(
        analyze=lambda request, state: facts, policies=tuple(policies), remote=tuple(remote or ()), clock=Still()
    )


def _outcome(facts: Facts, verdicts: list[Verdict], grants: list[Grant] | None = None) -> Outcome:
    engine = _engine(facts, [Fixed(verdict) for verdict in verdicts])
    return engine.decide(_request(), START, grants or ())[0].outcome


@given(st.lists(VERDICTS, min_size=1, max_size=3), VERDICTS)
def test_adding_a_policy_never_loosens(verdicts: list[Verdict], more: Verdict) -> None:
    assert combine([*verdicts, more]).outcome >= combine(verdicts).outcome


@given(st.lists(VERDICTS, max_size=4), st.randoms())
def test_the_order_of_policies_is_irrelevant(verdicts: list[Verdict], dice: random.Random) -> None:
    turned = list(verdicts)
    dice.shuffle(turned)
    one, other = combine(verdicts), combine(turned)
    assert (one.outcome, one.obligations, one.control) == (other.outcome, other.obligations, other.control)
    assert set(one.findings) == set(other.findings)
    assert [finding.rule for finding in one.findings] == [finding.rule for finding in other.findings]


@given(FACTS, GRANTS)
def test_no_policies_deny(facts: Facts, grant: Grant) -> None:
    assert _outcome(facts, [], [grant]) is Outcome.DENY


@given(FACTS, st.lists(VERDICTS, max_size=2), st.sampled_from([RuntimeError(), None, "allow", 0, {}, ()]), GRANTS)
def test_a_policy_that_raises_or_gives_rubbish_denies(
    facts: Facts, verdicts: list[Verdict], broken: object, grant: Grant
) -> None:
    engine = _engine(facts, [*map(Fixed, verdicts), Fixed(broken)])
    first, _ = engine.decide(_request(), START, [grant])
    assert first.outcome is Outcome.DENY


@given(FACTS, st.lists(VERDICTS, max_size=3), st.lists(VERDICTS, max_size=2), st.lists(GRANTS, max_size=2), ARGUMENTS)
@settings(max_examples=60)
def test_both_faces_decide_alike(
    facts: Facts, here: list[Verdict], elsewhere: list[Verdict], grants: list[Grant], arguments: dict[str, Any]
) -> None:
    engine = _engine(facts, [*map(Fixed, here)], [*map(Fixed, elsewhere)])
    request = _request(arguments)
    assert asyncio.run(engine.adecide(request, START, grants)) == engine.decide(request, START, grants)


@given(st.lists(VERDICTS, max_size=3), st.lists(GRANTS, max_size=3))
def test_grants_lower_only_asks_and_only_those_they_name(verdicts: list[Verdict], grants: list[Grant]) -> None:
    engine = _engine(
        Facts(),
        [Fixed(Verdict(policy="p", outcome=verdict.outcome, findings=verdict.findings)) for verdict in verdicts],
    )
    before, after = engine.decide(_request(), START)[0], engine.decide(_request(), START, grants)[0]
    named = frozenset[str]().union(*(grant.rules for grant in grants if grant.tier is not Tier.PROJECT))
    asks = {finding.rule for finding in before.findings if finding.outcome is Outcome.ASK and not finding.shadow}
    assert after.outcome in (before.outcome, Outcome.ALLOW)
    assert after.findings == before.findings
    assert after.outcome == before.outcome or (before.outcome is Outcome.ASK and asks <= named)
    assert set(after.grants) <= set(grants)


@given(FACTS, st.lists(VERDICTS, max_size=2), st.lists(GRANTS, max_size=2))
def test_what_cannot_be_read_is_never_allowed(facts: Facts, verdicts: list[Verdict], grants: list[Grant]) -> None:
    broken = any(isinstance(effect, Opaque) and effect.cause in FATAL_CAUSES for effect in facts.effects)
    assert not broken or _outcome(facts, verdicts, grants) is Outcome.DENY


# --------------------------------------------------------------------------------------------------------------- rules
ASKS = rule(id="law.ask", effect="file.read", where={"path": {"outside": ["workspace"]}}, outcome="ask")
DENIES = rule(id="law.deny", effect="file.delete", where={"recursive": True}, outcome="deny")
WARNS = rule(id="law.warn", effect="net.connect", where={"host": {"zone": "private"}}, outcome="allow")
KEYS = rule(
    id="law.keys", effect="net.transfer", **{"with": [{"effect": "file.read", "where": {"path": {"zone": "keys"}}}]}
)
TOOL = request_rule(id="law.tool", where={"tool": {"in": ["web", "bash"]}}, outcome="ask")
ARGUMENT = request_rule(id="law.argument", where={"tool": "web", "argument.a": {"not": 1}}, outcome="deny")
HIDES = request_rule(id="law.hides", where={"tool": {"like": "mcp*"}}, outcome="deny")
PROFILES = [
    profile(),
    profile(opaque="ask"),
    profile(file_write="deny", opaque="ask"),
    profile(outcomes={"ask": "allow"}),
]
SMALL = {index: ruleset(ASKS, WARNS, using=chosen) for index, chosen in enumerate(PROFILES)}
LARGE = {
    index: ruleset(ASKS, WARNS, DENIES, KEYS, TOOL, ARGUMENT, HIDES, using=chosen)
    for index, chosen in enumerate(PROFILES)
}
INDEXES = st.sampled_from(range(len(PROFILES)))


def _judged(rules: RuleSet, facts: Facts, request: Request) -> Verdict:
    return rules.evaluate(request, facts, START)


@given(INDEXES, FACTS)
def test_adding_a_rule_never_loosens(index: int, facts: Facts) -> None:
    few, many = _judged(SMALL[index], facts, _request()), _judged(LARGE[index], facts, _request())
    assert many.outcome >= few.outcome
    assert set(few.findings) <= set(many.findings)


@given(INDEXES, FACTS, EFFECTS)
def test_doing_more_is_never_milder_where_no_rule_excuses(index: int, facts: Facts, more: Effect) -> None:
    wider = Facts((*facts.effects, more))
    assert _judged(LARGE[index], wider, _request()).outcome >= _judged(LARGE[index], facts, _request()).outcome


@given(INDEXES, FACTS, ARGUMENTS, st.sampled_from(["web", "bash", "mcp__x", "other"]), st.lists(VERDICTS, max_size=1))
def test_a_tool_is_never_bounded_more_strictly_than_it_is_decided(
    index: int, facts: Facts, arguments: dict[str, Any], tool: str, others: list[Verdict]
) -> None:
    """bound(tool) <= decide(tool, arguments) before discharge, so what is hidden can never run."""
    plain = [Verdict(policy="p", outcome=other.outcome, findings=other.findings) for other in others]
    engine = _engine(facts, [LARGE[index], *map(Fixed, plain)])
    request = _request(arguments, tool)
    assert engine.evaluate_tool(request).outcome <= engine.decide(request, START)[0].outcome


@given(INDEXES, FACTS)
def test_a_sandbox_never_asks_by_its_rules(index: int, facts: Facts) -> None:
    turned = _judged(ruleset_that_turns, facts, _request())
    assert turned.outcome is not Outcome.ASK


ruleset_that_turns = ruleset(ASKS, DENIES, KEYS, TOOL, using=profile(outcomes={"ask": "allow"}))


@given(FACTS)
def test_a_projects_rules_never_loosen(facts: Facts) -> None:
    """The loader lets a project's rules only ask or deny (`tests/config`); so whatever they say, it is added."""
    alone, added = ruleset_that_turns, LARGE[0]
    together = combine([_judged(alone, facts, _request()), _judged(added, facts, _request())])
    assert together.outcome >= _judged(alone, facts, _request()).outcome


# -------------------------------------------------------------------------------------------------------------- digest
def _tagged(value: Any) -> Any:
    """A value in which equality is identity of JSON: types count, signs of zero count, order of keys does not."""
    if isinstance(value, list | tuple):
        return ("list", tuple(map(_tagged, value)))
    if isinstance(value, dict | MappingProxyType):
        return ("object", tuple((key, _tagged(value[key])) for key in sorted(value)))
    return (type(value).__name__, repr(value))


@given(VALUES, VALUES)
def test_values_share_a_digest_exactly_if_they_are_the_same(one: Any, other: Any) -> None:
    assert (digest_of(freeze(one)) == digest_of(freeze(other))) is (_tagged(one) == _tagged(other))


@given(st.dictionaries(st.text(max_size=2), VALUES, max_size=2))
def test_freezing_keeps_every_value(value: dict[str, Any]) -> None:
    assert _tagged(freeze_object(value)) == _tagged(value)


# --------------------------------------------------------------------------------------------------------------- state
@given(st.lists(st.builds(WrittenFile, PATHS, st.none() | st.text(max_size=3), TAINTS), max_size=6), st.booleans())
def test_a_stored_run_is_the_run(files: list[WrittenFile], sure: bool) -> None:
    state = remember(START, files, sure=sure)
    assert from_json(to_json(state)) == state


@given(st.builds(WrittenFile, PATHS, st.none() | st.text(max_size=3), TAINTS), st.text(max_size=3))
def test_an_unsure_write_never_clears_a_taint(before: WrittenFile, text: str) -> None:
    state = remember(remember(START, [before], sure=True), [WrittenFile(before.path, text)], sure=False)
    assert state.written[before.path].taint >= before.taint
