"""One policy for three questions: which tools somebody sees, which calls run, which routes are open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyengine.config.rbac import Settings, from_texts
from policyengine.effects import Facts
from policyengine.engine import Engine
from policyengine.errors import UsageError
from policyengine.model import (
    Finding,
    Outcome,
    Principal,
    Request,
    Resource,
    ResourceKind,
    Severity,
    Verdict,
)
from policyengine.policies.rbac import DISCOVERY, PERMISSIONS, Catalogues, Rbac, filtered, route_permissions
from policyengine.policies.rbac.catalogue import MAX_KEPT
from policyengine.state import START, RunState
from tests.policies.rbac.worlds import PLAIN, POLICY, call, policy, principal

TOOLS = ("tool_search", "read_file", "bash", "mcp__github__get", "mcp__github__delete_repo", "mcp__gitlab__get", "")
PEOPLE = (
    principal(),
    principal("guest"),
    principal("dev"),
    principal("ops"),
    principal("dev", "ops"),
    principal("ghost"),
    principal("ops", "ghost"),
    principal(name="alice", domain="shop"),
    principal(name="alice"),
    principal("ops", name="eve"),
    principal("dev", domain=7),
)


def _code(rbac: Rbac, who: Principal, tool: str) -> str:
    verdict = rbac.evaluate(call(who, tool, {}), Facts(), START)
    return verdict.findings[0].code if verdict.findings else verdict.outcome.word


@pytest.mark.parametrize(
    ("who", "tool", "code"),
    [
        (principal("guest"), "read_file", "allow"),
        (principal("guest"), "bash", "rbac.not-granted"),
        (principal("dev"), "read_file", "allow"),  # inherited
        (principal("dev"), "mcp__github__get", "allow"),
        (principal("dev"), "mcp__github__", "allow"),
        (principal("dev"), "mcp__github", "rbac.not-granted"),
        (principal("dev"), "MCP__github__get", "rbac.not-granted"),
        (principal("dev"), "mcp__github__delete_repo", "rbac.denied"),
        (principal("ops"), "mcp__github__delete_repo", "allow"),
        (principal("dev", "ops"), "mcp__github__delete_repo", "rbac.denied"),  # any denial counts, in any order
        (principal("ops", "dev"), "mcp__github__delete_repo", "rbac.denied"),
        (principal("ghost"), "read_file", "rbac.unknown-role"),
        (principal("ops", "ghost"), "bash", "rbac.unknown-role"),
        (principal("user:alice"), "read_file", "rbac.unknown-role"),  # an id is no role
        (principal(), "read_file", "rbac.missing-role"),
        (principal(name="ops"), "bash", "rbac.missing-role"),  # a role's name is no id
        (principal(name="alice", domain="shop"), "mcp__github__get", "allow"),
        (principal(name="alice", domain="bank"), "mcp__github__get", "rbac.not-granted"),
        (principal(name="alice"), "mcp__github__get", "rbac.not-granted"),
        (principal("ops", name="eve"), "read_file", "rbac.denied"),  # a line about the person
        (principal("dev", domain=["shop"]), "read_file", "rbac.invalid-domain"),
    ],
)
def test_a_call_is_judged_by_roles_and_id(who: Principal, tool: str, code: str) -> None:
    assert _code(policy(), who, tool) == code


def test_a_denial_says_which_line_it_is() -> None:
    verdict = policy().evaluate(call(principal("dev"), "mcp__github__delete_repo", {}), Facts(), START)
    assert "policy.csv:5" in verdict.findings[0].message


def test_a_grant_can_be_traced_to_its_line() -> None:
    tool = Resource(ResourceKind.TOOL, "mcp__github__get")
    assert policy().granting(principal("dev"), tool) == "policy.csv:4"
    assert policy().granting(principal("guest"), tool) == ""


@pytest.mark.parametrize(("domain", "outcome"), [("shop", Outcome.ALLOW), ("bank", Outcome.DENY), ("*", Outcome.DENY)])
def test_domains_and_actions_count(domain: str, outcome: Outcome) -> None:
    model = Resource(ResourceKind.MODEL, "large")
    assert policy().judge(principal("dev", domain=domain), model, "use").outcome is outcome
    assert policy().judge(principal("dev", domain=domain), model, "train").outcome is Outcome.DENY


def test_a_grant_of_a_tool_is_none_of_a_model() -> None:
    assert policy().judge(principal("ops"), Resource(ResourceKind.MODEL, "large"), "use").outcome is Outcome.DENY


@pytest.mark.parametrize(
    ("kind", "name", "granted"),
    [
        (ResourceKind.TOOL, "bash", True),
        (ResourceKind.MODEL, "large", True),
        (ResourceKind.TOOL, "model:large", False),
        (ResourceKind.MODEL, "bash", False),
        (ResourceKind.TOOL, "tool:bash", False),
    ],
)
def test_a_model_with_one_field_for_resources_keeps_kinds_apart(kind: ResourceKind, name: str, granted: bool) -> None:
    rbac = from_texts(PLAIN, "p, dev, bash, invoke\np, dev, model:large, invoke")
    assert (rbac.judge(principal("dev"), Resource(kind, name), "invoke").outcome is Outcome.ALLOW) is granted


def test_without_a_prefix_ids_are_as_casbin_takes_them() -> None:
    rbac = policy("p, dev, *, tool, bash, *, allow\ng, alice, dev, *", Settings(id_prefix=""))
    assert _code(rbac, principal(name="alice"), "bash") == "allow"
    assert _code(rbac, principal(name="carol"), "bash") == "rbac.missing-role"


# --------------------------------------------------------------------------------------------------------- catalogues
def test_a_catalogue_keeps_its_order_and_gains_nothing() -> None:
    catalogue = ("mcp__github__get", "bash", "read_file", "read_file", "tool_search")
    assert filtered(policy(), principal("dev"), catalogue) == (
        "mcp__github__get",
        "read_file",
        "read_file",
        "tool_search",
    )
    assert filtered(policy(), principal("ghost"), catalogue) == ()


@given(st.sampled_from(PEOPLE), st.lists(st.sampled_from(TOOLS)))
def test_filtering_only_removes_and_agrees_with_deciding(who: Principal, catalogue: list[str]) -> None:
    rbac = policy()
    kept = filtered(rbac, who, catalogue)
    assert list(kept) == [tool for tool in catalogue if _code(rbac, who, tool) == "allow"]


def test_what_cannot_be_judged_is_not_seen() -> None:
    catalogue: list[Any] = ["bash", 7, None, ["bash"], "read_file"]
    assert filtered(policy(), principal("ops"), catalogue) == ("bash", "read_file")
    assert filtered(_with_lines(_Counting(_failing)), principal("dev"), ["runs:read", "x"]) == ("x",)


def test_a_kept_catalogue_depends_on_the_whole_principal_and_the_policy() -> None:
    catalogues, tools = Catalogues(), ("bash", "read_file", "tool_search")
    other = policy(POLICY + "p, guest, *, tool, bash, *, allow\n")
    assert catalogues.filtered(policy(), principal("ops"), tools) == tools
    assert catalogues.filtered(policy(), principal("guest"), tools) == ("read_file", "tool_search")
    assert catalogues.filtered(policy(), principal("guest", name="eve"), tools) == ("tool_search",)
    assert catalogues.filtered(policy(), principal("guest", domain=7), tools) == ()
    assert catalogues.filtered(other, principal("guest"), tools) == tools
    assert catalogues.filtered(policy(), principal("ops"), tools[:1]) == tools[:1]
    assert catalogues.filtered(policy(), principal("ops"), tools[:1], ResourceKind.MODEL) == ()


def test_kept_catalogues_are_bounded() -> None:
    catalogues, rbac = Catalogues(), policy()
    for number in range(400):
        catalogues.filtered(rbac, principal("ops", name=f"u{number}"), ("bash",))
    assert len(catalogues._kept) <= MAX_KEPT


def test_a_frameworks_own_tools_are_filtered_like_others() -> None:
    assert filtered(policy(), principal("guest"), ("describe_skill", "memory_search", "tool_search")) == (
        "tool_search",
    )


# ---------------------------------------------------------------------------------------- the generated tool_search
@pytest.mark.parametrize(
    ("deferred", "tool", "code"),
    [
        (("mcp__github__get",), DISCOVERY, "allow"),
        ((), DISCOVERY, "rbac.not-granted"),  # an ordinary tool of that name
        (("mcp__github__get",), "describe_skill", "rbac.not-granted"),
        (("mcp__github__get",), "mcp__github__get", "rbac.not-granted"),
    ],
)
def test_a_generated_tool_search_is_not_asked_about_again(deferred: tuple[str, ...], tool: str, code: str) -> None:
    rbac = policy("p, nobody, *, tool, x, *, allow").generating(deferred)
    assert _code(rbac, principal("nobody"), tool) == code


def test_the_exemption_ends_with_the_build() -> None:
    rbac = policy("p, nobody, *, tool, x, *, allow")
    assert _code(rbac.generating(("a",)).generating(()), principal("nobody"), DISCOVERY) == "rbac.not-granted"
    assert _code(rbac, principal("nobody"), DISCOVERY) == "rbac.not-granted"


class _Guardrail:
    """A policy that denies everything."""

    name = "guardrail"

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Deny."""
        finding = Finding(rule="g", code="g", message="no", outcome=Outcome.DENY, severity=Severity.HIGH)
        return Verdict(policy=self.name, outcome=Outcome.DENY, findings=(finding,))


