"""What a model may see: hidden tools cannot run, deferred ones only after a search, and messages are cleaned."""

from __future__ import annotations

from typing import Any

import pytest

from policyengine.config import ready
from policyengine.engine.exposure import Catalogue
from policyengine.errors import RequestError, StoreError
from policyengine.gate import Call, Gate, Message, Run, Source
from policyengine.model import Outcome
from policyengine.policies.guardrails.content import Action, Content
from policyengine.records import replace
from policyengine.signing import Purpose, verify
from policyengine.state import Label
from tests.gate.worlds import KEYS, LS, NOW, RUN, Table, World, rules

TOOLS = ("bash", "Read", "Write")
SECRET = "AKIA" + "QX3M" * 4  # the shape of a key, and nobody's


@pytest.fixture(scope="module")
def content() -> Content:
    everywhere = dict.fromkeys(Source, Action.REDACT)
    return Content(ready().detectors, overrides={"secret": everywhere})


# --------------------------------------------------------------------------------------------------------------- tools
def test_what_is_denied_whatever_its_arguments_is_hidden_and_signed() -> None:
    world = World(Table({"Write": Outcome.DENY}))
    exposed = world.gate.before_model([], TOOLS, RUN)
    claims = verify(exposed.token, KEYS, purpose=Purpose.EXPOSURE, scope_id="s", now=NOW, run="r", step="1")
    assert exposed.visible == ("bash", "Read")
    assert claims.names == frozenset({"bash", "Read"})
    assert rules(exposed.exposure.hidden["Write"]) == ["table.deny"]
    record = world.log.last("exposure")
    assert (record["visible"], record["hidden"]) == (("bash", "Read"), {"Write": (("table.deny", "table.deny"),)})


@pytest.mark.parametrize("presented", [True, False], ids=["token", "memory"])
def test_what_was_hidden_cannot_run_in_its_step_also_where_the_policies_allow_it_meanwhile(presented: bool) -> None:
    policy = Table({"Write": Outcome.DENY})
    world = World(policy)
    exposed = world.gate.before_model([], TOOLS, RUN)
    policy.outcomes.clear()
    run = replace(RUN, exposure=exposed.token if presented else "")
    assert rules(world.gate.before_tool(Call("Write"), run).findings) == ["exposure.hidden"]
    assert rules(world.gate.before_tool(Call("unheard"), run).findings) == ["exposure.hidden"]
    assert world.gate.before_tool(LS, run).outcome is Outcome.ALLOW


def test_a_step_without_an_exposure_is_decided_by_the_live_policies() -> None:
    world = World(Table({"Write": Outcome.DENY}))
    assert world.gate.before_tool(LS, RUN).outcome is Outcome.ALLOW
    assert world.gate.before_tool(Call("Write"), RUN).outcome is Outcome.DENY


