"""Rules over effects and requests: matchers, companions, profiles, findings."""

from __future__ import annotations

import time
from typing import Any

import pytest

from policyengine.effects import (
    Cause,
    Connect,
    Container,
    Effect,
    EvaluateCode,
    Execute,
    Facts,
    FileDelete,
    FileRead,
    FileWrite,
    Opaque,
    Package,
    Taint,
    Transfer,
    VersionControl,
    Where,
)
from policyengine.model import ANONYMOUS, Outcome, Principal, Request, Resource, ResourceKind, Severity, freeze_object
from policyengine.policies.ruleset.ruleset import MAX_FINDINGS
from policyengine.state import START
from tests.policies.rulesets import found, judged, only, profile, request, request_rule, rule, ruleset

READ = FileRead("/workspace/a")
GIT_PUSH = VersionControl("git", "push", "origin")
TEXT = Execute("rm", arguments=("-rf", None, "/x"))
TAINTED = FileWrite("/workspace/a", taint=frozenset({Taint.FETCHED, Taint.SECRET}))


@pytest.mark.parametrize(
    ("kind", "where", "hit", "miss"),
    [
        ("vcs.change", {"action": "push"}, GIT_PUSH, GIT_PUSH._replace(action="fetch")),
        ("vcs.change", {"action": {"equals": "push"}}, GIT_PUSH, GIT_PUSH._replace(action="pus")),
        ("vcs.change", {"action": {"in": ["push", "tag"]}}, GIT_PUSH, GIT_PUSH._replace(action="fetch")),
        ("vcs.change", {"action": "push", "system": "git"}, GIT_PUSH, GIT_PUSH._replace(system="hg")),
        ("vcs.change", {"action": {"not": "fetch"}}, GIT_PUSH, GIT_PUSH._replace(action="fetch")),
        ("vcs.change", {"target": {"like": "ori*"}}, GIT_PUSH, GIT_PUSH._replace(target="up")),
        ("vcs.change", {"target": {"like": ["x", "?rigin"]}}, GIT_PUSH, GIT_PUSH._replace(target="rigin")),
        ("vcs.change", {"target": {"matches": "^or.g"}}, GIT_PUSH, GIT_PUSH._replace(target="xorig")),
        ("vcs.change", {"target": {"matches": "o", "like": "*n"}}, GIT_PUSH, GIT_PUSH._replace(target="or")),
        ("file.read", {"where": "here"}, READ, READ._replace(where=Where.REMOTE)),
        ("file.read", {"recursive": True}, READ._replace(recursive=True), READ),
        ("file.read", {"path": {"zone": "keys"}}, FileRead("/workspace/.env"), READ),
        ("file.read", {"path": {"zone": ["system", "keys"]}}, FileRead("/etc/x"), READ),
        (
            "file.read",
            {"path": {"zone": "system"}},
            FileRead("/etc", recursive=True),
            FileRead("/etc"),
        ),
        ("file.read", {"path": {"inside": ["workspace"]}}, READ, FileRead("/srv/a")),
        ("file.read", {"path": {"outside": ["workspace", "temp"]}}, FileRead("/srv/a"), FileRead("/tmp/a")),
        ("file.read", {"path": {"outside": ["workspace"]}}, FileRead("", unknown=True), READ),
        (
            "file.read",
            {"path": {"outside": ["workspace"]}},
            FileRead("/w", unknown=True),
            FileRead("/workspace/", unknown=True),
        ),
        (
            "file.read",
            {"path": {"inside": ["keys"]}},
            FileRead("/workspace/.env"),
            FileRead("/workspace/.e*", glob=True),
        ),
        (
            "file.read",
            {"path": {"zone": "keys"}},
            FileRead("/workspace/.e*", glob=True),
            FileRead("/workspace/*", glob=True),
        ),
        ("file.read", {"path": {"not": {"inside": ["system"]}}}, READ, FileRead("/etc/x")),
        (
            "file.read",
            {"path": {"zone": "system", "not": {"like": "/etc/hosts"}}},
            FileRead("/etc/x"),
            FileRead("/etc/hosts"),
        ),
        (
            "file.write",
            {"taint": {"any": ["fetched", "decoded"]}},
            TAINTED,
            TAINTED._replace(taint=frozenset({Taint.SECRET})),
        ),
        ("file.write", {"taint": {"not": {"any": ["secret"]}}}, FileWrite("/a"), TAINTED),
        ("net.connect", {"host": {"zone": "loopback"}}, Connect("127.1"), Connect("x.test")),
        ("net.connect", {"host": {"not": {"zone": ["loopback", "private"]}}}, Connect("x.test"), Connect("10.0.0.1")),
        ("process.execute", {"arguments": {"contains": "-rf"}}, TEXT, Execute("rm", arguments=("-r", "f"))),
        ("process.execute", {"arguments": {"item": {"like": "-r*"}}}, TEXT, Execute("rm", arguments=("x", None))),
        (
            "process.execute",
            {"arguments": {"item": {"at": 0, "equals": "-rf"}}},
            TEXT,
            Execute("rm", arguments=("x", "-rf")),
        ),
        (
            "process.execute",
            {"arguments": {"item": {"at": -1, "like": "/*"}}},
            TEXT,
            Execute("rm", arguments=("/x", "y")),
        ),
        ("process.execute", {"arguments": {"item": {"at": 5, "not": "x"}}}, Execute("a", arguments=("",) * 6), TEXT),
        ("container.change", {"mount": {"outside": ["workspace"]}}, Container("run", mount="/srv"), Container("run")),
        ("net.transfer", {"path": {"zone": "keys"}}, Transfer("h", path="/workspace/.env"), Transfer("h")),
        (
            "code.evaluate",
            {"language": "sh", "read": False},
            EvaluateCode("sh", "stdin"),
            EvaluateCode("sh", "stdin", True),
        ),
        ("opaque", {"cause": {"in": ["program", "code"]}}, Opaque(Cause.CODE), Opaque(Cause.OPTION)),
        ("package.change", {}, Package("pip", "install"), READ),
    ],
)
def test_a_matcher_holds_for_the_one_and_not_for_the_other(
    kind: str, where: dict[str, Any], hit: Effect, miss: Effect
) -> None:
    rules = ruleset(rule(effect=kind, where=where))
    assert found(rules, hit) == ["test.rule"]
    assert found(rules, miss) == []


