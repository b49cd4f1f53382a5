"""What LangGraph keeps of a run: enough to go on in another process, and nothing that is secret."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from policyengine.gate import Run
from policyengine.model import Outcome
from policyengine.records import replace
from tests.adapters.agents import CONFIG, FACES, GO, RUN, Face, Model, Tools, agent_of, answer, says, world
from tests.gate.worlds import Table, World

both = pytest.mark.parametrize("face", FACES)
SECRET = b"0123456789abcdef0123456789abcdef"  # the key of `tests.gate.worlds`
TOKEN = "pe1"  # what tokens begin with


class Tokens:
    """Every token that a gate signs, noted as it is made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from policyengine.gate import tokens

        self.made: list[str] = []
        for name in ("sign", "attenuate"):
            monkeypatch.setattr(tokens, name, self._noting(getattr(tokens, name)))

    def _noting(self, make: Any) -> Any:
        def made(*about: Any) -> str:
            self.made.append(make(*about))
            return self.made[-1]

        return made


def _kept(saver: InMemorySaver) -> bytes:
    """All that a checkpointer holds, as it was serialised."""
    held = [saver.storage, saver.writes, saver.blobs]
    return pickle.dumps([_plain(one) for one in held])


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


def _whole(face: Face, saver: InMemorySaver) -> tuple[World, dict[str, Any]]:
    """A run with everything: hidden, allowed, asked, approved, rejected, stored."""
    made, tools = world(Table({"rm": Outcome.ASK, "no": Outcome.DENY})), Tools()
    calls = says(("ls", {}, "c1"), ("rm", {"command": "a"}, "c2"), ("no", {}, "c3"))
    model = Model(lines=[calls, says(("rm", {"command": "b"}, "c4"))])
    agent = agent_of(made, model, tools.tools("ls", "rm", "no"), checkpointer=saver)
    held = replace(RUN, grants=(), approvals=("pe1.approval.of.the.host",))
    state = face(agent, answer(face(agent, GO, context=held), "approve"), context=held)
    state = face(agent, answer(state, "reject"), context=held)
    assert tools.commands == ["", "a"]
    return made, state


@both
def test_neither_tokens_nor_keys_are_kept_or_shown_to_the_model(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, saver = Tokens(monkeypatch), InMemorySaver()
    _, state = _whole(face, saver)
    kept, shown = _kept(saver), str(state["messages"])
    assert len(tokens.made) > 6
    assert len(kept) > 2_000
    assert b"c2" in kept  # this does look at what was kept
    for token in tokens.made:
        parts = [part for part in token.split(".") if len(part) > 16]
        assert parts
        assert [part for part in parts if part.encode() in kept or part in shown] == []
    assert SECRET not in kept
    assert b"of.the.host" not in kept


@both
def test_the_run_itself_is_not_kept(face: Face) -> None:
    saver = InMemorySaver()
    _whole(face, saver)
    assert (b"ada" in _kept(saver), b"Principal" in _kept(saver)) == (True, False)  # the question says for whom


def test_a_run_cannot_be_kept_even_if_a_host_tries() -> None:
    run = Run(context=RUN.context, exposure="token")
    with pytest.raises(TypeError, match="not to be stored"):
        pickle.dumps(run)
    assert "token" not in repr(run)


@both
def test_the_step_is_kept_and_stays_out_of_what_callers_see_and_set(face: Face) -> None:
    saver = InMemorySaver()
    _, state = _whole(face, saver)
    assert "policyengine_step" not in state
    agent = agent_of(world(), Model(lines=[]), Tools().tools("ls"), checkpointer=saver)
    kept = agent.get_state(CONFIG).values["policyengine_step"]
    assert (set(kept), kept["tools"], kept["replies"]) == ({"id", "model", "run", "tools", "replies"}, ["ls", "rm"], 3)
    assert "policyengine_step" not in agent.get_input_jsonschema()["properties"]


@both
def test_a_client_cannot_set_the_step(face: Face) -> None:
    tools = Tools()
    agent = agent_of(world(Table({"rm": Outcome.DENY})), Model(lines=[says(("rm", {}, "c1"))]), tools.tools("rm", "ls"))
    face(agent, {**GO, "policyengine_step": {"id": "mine", "model": "m"}})
    assert tools.ran == []
