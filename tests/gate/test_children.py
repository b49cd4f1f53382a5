"""Sub-agents: who they are is inherited, and what they may use is never more than their parent's."""

from __future__ import annotations

import pytest

from policyengine.errors import AuditError, TokenError, UsageError
from policyengine.gate import Call, Gate, Run
from policyengine.model import Outcome
from policyengine.records import replace
from tests.gate.worlds import LS, RUN, Table, World, rules

TOOLS = ("bash", "Read", "Write", "task")


def _shown(world: World, run: Run = RUN, tools: tuple[str, ...] = TOOLS) -> Run:
    return replace(run, exposure=world.gate.before_model([], tools, run).token)


def test_a_child_is_the_same_person_one_step_deeper_with_the_same_tags() -> None:
    world = World()
    child = world.gate.child(_shown(world), "helper", run_id="r2")
    assert (child.principal.id, child.principal.roles, child.principal.agent) == ("ada", ("dev",), "helper")
    assert child.principal.delegation == ("lead",)
    context = child.context
    assert (context.scope_id, context.thread_id, context.run_id, context.parent_run_id) == ("s", "t", "r2", "r")
    assert (context.depth, context.tags) == (1, frozenset({"quiet"}))
    assert (child.exposure, child.approvals) == ("", ())
    assert world.log.last("delegation")["to"] == "helper"


def test_a_child_sees_and_runs_what_its_parent_sees_and_what_it_was_given() -> None:
    world = World(Table({"Write": Outcome.DENY}))
    child = world.gate.child(_shown(world), "helper", run_id="r2", tools=["bash", "Write", "unheard"])
    assert world.gate.before_model([], (*TOOLS, "unheard"), child).visible == ("bash",)
    fresh = Gate(world.parts)
    assert fresh.before_tool(LS, child).outcome is Outcome.ALLOW
    for tool in ("Read", "task", "unheard", "Write"):
        assert "delegation.not-allowed" in rules(fresh.before_tool(Call(tool), child).findings)


def test_a_grandchild_has_no_more_than_its_parent_whatever_it_is_given() -> None:
    world = World()
    child = world.gate.child(_shown(world), "helper", run_id="r2", tools=["bash"])
    below = world.gate.child(_shown(world, child), "deeper", run_id="r3", tools=["bash", "Read", "Write"])
    assert below.principal.delegation == ("lead", "helper")
    assert below.context.depth == 2
    fresh = Gate(world.parts)
    assert fresh.before_tool(LS, below).outcome is Outcome.ALLOW
    assert rules(fresh.before_tool(Call("Read"), below).findings) == ["delegation.not-allowed"]


def test_a_parent_that_was_shown_nothing_hands_nothing_down() -> None:
    world = World()
    child = world.gate.child(RUN, "helper", run_id="r2")
    assert rules(world.gate.before_tool(LS, child).findings) == ["delegation.not-allowed"]
    stale = replace(RUN, exposure=_shown(world).exposure, context=replace(RUN.context, step_id="2"))
    child = world.gate.child(stale, "helper", run_id="r2")
    assert rules(world.gate.before_tool(LS, child).findings) == ["delegation.not-allowed"]


def test_a_sub_agent_that_shows_no_delegation_may_do_nothing() -> None:
    world = World()
    child = replace(world.gate.child(_shown(world), "helper", run_id="r2"), delegation="")
    assert rules(world.gate.before_tool(LS, child).findings) == ["delegation.missing"]
    assert world.gate.before_model([], TOOLS, child).visible == ()


@pytest.mark.parametrize("field", ["agent", "id", "delegation"])
def test_the_delegation_of_another_is_refused(field: str) -> None:
    world = World()
    child = world.gate.child(_shown(world), "helper", run_id="r2")
    other = {"agent": "other", "id": "bob", "delegation": ("lead", "x")}[field]
    stolen = replace(child, principal=child.principal.__replace__(**{field: other}))
    assert rules(world.gate.before_tool(LS, stolen).findings) == ["delegation.missing"]
    refused = world.log.last("decision")["refused_tokens"]
    assert isinstance(refused, tuple)
    assert refused[0] in (("delegation", "token.agent"), ("delegation", "token.subject"))


def test_a_parent_cannot_pass_for_a_child_by_dropping_who_started_it() -> None:
    """The run that nobody started needs no delegation, so a child that hides its origin must not gain by it."""
    world = World()
    child = world.gate.child(_shown(world), "helper", run_id="r2", tools=["bash"])
    hidden = replace(child, principal=replace(child.principal, delegation=()))
    assert rules(world.gate.before_tool(LS, hidden).findings) == ["delegation.missing"]


def test_a_run_below_another_needs_a_delegation_whatever_it_says_of_who_started_it() -> None:
    """TinyAgents' child runs carry nothing of their parent's, so that whatever binds the parent is lost."""
    below = replace(RUN, context=replace(RUN.context, depth=1))
    assert rules(World().gate.before_tool(LS, below).findings) == ["delegation.missing"]


def test_sub_agents_nest_only_so_deep() -> None:
    world, run = World(), RUN
    for depth in range(8):
        run = world.gate.child(_shown(world, run), f"a{depth}", run_id=f"r{depth}")
    assert world.gate.before_tool(LS, run).outcome is Outcome.ALLOW
    deeper = world.gate.child(_shown(world, run), "a9", run_id="r9")
    assert rules(world.gate.before_tool(LS, deeper).findings) == ["delegation.missing"]


def test_an_expired_delegation_leaves_nothing() -> None:
    world = World()
    child = world.gate.child(_shown(world), "helper", run_id="r2")
    world.clock.time += 86_400
    assert rules(world.gate.before_tool(LS, child).findings) == ["delegation.missing"]


def test_an_approval_of_the_parent_is_not_the_childs() -> None:
    world = World(Table({"bash": Outcome.ASK}))
    parent = _shown(world)
    token = world.gate.approve(world.gate.before_tool(LS, parent), by="ada")
    child = replace(world.gate.child(parent, "helper", run_id="r2"), approvals=(token,))
    assert world.gate.before_tool(LS, child).outcome is Outcome.ASK


def test_what_a_child_does_counts_for_the_whole_scope() -> None:
    world = World()
    child = world.gate.child(_shown(world), "helper", run_id="r2")
    world.gate.before_tool(LS, child)
    assert world.states.load("s").counters["calls"] == 1


def test_a_child_that_cannot_be_recorded_signed_or_named_is_none() -> None:
    world = World()
    parent = _shown(world)
    with pytest.raises(UsageError):
        world.gate.child(parent, "", run_id="r2")
    with pytest.raises(UsageError):
        world.gate.child(parent, "helper", run_id="")
    world.log.fail()
    with pytest.raises(AuditError):
        world.gate.child(parent, "helper", run_id="r2")
    with pytest.raises(TokenError):
        Gate(replace(world.parts, fresh=lambda: "no name")).child(parent, "helper", run_id="r2")


def test_what_the_host_knows_to_have_been_shown_narrows_where_the_gate_remembers_nothing() -> None:
    world = World()
    known = replace(RUN, offered=frozenset({"Read"}))
    assert rules(world.gate.before_tool(LS, known).findings) == ["exposure.hidden"]
    assert world.gate.before_tool(Call("Read"), known).outcome is Outcome.ALLOW
    child = world.gate.child(replace(_shown(world), offered=frozenset({"Read"})), "helper", run_id="r2")
    assert rules(Gate(world.parts).before_tool(LS, child).findings) == ["delegation.not-allowed"]
