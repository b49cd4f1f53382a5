"""Laws over random replies, outcomes and answers: what ran was allowed or approved, once each, in both faces alike."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from policyengine.model import Outcome
from tests.adapters.agents import FACES, GO, Face, Model, Tools, agent_of, results, says, world
from tests.gate.worlds import Table

NAMES = ("a", "b", "c")
KINDS = ("approve", "reject", "edit", "nonsense")
outcomes = st.fixed_dictionaries({name: st.sampled_from(Outcome) for name in NAMES})
replies = st.lists(st.lists(st.sampled_from((*NAMES, "unknown")), min_size=1, max_size=3), min_size=1, max_size=2)
answers = st.lists(st.sampled_from(KINDS), max_size=8)


def _given(value: dict[str, Any], kind: str) -> Any:
    if kind == "nonsense":
        return {"type": "approve"}
    return {**value["answers"][kind], **({"args": {"command": "edited"}} if kind == "edit" else {})}


def _run(
    face: Face, said: dict[str, Outcome], wanted: list[list[str]], answered: list[str], *, restarts: bool
) -> tuple[Any, Any, Any]:
    """Run an agent to its end, each answer in a process of its own or not.

    Gives what ran, what was approved, and how each call ended.
    """
    lines = [
        says(*((name, {"command": f"{at}.{of}"}, f"c{at}.{of}") for of, name in enumerate(reply)))
        for at, reply in enumerate(wanted)
    ]
    tools, kinds, approved = Tools(), iter([*answered, *("approve" for _ in range(20))]), []
    made, model, saver = world(Table(said)), Model(lines=lines), InMemorySaver()
    agent = agent_of(made, model, tools.tools(*NAMES), checkpointer=saver)
    state = face(agent, GO)
    while state.get("__interrupt__"):
        asked = min(state["__interrupt__"], key=lambda one: str(one.value["tool_call_id"]))
        kind = next(kinds)
        if kind == "approve":
            approved.append((asked.value["name"], asked.value["args"]))
        if restarts:
            made.gate = made.with_engine()
            agent = agent_of(made, model, tools.tools(*NAMES), checkpointer=saver)
        state = face(agent, Command(resume={asked.id: _given(asked.value, kind)}))
    return tools.ran, approved, {id: one.status for id, one in results(state).items()}


@settings(max_examples=12)
@given(outcomes, replies, answers, st.booleans())
def test_what_ran_was_allowed_or_approved_once(
    said: dict[str, Outcome], wanted: list[list[str]], answered: list[str], restarts: bool
) -> None:
    told = []
    for face in FACES:
        ran, approved, ended = _run(face, said, wanted, answered, restarts=restarts)
        assert {name for name, _ in ran if said[name] is Outcome.DENY} == set()
        asked = [call for call in ran if said[call[0]] is Outcome.ASK]
        assert sorted(map(str, asked)) == sorted(map(str, approved))
        calls = [f"c{at}.{of}" for at, reply in enumerate(wanted) for of in range(len(reply))]
        assert sorted(ended) == sorted(calls)  # every call was answered
        assert list(ended.values()).count("success") == len(ran)
        told.append((sorted(map(str, ran)), ended))
    assert told[0] == told[1]
