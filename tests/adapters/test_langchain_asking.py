"""A person asked through `interrupt()`: what they are shown, what their answer covers, and how often it counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from policyengine.adapters.langchain import Vouched
from policyengine.adapters.langchain.middleware import PolicyMiddleware
from policyengine.gate import Run
from policyengine.model import Outcome, Request, Verdict
from policyengine.records import replace
from policyengine.stores import MemoryApprovals
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
from tests.gate.worlds import Says, Table, World, finding

DENY, ASK, ALLOW = Outcome.DENY, Outcome.ASK, Outcome.ALLOW
both = pytest.mark.parametrize("face", FACES)
RM = says(("rm", {"command": "a"}, "c1"))


def _asking(*calls: Any, made: World | None = None, **more: Any) -> tuple[Agent, Tools, World]:
    """An agent whose `rm` asks."""
    tools, made = Tools(), made or world(Table({"rm": ASK}))
    lines = list(calls) or [says(("rm", {"command": "a"}, "c1"))]
    return agent_of(made, Model(lines=lines), tools.tools("ls", "rm"), **more), tools, made


class Changing:
    """A policy that says something else each time that it is asked about a call; the last answer stays."""

    name = "changing"

    def __init__(self, *outcomes: Outcome, tool: str = "rm") -> None:
        self.outcomes, self.tool = list(outcomes), tool

    def evaluate(self, request: Request, facts: Any, state: Any) -> Verdict:
        if request.arguments is None or request.resource.id != self.tool:
            return Verdict(policy=self.name, outcome=ALLOW)
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        found = () if outcome is ALLOW else (finding(outcome, "changing", effect=facts.effects[0]),)
        return Verdict(policy=self.name, outcome=outcome, findings=found)


# ------------------------------------------------------------------------------------------------------- what is asked
@both
def test_the_person_sees_the_call_in_full_what_it_would_do_and_why(face: Face) -> None:
    agent, tools, _ = _asking(says(("rm", {"command": "a\u202eb " + "x" * 5_000}, "c1")))
    (value,) = questions(face(agent, GO))
    assert tools.ran == []
    assert (value["type"], value["name"], value["tool_call_id"]) == ("tool_approval", "rm", "c1")
    assert value["args"] == {"command": "a\u202eb " + "x" * 5_000}
    assert "a<U+202E>b " + "x" * 5_000 in value["description"]
    assert "table.ask" in value["description"]
    assert "process.execute" in value["does"][0]


def test_a_question_is_plain_data_without_a_token() -> None:
    import json

    agent, _, made = _asking()
    text = json.dumps(questions(sync(agent, GO)))
    assert str(made.log.last("decision")["jti"]) not in text


# ---------------------------------------------------------------------------------------------------- what comes of it
@both
def test_a_yes_lets_exactly_this_call_run_once(face: Face) -> None:
    agent, tools, made = _asking()
    state = face(agent, answer(face(agent, GO), "approve"))
    assert (tools.commands, results(state)["c1"].content) == (["a"], "rm did a")
    assert made.log.last("approval")["by"] == "ada"


@both
def test_a_no_is_final_and_tells_the_model_why(face: Face) -> None:
    agent, tools, made = _asking()
    state = face(agent, answer(face(agent, GO), "reject", message="not on a Friday"))
    assert (tools.ran, codes(results(state)["c1"])) == ([], ["adapter.rejected"])
    assert "not on a Friday" in results(state)["c1"].content
    assert made.log.last("approval")["answer"] == "rejected"


@both
def test_an_edit_is_a_new_call_and_a_new_decision(face: Face) -> None:
    policy = Says(lambda one: _of(DENY) if one.arguments == {"command": "worse"} else None)
    agent, tools, _ = _asking(made=world(Table({"rm": ASK}), policy))
    state = face(agent, answer(face(agent, GO), "edit", args={"command": "worse"}))
    assert (tools.ran, codes(results(state)["c1"])) == ([], ["says"])


def _of(outcome: Outcome) -> Verdict:
    return Verdict(policy="says", outcome=outcome, findings=(finding(outcome, "says"),))


@both
def test_an_edited_call_that_asks_is_asked_about_as_it_is_now(face: Face) -> None:
    agent, tools, _ = _asking()
    state = face(agent, answer(face(agent, GO), "edit", args={"command": "b"}))
    assert (tools.ran, questions(state)[0]["args"]) == ([], {"command": "b"})
    face(agent, answer(state, "approve"))
    assert tools.commands == ["b"]


@both
def test_a_yes_to_what_was_edited_does_not_cover_what_it_was_before(face: Face) -> None:
    agent, tools, _ = _asking()
    first = face(agent, GO)
    second = face(agent, answer(first, "edit", args={"command": "b"}))
    stale = {second["__interrupt__"][0].id: first["__interrupt__"][0].value["answers"]["approve"]}
    state = face(agent, Command(resume=stale))
    assert (tools.ran, questions(state)[0]["args"]) == ([], {"command": "b"})


@pytest.mark.parametrize(
    "given",
    [
        "yes",
        True,
        {"type": "approve"},
        {"decisions": [{"type": "approve"}]},
        {"type": "approve", "call": "other", "asks": [], "question": "q"},
        {"type": "approve", "call": None, "asks": [], "question": "q"},
        {"type": ["approve"]},
        {"type": "yes"},
    ],
    ids=str,
)
def test_what_does_not_answer_the_question_is_no_answer(given: Any) -> None:
    agent, tools, _ = _asking()
    sync(agent, GO)
    state = sync(agent, Command(resume=given))
    assert (tools.ran, len(questions(state))) == ([], 1)
    sync(agent, answer(state, "approve"))
    assert tools.commands == ["a"]


def test_a_yes_that_leaves_out_an_ask_is_no_answer() -> None:
    agent, tools, _ = _asking()
    state = sync(agent, answer(sync(agent, GO), "approve", asks=[]))
    assert (tools.ran, len(questions(state))) == ([], 1)


def test_without_a_checkpointer_nobody_can_be_asked() -> None:
    agent, tools, _ = _asking(checkpointer=None)
    state = agent.invoke(GO, context=RUN)
    assert (tools.ran, codes(results(state)["c1"])) == ([], ["adapter.no-checkpointer"])


def test_a_host_that_declares_that_it_cannot_ask_denies() -> None:
    from policyengine.adapters.langchain import CAPABILITIES

    made = world(Table({"rm": ASK}), capabilities=replace(CAPABILITIES, can_ask=False))
    agent, tools, _ = _asking(made=made)
    assert (tools.ran, codes(results(sync(agent, GO))["c1"])) == ([], ["gate.cannot-ask"])


def test_who_answers_is_whom_the_host_names() -> None:
    made, tools = world(Table({"rm": ASK})), Tools()
    policy = PolicyMiddleware(made.gate, Vouched(approver=lambda runtime: f"boss of {runtime.context.principal.id}"))
    agent = create_agent(
        Model(lines=[says(("rm", {"command": "a"}, "c1"))]),
        tools.tools("rm"),
        middleware=[policy],
        checkpointer=InMemorySaver(),
    )
    sync(agent, answer(sync(agent, GO), "approve"))
    assert (tools.commands, made.log.last("approval")["by"]) == (["a"], "boss of ada")


def _keeping(made: World, kept: list[Any]) -> tuple[Agent, Tools]:
    def identity(runtime: Any) -> Run:
        run: Run = replace(runtime.context, grants=tuple(kept))
        return run

    def keep(runtime: Any, grants: Any) -> None:
        assert runtime.context.principal.id == "ada"
        kept.extend(grants)

    tools = Tools()
    lines = [says(("rm", {"command": command}, f"c{at}")) for at, command in enumerate(("a", "a", "b"))]
    policy = PolicyMiddleware(made.gate, Vouched(identity=identity, keep=keep))
    return create_agent(Model(lines=lines), tools.tools("rm"), middleware=[policy], checkpointer=InMemorySaver()), tools


@both
def test_an_always_covers_what_the_person_was_told_and_no_more(face: Face) -> None:
    kept: list[Any] = []
    agent, tools = _keeping(world(Table({"rm": ASK})), kept)
    state = face(agent, GO)
    assert '"Always" would cover' in questions(state)[0]["description"]
    state = face(agent, answer(state, "always"))
    assert (tools.commands, len(kept), questions(state)[0]["args"]) == (["a", "a"], 1, {"command": "b"})


@both
def test_an_always_is_not_offered_where_nobody_keeps_it(face: Face) -> None:
    agent, tools, _ = _asking()
    state = face(agent, GO)
    assert "always" not in questions(state)[0]["answers"]
    assert "Always" not in questions(state)[0]["description"]
    state = face(agent, answer(state, "approve", type="always"))
    assert (tools.ran, len(questions(state))) == ([], 1)


# ------------------------------------------------------------------------------------------- frozen for the call's id
@both
def test_a_no_stays_a_no_though_nothing_asks_any_more(face: Face) -> None:
    """LangChain's own reviews let a rejected call run where `when` says something else on resume."""
    agent, tools, _ = _asking(made=world(Changing(ASK, ASK, ALLOW)))  # in the reply, before the tool, on resume
    state = face(agent, answer(face(agent, GO), "reject"))
    assert (tools.ran, codes(results(state)["c1"])) == ([], ["adapter.rejected"])


