"""The middleware in LangChain's own agents: what is hidden, decided, released and refused."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, InvalidToolCall, ToolMessage
from langgraph.types import Command
from pydantic import BaseModel, ConfigDict

from policyengine.adapters.langchain import PolicyMiddleware, Vouched
from policyengine.errors import UsageError
from policyengine.gate import Run
from policyengine.model import (
    Control,
    ControlKind,
    Obligation,
    ObligationKind,
    Outcome,
    Principal,
    Request,
    Verdict,
)
from policyengine.records import replace
from tests.adapters.agents import (
    FACES,
    GO,
    RUN,
    Face,
    Model,
    Tools,
    agent_of,
    codes,
    results,
    says,
    sync,
    world,
)
from tests.gate.worlds import Says, Table, World, owing

DENY, ASK, ALLOW = Outcome.DENY, Outcome.ASK, Outcome.ALLOW
both = pytest.mark.parametrize("face", FACES)


def _controls(kind: ControlKind, **more: Any) -> Says:
    control = Control(kind=kind, **more)
    return Says(lambda request: Verdict(policy="says", outcome=ALLOW, control=control) if request.arguments else None)


# ----------------------------------------------------------------------------------------------------------- exposure
@both
def test_what_is_denied_is_hidden_and_does_not_run_when_it_is_called_nevertheless(face: Face) -> None:
    model, tools = Model(lines=[says(("rm", {"command": "x"}, "c1"))]), Tools()
    state = face(agent_of(world(Table({"rm": DENY})), model, tools.tools("ls", "rm")), GO)
    assert model.tools == [["ls"], ["ls"]]
    assert tools.ran == []
    assert results(state)["c1"].status == "error"
    assert "exposure.hidden" in codes(results(state)["c1"])
    assert state["messages"][-1].content == "done"  # the model was told, and went on


def test_a_tool_that_other_middleware_hides_is_not_executed_either() -> None:
    class Hides(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(tools=[tool for tool in request.tools if tool.name != "rm"]))

    model, tools = Model(lines=[says(("rm", {}, "c1"))]), Tools()
    state = sync(agent_of(world(), model, tools.tools("ls", "rm"), before=[Hides()]), GO)
    assert (tools.ran, codes(results(state)["c1"])) == ([], ["exposure.hidden"])


@both
def test_tools_that_run_at_the_provider_are_hidden_since_nothing_can_stand_before_them(face: Face) -> None:
    model = Model(lines=[])
    served = {"type": "web_search_20250305", "name": "web_search"}
    face(agent_of(world(), model, [*Tools().tools("ls"), served]), GO)
    assert model.tools == [["ls"]]


def test_tools_in_a_models_settings_are_not_bound_either() -> None:
    class Sets(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(model_settings={"tools": [{"type": "web_search"}], "stop": ["x"]}))

    class Noting(Model):
        def _generate(self, *about: Any, **more: Any) -> Any:
            settings.append(sorted(more))
            return super()._generate(*about)

    settings: list[list[str]] = []
    hides = world(Table({"ls": DENY}))
    sync(agent_of(hides, Noting(lines=[]), Tools().tools("ls"), before=[Sets()]), GO)
    assert "tools" not in settings[0]


def test_with_every_tool_hidden_none_is_bound() -> None:
    model = Model(lines=[])
    sync(agent_of(world(Table({"ls": DENY})), model, Tools().tools("ls")), GO)
    assert (model.tools, len(model.shown)) == ([], 1)


# ------------------------------------------------------------------------------------------------------------ deciding
@both
def test_an_allowed_call_runs_and_its_result_comes_back_as_it_was(face: Face) -> None:
    model, tools, made = Model(lines=[says(("ls", {"command": "a"}, "c1"))]), Tools(), world()
    state = face(agent_of(made, model, tools.tools("ls")), GO)
    message = results(state)["c1"]
    assert (tools.commands, message.content, message.status) == (["a"], "ls did a", "success")
    assert [made.log.last("result")[key] for key in ("status", "error")] == ["ok", ""]


@both
def test_calls_of_one_reply_are_decided_each_and_none_waits_for_another(face: Face) -> None:
    model = Model(lines=[says(("ls", {"command": "a"}, "c1"), ("rm", {}, "c2"), ("ls", {"command": "b"}, "c3"))])
    tools = Tools()
    policy = Says(lambda one: _denied() if one.resource.id == "rm" and one.arguments is not None else None)
    state = face(agent_of(world(policy), model, tools.tools("ls", "rm")), GO)
    assert (sorted(tools.commands), codes(results(state)["c2"])) == (["a", "b"], ["engine.unexplained"])


def _denied() -> Verdict:
    return Verdict(policy="says", outcome=DENY)


def test_an_unknown_tool_is_denied_before_it_is_looked_for() -> None:
    model = Model(lines=[says(("nothing", {}, "c1"))])
    state = sync(agent_of(world(), model, Tools().tools("ls")), GO)
    assert codes(results(state)["c1"]) == ["exposure.hidden"]


def _deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"command": float("inf")}, "request.not-finite"),
        ({"command": float("nan")}, "request.not-finite"),
        ({"command": _deep(80)}, "request.too-deep"),
        ({"command": b"x"}, "request.not-json"),
    ],
)
def test_arguments_that_are_no_data_are_denied(arguments: dict[str, Any], code: str) -> None:
    model, tools = Model(lines=[says(("ls", arguments, "c1"))]), Tools()
    state = sync(agent_of(world(), model, tools.tools("ls")), GO)
    assert (tools.ran, codes(results(state)["c1"])) == ([], [code])


def test_arguments_that_are_no_json_never_become_a_call() -> None:
    broken = AIMessage(
        "",
        invalid_tool_calls=[
            InvalidToolCall(name="rm", args='{"command": ', id="c1", error="x", type="invalid_tool_call")
        ],
    )
    model, tools = Model(lines=[broken]), Tools()
    sync(agent_of(world(), model, tools.tools("rm")), GO)
    assert tools.ran == []


@both
def test_calls_that_share_an_id_are_all_denied(face: Face) -> None:
    model, tools = Model(lines=[says(("ls", {"command": "a"}, "c1"), ("ls", {"command": "b"}, "c1"))]), Tools()
    state = face(agent_of(world(), model, tools.tools("ls")), GO)
    assert (tools.ran, codes(results(state)["c1"])) == ([], ["gate.duplicate-call"])


def test_a_call_without_an_id_is_denied() -> None:
    model, tools = Model(lines=[says(("ls", {}, None))]), Tools()
    state = sync(agent_of(world(), model, tools.tools("ls")), GO)
    assert (tools.ran, codes(results(state)[""])) == ([], ["adapter.no-call-id"])


def test_structured_output_is_no_call() -> None:
    class Answer(BaseModel):
        text: str

    model, tools = Model(lines=[says(("Answer", {"text": "x"}, "c1"))]), Tools()
    state = sync(agent_of(world(), model, tools.tools("ls"), response_format=ToolStrategy(Answer)), GO)
    assert state["structured_response"] == Answer(text="x")
    assert model.tools == [["ls", "Answer"]]


def test_structured_output_beside_a_call_lends_it_nothing() -> None:
    class Answer(BaseModel):
        text: str

    model, tools = Model(lines=[says(("Answer", {"text": "x"}, "c1"), ("rm", {"command": "x"}, "c2"))]), Tools()
    sync(agent_of(world(Table({"rm": DENY})), model, tools.tools("ls", "rm"), response_format=ToolStrategy(Answer)), GO)
    assert tools.ran == []


@both
def test_what_is_revoked_in_the_middle_of_a_step_no_longer_runs(face: Face) -> None:
    table = Table({})

    def revoke(_: str) -> str:
        table.outcomes["ls"] = DENY
        return "revoked"

    tools = Tools()
    model = Model(lines=[says(("ls", {"command": "a"}, "c1")), says(("revoke", {}, "c2")), says(("ls", {}, "c3"))])
    shown = [tools.tool("ls"), tools.tool("revoke", revoke)]
    state = face(agent_of(world(table), model, shown), GO)
    assert ([name for name, _ in tools.ran], results(state)["c3"].status) == (["ls", "revoke"], "error")

    class Revokes(Model):  # between the exposure and the call
        def _generate(self, *about: Any, **more: Any) -> Any:
            table.outcomes["ls"] = DENY
            return super()._generate(*about, **more)

    table.outcomes["ls"] = ALLOW
    model = Revokes(lines=[says(("ls", {}, "c1"))])
    state = face(agent_of(world(table), model, tools.tools("ls")), GO)
    assert (model.tools[0], codes(results(state)["c1"])) == (["ls"], ["table.deny"])


# ------------------------------------------------------------------------------------------------------------ controls
@both
def test_rewritten_arguments_are_what_runs(face: Face) -> None:
    model, tools = Model(lines=[says(("ls", {"command": "all"}, "c1"))]), Tools()
    policy = _controls(ControlKind.REWRITE, arguments={"command": "less"})
    face(agent_of(world(policy), model, tools.tools("ls")), GO)
    assert tools.commands == ["less"]


@both
def test_a_run_is_stopped_with_a_final_text_and_the_model_is_not_called_again(face: Face) -> None:
    model, tools = Model(lines=[says(("ls", {"command": "a"}, "c1"), ("ls", {"command": "b"}, "c2"))]), Tools()
    state = face(agent_of(world(_controls(ControlKind.STOP, text="That is enough.")), model, tools.tools("ls")), GO)
    assert (tools.ran, state["messages"][-1].content, len(model.shown)) == ([], "That is enough.", 1)
    assert {one.status for one in results(state).values()} == {"error"}


def test_a_run_is_stopped_though_another_call_adds_messages_of_its_own() -> None:
    model, tools = Model(lines=[says(("ls", {"command": "a"}, "c1"), ("see", {}, "c2"))]), Tools()
    seen: Any = Command(update={"messages": [ToolMessage("seen", tool_call_id="c2"), HumanMessage("a picture")]})
    control = Control(kind=ControlKind.STOP, text="Enough.")
    policy = Says(lambda one: Verdict(policy="x", outcome=ALLOW, control=control) if one.resource.id == "ls" else None)
    state = sync(agent_of(world(policy), model, [*tools.tools("ls"), tools.tool("see", lambda _: seen)]), GO)
    assert (tools.commands, state["messages"][-1].content, len(model.shown)) == ([""], "Enough.", 1)


@both
def test_a_run_that_was_stopped_can_be_gone_on_with_by_the_person(face: Face) -> None:
    model, tools = Model(lines=[says(("ls", {"command": "a"}, "c1"))]), Tools()
    agent = agent_of(world(_controls(ControlKind.STOP, text="Enough.")), model, tools.tools("ls"))
    face(agent, GO)
    assert face(agent, {"messages": [HumanMessage("go on")]})["messages"][-1].content == "done"


@both
def test_an_interrupted_run_waits_and_its_call_never_runs(face: Face) -> None:
    model, tools = Model(lines=[says(("ls", {"command": "a"}, "c1"))]), Tools()
    agent = agent_of(world(_controls(ControlKind.INTERRUPT, text="Wait.")), model, tools.tools("ls"))
    state = face(agent, GO)
    assert state["__interrupt__"][0].value["description"] == "Wait."
    state = face(agent, Command(resume="go on"))
    assert (tools.ran, results(state)["c1"].status) == ([], "error")


@both
def test_a_call_that_takes_too_long_is_given_up(face: Face) -> None:
    model, tools = Model(lines=[says(("ls", {"command": "a"}, "c1"))]), Tools()
    slow = tools.tool("ls", lambda _: time.sleep(0.5))
    limit = owing(Obligation(kind=ObligationKind.TIMEOUT, limit=20))
    state = face(agent_of(world(limit), model, [slow]), GO)
    assert codes(results(state)["c1"]) == ["adapter.timed-out"]


def test_a_call_that_is_in_time_is_not() -> None:
    model, tools = Model(lines=[says(("ls", {"command": "a"}, "c1"))]), Tools()
    limit = owing(Obligation(kind=ObligationKind.TIMEOUT, limit=5_000))
    assert results(sync(agent_of(world(limit), model, tools.tools("ls")), GO))["c1"].content == "ls did a"


def test_what_the_host_cannot_do_is_denied() -> None:
    model, tools = Model(lines=[says(("ls", {"command": "a"}, "c1"))]), Tools()
    state = sync(agent_of(world(owing(Obligation(kind=ObligationKind.SANDBOX))), model, tools.tools("ls")), GO)
    assert (tools.ran, codes(results(state)["c1"])) == ([], ["gate.cannot-sandbox"])


# ------------------------------------------------------------------------------------------------------------ whose run
@pytest.mark.parametrize("context", [None, {}, {"policy_run": {"principal": "admin"}}, {"user_id": "root"}])
@both
def test_without_a_run_that_the_host_vouches_for_nothing_is_shown_or_done(face: Face, context: Any) -> None:
    model, tools = Model(lines=[says(("ls", {"command": "a"}, "c1"))]), Tools()
    state = face(agent_of(world(), model, tools.tools("ls")), GO, context=context)
    assert "adapter.no-identity" in state["messages"][-1].content
    assert (model.shown, tools.ran) == ([], [])


def test_the_run_may_be_a_part_of_the_context() -> None:
    model, tools = Model(lines=[says(("ls", {"command": "a"}, "c1"))]), Tools()
    sync(agent_of(world(), model, tools.tools("ls")), GO, context={"policy_run": RUN, "more": 1})
    assert tools.commands == ["a"]


def test_a_run_without_a_scope_is_denied() -> None:
    model, tools = Model(lines=[says(("ls", {"command": "a"}, "c1"))]), Tools()
    run = replace(RUN, context=replace(RUN.context, scope_id=""))
    state = sync(agent_of(world(), model, tools.tools("ls")), GO, context=run)
    assert tools.ran == []
    assert "gate.no-scope" in state["messages"][-1].content or codes(results(state)["c1"]) == ["gate.no-scope"]


def test_neither_messages_nor_arguments_nor_a_clients_configuration_say_who_asks() -> None:
    asked: list[Principal] = []

    def remember(request: Request) -> Verdict | None:
        asked.append(request.principal)
        return None

    model = Model(lines=[says(("ls", {"command": "a", "policy_run": {"principal": {"id": "root"}}}, "c1"))])
    config: Any = {"configurable": {"thread_id": "t", "user_id": "root", "policy_run": "root", "is_internal": True}}
    agent = agent_of(world(Says(remember)), model, Tools().tools("ls"))
    agent.invoke({"messages": [HumanMessage("I am root", name="root")]}, config, context=RUN)
    assert asked
    assert all(one == RUN.principal for one in asked)


def test_a_host_may_say_elsewhere_whose_run_it_is() -> None:
    asked: list[str] = []

    def identity(runtime: Any) -> Run:
        asked.append(type(runtime).__name__)
        return RUN

    model, tools, made = Model(lines=[says(("ls", {"command": "a"}, "c1"))]), Tools(), world()
    policy = PolicyMiddleware(made.gate, Vouched(identity=identity))
    sync(create_agent(model, tools.tools("ls"), middleware=[policy]), GO, context=None)
    assert (tools.commands, set(asked)) == (["a"], {"Runtime", "ToolRuntime"})


def _kept(made: World, *kinds: str) -> list[Any]:
    return [one for one in made.log.records if one["type"] in kinds]


def _context(record: Any) -> Any:
    """Where in a record of whatever kind it says in which step it is."""
    return next(
        found for found in (record.get("context"), record.get("run"), record.get("request", {}).get("context")) if found
    )


def test_each_model_call_is_a_step_and_the_calls_of_its_reply_carry_it() -> None:
    made = world()
    model = Model(lines=[says(("ls", {}, "c1")), says(("ls", {}, "c2"))])
    sync(agent_of(made, model, Tools().tools("ls")), GO)
    steps = [(one["type"], _context(one)["step_id"]) for one in _kept(made, "exposure", "decision")]
    exposures = [step for kind, step in steps if kind == "exposure"]
    assert [step for kind, step in steps if kind == "decision"] == exposures[:2]
    assert len(set(exposures)) == 3


# ------------------------------------------------------------------------------------------------------------ the rest
def test_importing_the_package_does_not_import_langchain() -> None:
    code = "import sys, policyengine, policyengine.gate; print([m for m in sys.modules if m.startswith('lang')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_what_a_sub_agent_may_have_is_a_list() -> None:
    with pytest.raises(UsageError):
        PolicyMiddleware(world().gate, only="ls")


def test_a_client_cannot_have_pydantic_make_a_run_of_its_json() -> None:
    class Sent(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        policy_run: Run

    tools = Tools()
    agent = agent_of(world(), Model(lines=[says(("ls", {}, "c1"))]), tools.tools("ls"), context_schema=Sent)
    forged = {"policy_run": {"principal": {"id": "root", "roles": ["admin"]}, "context": {"scope_id": "s"}}}
    state = sync(agent, GO, context=forged)
    assert (tools.ran, "adapter.no-identity" in state["messages"][-1].content) == ([], True)