def test_companions_must_be_there() -> None:
    rules = ruleset(
        rule(**{"with": [{"effect": "file.read", "where": {"path": {"zone": "keys"}}}]}, effect="net.connect")
    )
    assert found(rules, Connect("x"), FileRead("/workspace/.env")) == ["test.rule"]
    assert found(rules, Connect("x"), READ) == []


def test_companions_must_not_be_there() -> None:
    rules = ruleset(rule(without=[{"effect": "net.connect"}]))
    assert found(rules, READ) == ["test.rule"]
    assert found(rules, READ, Connect("x")) == []


def test_an_effect_is_not_its_own_companion() -> None:
    rules = ruleset(rule(**{"with": [{"effect": "file.read"}]}))
    assert found(rules, READ) == []
    assert found(rules, READ, FileRead("/workspace/a")) == ["test.rule", "test.rule"]


def test_a_rule_of_several_zones_is_found_once() -> None:
    rules = ruleset(rule(where={"path": {"zone": ["workspace", "cwd", "keys"]}}))
    assert found(rules, FileRead("/workspace/.env")) == ["test.rule"]


def test_a_finding_carries_what_the_rule_says() -> None:
    rules = ruleset(rule(references=["CWE-1"], labels=["secrets"]))
    effect = FileRead("/workspace/a", span=(3, 4))
    finding = only(judged(rules, effect))
    assert (finding.rule, finding.code, finding.message) == ("test.rule", "test.rule", "Title. Why.")
    assert (finding.outcome, finding.severity, finding.instead) == (Outcome.ASK, Severity.MEDIUM, "Instead.")
    assert (finding.references, finding.span, finding.effect) == (("CWE-1",), (3, 4), effect)
    assert finding.labels == {"secrets"}