@both
def test_a_yes_does_not_outlive_a_policy_that_denies_now(face: Face) -> None:
    agent, tools, _ = _asking(made=world(Changing(ASK, ASK, DENY)))
    state = face(agent, answer(face(agent, GO), "approve"))
    assert (tools.ran, codes(results(state)["c1"])) == ([], ["changing"])


@both
def test_a_yes_to_what_would_run_anyhow_changes_nothing(face: Face) -> None:
    agent, tools, _ = _asking(made=world(Changing(ASK, ASK, ALLOW)))
    face(agent, answer(face(agent, GO), "approve"))
    assert tools.commands == ["a"]


@both
def test_a_yes_does_not_cover_what_the_call_asks_only_now(face: Face) -> None:
    later: list[bool] = []
    more = Says(lambda one: _of(ASK) if later and one.arguments is not None and one.resource.id == "rm" else None)
    agent, tools, _ = _asking(made=world(Table({"rm": ASK}), more))
    first = face(agent, GO)
    later.append(True)
    state = face(agent, answer(first, "approve"))
    assert (tools.ran, len(questions(state)[0]["asks"])) == ([], 2)
    face(agent, answer(state, "approve"))
    assert tools.commands == ["a"]


# ------------------------------------------------------------------------------------------------ several at one time
@both
def test_several_calls_of_a_reply_are_asked_about_and_answered_each(face: Face) -> None:
    calls = says(("rm", {"command": "a"}, "c1"), ("rm", {"command": "b"}, "c2"), ("ls", {"command": "c"}, "c3"))
    agent, tools, _ = _asking(calls)
    state = face(agent, GO)
    assert (tools.commands, sorted(one["args"]["command"] for one in questions(state))) == (["c"], ["a", "b"])
    one, other = state["__interrupt__"]
    state = face(agent, Command(resume={one.id: one.value["answers"]["approve"]}))
    assert tools.commands == ["c", one.value["args"]["command"]]
    state = face(agent, Command(resume={other.id: other.value["answers"]["reject"]}))
    assert (len(tools.ran), codes(results(state)[other.value["tool_call_id"]])) == (2, ["adapter.rejected"])