def test_the_exemption_covers_no_other_policy() -> None:
    engine = Engine(analyze=lambda request, state: Facts(), policies=(policy().generating(("a",)), _Guardrail()))
    decision, _ = engine.decide(call(principal("guest"), DISCOVERY, {}), START)
    assert decision.outcome is Outcome.DENY


@given(st.sampled_from(PEOPLE), st.sampled_from(TOOLS), st.dictionaries(st.text(), st.text()), st.booleans())
def test_a_tools_bound_is_below_every_decision_about_it(
    who: Principal, tool: str, arguments: dict[str, object], generated: bool
) -> None:
    rbac = policy().generating(("x",) if generated else ())
    engine = Engine(analyze=lambda request, state: Facts(), policies=(rbac,))
    bound = engine.evaluate_tool(call(who, tool))
    decision, _ = engine.decide(call(who, tool, arguments), START)
    assert bound.outcome <= decision.outcome


# ------------------------------------------------------------------------------------------------------------- routes
def _nobody() -> Principal:
    raise AssertionError("nobody is to be asked")


def test_without_a_policy_every_route_is_granted_and_nobody_is_asked() -> None:
    routes = route_permissions(None, _nobody)
    assert routes.granted == set(PERMISSIONS)
    assert len(PERMISSIONS) == 6


