"""Calls through the gate: recorded before they are answered, and denied by whatever fails on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from policyengine.engine import Engine
from policyengine.errors import StoreError, TokenError
from policyengine.gate import Call, Capabilities, Message, Run, SignedDecision
from policyengine.model import (
    Context,
    Control,
    ControlKind,
    Frozen,
    Obligation,
    ObligationKind,
    Outcome,
    Request,
    Verdict,
)
from policyengine.records import replace
from policyengine.signing import Purpose, verify
from policyengine.state import START, RunState
from policyengine.stores import MemoryRunStates
from tests.gate.worlds import ALL, KEYS, LS, NOW, RUN, Says, Table, World, analyze, owing, rules


class HostInterrupt(Exception):
    """What a host's runtime interrupts a run by."""


# ------------------------------------------------------------------------------------------------------- one decision
@pytest.mark.parametrize("outcome", Outcome)
def test_every_answer_is_recorded_signed_and_counted(outcome: Outcome) -> None:
    world = World(Table({"bash": outcome}))
    signed = world.gate.before_tool(LS, RUN)
    claims = verify(
        signed.token, KEYS, purpose=Purpose.DECISION, scope_id="s", now=NOW, run="r", step="1", thread="t",
        subject="ada", agent="lead", tool="bash", policy_digest="d1",
    )  # fmt: skip
    record = world.log.last("decision")
    assert signed.outcome is claims.outcome is outcome
    assert (record["outcome"], record["jti"]) == (outcome.word, claims.jti)
    assert signed.id == claims.jti
    assert world.states.load("s").counters["calls"] == 1


def test_no_policies_are_a_denial_also_with_an_exposure() -> None:
    world = World()
    run = replace(RUN, exposure=world.gate.before_model([], ["bash"], RUN).token)
    empty = world.with_engine(policies=())
    assert rules(empty.before_tool(LS, run).findings) == ["engine.no-policies"]


def test_arguments_and_tokens_are_not_recorded() -> None:
    world = World(Table({"bash": Outcome.ASK}))
    secret = Call("bash", {"command": "echo hunter2"}, "c1")
    signed = world.gate.before_tool(secret, RUN)
    token = world.gate.approve(signed, by="ada")
    world.gate.before_tool(secret, replace(RUN, approvals=(token,)))
    told = repr(world.log.records)
    assert "hunter2" not in told
    assert signed.token not in told
    assert token not in told