@both
def test_answers_that_are_mixed_up_count_for_nothing(face: Face) -> None:
    agent, tools, _ = _asking(says(("rm", {"command": "a"}, "c1"), ("rm", {"command": "b"}, "c2")))
    one, other = face(agent, GO)["__interrupt__"]
    swapped = {one.id: other.value["answers"]["approve"], other.id: one.value["answers"]["reject"]}
    state = face(agent, Command(resume=swapped))
    assert (tools.ran, len(questions(state))) == ([], 2)


@both
def test_an_answer_to_one_call_is_none_to_the_same_call_made_again(face: Face) -> None:
    agent, tools, _ = _asking(*(says(("rm", {"command": "a"}, id)) for id in ("c1", "c2")))
    first = face(agent, GO)
    second = face(agent, answer(first, "approve"))
    assert (tools.commands, len(questions(second))) == (["a"], 1)
    state = face(agent, Command(resume=first["__interrupt__"][0].value["answers"]["approve"]))
    assert (tools.commands, len(questions(state))) == (["a"], 1)


# -------------------------------------------------------------------------------------------------------- counted once
class Crash(Exception):
    """The process dies while the tool runs."""


def _crashing(made: World) -> tuple[Agent, Tools]:
    tools = Tools()

    def crash(_: str) -> str:
        if len(tools.ran) == 1:
            raise Crash
        return "ran again"

    return agent_of(made, Model(lines=[says(("rm", {"command": "a"}, "c1"))]), [tools.tool("rm", crash)]), tools


