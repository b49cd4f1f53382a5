"""Beside middleware that changes, repeats or answers calls: wherever that stands, what runs is what was decided."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, ToolRetryMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from policyengine.adapters.langchain import PolicyMiddleware
from policyengine.gate import Run
from policyengine.model import Obligation, ObligationKind, Outcome, Verdict
from tests.adapters.agents import (
    CONFIG,
    FACES,
    GO,
    RUN,
    Face,
    Model,
    Tools,
    agent_of,
    answer,
    codes,
    coroutine,
    questions,
    results,
    says,
    sync,
    world,
)
from tests.gate.worlds import Says, Table, World, finding

DENY, ASK, ALLOW = Outcome.DENY, Outcome.ASK, Outcome.ALLOW
both = pytest.mark.parametrize("face", FACES)
REVIEWED: Any = {"bash": {"allowed_decisions": ["approve", "edit", "reject", "respond"]}, "ls": True}


def _no_rm() -> Says:
    """Denies commands that begin with `rm`."""

    def judge(request: Any) -> Verdict | None:
        if not str((request.arguments or {}).get("command", "")).startswith("rm"):
            return None
        return Verdict(policy="no-rm", outcome=DENY, findings=(finding(DENY, "no-rm"),))

    return Says(judge)


def _bash(command: str = "ls") -> Any:
    return says(("bash", {"command": command}, "c1"))


def _edited(command: str, name: str = "bash") -> dict[str, Any]:
    return {"type": "edit", "edited_action": {"name": name, "args": {"command": command}}}


# ------------------------------------------------------------------------------------------ LangChain's own reviews
@both
@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize("inner", [False, True], ids=["policy further in", "policy further out"])
@pytest.mark.parametrize(("command", "ran"), [("pwd", ["pwd"]), ("rm -rf /", [])])
def test_what_a_reviewer_edits_is_what_is_decided(
    face: Face, mode: Any, inner: bool, command: str, ran: list[str]
) -> None:
    review = HumanInTheLoopMiddleware(REVIEWED, interrupt_mode=mode)
    place: Any = {"after" if inner else "before": [review]}
    tools = Tools()
    agent = agent_of(world(_no_rm()), Model(lines=[_bash()]), tools.tools("bash", "ls"), **place)
    face(agent, GO)
    given = _edited(command)
    state = face(agent, Command(resume={"decisions": [given]} if mode == "batched" else given))
    assert tools.commands == ran
    if not ran:
        assert results(state)["c1"].status == "error"
        assert "no-rm" in results(state)["c1"].content


@both
@pytest.mark.parametrize("inner", [False, True], ids=["policy further in", "policy further out"])
def test_a_reviewer_may_choose_another_tool_but_only_one_that_may_run(face: Face, inner: bool) -> None:
    for outcome, ran in ((ALLOW, [("ls", {"command": "x"})]), (DENY, [])):
        review, tools = HumanInTheLoopMiddleware(REVIEWED), Tools()
        place: Any = {"after" if inner else "before": [review]}
        policy = _of_ls(outcome)
        agent = agent_of(world(policy), Model(lines=[_bash()]), tools.tools("bash", "ls"), **place)
        face(agent, GO)
        face(agent, Command(resume={"decisions": [_edited("x", "ls")]}))
        assert tools.ran == ran


def _of_ls(outcome: Outcome) -> Says:
    """Says something of calls of `ls`, and nothing of the tool."""
    verdict = (
        None if outcome is ALLOW else Verdict(policy="says", outcome=outcome, findings=(finding(outcome, "says"),))
    )
    return Says(lambda request: verdict if request.resource.id == "ls" and request.arguments is not None else None)


@both
@pytest.mark.parametrize("inner", [False, True], ids=["policy further in", "policy further out"])
@pytest.mark.parametrize("kind", ["reject", "respond"])
def test_what_a_reviewer_answers_themselves_stays_and_nothing_runs(face: Face, inner: bool, kind: str) -> None:
    place: Any = {"after" if inner else "before": [HumanInTheLoopMiddleware(REVIEWED)]}
    tools = Tools()
    agent = agent_of(world(), Model(lines=[_bash()]), tools.tools("bash", "ls"), **place)
    face(agent, GO)
    state = face(agent, Command(resume={"decisions": [{"type": kind, "message": "because"}]}))
    assert (tools.ran, "because" in results(state)["c1"].content) == ([], True)


@both
def test_a_reviewers_yes_is_not_the_policys(face: Face) -> None:
    tools = Tools()
    agent = agent_of(
        world(Table({"bash": ASK})),
        Model(lines=[_bash()]),
        tools.tools("bash"),
        before=[HumanInTheLoopMiddleware(REVIEWED, interrupt_mode="per_call")],
    )
    assert questions(face(agent, GO))[0].get("answers") is None
    state = face(agent, Command(resume={"type": "approve"}))
    assert (tools.ran, questions(state)[0]["name"]) == ([], "bash")
    face(agent, answer(state, "approve"))
    assert tools.commands == ["ls"]


@both
def test_a_call_that_was_denied_in_its_reply_cannot_be_edited_into_one_that_runs(face: Face) -> None:
    tools = Tools()
    agent = agent_of(
        world(_no_rm()), Model(lines=[_bash("rm x")]), tools.tools("bash"), before=[HumanInTheLoopMiddleware(REVIEWED)]
    )
    face(agent, GO)
    state = face(agent, Command(resume={"decisions": [_edited("pwd")]}))
    assert (tools.ran, results(state)["c1"].status) == ([], "error")


# -------------------------------------------------------------------------------------- middleware that changes calls
class Changes(AgentMiddleware):
    """Changes every call on its way in: with `override`, or in place."""

    def __init__(self, command: str, *, in_place: bool = False, times: int = 1) -> None:
        self.command, self.in_place, self.times = command, in_place, times

    def _change(self, request: Any) -> Any:
        if self.in_place:
            request.tool_call["args"]["command"] = self.command
            return request
        return request.override(tool_call={**request.tool_call, "args": {"command": self.command}})

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        changed = self._change(request)
        return [handler(changed) for _ in range(self.times)][-1]

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        changed = self._change(request)
        return [await handler(changed) for _ in range(self.times)][-1]


@both
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("where", ["before", "after"])
def test_middleware_that_changes_a_call_changes_what_is_decided(face: Face, in_place: bool, where: str) -> None:
    for command, ran in (("pwd", ["pwd"]), ("rm x", [])):
        tools = Tools()
        place: Any = {where: [Changes(command, in_place=in_place)]}
        agent = agent_of(world(_no_rm()), Model(lines=[_bash()]), tools.tools("bash"), **place)
        state = face(agent, GO)
        assert (tools.commands, results(state)["c1"].status) == (ran, "success" if ran else "error")


@pytest.mark.parametrize(("command", "ran"), [("pwd", ["pwd"]), ("rm x", [])])
def test_a_tool_that_is_a_coroutine_is_guarded_alike(command: str, ran: list[str]) -> None:
    commands: list[str] = []

    async def act(command: str) -> str:
        commands.append(command)
        return "done"

    tool = StructuredTool.from_function(coroutine=act, name="bash", description="x")
    agent = agent_of(world(_no_rm()), Model(lines=[_bash()]), [tool], after=[Changes(command)])
    state = coroutine(agent, GO)
    assert (commands, results(state)["c1"].status) == (ran, "success" if ran else "error")


@both
def test_a_yes_does_not_cover_what_middleware_makes_of_the_call_afterwards(face: Face) -> None:
    tools = Tools()
    agent = agent_of(
        world(Table({"bash": ASK})), Model(lines=[_bash()]), tools.tools("bash"), after=[Changes("rm -rf /")]
    )
    state = face(agent, answer(face(agent, GO), "approve"))
    assert (tools.ran, codes(results(state)["c1"])) == ([], ["token.arguments"])


def _if_other(verdict: Verdict) -> Says:
    return Says(lambda one: verdict if one.arguments == {"command": "other"} else None)


@both
def test_what_a_changed_call_owes_is_seen_to_or_it_does_not_run(face: Face) -> None:
    for kind, content in ((ObligationKind.TRUNCATE, "ba"), (ObligationKind.TIMEOUT, None)):
        owed = Verdict(policy="says", outcome=ALLOW, obligations=(Obligation(kind=kind, limit=2),))
        made = world(_if_other(owed))
        tools = Tools()
        agent = agent_of(made, Model(lines=[_bash()]), tools.tools("bash"), after=[Changes("other")])
        message = results(face(agent, GO))["c1"]
        if content is None:
            assert (tools.ran, codes(message)) == ([], ["adapter.too-late"])
        else:
            assert (tools.commands, message.content) == (["other"], content)


@both
def test_a_yes_covers_one_start_though_middleware_repeats_it(face: Face) -> None:
    tools = Tools()
    agent = agent_of(
        world(Table({"bash": ASK})), Model(lines=[_bash("x")]), tools.tools("bash"), after=[Changes("x", times=2)]
    )
    state = face(agent, answer(face(agent, GO), "approve"))
    assert (tools.commands, codes(results(state)["c1"])) == (["x"], ["release.spent"])


@both
def test_what_needs_no_yes_may_be_tried_again(face: Face) -> None:
    tools = Tools()

    def fail(command: str) -> str:
        if len(tools.ran) < 2:
            raise RuntimeError(command)
        return "at last"

    for place in ("before", "after"):
        tools.ran.clear()
        retry: Any = {place: [ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)]}
        agent = agent_of(world(), Model(lines=[_bash()]), [tools.tool("bash", fail)], **retry)
        assert (results(face(agent, GO))["c1"].content, len(tools.ran)) == ("at last", 2)


@both
def test_a_call_that_other_middleware_answers_does_not_run(face: Face) -> None:
    class Answers(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return ToolMessage("made up", tool_call_id=request.tool_call["id"])

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return ToolMessage("made up", tool_call_id=request.tool_call["id"])

    tools = Tools()
    agent = agent_of(world(), Model(lines=[_bash()]), tools.tools("bash"), after=[Answers()])
    assert (results(face(agent, GO))["c1"].content, tools.ran) == ("made up", [])


# ------------------------------------------------------------------------------------------- tools that run other tools
@both
def test_a_tool_that_runs_another_has_that_decided_too(face: Face) -> None:
    tools = Tools()
    inner = tools.tool("rm")
    outer = tools.tool("bash", lambda command: inner.invoke({"command": command}))
    made = world(Table({"rm": DENY}))
    state = face(agent_of(made, Model(lines=[_bash()]), [outer, inner]), GO)
    assert ([name for name, _ in tools.ran], results(state)["c1"].status) == (["bash"], "error")
    assert "table.deny" in results(state)["c1"].content


@both
def test_and_runs_it_where_it_may(face: Face) -> None:
    tools = Tools()
    inner = tools.tool("ls")
    outer = tools.tool("bash", lambda command: inner.invoke({"command": command}))
    state = face(agent_of(world(), Model(lines=[_bash("x")]), [outer, inner]), GO)
    assert results(state)["c1"].content == "ls did x"


@both
@pytest.mark.parametrize("whole", [False, True])
def test_what_another_tool_gives_cannot_be_cut_unless_the_whole_is(face: Face, whole: bool) -> None:
    tools = Tools()
    inner = tools.tool("ls")
    outer = tools.tool("bash", lambda command: inner.invoke({"command": command}))
    cut = Verdict(policy="says", outcome=ALLOW, obligations=(Obligation(kind=ObligationKind.TRUNCATE, limit=2),))
    made = world(Says(lambda request: cut if whole or request.resource.id == "ls" else None))
    message = results(face(agent_of(made, Model(lines=[_bash("x")]), [outer, inner]), GO))["c1"]
    assert (message.content, codes(message)) == (("ls", []) if whole else (message.content, ["adapter.too-late"]))


# ----------------------------------------------------------------------------------------------------- plain LangGraph
@pytest.mark.parametrize("outcome", [ALLOW, DENY])
def test_a_tool_node_of_any_graph_can_be_wrapped(outcome: Outcome) -> None:
    tools, made = Tools(), world(Table({"bash": outcome}))
    policy = PolicyMiddleware(made.gate)
    node = ToolNode(tools.tools("bash"), wrap_tool_call=policy.wrap_tool_call, handle_tool_errors=True)
    state = _graph(node, Run).invoke({"messages": [_bash()]}, CONFIG, context=RUN)
    assert (tools.commands, state["messages"][-1].status) == (
        (["ls"], "success") if outcome is ALLOW else ([], "error")
    )


def _graph(node: Any, schema: type) -> Any:
    from langgraph.graph import END, START, MessagesState, StateGraph

    del schema
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    return graph.compile()


def test_two_policies_are_both_asked() -> None:
    class Second(PolicyMiddleware):
        """Another policy needs another name."""

    tools = Tools()
    strict: World = world(Table({"bash": DENY}))
    agent = agent_of(world(), Model(lines=[_bash()]), tools.tools("bash"), after=[Second(strict.gate)])
    state = sync(agent, GO)
    assert (tools.ran, results(state)["c1"].status) == ([], "error")
    agent = agent_of(world(), Model(lines=[_bash()]), tools.tools("bash"), after=[Second(world().gate)])
    assert (results(sync(agent, GO))["c1"].content, len(tools.ran)) == ("bash did ls", 1)


@both
def test_where_two_policies_stand_what_one_of_them_did_not_show_does_not_run(face: Face) -> None:
    class Second(PolicyMiddleware):
        """Another policy needs another name."""

    tools, inner, asked = Tools(), world(), _bash()
    for before, after in (
        ((), (Second(inner.gate, deferred=["bash"]),)),
        ((Second(inner.gate, deferred=["bash"]),), ()),
    ):
        model = Model(lines=[asked])
        state = face(agent_of(world(), model, tools.tools("bash", "ls"), before=before, after=after), GO)
        assert ("bash" in model.tools[0], tools.ran, codes(results(state)["c1"])) == (False, [], ["exposure.hidden"])