def test_tokens_are_shown_and_stored_by_nobody() -> None:
    import copy
    import pickle

    world = World(Table({"bash": Outcome.ASK}))
    exposed = world.gate.before_model([], ["bash"], RUN)
    run = replace(RUN, exposure=exposed.token)
    signed = world.gate.before_tool(LS, run)
    for holder in (exposed, run, signed):
        assert "pe1." not in repr(holder)
        assert copy.deepcopy(holder) is holder
        with pytest.raises(TypeError, match="not to be stored"):
            pickle.dumps(holder)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (Call("bash", {"n": float("nan")}), "request.not-finite"),
        (Call("bash", {"n": object()}), "request.not-json"),
        (Call("bash", {1: "x"}), "request.not-json"),  # type: ignore[dict-item]
        (Call(None, {}), "request.field"),  # type: ignore[arg-type]
        (Call("bash", {}, 7), "request.field"),  # type: ignore[arg-type]
        (Call("bash", "ls"), "request.not-object"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_call_is_denied_and_recorded(call: Call, code: str) -> None:
    world = World()
    signed = world.gate.before_tool(call, RUN)
    assert (signed.outcome, rules(signed.findings), signed.token) == (Outcome.DENY, [code], "")
    assert world.log.last("decision")["outcome"] == "deny"


@pytest.mark.parametrize("odd", ["\ud800", "\0", "x" * 100_000, " ", "\u202e"])
def test_odd_names_are_answered_and_recorded(odd: str) -> None:
    world = World()
    for call, run in (
        (Call(odd, {odd: odd}, odd), RUN),
        (LS, replace(RUN, principal=replace(RUN.principal, id=odd, agent=odd, roles=(odd,)))),
        (LS, replace(RUN, context=replace(RUN.context, scope_id=odd))),
        (LS, replace(RUN, context=replace(RUN.context, run_id=odd, step_id=odd, thread_id=odd))),
    ):
        assert world.gate.before_model([Message(odd)], [odd], run).outcome in Outcome
        assert world.gate.before_tool(call, run).outcome in Outcome
    assert len(world.log.records) == 8


def test_a_run_without_a_scope_is_denied() -> None:
    world = World()
    nowhere = Run(context=Context())
    assert rules(world.gate.before_tool(LS, nowhere).findings) == ["gate.no-scope"]
    exposed = world.gate.before_model([], ["bash"], nowhere)
    assert (exposed.visible, rules(exposed.findings)) == ((), ["gate.no-scope"])
    assert [record["type"] for record in world.log.records] == ["decision", "exposure"]


# -------------------------------------------------------------------------------------------------------- what fails
class Broken(MemoryRunStates):
    """A store that fails in one of its two ways."""

    def __init__(self, method: str, error: Exception) -> None:
        super().__init__()
        self._method, self._error = method, error

    def load(self, scope_id: str) -> RunState:
        if self._method == "load":
            raise self._error
        return super().load(scope_id)

    def save(self, scope_id: str, expected_version: int, state: RunState) -> None:
        if self._method == "save":
            raise self._error
        super().save(scope_id, expected_version, state)


@pytest.mark.parametrize("method", ["load", "save"])
@pytest.mark.parametrize("error", [StoreError("store.locked", "in use"), OSError("disk"), ZeroDivisionError()])
def test_a_failing_store_denies(method: str, error: Exception) -> None:
    world = World(states=Broken(method, error))
    signed = world.gate.before_tool(LS, RUN)
    assert (signed.outcome, rules(signed.findings)) == (Outcome.DENY, ["gate.store-failed"])
    assert world.log.last("decision")["outcome"] == "deny"


def test_a_store_that_always_conflicts_is_given_up_on() -> None:
    world = World(states=Broken("save", StoreError("store.conflict", "changed")))
    signed = world.gate.before_tool(LS, RUN)
    assert rules(signed.findings) == ["gate.store-failed"]


def test_a_failing_log_denies() -> None:
    world = World()
    world.log.fail()
    signed = world.gate.before_tool(LS, RUN)
    assert (signed.outcome, rules(signed.findings), signed.token) == (Outcome.DENY, ["gate.audit-failed"], "")
    with pytest.raises(TokenError, match="may run"):
        world.gate.release(signed, LS)
    exposed = world.gate.before_model([], ["bash"], RUN)
    assert (exposed.visible, exposed.token, rules(exposed.findings)) == ((), "", ["gate.audit-failed"])
    (foreseen,) = world.gate.after_model([LS], RUN)
    assert rules(foreseen.findings) == ["gate.audit-failed", "exposure.hidden"]


def test_what_failed_is_told_by_code_and_never_in_its_own_words() -> None:
    world = World()
    world.log.error = OSError("/secret/place")
    assert "secret" not in repr(world.gate.before_tool(LS, RUN).findings)


def test_a_failing_signer_denies() -> None:
    world = World(fresh=lambda: "not a name")
    signed = world.gate.before_tool(LS, RUN)
    assert (signed.outcome, rules(signed.findings), signed.token) == (Outcome.DENY, ["gate.signing-failed"], "")
    assert world.log.last("decision")["outcome"] == "deny"
    exposed = world.gate.before_model([], ["bash"], RUN)
    assert (exposed.visible, rules(exposed.findings)) == ((), ["gate.signing-failed"])


def test_a_policy_that_raises_denies() -> None:
    def fail(_: Request) -> Verdict:
        raise RuntimeError

    world = World(Says(fail))
    assert rules(world.gate.before_tool(LS, RUN).findings) == ["engine.policy-raised"]


@pytest.mark.parametrize("error", [HostInterrupt, KeyboardInterrupt, asyncio.CancelledError])
def test_what_interrupts_a_run_passes_and_nothing_is_released(error: type[BaseException]) -> None:
    def fail(_: Request) -> Verdict:
        raise error

    world = World(Says(fail))
    gate = world.with_engine(control_flow=(HostInterrupt,))
    with pytest.raises(error):
        gate.before_tool(LS, RUN)
    assert world.log.records == []


def test_an_interruption_of_the_host_in_a_store_passes() -> None:
    world = World(states=Broken("load", HostInterrupt()))
    with pytest.raises(HostInterrupt):
        world.with_engine(control_flow=(HostInterrupt,)).before_tool(LS, RUN)


def test_cancelling_while_the_log_is_written_releases_nothing() -> None:
    import threading

    held, go = threading.Event(), threading.Event()

    class Slow:
        def append(self, record: Mapping[str, Frozen]) -> None:
            del record
            held.set()
            go.wait(5)

    world = World(log=Slow(), waits=True)

    async def cancelled() -> None:
        task = asyncio.create_task(world.gate.abefore_tool(LS, RUN))
        while not held.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())