@both
def test_a_yes_is_not_spent_twice_when_the_node_runs_again_after_a_crash(face: Face) -> None:
    agent, tools = _crashing(world(Table({"rm": ASK})))
    first = face(agent, GO)
    with pytest.raises(Crash):
        face(agent, answer(first, "approve"))
    state = face(agent, None)  # LangGraph gives the stored answer once more
    assert (len(tools.ran), len(questions(state))) == (1, 1)
    face(agent, answer(state, "approve"))  # the person has to say that it may run a second time
    assert len(tools.ran) == 2


@both
def test_nor_by_a_store_that_cannot_say_whether_it_was_spent(face: Face) -> None:
    class Broken(MemoryApprovals):
        def spend(self, jti: str, until: float) -> bool:
            raise OSError

    agent, tools, _ = _asking(made=world(Table({"rm": ASK}), approvals=Broken()))
    state = face(agent, answer(face(agent, GO), "approve"))
    assert (tools.ran, len(questions(state))) == ([], 1)


def _pausing(tools: Tools, count: int) -> Callable[[str], Any]:
    def act(command: str) -> str:
        return f"{command}: {[interrupt(f'how? {at}') for at in range(count)]}"

    return act


@both
@pytest.mark.parametrize("outcome", [ALLOW, ASK])
def test_a_tool_that_interrupts_itself_goes_on_with_its_own_answers(face: Face, outcome: Outcome) -> None:
    made, tools = world(Table({"rm": outcome})), Tools()
    tool = tools.tool("rm", _pausing(tools, 2))
    agent = agent_of(made, Model(lines=[says(("rm", {"command": "a"}, "c1"))]), [tool])
    state = face(agent, GO)
    if outcome is ASK:
        state = face(agent, answer(state, "approve"))
    assert questions(state) == ["how? 0"]
    state = face(agent, Command(resume="so"))
    assert questions(state) == ["how? 1"]
    state = face(agent, Command(resume="thus"))
    assert results(state)["c1"].content == "a: ['so', 'thus']"


@both
def test_the_answer_to_a_tools_own_question_is_no_yes_to_ours(face: Face) -> None:
    """What was allowed asks on resume; the tool's stored answer must not be taken for the person's yes."""
    made, tools = world(Changing(ALLOW, ALLOW, ASK)), Tools()
    agent = agent_of(made, Model(lines=[RM.model_copy(deep=True)]), [tools.tool("rm", _pausing(tools, 1))])
    assert questions(face(agent, GO)) == ["how? 0"]
    started = len(tools.ran)
    state = face(agent, Command(resume={"type": "approve"}))
    assert (len(tools.ran), questions(state)[0]["name"]) == (started, "rm")


