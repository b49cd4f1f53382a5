"""The laws of the gate, over random policies, catalogues, runs and tampering."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policyengine.errors import TokenError
from policyengine.gate import Call, Capabilities, Gate, Run, SignedDecision
from policyengine.model import Context, Finding, Outcome, Principal, Request, Severity, Verdict
from policyengine.records import replace
from tests.gate.worlds import ALL, RUN, Says, World

TOOLS = ("a", "b", "c", "d", "e")
OUTCOMES = st.sampled_from(Outcome)
TABLES = st.dictionaries(st.sampled_from(TOOLS), OUTCOMES)
SUBSETS = st.sets(st.sampled_from(TOOLS))
ARGUMENTS = st.dictionaries(st.sampled_from(["command", "x"]), st.sampled_from(["", "ls", "rm"]))


def _answer(name: str, outcome: Outcome) -> Verdict:
    finding = Finding(rule=f"{name}.says", code=name, message="So.", outcome=outcome, severity=Severity.LOW)
    return Verdict(policy=name, outcome=outcome, findings=(finding,) if outcome else ())


def _policy(tools: dict[str, Outcome], arguments: dict[str, Outcome], name: str = "p") -> Says:
    """A policy whose answer about a tool is a bound below its answers about calls."""

    def says(request: Request) -> Verdict:
        outcome = tools.get(request.resource.id, Outcome.ALLOW)
        for value in (request.arguments or {}).values():
            outcome = max(outcome, arguments.get(str(value), Outcome.ALLOW))
        return _answer(name, outcome)

    return Says(says, name)


CALLS = st.builds(lambda name, arguments: Call(name, arguments, "c"), st.sampled_from((*TOOLS, "unheard")), ARGUMENTS)
VALUES = st.dictionaries(st.sampled_from(["ls", "rm"]), OUTCOMES)


@given(TABLES, VALUES, TABLES, CALLS, st.booleans(), st.sampled_from([Outcome.ASK, Outcome.DENY]))
def test_what_is_hidden_cannot_run(  # noqa: PLR0917  one for each thing that varies
    tools: dict[str, Outcome],
    arguments: dict[str, Outcome],
    later: dict[str, Outcome],
    call: Call,
    presented: bool,
    hidden_from: Outcome,
) -> None:
    """Hidden or never offered ⇒ not executable, whatever the arguments and whatever the policies say by then."""
    world = World(_policy(tools, arguments), hidden_from=hidden_from)
    exposed = world.gate.before_model([], TOOLS, RUN)
    gate = world.gate if not presented else world.with_engine(policies=(_policy(later, {}),))
    run = replace(RUN, exposure=exposed.token) if presented else RUN
    if call.name not in exposed.visible:
        assert gate.before_tool(call, run).outcome is Outcome.DENY


@given(TABLES, VALUES, CALLS)
def test_a_gate_is_at_least_as_strict_as_its_engine(
    tools: dict[str, Outcome], arguments: dict[str, Outcome], call: Call
) -> None:
    """What the gate says is never milder than what the engine alone would say, with and without an exposure."""
    world = World(_policy(tools, arguments))
    alone, _ = world.parts.engine.decide(_request(call), world.states.load("s"))
    bare = world.gate.before_tool(call, RUN)
    assert bare.outcome == alone.outcome
    run = replace(RUN, exposure=world.gate.before_model([], TOOLS[:3], RUN).token)
    assert world.gate.before_tool(call, run).outcome >= alone.outcome
    for name in Capabilities._fields:
        lacking: Any = {name: False}
        limited = World(_policy(tools, arguments), capabilities=replace(ALL, **lacking))
        assert limited.gate.before_tool(call, RUN).outcome >= alone.outcome


def _request(call: Call) -> Request:
    from policyengine.model import Resource, ResourceKind, freeze_object

    return Request(
        principal=RUN.principal,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, call.name),
        arguments=freeze_object(call.arguments),
        context=RUN.context,
    )


@given(TABLES, VALUES, CALLS, st.booleans())
def test_both_faces_say_the_same(
    tools: dict[str, Outcome], arguments: dict[str, Outcome], call: Call, shown: bool
) -> None:
    """decide ≡ adecide, through the gate."""

    def answers(face: Any) -> Any:
        world = World(_policy(tools, arguments))
        return face(world)

    def sync(world: World) -> SignedDecision:
        run = replace(RUN, exposure=world.gate.before_model([], TOOLS, RUN).token) if shown else RUN
        return world.gate.before_tool(call, run)

    def waited(world: World) -> SignedDecision:
        async def ask() -> SignedDecision:
            run = RUN
            if shown:
                run = replace(RUN, exposure=(await world.gate.abefore_model([], TOOLS, RUN)).token)
            return await world.gate.abefore_tool(call, run)

        return asyncio.run(ask())

    one, other = answers(sync), answers(waited)
    assert (one.decision, one.call) == (other.decision, other.call)


@settings(max_examples=40)
@given(TABLES, st.lists(st.tuples(SUBSETS, SUBSETS), min_size=1, max_size=4), ARGUMENTS)
def test_a_sub_agent_may_do_no_more_than_its_parent(
    tools: dict[str, Outcome], chain: list[tuple[set[str], set[str]]], arguments: dict[str, str]
) -> None:
    """allowed(child) ⊆ allowed(parent), over random chains, of what is shown and what is handed down."""
    world = World(_policy(tools, {"rm": Outcome.ASK}))
    run, allowed = RUN, set(TOOLS)
    for depth, (offered, given_tools) in enumerate(chain):
        run = replace(run, exposure=world.gate.before_model([], sorted(offered), run).token)
        allowed &= {tool for tool in TOOLS if _runs(world, tool, arguments, run)}
        run = world.gate.child(run, f"agent{depth}", run_id=f"r{depth}", tools=given_tools)
        fresh = Gate(world.parts)
        child = {tool for tool in TOOLS if _runs(world, tool, arguments, run, fresh)}
        assert child <= allowed
        assert child <= given_tools


def _runs(world: World, tool: str, arguments: dict[str, str], run: Run, gate: Gate | None = None) -> bool:
    return (gate or world.gate).before_tool(Call(tool, arguments), run).outcome is not Outcome.DENY


PLACES = ("scope_id", "thread_id", "id", "agent", "name", "arguments")


@settings(max_examples=60)
@given(st.sampled_from(PLACES), ARGUMENTS, st.sampled_from(["x", "s ", "S", "t", "ada", "a\u0301da"]))
def test_an_approval_holds_for_nothing_but_its_call(place: str, arguments: dict[str, str], other: str) -> None:
    """Whatever differs in call, scope, thread or person: the answer does not count, and is not used up."""
    world = World(Says(lambda _: _answer("p", Outcome.ASK)))
    call, run = Call("a", {"command": "ls"}, "c"), RUN
    token = world.gate.approve(world.gate.before_tool(call, run), by="ada")
    changed, moved = _changed(place, call, run, arguments, other)
    outcome = world.gate.before_tool(changed, replace(moved, approvals=(token,))).outcome
    same = (changed, moved) == (call, run)
    assert (outcome is Outcome.ALLOW) is same
    assert world.gate.before_tool(call, replace(run, approvals=(token,))).outcome is (
        Outcome.ASK if same else Outcome.ALLOW
    )


def _changed(place: str, call: Call, run: Run, arguments: dict[str, str], other: str) -> tuple[Call, Run]:
    change: Any = {place: other}
    if place in ("id", "agent"):
        return call, replace(run, principal=replace(run.principal, **change))
    if place in Context._fields:
        return call, replace(run, context=replace(run.context, **change))
    return replace(call, **({"arguments": arguments} if place == "arguments" else change)), run


@settings(max_examples=80)
@given(st.data())
def test_any_changed_character_of_a_token_makes_it_count_for_nothing(data: st.DataObject) -> None:
    """An altered exposure narrows nothing, an altered approval answers nothing, such a delegation leaves nothing."""
    world = World(Says(lambda request: _answer("p", Outcome.ASK if request.resource.id == "a" else Outcome.ALLOW)))
    exposed = world.gate.before_model([], ("a", "b"), RUN)
    run = replace(RUN, exposure=exposed.token)
    asked = world.gate.before_tool(Call("a", {}, "c"), run)
    approval = world.gate.approve(asked, by="ada")
    child = world.gate.child(run, "sub", run_id="r2")
    token = data.draw(st.sampled_from([exposed.token, approval, child.delegation, asked.token]))
    at = data.draw(st.integers(0, len(token) - 1))
    character = data.draw(st.sampled_from("AZaz09-_.=+/ \n\u00e9"))
    altered = token[:at] + character + token[at + 1 :]
    if altered == token:
        return
    fresh = Gate(world.parts)
    assert fresh.before_tool(Call("z"), replace(RUN, exposure=altered)).outcome is Outcome.ALLOW
    assert fresh.before_tool(Call("a", {}, "c"), replace(RUN, approvals=(altered,))).outcome is Outcome.ASK
    assert fresh.before_tool(Call("b"), replace(child, delegation=altered)).outcome is Outcome.DENY
    try:
        fresh.release(replace(asked, token=altered), asked.call)
    except TokenError:
        return
    raise AssertionError("an altered decision was released")


@settings(max_examples=60)
@given(TABLES, st.permutations(range(3)), CALLS)
def test_the_order_of_policies_is_irrelevant_and_adding_one_never_loosens(
    tools: dict[str, Outcome], order: list[int], call: Call
) -> None:
    """Through the gate as in the engine."""
    policies = [_policy(tools, {}, "p"), _policy({"a": Outcome.ASK}, {}, "q"), _policy({}, {"rm": Outcome.DENY}, "r")]
    one = World(*policies).gate.before_tool(call, RUN)
    other = World(*(policies[at] for at in order)).gate.before_tool(call, RUN)
    fewer = World(*policies[:2]).gate.before_tool(call, RUN)
    assert one.decision == other.decision
    assert fewer.outcome <= one.outcome


@settings(max_examples=60)
@given(
    st.text(max_size=8),
    st.text(max_size=8),
    st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=4),
)
def test_whatever_a_model_writes_is_answered_and_recorded(name: str, scope: str, value: object) -> None:
    """No call makes the gate raise, and each has its record."""
    world = World()
    run = replace(RUN, principal=Principal(id=scope), context=replace(RUN.context, scope_id=scope))
    signed = world.gate.before_tool(Call(name, {name: value}, name), run)
    assert signed.outcome in Outcome
    assert len(world.log.records) == 1