def test_routes_are_decided_by_their_full_name_and_action() -> None:
    routes = route_permissions(policy(), lambda: principal("dev"))
    assert routes.granted == {"threads:read"}
    assert set(routes.refused) == set(PERMISSIONS) - {"threads:read"}
    assert routes.refused["threads:write"] == "rbac.not-granted"


def test_an_unknown_role_opens_no_route() -> None:
    routes = route_permissions(policy(), lambda: principal("ghost"))
    assert routes.granted == frozenset()
    assert set(routes.refused.values()) == {"rbac.unknown-role"}


class _Counting:
    """Counts what lines are asked, and fails about one route."""

    def __init__(self, answers: Callable[[tuple[str, ...]], int]) -> None:
        self.asked: list[str] = []
        self._answers = answers

    def decide(self, parts: tuple[str, ...]) -> int:
        """Answer."""
        if parts[0] == "dev":
            self.asked.append(parts[3])
        return self._answers(parts)


def _failing(parts: tuple[str, ...]) -> int:
    if parts[3] == "runs:read":
        raise ValueError("broken")
    return 1


def _with_lines(answers: _Counting) -> Rbac:
    rbac = policy()
    rbac._decide = answers.decide  # type: ignore[assignment]
    return rbac


def test_every_route_is_decided_once_and_an_error_about_one_is_one_refusal() -> None:
    lines = _Counting(_failing)
    routes = route_permissions(_with_lines(lines), lambda: principal("dev"))
    assert sorted(lines.asked) == sorted(PERMISSIONS)
    assert [routes.allows(permission) for permission in PERMISSIONS].count(True) == 5
    assert routes.refused == {"runs:read": "rbac.failed"}
    assert sorted(lines.asked) == sorted(PERMISSIONS)


def test_a_permission_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(UsageError, match="threads:reed"):
        route_permissions(policy(), lambda: principal("dev")).allows("threads:reed")


# ------------------------------------------------------------------------------------------------------------- memory
def test_unknown_subjects_leave_nothing_behind() -> None:
    rbac = policy()
    before = _reachable(rbac)
    for number in range(100_000):
        rbac.judge(principal(name=f"u{number}"), Resource(ResourceKind.TOOL, f"t{number}"), f"a{number}")
    for number in range(1_000):
        rbac.judge(principal("dev", name=f"u{number}", domain=f"d{number}"), Resource(ResourceKind.TOOL, "x"), "invoke")
    assert _reachable(rbac) == before


def _reachable(root: object) -> int:
    """How many entries the containers of a policy have."""
    seen: set[int] = set()
    waiting, entries = [root], 0
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, str | int | type) or callable(value):
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            entries += len(value)
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, tuple | list | set | frozenset):
            entries += len(value)
            waiting += value
        else:
            names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
            waiting += [getattr(value, name) for name in names if hasattr(value, name)]
    return entries