# ------------------------------------------------------------------------------------------------------ capabilities
@pytest.mark.parametrize(
    ("policy", "lacking", "code"),
    [
        (Table({"bash": Outcome.ASK}), "can_ask", "gate.cannot-ask"),
        (owing(Obligation(kind=ObligationKind.TRUNCATE, limit=9)), "can_change_results", "gate.cannot-change-results"),
        (owing(Obligation(kind=ObligationKind.SANDBOX)), "can_sandbox", "gate.cannot-sandbox"),
        (owing(Obligation(kind=ObligationKind.NOTIFY)), "can_notify", "gate.cannot-notify"),
        (
            Says(lambda _: Verdict(policy="p", outcome=Outcome.ALLOW, control=Control(kind=ControlKind.STOP))),
            "can_stop",
            "gate.cannot-stop",
        ),
        (
            Says(lambda _: Verdict(policy="p", outcome=Outcome.ALLOW, control=Control(kind=ControlKind.INTERRUPT))),
            "can_interrupt",
            "gate.cannot-interrupt",
        ),
        (
            Says(
                lambda _: Verdict(
                    policy="p",
                    outcome=Outcome.ALLOW,
                    control=Control(kind=ControlKind.REWRITE, arguments={"command": "pwd"}),
                )
            ),
            "can_rewrite",
            "gate.cannot-rewrite",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_the_host_cannot_enforce_is_denied(policy: Any, lacking: str, code: str) -> None:
    able = World(policy).gate.before_tool(LS, RUN)
    assert able.outcome is not Outcome.DENY
    unable = World(policy, capabilities=replace(ALL, **{lacking: False})).gate.before_tool(LS, RUN)
    assert (unable.outcome, rules(unable.findings)[0]) == (Outcome.DENY, code)


def test_a_host_that_declares_nothing_can_do_nothing() -> None:
    assert not any(getattr(Capabilities(), name) for name in Capabilities._fields)


def test_a_run_in_a_sandbox_needs_no_other() -> None:
    world = World(owing(Obligation(kind=ObligationKind.SANDBOX)), capabilities=Capabilities())
    inside = replace(RUN, context=replace(RUN.context, sandbox="required"))
    assert world.gate.before_tool(LS, inside).outcome is Outcome.ALLOW


def test_an_obligation_that_names_an_unknown_detector_denies_before_the_call() -> None:
    world = World(owing(Obligation(kind=ObligationKind.REDACT, names=frozenset({"secret.nothing"}))))
    assert rules(world.gate.before_tool(LS, RUN).findings) == ["gate.no-detector"]


# ----------------------------------------------------------------------------------------------------------- rewrites
def _rewriting(request: Request) -> Verdict | None:
    if (request.arguments or {}).get("command") != "rm -i x":
        control = Control(kind=ControlKind.REWRITE, arguments={"command": "rm -i x"})
        return Verdict(policy="rewrites", outcome=Outcome.ALLOW, control=control)
    return None


def test_a_rewritten_call_is_decided_recorded_and_bound() -> None:
    world = World(Says(_rewriting))
    sent = Call("bash", {"command": "rm x"}, "c1")
    signed = world.gate.before_tool(sent, RUN)
    assert dict(signed.call.arguments) == {"command": "rm -i x"}
    record = world.log.last("decision")
    assert record["rewritten"] is not None
    with pytest.raises(TokenError) as caught:
        world.gate.release(signed, sent)
    assert caught.value.code == "token.arguments"
    assert dict(world.gate.release(signed, signed.call).arguments) == {"command": "rm -i x"}


def test_a_rewrite_to_something_denied_is_denied() -> None:
    def no_rm(request: Request) -> Verdict | None:
        said = str((request.arguments or {}).get("command"))
        return Verdict(policy="no", outcome=Outcome.DENY) if said.startswith("rm -i") else None

    world = World(Says(_rewriting), Says(no_rm, "no"))
    assert world.gate.before_tool(Call("bash", {"command": "rm x"}), RUN).outcome is Outcome.DENY


@pytest.mark.parametrize("kind", [ControlKind.STOP, ControlKind.INTERRUPT])
def test_a_call_that_ends_the_run_is_not_released(kind: ControlKind) -> None:
    control = Control(kind=kind, text="enough")
    world = World(Says(lambda _: Verdict(policy="p", outcome=Outcome.ALLOW, control=control)))
    signed = world.gate.before_tool(LS, RUN)
    assert signed.control == control
    with pytest.raises(TokenError) as caught:
        world.gate.release(signed, LS)
    assert caught.value.code == "release.run-ends"


# --------------------------------------------------------------------------------------------------------------- sets
def test_calls_of_a_reply_are_decided_in_the_light_of_those_before() -> None:
    def once(request: Request, facts: Any, state: RunState) -> Verdict:
        del request, facts
        outcome = Outcome.DENY if state.counters.get("calls") else Outcome.ALLOW
        return Verdict(policy="once", outcome=outcome)

    policy = Table({})
    policy.evaluate = once  # type: ignore[method-assign]
    world = World(policy)
    first, second = world.gate.after_model([LS, replace(LS, id="c2")], RUN)
    assert (first.outcome, second.outcome) == (Outcome.ALLOW, Outcome.DENY)
    assert world.states.load("s") == START
    assert len(world.log.records) == 1


def test_nothing_can_be_released_with_an_answer_about_a_set() -> None:
    world = World()
    (foreseen,) = world.gate.after_model([LS], RUN)
    assert (foreseen.outcome, foreseen.token) == (Outcome.ALLOW, "")
    with pytest.raises(TokenError):
        world.gate.release(foreseen, LS)


def test_what_was_denied_in_a_set_stays_denied_in_its_step() -> None:
    policy = Table({"bash": Outcome.DENY})
    world = World(policy)
    world.gate.after_model([LS], RUN)
    policy.outcomes.clear()
    assert rules(world.gate.before_tool(LS, RUN).findings) == ["gate.denied-before"]
    later = replace(RUN, context=replace(RUN.context, step_id="2"))
    assert world.gate.before_tool(LS, later).outcome is Outcome.ALLOW


def test_calls_with_the_same_id_are_all_denied() -> None:
    world = World()
    decided = world.gate.after_model([LS, Call("Read", {}, "c1"), Call("Read", {}, "c2"), Call("a"), Call("b")], RUN)
    denied = [one.outcome is Outcome.DENY for one in decided]
    assert denied == [True, True, False, False, False]
    assert world.gate.before_tool(LS, RUN).outcome is Outcome.DENY


def test_a_reply_of_too_many_calls_is_denied_beyond_the_bound() -> None:
    decided = World().gate.after_model([Call("bash", {}, f"c{at}") for at in range(130)], RUN)
    assert [one.outcome for one in decided] == [Outcome.ALLOW] * 128 + [Outcome.DENY] * 2


# --------------------------------------------------------------------------------------------------------- live answers
def test_a_revocation_in_the_middle_of_a_step_bites() -> None:
    policy = Table({})
    world = World(policy)
    run = replace(RUN, exposure=world.gate.before_model([], ["bash"], RUN).token)
    assert world.gate.before_tool(LS, run).outcome is Outcome.ALLOW
    policy.outcomes["bash"] = Outcome.DENY
    assert world.gate.before_tool(LS, run).outcome is Outcome.DENY


def test_a_denied_call_is_not_shown_to_remote_policies_because_of_its_exposure() -> None:
    remote = Table({})
    remote.deadline = 1.0  # type: ignore[attr-defined]
    from policyengine.config.clock import SystemClock

    world = World()
    gate = world.with_engine(remote=(remote,), clock=SystemClock())
    run = replace(RUN, exposure=gate.before_model([], ["Read"], RUN).token)
    assert rules(gate.before_tool(LS, run).findings) == ["exposure.hidden"]
    assert remote.asked == 0


# -------------------------------------------------------------------------------------------------------------- faces
def _answers(signed: SignedDecision) -> tuple[object, ...]:
    return signed.decision, signed.call, signed.run, bool(signed.token)


@pytest.mark.parametrize("outcome", Outcome)
def test_both_faces_say_the_same(outcome: Outcome) -> None:
    def asked(ask: Callable[[World], Any]) -> Any:
        return ask(World(Table({"bash": outcome})))

    def waited(world: World) -> Any:
        return asyncio.run(world.gate.abefore_tool(LS, RUN))

    assert _answers(asked(lambda world: world.gate.before_tool(LS, RUN))) == _answers(asked(waited))


def test_the_whole_asynchronous_face_works_off_the_event_loop() -> None:
    world = World(Table({"bash": Outcome.ASK}), waits=True)

    async def whole() -> Any:
        gate = world.gate
        exposed = await gate.abefore_model([], ["bash"], RUN)
        run = replace(RUN, exposure=exposed.token)
        (foreseen,) = await gate.aafter_model([LS], run)
        signed = await gate.abefore_tool(LS, run)
        assert foreseen.outcome is signed.outcome is Outcome.ASK
        token = await gate.aapprove(signed, by="ada")
        approved = await gate.abefore_tool(LS, replace(run, approvals=(token,)))
        call = await gate.arelease(approved, LS)
        from policyengine.gate import Result

        result = await gate.aafter_tool(Result("done"), approved)
        child = await gate.achild(run, "sub", run_id="r2")
        await gate.areject(await gate.abefore_tool(LS, run), by="ada")
        assert await gate.apromote(["x"], run) == frozenset()
        return call, result, child

    call, result, child = asyncio.run(whole())
    assert (call.name, result.content, child.context.depth) == ("bash", "done", 1)


def test_memory_stays_bounded_over_a_thousand_calls() -> None:
    import gc
    import tracemalloc

    world = World(log=type("Nowhere", (), {"append": lambda self, record: None})())

    def calls(numbers: range) -> None:
        for number in numbers:
            run = replace(RUN, context=replace(RUN.context, step_id=str(number)))
            run = replace(run, exposure=world.gate.before_model([], ["bash"], run).token)
            signed = world.gate.before_tool(Call("bash", {"command": f"echo {number}"}, f"c{number}"), run)
            world.gate.after_tool(result_of(number), signed)
            world.gate.release(signed, signed.call)

    from policyengine.gate import Result

    def result_of(number: int) -> Result:
        return Result(f"result {number} " * 10)

    calls(range(200))
    gc.collect()
    tracemalloc.start()
    calls(range(200, 1200))
    gc.collect()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 100_000


def test_an_engine_of_another_kind_of_failure_denies() -> None:
    class Rubbish(Engine):
        def decide(self, *_: object, **__: object) -> Any:
            raise MemoryError

    world = World(engine=Rubbish(analyze=analyze, policies=(Table({}),)))
    assert rules(world.gate.before_tool(LS, RUN).findings) == ["gate.failed"]
