"""The skill policy behind the gate: what it is told, and that a run goes on as it says."""

from __future__ import annotations

from typing import Any

import pytest

from policyengine.effects import Execute, Facts, FileRead
from policyengine.engine import Engine
from policyengine.gate import Call, Gate, Message, Result, Run
from policyengine.model import Outcome, Request
from policyengine.policies.skill import Skill, SkillPolicy
from policyengine.records import replace
from policyengine.signing import Purpose, verify
from policyengine.state import RunState
from policyengine.stores import MemoryRunStates
from tests.gate.worlds import KEYS, LS, NOW, RUN, Table, World, rules

PATH = "/skills/review/SKILL.md"
TOOLS = ("bash", "Read", "Write", "task", "tool_search")
SKILLS = {
    PATH: Skill(path=PATH, name="review", digest="d" * 64, allowed=("Read",)),
    "/skills/off/SKILL.md": Skill(path="/skills/off/SKILL.md", name="off", digest="e" * 64, allowed=(), enabled=False),
}


class Registry:
    """Skills in a dict."""

    def __init__(self) -> None:
        self.skills: dict[str, Skill] = dict(SKILLS)

    def find(self, path: str) -> Skill | None:
        return self.skills.get(path)

    def named(self, name: str) -> Skill | None:
        return next((skill for skill in self.skills.values() if skill.name == name), None)

    def permits(self, skill: Skill, agent: str) -> bool:
        del skill, agent
        return True


def analyze(request: Request, state: RunState) -> Facts:
    """Reading reads, and everything else executes."""
    del state
    path = (request.arguments or {}).get("path")
    return Facts((FileRead(str(path)),)) if path else Facts((Execute("x"),))


def _world() -> World:
    skills = SkillPolicy(registry=Registry())
    engine = Engine(analyze=analyze, policies=(Table({}), skills), policy_digest="d1")
    return World(engine=engine, skills=skills)


def _at(step: int, run: Run = RUN) -> Run:
    return replace(run, context=replace(run.context, step_id=str(step)), replies=0)


def _child_with_a_skill(world: World) -> tuple[Run, Run]:
    """A run in its first step, and its sub-agent that has loaded a skill."""
    run = replace(_at(1), exposure=world.gate.before_model([], TOOLS, _at(1)).token)
    child = world.gate.child(run, "helper", run_id="r2")
    world.gate.before_model([], TOOLS, child)
    world.gate.after_tool(Result("# Review"), world.gate.before_tool(LOAD, child))
    return run, child


def _user(text: str, id: str = "m1") -> Message:
    return Message(text, id=id, genuine=True)


LOAD = Call("Read", {"path": PATH}, "load")


def test_a_slash_command_of_the_user_restricts_what_is_shown_and_run() -> None:
    world = _world()
    exposed = world.gate.before_model([_user("/review the diff")], TOOLS, _at(1))
    assert (exposed.visible, exposed.task) == (("Read", "tool_search"), "the diff")
    assert exposed.skill is not None
    claims = verify(exposed.token, KEYS, purpose=Purpose.EXPOSURE, scope_id="s", now=NOW)
    assert (claims.source, [skill.id for skill in claims.skills]) == ("slash", [PATH])
    assert "skill.not-allowed" in rules(world.gate.before_tool(LS, _at(1)).findings)
    assert "skill.not-allowed" in rules(Gate(world.parts).before_tool(Call("task"), _at(1)).findings)


@pytest.mark.parametrize(("text", "code"), [("/nothing x", "skill.not-installed"), ("/off x", "skill.disabled")])
def test_a_slash_command_that_cannot_be_followed_ends_the_turn(text: str, code: str) -> None:
    exposed = _world().gate.before_model([_user(text)], TOOLS, _at(1))
    assert (exposed.outcome, rules(exposed.findings)) == (Outcome.DENY, [code])


def test_a_message_that_nobody_sent_activates_nothing() -> None:
    exposed = _world().gate.before_model([Message("/review the diff")], TOOLS, _at(1))
    assert exposed.visible == TOOLS


def test_a_load_restricts_the_other_calls_of_its_own_reply() -> None:
    """In DeerFlow, reading SKILL.md and calling bash in one reply leaves bash unrestricted."""
    world = _world()
    world.gate.before_model([], TOOLS, _at(1))
    loaded, other = world.gate.after_model([LOAD, LS], _at(1))
    assert (loaded.outcome, other.outcome) == (Outcome.ALLOW, Outcome.DENY)
    assert rules(Gate(world.parts).before_tool(LS, _at(1)).findings) == ["skill.not-allowed"]


