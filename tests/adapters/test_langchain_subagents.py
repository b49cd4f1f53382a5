"""Sub-agents: deepagents' `task` and agents that hosts call from tools of their own, never wider than their parent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from policyengine.adapters.langchain import CAPABILITIES, PolicyMiddleware
from policyengine.engine import Engine
from policyengine.gate import Gate
from policyengine.model import Outcome, Request, Verdict
from policyengine.policies.skill import SkillPolicy
from policyengine.records import replace
from policyengine.stores import MemoryRunStates
from tests.adapters.agents import (
    CONFIG,
    FACES,
    GO,
    RUN,
    Agent,
    Face,
    Model,
    Tools,
    agent_of,
    answer,
    codes,
    questions,
    results,
    says,
    sync,
    world,
)
from tests.gate.test_skills import Registry
from tests.gate.worlds import Says, Table, World, analyze, finding

DENY, ASK, ALLOW = Outcome.DENY, Outcome.ASK, Outcome.ALLOW
both = pytest.mark.parametrize("face", FACES)
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:deepagents.*")


def _task(agent: str = "helper", id: str = "t1") -> AIMessage:
    return says(("task", {"description": "do it", "subagent_type": agent}, id))


def _deep(
    made: World, model: Model, child: Model, tools: Tools, *names: str, guarded: bool = True, **more: Any
) -> Agent:
    """A deep agent with a sub-agent `helper`, which has the policy too or not."""
    policy = [PolicyMiddleware(made.gate, agent="helper", **more)] if guarded else []
    spec: Any = {
        "name": "helper",
        "description": "helps",
        "system_prompt": "help",
        "tools": tools.tools("bash", "ls"),
        "model": child,
        "middleware": policy,
    }
    own = tools.tools(*names)
    middleware = [PolicyMiddleware(made.gate)]
    return create_deep_agent(model, tools=own, middleware=middleware, subagents=[spec], checkpointer=InMemorySaver())


def _seen(requests: list[Request]) -> Callable[[Request], None]:
    """Notes requests about calls, and says nothing."""
    return lambda request: requests.append(request) if request.arguments is not None else None


def _when(made: Any, **conditions: Any) -> Says:
    """Answers `made` where the request is a call of a tool with these attributes of its principal or context."""

    def judge(request: Request) -> Verdict | None:
        known = {"agent": request.principal.agent, "tool": request.resource.id, "depth": request.context.depth}
        if any(known[key] != value for key, value in conditions.items()):
            return None
        return Verdict(policy="when", outcome=made, findings=(finding(made, "when"),))

    return Says(judge)


# ------------------------------------------------------------------------------------------------------------ delegated
@both
def test_a_sub_agent_acts_for_the_same_person_one_step_deeper(face: Face) -> None:
    seen: list[Request] = []
    made = world(Says(_seen(seen)))
    tools = Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1"))])
    state = face(_deep(made, Model(lines=[_task()]), child, tools, "bash", "ls"), GO)
    assert (tools.commands, results(state)["t1"].content) == (["x"], "done")
    (call,) = [one for one in seen if one.resource.id == "bash" and one.context.call_id][:1]
    assert (call.principal.id, call.principal.agent, call.principal.delegation) == ("ada", "helper", ("ada",))
    assert (call.context.depth, call.context.scope_id, call.context.parent_run_id) == (1, "s", "r")


@both
def test_what_its_parent_may_not_do_a_sub_agent_may_not_either(face: Face) -> None:
    """The policy denies `bash` to the parent alone; handing the work down does not get round that."""
    made, tools = world(_when(DENY, agent="", tool="bash")), Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1"))])
    face(_deep(made, Model(lines=[_task()]), child, tools, "bash", "ls"), GO)
    assert tools.ran == []
    assert ("bash" in child.tools[0], "ls" in child.tools[0]) == (False, True)


@both
def test_a_tool_that_its_parent_does_not_have_is_not_its_to_use(face: Face) -> None:
    made, tools = world(), Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1"))])
    face(_deep(made, Model(lines=[_task()]), child, tools, "ls"), GO)
    assert (tools.ran, "bash" in child.tools[0]) == ([], False)


@both
def test_a_sub_agent_may_be_given_less(face: Face) -> None:
    made, tools = world(), Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1"))])
    face(_deep(made, Model(lines=[_task()]), child, tools, "bash", "ls", only=["ls"]), GO)
    assert (tools.ran, child.tools[0]) == ([], ["ls"])


@both
def test_a_sub_agents_own_policies_still_hold(face: Face) -> None:
    made, tools = world(_when(DENY, agent="helper", tool="bash")), Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1"))])
    face(_deep(made, Model(lines=[_task()]), child, tools, "bash", "ls"), GO)
    assert tools.ran == []


@both
def test_starting_one_is_a_call_like_any_other(face: Face) -> None:
    made, tools = world(Table({"task": DENY})), Tools()
    child = Model(lines=[])
    state = face(_deep(made, Model(lines=[_task()]), child, tools, "bash"), GO)
    assert (child.shown, results(state)["t1"].status) == ([], "error")


# ------------------------------------------------------------------------------------- sub-agents without the policy
@both
@pytest.mark.parametrize("outcome", [ALLOW, DENY])
def test_one_that_the_host_forgot_to_guard_is_judged_as_its_parent(face: Face, outcome: Outcome) -> None:
    made = world(Table({"bash": outcome}))
    tools = Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1"))])
    state = face(_deep(made, Model(lines=[_task()]), child, tools, "bash", "ls", guarded=False), GO)
    assert tools.commands == (["x"] if outcome is ALLOW else [])
    assert results(state)["t1"].status == ("success" if outcome is ALLOW else "error")


@both
def test_deepagents_own_general_purpose_agent_is_never_guarded_and_never_free(face: Face) -> None:
    """`create_deep_agent` builds it without the host's middleware, with all of the parent's tools."""
    made, tools = world(Table({"bash": DENY})), Tools()
    model = Model(lines=[_task("general-purpose"), says(("bash", {"command": "x"}, "c1"))])
    agent = create_deep_agent(model, tools=tools.tools("bash"), middleware=[PolicyMiddleware(made.gate)])
    state = face(agent, GO)
    assert (tools.ran, results(state)["t1"].status) == ([], "error")
    assert "table.deny" in results(state)["t1"].content


@both
def test_what_asks_there_is_denied_since_nobody_could_be_asked(face: Face) -> None:
    made, tools = world(Table({"bash": ASK})), Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1"))])
    state = face(_deep(made, Model(lines=[_task()]), child, tools, "bash", "ls", guarded=False), GO)
    assert (tools.ran, results(state)["t1"].status) == ([], "error")


# ------------------------------------------------------------------------------------------------------------- asking
@both
def test_a_sub_agent_that_asks_goes_on_where_it_was(face: Face) -> None:
    made, tools = world(Table({"bash": ASK})), Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1"))])
    agent = _deep(made, Model(lines=[_task()]), child, tools, "bash", "ls")
    state = face(agent, GO)
    assert (tools.ran, questions(state)[0]["name"]) == ([], "bash")
    assert "acting through `helper`" in questions(state)[0]["description"]
    state = face(agent, answer(state, "approve"))
    assert (tools.commands, results(state)["t1"].content, len(child.shown)) == (["x"], "done", 2)


@both
def test_one_that_was_approved_itself_may_ask_and_be_gone_on_with(face: Face) -> None:
    made, tools = world(Table({"bash": ASK, "task": ASK})), Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1")), says(("bash", {"command": "y"}, "c2"))])
    agent = _deep(made, Model(lines=[_task()]), child, tools, "bash", "ls")
    state = face(agent, GO)
    asked = []
    while questions(state):
        asked.append(questions(state)[0]["name"])
        state = face(agent, answer(state, "approve"))
    assert (asked, tools.commands, results(state)["t1"].content) == (["task", "bash", "bash"], ["x", "y"], "done")


@both
def test_a_no_to_a_sub_agents_call_is_told_to_the_sub_agent(face: Face) -> None:
    made, tools = world(Table({"bash": ASK})), Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1"))])
    agent = _deep(made, Model(lines=[_task()]), child, tools, "bash", "ls")
    face(agent, answer(face(agent, GO), "reject"))
    told: Any = child.shown[-1][-1]
    assert (tools.ran, codes(told)) == ([], ["adapter.rejected"])


@both
def test_a_sub_agent_can_be_gone_on_with_in_another_process(face: Face) -> None:
    made, tools = world(Table({"bash": ASK})), Tools()
    child, model = Model(lines=[says(("bash", {"command": "x"}, "c1"))]), Model(lines=[_task()])
    agent = _deep(made, model, child, tools, "bash", "ls")
    state = face(agent, GO)
    made.gate = made.with_engine()
    again = _deep(made, model, child, tools, "bash", "ls")
    again.checkpointer = agent.checkpointer
    state = face(again, answer(state, "approve"))
    assert (tools.commands, results(state)["t1"].content) == (["x"], "done")


# ----------------------------------------------------------------------------------------- agents in tools of the host
@both
def test_an_agent_in_a_tool_of_the_host_is_a_sub_agent_whatever_the_tool_is_called(face: Face) -> None:
    seen: list[Request] = []
    made, tools = world(Says(_seen(seen))), Tools()
    inner = create_agent(
        Model(lines=[says(("bash", {"command": "x"}, "c1"))]),
        tools.tools("bash"),
        middleware=[PolicyMiddleware(made.gate, agent="inner")],
    )
    outer = tools.tool("research", lambda _: inner.invoke(GO)["messages"][-1].content)
    state = face(agent_of(made, Model(lines=[says(("research", {}, "r1"))]), [outer, *tools.tools("bash")]), GO)
    assert results(state)["r1"].content == "done"
    assert {one.principal.agent for one in seen if one.resource.id == "bash"} >= {"inner"}
    assert max(one.context.depth for one in seen) == 1


def test_a_context_of_its_own_does_not_free_it() -> None:
    """The inner agent is called with a run that says it is somebody else."""
    from policyengine.model import Principal

    made, tools = world(_when(DENY, agent="", tool="bash")), Tools()
    admin = replace(RUN, principal=Principal(id="root", agent="inner"))
    inner = create_agent(
        Model(lines=[says(("bash", {"command": "x"}, "c1"))]),
        tools.tools("bash"),
        middleware=[PolicyMiddleware(made.gate, agent="inner")],
    )
    outer = tools.tool("research", lambda _: inner.invoke(GO, context=admin)["messages"][-1].content)
    sync(agent_of(made, Model(lines=[says(("research", {}, "r1"))]), [outer, *tools.tools("bash")]), GO)
    assert [name for name, _ in tools.ran] == ["research"]


@both
def test_sub_agents_below_sub_agents_only_get_narrower(face: Face) -> None:
    made, tools = world(), Tools()
    policies = [PolicyMiddleware(made.gate, agent=f"a{at}", only=only) for at, only in enumerate((["b1", "x"], None))]
    bottom_model = Model(lines=[says(("x", {"command": "deep"}, "c1"), ("y", {"command": "no"}, "c2"))])
    bottom = create_agent(bottom_model, tools.tools("x", "y"), middleware=[policies[1]])
    b1 = tools.tool("b1", lambda _: bottom.invoke(GO)["messages"][-1].content)
    middle = create_agent(Model(lines=[says(("b1", {}, "m1"))]), [b1, *tools.tools("x", "y")], middleware=[policies[0]])
    b0 = tools.tool("b0", lambda _: middle.invoke(GO)["messages"][-1].content)
    face(agent_of(made, Model(lines=[says(("b0", {}, "r1"))]), [b0, b1, *tools.tools("x", "y")]), GO)
    assert (bottom_model.tools[0], tools.commands[-1]) == (["x"], "deep")


@both
def test_sub_agents_at_one_time_do_not_get_into_each_others_way(face: Face) -> None:
    made, tools = world(), Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1")), says(("bash", {"command": "x"}, "c1"))])
    parent = Model(lines=[AIMessage("", tool_calls=[*_task(id="t1").tool_calls, *_task(id="t2").tool_calls])])
    state = face(_deep(made, parent, child, tools, "bash", "ls"), GO)
    assert {message.status for message in results(state).values()} == {"success"}
    assert tools.commands == ["x", "x"]


def test_a_step_of_the_parent_is_not_the_sub_agents() -> None:
    made, tools = world(), Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1"))])
    state = _deep(made, Model(lines=[_task()]), child, tools, "bash", "ls").invoke(GO, CONFIG, context=RUN)
    assert "policyengine_step" not in state
    exposed: Any = [one for one in made.log.records if one["type"] == "exposure"]
    assert len({one["run"]["step_id"] for one in exposed}) == len(exposed) == 4


# --------------------------------------------------------------------------------------------------------- with skills
def _with_skills(*policies: Any) -> World:
    skills = SkillPolicy(registry=Registry())
    engine = Engine(analyze=analyze, policies=(*policies, skills), control_flow=(GraphBubbleUp,), policy_digest="d1")
    return World(engine=engine, skills=skills, capabilities=CAPABILITIES)


@both
@pytest.mark.parametrize("restart", [False, True])
def test_a_sub_agent_that_skills_may_bind_can_be_gone_on_with(face: Face, restart: bool) -> None:
    made, tools = _with_skills(Table({"bash": ASK})), Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1")), says(("bash", {"command": "y"}, "c2"))])
    model = Model(lines=[_task()])
    agent = _deep(made, model, child, tools, "bash", "ls")
    state = face(agent, GO)
    while questions(state):
        if restart:
            made.gate = made.with_engine()
            saver, agent = agent.checkpointer, _deep(made, model, child, tools, "bash", "ls")
            agent.checkpointer = saver
        state = face(agent, answer(state, "approve"))
    assert (tools.commands, results(state)["t1"].content) == (["x", "y"], "done")


def test_a_run_whose_state_is_lost_is_left_with_nothing() -> None:
    """The conversation is still there, and what its skills restricted is not."""
    made, tools = _with_skills(), Tools()
    model = Model(lines=[AIMessage("hello"), says(("bash", {"command": "x"}, "c1"))])
    agent = agent_of(made, model, tools.tools("bash"))
    sync(agent, GO)
    made.gate = Gate(replace(made.parts, states=MemoryRunStates()))
    again = agent_of(made, model, tools.tools("bash"), checkpointer=agent.checkpointer)
    sync(again, GO)
    assert (tools.ran, model.tools) == ([], [["bash"]])


# ------------------------------------------------------------------------------------------------------ names and ids
def test_an_answer_to_one_sub_agent_is_none_to_another_that_makes_the_same_call() -> None:
    made, tools = world(Table({"bash": ASK})), Tools()

    def start(agent: str) -> Any:
        model = Model(lines=[says(("bash", {"command": "x"}, "c1"))])
        inner = create_agent(model, tools.tools("bash"), middleware=[PolicyMiddleware(made.gate, agent=agent)])
        return tools.tool(agent, lambda _: inner.invoke(GO)["messages"][-1].content)

    agents = [start("good"), start("evil")]
    model = Model(lines=[says(("good", {}, "r1"), ("evil", {}, "r2"))])
    agent = agent_of(made, model, [*agents, *tools.tools("bash")])
    state = sync(agent, GO)
    asked = {"evil" in one.value["description"]: one for one in state["__interrupt__"]}
    state = sync(agent, Command(resume={asked[True].id: asked[False].value["answers"]["approve"]}))
    assert ("x" in tools.commands, len(questions(state))) == (False, 2)


def test_a_sub_agent_of_a_later_reply_is_another_though_its_call_has_the_same_id() -> None:
    made, tools = _with_skills(), Tools()
    child = Model(lines=[says(("bash", {"command": "x"}, "c1")), AIMessage("one"), says(("bash", {}, "c1"))])
    state = sync(_deep(made, Model(lines=[_task(), _task()]), child, tools, "bash", "ls"), GO)
    runs = [record["to_run"] for record in made.log.records if record["type"] == "delegation"]
    assert (len(runs), len(set(runs)), tools.commands) == (2, 2, ["x", ""])
    assert state["messages"][-1].content == "done"