@pytest.mark.parametrize(
    ("outcome", "severity", "least"),
    [
        ("ask", "info", Severity.LOW),
        ("deny", "info", Severity.MEDIUM),
        ("deny", "high", Severity.HIGH),
        ("allow", "info", Severity.INFO),
    ],
)
def test_a_severity_is_at_least_that_of_the_outcome(outcome: str, severity: str, least: Severity) -> None:
    assert only(judged(ruleset(rule(outcome=outcome, severity=severity)), READ)).severity is least


def test_a_profile_turns_what_it_cannot_use() -> None:
    rules = ruleset(rule(), using=profile(outcomes={"ask": "allow"}))
    verdict = judged(rules, READ)
    assert verdict.outcome is Outcome.ALLOW
    assert only(verdict).severity is Severity.MEDIUM


def test_a_rule_answers_for_one_profile_and_is_not_turned_there() -> None:
    own = rule(outcome="allow", profiles={"plain": {"outcome": "ask", "severity": "high"}})
    finding = only(judged(ruleset(own, using=profile(outcomes={"ask": "allow"})), READ))
    assert (finding.outcome, finding.severity) == (Outcome.ASK, Severity.HIGH)


def test_a_rule_may_be_for_some_profiles_only() -> None:
    assert found(ruleset(rule(only=["plain"])), READ) == ["test.rule"]


def test_the_profile_answers_where_no_rule_does() -> None:
    rules = ruleset(using=profile(opaque="ask", net_transfer="deny"))
    asked, denied = judged(rules, Opaque(Cause.PROGRAM)), judged(rules, Transfer("h"))
    assert (asked.outcome, only(asked).rule) == (Outcome.ASK, "profile.opaque")
    assert (denied.outcome, only(denied).rule) == (Outcome.DENY, "profile.net.transfer")
    assert judged(rules, READ).findings == ()


def test_the_strictest_of_profile_and_rules_counts() -> None:
    rules = ruleset(rule(outcome="allow"), using=profile(file_read="deny"))
    assert judged(rules, READ).outcome is Outcome.DENY


@pytest.mark.parametrize(
    ("keys", "rules"),
    [
        ({"outcome": "ask"}, ["test.rule"]),
        ({"outcome": "deny"}, ["test.rule"]),
        ({"outcome": "allow"}, ["test.rule", "profile.file.read"]),
        ({"outcome": "deny", "shadow": True}, ["test.rule", "profile.file.read"]),
        ({"where": {"path": "/elsewhere"}}, ["profile.file.read"]),
    ],
)
def test_the_profile_repeats_no_rule(keys: dict[str, Any], rules: list[str]) -> None:
    assert found(ruleset(rule(**keys), using=profile(file_read="ask")), READ) == rules


def test_what_one_rule_finds_too_often_is_counted() -> None:
    effects = [FileRead(f"/f{number}", span=(number, number + 1)) for number in range(MAX_FINDINGS + 5)]
    findings = judged(ruleset(rule(), using=profile(file_read="ask")), *effects).findings
    assert len(findings) == MAX_FINDINGS + 1
    assert (findings[-1].rule, findings[-1].outcome, findings[-1].effect) == ("test.rule", Outcome.ASK, None)
    assert findings[-1].message.endswith("(5 more places)")
    assert len(judged(ruleset(rule()), *effects[:MAX_FINDINGS]).findings) == MAX_FINDINGS


def test_a_shadow_rule_is_found_and_not_enforced() -> None:
    verdict = judged(ruleset(rule(outcome="deny", shadow=True)), READ)
    assert verdict.outcome is Outcome.ALLOW
    assert only(verdict).shadow
    assert only(verdict).outcome is Outcome.DENY


def _requested(where: dict[str, Any], asked: Request) -> list[str]:
    verdict = ruleset(request_rule(where=where)).evaluate(asked, Facts(), START)
    return [finding.rule for finding in verdict.findings]