def _changed(**context: Any) -> Run:
    return replace(RUN, context=replace(RUN.context, **context))


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (_changed(scope_id="other"), "token.scope"),
        (_changed(run_id="other"), "token.run"),
        (_changed(step_id="other"), "token.step"),
        (_changed(thread_id="other"), "token.thread"),
        (replace(RUN, principal=replace(RUN.principal, id="bob")), "token.subject"),
        (replace(RUN, principal=replace(RUN.principal, agent="other")), "token.agent"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_exposure_of_another_place_is_refused_recorded_and_the_answer_is_live(run: Run, code: str) -> None:
    world = World()
    token = world.gate.before_model([], ["Read"], RUN).token
    assert world.gate.before_tool(LS, replace(run, exposure=token)).outcome is Outcome.ALLOW
    assert world.log.last("decision")["refused_tokens"] == (("exposure", code),)


def test_an_expired_or_altered_exposure_is_refused() -> None:
    world = World(Table({"bash": Outcome.ASK}))
    token = world.gate.before_model([], ["Read"], RUN).token
    forged = replace(RUN, exposure=token[:-1] + ("A" if token[-1] != "A" else "B"))
    assert Gate(world.parts).before_tool(LS, forged).outcome is Outcome.ASK
    assert world.log.last("decision")["refused_tokens"] == (("exposure", "token.mac"),)
    assert rules(world.gate.before_tool(LS, forged).findings)[0] == "exposure.hidden"  # as without any token
    assert world.log.last("decision")["refused_tokens"] == (("exposure", "token.mac"),)
    world.clock.time += 86_400
    assert world.gate.before_tool(LS, replace(RUN, exposure=token)).outcome is Outcome.ASK
    assert world.log.last("decision")["refused_tokens"] == (("exposure", "token.expired"),)


def test_a_wider_token_of_the_same_step_does_not_bring_back_what_is_hidden_by_now() -> None:
    world = World()
    run = replace(RUN, exposure=world.gate.before_model([], TOOLS, RUN).token)
    world.gate.before_model([], ["Read"], RUN)
    assert rules(world.gate.before_tool(LS, run).findings) == ["exposure.hidden"]


def test_where_nothing_could_be_exposed_nothing_can_run_in_that_step() -> None:
    """What failed, such as keeping a label of what was read, must not be lost on the calls of the reply."""
    world = World()
    world.log.fail()
    assert world.gate.before_model([], TOOLS, RUN).visible == ()
    world.log.error = None
    assert rules(world.gate.before_tool(LS, RUN).findings) == ["exposure.hidden"]
    assert world.gate.before_tool(LS, _changed(step_id="2")).outcome is Outcome.ALLOW


@pytest.mark.parametrize("late", ["reject", "deny", "expose"])
def test_an_earlier_step_does_not_make_the_latest_forgotten(late: str) -> None:
    """Branches of a graph go on side by side, and a person may answer once the run has gone on."""
    world = World(Table({"bash": Outcome.ASK}))
    asked = world.gate.before_tool(LS, RUN)
    later = _changed(step_id="2")
    world.gate.before_model([], Catalogue(names=TOOLS, deferred=frozenset({"Write"})), later)
    if late == "reject":
        world.gate.reject(asked, by="ada")
    elif late == "deny":
        world.gate.after_model([LS], RUN)
    else:
        world.gate.before_model([], TOOLS, RUN)
    assert rules(world.gate.before_tool(Call("Write"), later).findings) == ["exposure.hidden"]


def test_a_token_never_widens() -> None:
    """In DeerFlow, editing `allowed_names` beside the token made a blocked call run; here a MAC covers them."""
    policy = Table({})
    world = World(policy)
    run = replace(RUN, exposure=world.gate.before_model([], TOOLS, RUN).token)
    policy.outcomes["bash"] = Outcome.DENY
    assert rules(world.gate.before_tool(LS, run).findings) == ["table.deny"]


def test_an_exposure_under_older_policies_still_narrows() -> None:
    world = World()
    run = replace(RUN, exposure=world.gate.before_model([], ["Read"], RUN).token)
    assert rules(world.with_engine(policy_digest="d2").before_tool(LS, run).findings) == ["exposure.hidden"]


def test_tools_that_would_always_ask_are_hidden_and_denied_where_that_is_set() -> None:
    world = World(Table({"bash": Outcome.ASK}), hidden_from=Outcome.ASK)
    assert world.gate.before_model([], TOOLS, RUN).visible == ("Read", "Write")
    assert rules(world.gate.before_tool(LS, RUN).findings)[0] == "exposure.hidden"
    assert rules(Gate(world.parts).before_tool(LS, RUN).findings)[0] == "exposure.hidden"


def test_a_store_that_fails_exposes_nothing() -> None:
    class Broken:
        def load(self, scope_id: str) -> Any:
            raise StoreError("store.locked", "in use")

    world = World(states=Broken())
    exposed = world.gate.before_model([], TOOLS, RUN)
    assert (exposed.visible, exposed.token, rules(exposed.findings)) == ((), "", ["gate.store-failed"])
    assert list(exposed.exposure.hidden) == list(TOOLS)


@pytest.mark.parametrize("name", ["verify_us\u0565r", "ba\u200bsh", " bash", "bash\n", "x" * 257, "\uff42ash"])
def test_names_that_look_like_others_are_hidden_and_denied(name: str) -> None:
    world = World()
    exposed = world.gate.before_model([], ["bash", name], RUN)
    assert (exposed.visible, rules(exposed.exposure.hidden[name])) == (("bash",), ["gate.tool-name"])
    assert "gate.tool-name" in rules(Gate(world.parts).before_tool(Call(name), RUN).findings)


def test_names_that_are_none_are_hidden() -> None:
    names: Any = ("bash", "", 7, None)
    assert World().gate.before_model([], names, RUN).visible == ("bash",)


# ------------------------------------------------------------------------------------------------------------- deferred
DEFERRED = Catalogue(
    names=("bash", "tool_search", "far", "banned"), deferred=frozenset({"far", "banned"}), generated=True
)
FOUND = '[{"name": "far"}, {"name": "banned"}, {"name": "bash"}, {"name": "unheard"}]'


def _searching() -> tuple[World, Any]:
    world = World(Table({"banned": Outcome.DENY}))
    return world, world.gate.before_model([], DEFERRED, RUN)


def test_a_deferred_tool_runs_only_once_a_search_has_found_it_and_only_from_the_next_step_on() -> None:
    world, exposed = _searching()
    assert (exposed.visible, exposed.exposure.deferred) == (("bash", "tool_search"), ("far",))
    assert rules(world.gate.before_tool(Call("far"), RUN).findings) == ["exposure.hidden"]
    found = world.gate.discovered(["far", "banned", "unheard"], FOUND, RUN)
    assert (found.names, found.removed) == (("far",), ("banned", "unheard"))
    assert "banned" not in found.schemas
    assert rules(world.gate.before_tool(Call("far"), RUN).findings) == ["exposure.hidden"]
    later = _changed(step_id="2")
    assert world.gate.before_model([], DEFERRED, later).visible == ("bash", "tool_search", "far")
    assert world.gate.before_tool(Call("far"), later).outcome is Outcome.ALLOW


def test_what_was_not_deferred_in_this_step_is_not_promoted() -> None:
    world, _ = _searching()
    assert world.gate.promote(["banned", "unheard", "bash"], RUN) == frozenset()
    assert world.gate.promote(["far"], _changed(step_id="9")) == frozenset()
    assert world.gate.promote(["far"], RUN) == {"far"}
    assert world.log.last("promotion")["tools"] == ("far",)


def test_nothing_is_promoted_that_cannot_be_recorded() -> None:
    world, _ = _searching()
    world.log.fail()
    assert world.gate.promote(["far"], RUN) == frozenset()
    assert world.states.load("s").promotions == frozenset()
    assert world.gate.discovered(["far"], '[{"name": "far"}]', RUN).names == ()


@pytest.mark.parametrize(("names", "schemas"), [("far", "[]"), (["far"], "no JSON"), ([1], "[]"), (["far"], None)])
def test_a_malformed_search_result_is_an_error(names: object, schemas: object) -> None:
    world, _ = _searching()
    with pytest.raises(RequestError) as caught:
        world.gate.discovered(names, schemas, RUN)
    assert caught.value.code == "skill.discovery-malformed"
    assert world.states.load("s").promotions == frozenset()


# ------------------------------------------------------------------------------------------------------------- messages
def test_every_message_is_looked_at_and_cleaned_not_only_the_last(content: Content) -> None:
    world = World(content=content)
    messages = [Message(f"my key is {SECRET}"), Message([{"text": f"{SECRET}"}]), Message("thanks")]
    exposed = world.gate.before_model(messages, TOOLS, RUN)
    shown = [world.gate.cleaned(message, duty) for message, duty in zip(messages, exposed.duties, strict=True)]
    assert SECRET not in repr(shown)
    assert shown[2] == "thanks"
    told: Any = world.log.last("exposure")["messages"]
    assert told["number"] == 3
    assert SECRET not in repr(world.log.records)


def test_a_message_that_may_not_be_sent_is_replaced(content: Content) -> None:
    strict = Content(ready().detectors, overrides={"secret": {Source.INPUT: Action.DENY}})
    world = World(content=strict)
    message = Message(f"my key is {SECRET}")
    exposed = world.gate.before_model([message], TOOLS, RUN)
    assert exposed.outcome is Outcome.DENY
    assert world.gate.cleaned(message, exposed.duties[0]) == "[withheld: this text may not be shown]"


def test_what_is_no_json_is_not_sent() -> None:
    world = World(content=Content(ready().detectors))
    message = Message({"n": float("nan")})
    exposed = world.gate.before_model([message], TOOLS, RUN)
    assert (exposed.outcome, rules(exposed.duties[0].findings)) == (Outcome.DENY, ["request.not-finite"])
    assert world.gate.cleaned(message, exposed.duties[0]) == "[withheld: this text may not be shown]"


def test_a_message_from_elsewhere_labels_the_run(content: Content) -> None:
    world = World(content=content)
    world.gate.before_model([Message("hello", Source.REMOTE)], TOOLS, RUN)
    assert world.states.load("s").labels == {Label.UNTRUSTED}


def test_a_guardrail_that_fails_exposes_nothing() -> None:
    class Broken(Content):
        def look_at(self, *_: object) -> Any:
            raise RuntimeError

    world = World(content=Broken(ready().detectors))
    exposed = world.gate.before_model([Message("hello")], TOOLS, RUN)
    assert (exposed.visible, rules(exposed.findings)) == ((), ["gate.failed"])
