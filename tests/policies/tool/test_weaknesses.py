"""What TinyAgents' middleware lets through, each as a test that its behaviour would fail."""

from __future__ import annotations

import pytest

from policyengine.config.toolpolicy import snapshot
from policyengine.effects import Connect, FileDelete
from policyengine.engine.exposure import Catalogue, exposed
from policyengine.errors import LoadError, TokenError
from policyengine.gate import Call
from policyengine.model import Context, Outcome, freeze
from policyengine.policies.tool import (
    STRICT,
    Layer,
    Sandbox,
    Selection,
    Settings,
    SideEffect,
    ToolPolicy,
    When,
    bounded,
    inheriting,
)
from policyengine.records import replace
from policyengine.state import START
from tests.gate.worlds import RUN, World
from tests.policies.tool.tools import bound, engine, judged, read_only, request, rules, said

LISTED = ToolPolicy({"search": read_only(), "drop": said("destructive")}, Settings(deny=STRICT.deny))


# 1. A call is judged under the name that was asked for, and then sent to another tool, or with other arguments.
@pytest.mark.parametrize(
    "sent", [Call("drop", {"table": "a"}, "c"), Call("search", {"table": "b"}, "c"), Call("search", {}, "c")]
)
def test_a_call_that_becomes_another_is_another_decision(sent: Call) -> None:
    gate = World(LISTED).gate
    signed = gate.before_tool(Call("search", {"table": "a"}, "c"), RUN)
    assert signed.outcome is Outcome.ALLOW
    with pytest.raises(TokenError):
        gate.release(signed, sent)


def test_the_tool_that_runs_is_the_one_that_is_judged() -> None:
    """A runtime that rewrites unknown names decides the rewritten one: then it meets that tool's own declarations."""
    deciding = engine(LISTED)
    asked, sent = request("drpo", {"table": "a"}), request("drop", {"table": "a"})
    assert asked.arguments_digest != sent.arguments_digest
    assert deciding.decide(sent, START)[0].outcome is Outcome.DENY


# 2. An unlisted tool skips denied side effects, approvals and sandboxes where classification is not required.
@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        (Settings(deny=frozenset({SideEffect.NETWORK})), "tool.side-effect.network"),
        (Settings(require_approval=True), "tool.approval-required"),
        (Settings(require_sandbox=True), "tool.no-sandbox"),
        (Settings(require_background_safe=True), "tool.not-background-safe"),
    ],
)
def test_not_being_listed_skips_nothing(settings: Settings, rule: str) -> None:
    assert rules(bound(ToolPolicy({}, settings), "unlisted")) == [rule]
    assert bound(ToolPolicy({}), "unlisted").outcome is Outcome.ALLOW  # as TinyAgents where nothing is asked


def test_the_denied_side_effects_of_a_call_count_whatever_is_declared() -> None:
    policy = ToolPolicy({"shell": said()}, Settings(deny=frozenset({SideEffect.NETWORK})))
    assert "tool.effect.network" in rules(judged(policy, "shell", Connect("x.test")))


# 3. Tags and metadata of a run do not reach its sub-agents, so that what hangs on a tag is lifted.
TAGGED = Selection([Layer(source="background", deny=("deploy",), when=When(tags=frozenset({"background"})))])


def test_a_sub_agent_has_its_parents_tags() -> None:
    gate = World(TAGGED).gate
    parent = replace(RUN, context=replace(RUN.context, tags=frozenset({"background"})))
    shown = gate.before_model([], ["deploy", "read"], parent)
    child = gate.child(replace(parent, exposure=shown.token), "helper", run_id="r2")
    assert child.context.tags >= parent.context.tags
    assert child.context.depth == parent.context.depth + 1
    assert gate.before_tool(Call("deploy", {}, "c"), child).outcome is Outcome.DENY


def test_what_a_parents_tags_deny_is_denied_to_a_sub_agent_that_lost_them() -> None:
    handed_down = inheriting(TAGGED, Context(tags=frozenset({"background"})), Selection([]))
    assert bound(handed_down, "deploy").outcome is Outcome.DENY


# 4. A bound on the text of a result leaves what is kept beside it unbounded.
def test_raw_results_are_bounded_as_well() -> None:
    kept, cut = bounded(freeze({"rows": ["x" * 1000] * 1000, "more": [[]] * 10_000}), 100)
    assert cut
    assert len(str(kept)) < 200


# 5. A later setting replaces an earlier one, so that a strict baseline is gone.
def test_a_further_setting_drops_nothing_of_a_baseline() -> None:
    tools = {"drop": said("destructive"), "pay": said("payment"), "fetch": said("network")}
    policy = ToolPolicy(tools, STRICT).tightened(Settings(deny=frozenset({SideEffect.NETWORK})))
    assert [rules(bound(policy, name)) for name in tools] == [
        ["tool.side-effect.destructive"],
        ["tool.side-effect.payment"],
        ["tool.side-effect.network"],
    ]
    approving = ToolPolicy({"a": said(approval_required=True)}, Settings(approved=frozenset()))
    assert bound(approving.tightened(Settings(approved=frozenset({"a"}))), "a").outcome is Outcome.ASK


# 6. What a tool policy hides leaves no trace.
def test_a_gate_records_what_was_hidden_and_by_whom() -> None:
    world = World(LISTED)
    world.gate.before_model([], ["search", "drop"], RUN)
    assert "tool.side-effect.destructive" in str(world.log.last("exposure"))


# 7. A record that contradicts itself is taken.
def test_a_record_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(LoadError, match="cannot be both"):
        snapshot('{"x": {"classified": true, "side_effects": {"read_only": true, "destructive": true}}}')


# Beside these: what it declares and enforces nowhere, and a denial that does not say what was denied.
def test_every_denied_side_effect_is_named_by_itself() -> None:
    policy = ToolPolicy({"x": said("destructive", "payment", sandbox=Sandbox.REQUIRED)}, STRICT)
    messages = [finding.message for finding in judged(policy, "x", FileDelete("/a")).findings]
    assert sum("`destructive`" in message for message in messages) == 1
    assert sum("`payment`" in message for message in messages) == 1


def test_what_is_exposed_and_what_runs_agree_although_the_sandbox_changes_between_them() -> None:
    """The answer hangs on the run's sandbox at the call, not on that of the exposure."""
    policy = ToolPolicy({"x": said(sandbox=Sandbox.REQUIRED)}, Settings(require_sandbox=True))
    deciding = engine(policy)
    shown = exposed(deciding, request("", sandbox="required"), Catalogue(names=("x",)))
    assert shown.visible == ("x",)
    assert deciding.decide(request("x", {}, sandbox="none"), START)[0].outcome is Outcome.DENY