def test_a_load_that_ended_well_counts_from_the_next_reply_on() -> None:
    world = _world()
    world.gate.before_model([], TOOLS, _at(1))
    signed = world.gate.before_tool(LOAD, _at(1))
    world.gate.after_tool(Result("# Review"), signed)
    exposed = world.gate.before_model([], TOOLS, _at(2))
    assert exposed.visible == ("Read", "tool_search")
    assert world.states.load("s").skills.loaded[PATH].counts


def test_a_load_that_failed_restricts_all_the_same() -> None:
    world = _world()
    world.gate.before_model([], TOOLS, _at(1))
    signed = world.gate.before_tool(LOAD, _at(1))
    world.gate.after_tool(Result("", error="no such file"), signed)
    assert world.gate.before_model([], TOOLS, _at(2)).visible == ("Read", "tool_search")


def test_a_run_whose_state_is_lost_is_left_with_nothing_but_discovery() -> None:
    """In DeerFlow, losing all entries makes a run passive, and then everything is allowed."""
    exposed = _world().gate.before_model([], TOOLS, replace(_at(7), replies=6))
    assert exposed.visible == ("tool_search",)


def test_what_binds_a_run_binds_its_sub_agents_and_no_load_of_theirs_widens_it() -> None:
    world = _world()
    run = replace(_at(1), exposure=world.gate.before_model([_user("/review it")], TOOLS, _at(1)).token)
    child = world.gate.child(run, "helper", run_id="r2")
    assert world.gate.before_model([], TOOLS, child).visible == ("Read", "tool_search")
    assert "skill.not-allowed" in rules(Gate(world.parts).before_tool(LS, child).findings)
    assert world.states.load("s").skills.slash is not None


def test_a_sub_agent_whose_state_is_lost_is_left_with_nothing_but_discovery() -> None:
    world = _world()
    run = replace(_at(1), exposure=world.gate.before_model([], TOOLS, _at(1)).token)
    child = world.gate.child(run, "helper", run_id="r2")
    forgetful = Gate(replace(world.parts, states=MemoryRunStates()))
    assert forgetful.before_model([], TOOLS, child).visible == ("tool_search",)
    assert "skill.none-authorised" in rules(forgetful.before_tool(LS, child).findings)


def test_a_childs_own_load_does_not_bind_its_parent() -> None:
    world = _world()
    run, child = _child_with_a_skill(world)
    assert rules(Gate(world.parts).before_tool(LS, child).findings) == ["skill.not-allowed"]
    assert world.gate.before_tool(LS, run).outcome is Outcome.ALLOW


def test_a_registry_that_fails_leaves_only_discovery() -> None:
    world = _world()

    def fail(*_: object) -> Any:
        raise OSError

    world.gate.before_model([_user("/review it")], TOOLS, _at(1))
    assert world.parts.skills is not None
    registry: Any = world.parts.skills.registry
    registry.find = fail
    assert world.gate.before_model([], TOOLS, _at(2)).visible == ("tool_search",)


def test_a_call_is_analysed_once() -> None:
    world = _world()
    asked: list[Request] = []

    def counting(request: Request, state: RunState) -> Facts:
        asked.append(request)
        return analyze(request, state)

    world.with_engine(analyze=counting).before_tool(LS, _at(1))
    assert len(asked) == 1


def test_a_sub_agent_that_goes_on_keeps_its_loads_below_what_binds_its_parent_now() -> None:
    world = _world()
    run, _ = _child_with_a_skill(world)
    again = world.gate.child(run, "helper", run_id="r2")
    assert rules(Gate(world.parts).before_tool(LS, again).findings) == ["skill.not-allowed"]


def test_a_sub_agent_that_goes_on_is_bound_by_what_binds_its_parent_by_then() -> None:
    world = _world()
    run = replace(_at(1), exposure=world.gate.before_model([], TOOLS, _at(1)).token)
    world.gate.child(run, "helper", run_id="r2")
    world.gate.before_model([_user("/review it")], TOOLS, _at(2))
    again = world.gate.child(run, "helper", run_id="r2")
    assert rules(Gate(world.parts).before_tool(LS, again).findings) == ["skill.not-allowed"]
