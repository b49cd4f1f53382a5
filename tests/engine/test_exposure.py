"""Catalogues bounded: what is hidden cannot run, what is shown the policies leave, and the log says who hid what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from policyengine.effects import Facts
from policyengine.engine import Engine
from policyengine.engine.exposure import DISCOVERY, Catalogue, discovering, exposed
from policyengine.errors import UsageError
from policyengine.model import (
    Control,
    ControlKind,
    Exposure,
    Finding,
    Outcome,
    Request,
    Resource,
    ResourceKind,
    Severity,
    Verdict,
    freeze_object,
)
from policyengine.policies.tool import Layer, Selection, Settings, ToolPolicy
from policyengine.policy import Policy
from policyengine.records import replace
from policyengine.state import START, RunState, promote
from tests.policies.rbac import worlds
from tests.policies.tool.tools import engine, request

NAMES = ("bash", "read_file", "mcp__github__get", "mcp__github__delete_repo", "mcp__gitlab__get", DISCOVERY)
ALLOW = Verdict(policy="p", outcome=Outcome.ALLOW)


def _verdict(outcome: Outcome, rule: str = "r", **more: Any) -> Verdict:
    finding = Finding(rule=rule, code=rule, message=rule, outcome=outcome, severity=Severity.MEDIUM)
    return Verdict(policy="p", outcome=outcome, findings=(finding,), **more)


@dataclass
class Says:
    """A policy that answers by name; it may judge catalogues, and counts how often it is asked."""

    answers: dict[str, Any]
    name: str = "says"
    asked: list[str] = field(default_factory=list)

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Answer, or raise the answer."""
        self.asked.append(request.resource.id)
        assert request.arguments is None
        answer = self.answers.get(request.resource.id, ALLOW)
        if isinstance(answer, Exception):
            raise answer
        verdict: Verdict = answer
        return verdict


class AtOnce(Says):
    """The same for catalogues."""

    def bounds(self, request: Request, names: Sequence[str], state: RunState) -> list[Verdict]:
        """Answer all."""
        return [
            self.evaluate(replace(request, resource=Resource(ResourceKind.TOOL, name)), Facts(), state)
            for name in names
        ]


def _shown(policies: Sequence[Policy], names: str = "a b c", state: RunState = START, **more: Any) -> Exposure:
    hidden_from = more.pop("hidden_from", Outcome.DENY)
    catalogue = Catalogue(names=tuple(names.split()), **more)
    return exposed(engine(*policies), request(""), catalogue, state, hidden_from=hidden_from)


# ---------------------------------------------------------------------------------------------------- what is hidden
@pytest.mark.parametrize("kind", [Says, AtOnce])
def test_only_what_is_denied_is_hidden(kind: type[Says]) -> None:
    policy = kind({"a": _verdict(Outcome.DENY), "b": _verdict(Outcome.ASK)})
    shown = _shown([policy])
    assert (shown.visible, shown.deferred, list(shown.hidden)) == (("b", "c"), (), ["a"])
    assert shown.hidden["a"] == _verdict(Outcome.DENY).findings


def test_what_would_ask_is_hidden_where_that_is_wanted() -> None:
    policy = Says({"a": _verdict(Outcome.DENY), "b": _verdict(Outcome.ASK)})
    assert _shown([policy], hidden_from=Outcome.ASK).visible == ("c",)


def test_a_catalogue_keeps_its_order_and_names_each_tool_once() -> None:
    assert _shown([Says({"b": _verdict(Outcome.DENY)})], "c a b a c").visible == ("c", "a")


def test_without_policies_nothing_is_shown() -> None:
    shown = _shown([])
    assert shown.visible == ()
    assert {finding.code for findings in shown.hidden.values() for finding in findings} == {"engine.no-policies"}


def test_findings_are_those_of_all_policies_strictest_first() -> None:
    policies = [Says({"a": _verdict(Outcome.ASK, "asks")}), AtOnce({"a": _verdict(Outcome.DENY, "denies")})]
    assert [finding.rule for finding in _shown(policies).hidden["a"]] == ["denies", "asks"]


def test_a_shadow_rule_hides_nothing() -> None:
    denied = _verdict(Outcome.DENY)
    shadow = Verdict(policy="p", outcome=Outcome.ALLOW, findings=(replace(denied.findings[0], shadow=True),))
    assert _shown([Says({"a": shadow})]).visible == ("a", "b", "c")


def test_an_answer_without_a_reason_counts() -> None:
    shown = _shown([Says({"a": Verdict(policy="p", outcome=Outcome.DENY)})])
    assert [finding.code for finding in shown.hidden["a"]] == ["engine.unexplained"]


def test_what_two_policies_would_rewrite_differently_is_not_hidden_before_there_are_arguments() -> None:
    one, other = (
        replace(ALLOW, control=Control(kind=ControlKind.REWRITE, arguments=freeze_object({"a": value})))
        for value in (1, 2)
    )
    policies = [Says({"a": one}), Says({"a": other})]
    assert _shown(policies).visible == ("a", "b", "c")
    assert engine(*policies).evaluate_tool(request("a")).outcome is Outcome.ALLOW


# ------------------------------------------------------------------------------------------------------ what goes wrong
@pytest.mark.parametrize("kind", [Says, AtOnce])
@pytest.mark.parametrize("broken", [RuntimeError(), None, "deny", Verdict(policy="p", outcome=2)])  # type: ignore[arg-type]  # rubbish
def test_a_policy_that_fails_about_one_tool_hides_that_one(kind: type[Says], broken: Any) -> None:
    shown = _shown([kind({"b": broken})])
    assert (shown.visible, list(shown.hidden)) == (("a", "c"), ["b"])