# -------------------------------------------------------------------------------------------------- by somebody else
@both
@pytest.mark.parametrize(
    "other",
    [
        replace(RUN, principal=replace(RUN.principal, id="root")),
        replace(RUN, context=replace(RUN.context, scope_id="elsewhere")),
    ],
    ids=["person", "scope"],
)
def test_whoever_resumes_a_run_does_not_lend_it_who_they_are(face: Face, other: Run) -> None:
    agent, tools, _ = _asking()
    state = face(agent, answer(face(agent, GO), "approve"), context=other)
    assert (tools.ran, codes(results(state)["c1"])) == ([], ["adapter.other-run"])


@both
def test_a_later_run_of_the_same_person_may_answer(face: Face) -> None:
    agent, tools, _ = _asking()
    later = replace(RUN, context=replace(RUN.context, run_id="later"))
    face(agent, answer(face(agent, GO), "approve"), context=later)
    assert tools.commands == ["a"]


# ----------------------------------------------------------------------------------------------- in another process
@both
def test_a_person_may_answer_to_another_process(face: Face) -> None:
    saver, made = InMemorySaver(), world(Table({"rm": ASK}))
    agent, tools, _ = _asking(made=made, checkpointer=saver)
    first = face(agent, GO)
    made.gate = made.with_engine()  # what a gate remembers is lost
    again, others, _ = _asking(made=made, checkpointer=saver)
    state = face(again, answer(first, "approve"))
    assert (tools.ran, others.commands, results(state)["c1"].content) == ([], ["a"], "rm did a")


def test_an_answer_of_another_thread_is_none() -> None:
    agent, tools, _ = _asking(*(says(("rm", {"command": "a"}, "c1")) for _ in range(2)))
    first = sync(agent, GO)
    other: Any = {"configurable": {"thread_id": "other"}}
    agent.invoke(GO, other, context=RUN)
    state = agent.invoke(Command(resume=first["__interrupt__"][0].value["answers"]["approve"]), other, context=RUN)
    assert (tools.ran, len(questions(state))) == ([], 1)
    assert CONFIG["configurable"]["thread_id"] != "other"


# ---------------------------------------------------------------------------------------------------------- time travel
@both
@pytest.mark.parametrize("suspends", [False, True])
def test_a_yes_is_not_given_again_by_going_back_to_before_the_call(face: Face, suspends: bool) -> None:
    """A checkpoint keeps the answer; whoever goes on from there once more has to be asked once more."""
    made, tools = world(Table({"bash": ASK})), Tools()
    tool = tools.tool("bash", (lambda _: interrupt("what else?")) if suspends else None)
    agent = agent_of(made, Model(lines=[says(("bash", {"command": "x"}, "c1"))]), [tool])
    state = face(agent, GO)
    before = agent.get_state(CONFIG).config
    face(agent, answer(state, "approve"))
    assert len(tools.ran) == 1
    forked = agent.update_state(before, {"messages": []}, as_node="PolicyMiddleware.after_model")
    for where in (before, forked, before):
        again = agent.invoke(None, where, context=RUN)
        assert ([one["type"] for one in questions(again)], len(tools.ran)) == (["tool_approval"], 1)


@both
def test_an_answer_of_another_fork_is_none_where_its_yes_was_used(face: Face) -> None:
    made, tools = world(Table({"bash": ASK})), Tools()
    agent = agent_of(made, Model(lines=[says(("bash", {"command": "x"}, "c1"))]), tools.tools("bash"))
    state = face(agent, GO)
    before, yes = agent.get_state(CONFIG).config, state["__interrupt__"][0].value["answers"]["approve"]
    face(agent, answer(state, "approve"))
    again = agent.invoke(Command(resume=yes), before, context=RUN)
    assert (len(questions(again)), len(tools.ran)) == (1, 1)