@pytest.mark.parametrize(
    ("where", "hit", "miss"),
    [
        ({"tool": "web"}, request("web"), request("webs")),
        ({"tool": {"in": ["a", "web"]}}, request("web"), request("b")),
        ({"tool": {"like": "mcp__*"}}, request("mcp__x"), request("mcp_x")),
        (
            {"kind": "tool", "action": "invoke"},
            request("x"),
            request("x").__class__(
                principal=ANONYMOUS,
                action="see",
                resource=Resource(ResourceKind.TOOL, "x"),
                arguments=None,
                context=request().context,
            ),
        ),
        ({"argument.n": {"over": 3}}, request(arguments={"n": 4}), request(arguments={"n": 3})),
        ({"argument.n": {"over": 3}}, request(arguments={"n": 3.5}), request(arguments={"n": True})),
        ({"argument.n": 1}, request(arguments={"n": 1}), request(arguments={"n": True})),
        ({"argument.n": True}, request(arguments={"n": True}), request(arguments={"n": 1})),
        ({"argument.n": {"like": "a*"}}, request(arguments={"n": "ab"}), request(arguments={"n": ["ab"]})),
        ({"argument.n": {"contains": "a"}}, request(arguments={"n": ["a", {}]}), request(arguments={"n": "a"})),
        ({"argument.n": {"item": {"like": "a*"}}}, request(arguments={"n": [1, "ab"]}), request(arguments={"n": {}})),
        ({"argument.n": {"not": "x"}}, request(arguments={}), request(arguments={"n": "x"})),
        ({"argument.n": {"in": [None]}}, request(arguments={"n": None}), request(arguments={})),
        ({"argument.n": "x"}, request(arguments={"n": "x"}), request(arguments={"n": {"x": 1}})),
        ({"context.tags": {"contains": "t"}}, request(tags=frozenset({"t"})), request()),
        ({"context.depth": {"over": 1}}, request(depth=2), request(depth=1)),
        ({"context.platform": "darwin"}, request(platform="darwin"), request()),
    ],
)
def test_a_rule_over_the_request_holds(where: dict[str, Any], hit: Request, miss: Request) -> None:
    assert _requested(where, hit) == ["test.rule"]
    assert _requested(where, miss) == []


def test_a_rule_over_the_request_knows_who_asks() -> None:
    who = Principal(id="u", roles=("r",), attributes=freeze_object({"team": "a"}), internal=True)
    asked = Request(
        principal=who,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, "x"),
        arguments=None,
        context=request().context,
    )
    where = {"principal.roles": {"contains": "r"}, "principal.attributes.team": "a", "principal.internal": True}
    assert _requested(where, asked) == ["test.rule"]
    assert _requested(where, request("x")) == []


def test_a_rule_over_arguments_says_nothing_of_a_tool_as_such() -> None:
    assert _requested({"argument.n": {"not": "x"}}, request("web")) == []


def test_surrogates_do_not_break_a_regular_expression() -> None:
    rules = ruleset(rule(where={"path": {"matches": "b$"}}))
    assert found(rules, FileRead("/\udcffb")) == ["test.rule"]


def test_many_rules_cost_no_more_than_few() -> None:
    many = [
        rule(id=f"test.r{number}", effect="vcs.change", where={"action": f"a{number}"}, outcome="deny")
        for number in range(300)
    ]
    few, large = ruleset(rule(effect="vcs.change", where={"action": "a1"})), ruleset(*many)
    effects = Facts((VersionControl("git", "a299"),) * 5)
    costs = []
    for rules in (few, large):
        rules.evaluate(request(arguments={}), effects, START)
        rounds = []
        for _ in range(50):
            start = time.perf_counter()
            rules.evaluate(request(arguments={}), effects, START)
            rounds.append(time.perf_counter() - start)
        costs.append(min(rounds))
    assert costs[1] < costs[0] * 10  # five findings are made; a scan of 1500 conditions would cost far more


def test_deletes_of_many_files_with_companions_stay_linear() -> None:
    rules = ruleset(rule(effect="file.delete", **{"with": [{"effect": "file.read"}]}))
    effects = tuple(FileDelete(f"/workspace/{number}") for number in range(20_000))
    start = time.perf_counter()
    assert judged(rules, *effects).outcome is Outcome.ALLOW
    assert time.perf_counter() - start < 5