class _Rubbish(Says):
    """Gives something else for a catalogue."""

    def __init__(self, column: Any) -> None:
        super().__init__({"b": _verdict(Outcome.DENY)})
        self.column = column

    def bounds(self, request: Request, names: Sequence[str], state: RunState) -> Any:
        """Answer with it."""
        return self.column


@pytest.mark.parametrize("column", [None, [], [ALLOW], [ALLOW] * 4, "abc", (ALLOW, ALLOW, ALLOW), {"a": ALLOW}])
def test_a_policy_that_cannot_judge_catalogues_is_asked_one_by_one(column: Any) -> None:
    assert _shown([_Rubbish(column)]).visible == ("a", "c")


class _Interrupt(Exception):
    """A host's control flow."""


def test_a_hosts_control_flow_passes_through() -> None:
    stopping = replace(engine(Says({"a": _Interrupt()})), control_flow=(_Interrupt,))
    with pytest.raises(_Interrupt):
        exposed(stopping, request(""), Catalogue(names=("a",)))


class _Slow(Says):
    """A clock that each question moves on."""

    def seconds(self) -> float:
        """Read it."""
        return float(len(self.asked))

    async def within(self, answer: Any, seconds: float) -> Any:
        """Wait."""
        return await answer


def test_a_deadline_holds_for_each_tool() -> None:
    policy = _Slow({})
    late = Engine(analyze=lambda request, state: Facts(), policies=(policy,), clock=policy, deadline=0.5)
    shown = exposed(late, request(""), Catalogue(names=("a", "b")))
    assert {finding.code for findings in shown.hidden.values() for finding in findings} == {"engine.policy-late"}


def test_a_catalogue_is_a_list_of_names() -> None:
    with pytest.raises(UsageError):
        Catalogue(names=("a", 1))  # type: ignore[arg-type]  # rubbish


def test_arguments_and_the_name_in_the_question_do_not_count() -> None:
    asked = exposed(engine(Says({})), request("nonsense", {"a": 1}), Catalogue(names=("a",)))
    assert asked.visible == ("a",)


def test_a_catalogue_is_of_the_kind_that_is_asked_about() -> None:
    asked = replace(worlds.call(worlds.principal(name="alice", domain="shop"), ""), action="use")
    asked = replace(asked, resource=Resource(ResourceKind.MODEL, ""))
    shown = exposed(engine(worlds.policy()), asked, Catalogue(names=("large", "small")))
    assert shown.visible == ("large",)


# ------------------------------------------------------------------------------------------------------------ deferred
def test_what_is_deferred_is_neither_hidden_nor_visible_until_it_is_promoted() -> None:
    policy, deferred = Says({"a": _verdict(Outcome.DENY)}), frozenset({"a", "b"})
    shown = _shown([policy], deferred=deferred)
    assert (shown.visible, shown.deferred, list(shown.hidden)) == (("c",), ("b",), ["a"])
    later = _shown([policy], state=promote(START, ["a", "b"]), deferred=deferred)
    assert (later.visible, later.deferred, list(later.hidden)) == (("b", "c"), (), ["a"])


DEV = worlds.call(worlds.principal("dev"), "")
SEARCHER = worlds.policy("p, dev, *, tool, mcp__github__get, *, allow")
HIDES_SEARCH = Selection([Layer(source="s", deny=(DISCOVERY,))])
GITHUB = frozenset({"mcp__github__get", "mcp__github__delete_repo"})


def _discovered(
    *policies: Policy, deferred: frozenset[str] = GITHUB, generated: bool = True, state: RunState = START
) -> Exposure:
    catalogue = Catalogue(names=NAMES, deferred=deferred, generated=generated)
    return exposed(engine(*policies), DEV, catalogue, state)


def test_a_generated_search_is_excused_from_roles_while_it_has_something_to_find() -> None:
    shown = _discovered(SEARCHER)
    assert (shown.visible, shown.deferred) == ((DISCOVERY,), ("mcp__github__get",))


def test_a_search_that_the_build_did_not_generate_is_a_tool_like_any_other() -> None:
    assert _discovered(SEARCHER, generated=False).visible == ()


@pytest.mark.parametrize(
    ("deferred", "state"),
    [
        (frozenset[str](), START),
        (frozenset({"mcp__github__delete_repo"}), START),  # which this role may not use
        (frozenset({"unlisted"}), START),
        (GITHUB, promote(START, ["mcp__github__get"])),
    ],
)
def test_a_search_without_anything_to_find_is_not_excused(deferred: frozenset[str], state: RunState) -> None:
    assert DISCOVERY in _discovered(SEARCHER, deferred=deferred, state=state).hidden


@pytest.mark.parametrize(
    "other",
    [HIDES_SEARCH, ToolPolicy({}, Settings(require_classification=True)), Says({DISCOVERY: _verdict(Outcome.DENY)})],
)
def test_no_other_policy_is_excused_from(other: Policy) -> None:
    assert DISCOVERY in _discovered(SEARCHER, other).hidden


def test_a_search_reveals_and_never_executes() -> None:
    shown = _discovered(SEARCHER)
    building = discovering(engine(SEARCHER), shown.deferred)
    outcomes = {
        name: building.decide(
            replace(DEV, resource=Resource(ResourceKind.TOOL, name), arguments=freeze_object({})), START
        )[0]
        for name in NAMES
    }
    allowed = {name for name, decision in outcomes.items() if decision.outcome is Outcome.ALLOW}
    assert allowed == {DISCOVERY, "mcp__github__get"}


def test_a_generated_search_is_never_itself_deferred() -> None:
    assert DISCOVERY in _discovered(SEARCHER, deferred=GITHUB | {DISCOVERY}).visible
