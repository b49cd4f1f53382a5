"""Ask, a person's answer, and then the same call, once."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from policyengine.effects import FileDelete, FileWrite
from policyengine.errors import AuditError, StoreError, TokenError
from policyengine.gate import Call, Gate, Run, SignedDecision
from policyengine.model import (
    Control,
    ControlKind,
    Finding,
    Outcome,
    Request,
    Severity,
    Tier,
    Verdict,
)
from policyengine.records import replace
from policyengine.stores.sqlite import SqliteApprovals, SqliteRunStates
from tests.gate.worlds import LS, RUN, Says, Table, World, finding, rules

ASKS = Table({"bash": Outcome.ASK})


def _asked(world: World, call: Call = LS, run: Run = RUN) -> tuple[SignedDecision, str]:
    signed = world.gate.before_tool(call, run)
    assert signed.outcome is Outcome.ASK
    return signed, world.gate.approve(signed, by="ada")


def _with(token: str, run: Run = RUN) -> Run:
    return replace(run, approvals=(token,))


def _refused(world: World) -> Any:
    return world.log.last("decision")["refused_tokens"]


# -------------------------------------------------------------------------------------------------------------- once
def test_an_approval_lets_the_same_call_run_once() -> None:
    world = World(ASKS)
    _, token = _asked(world)
    approved = world.gate.before_tool(LS, _with(token))
    assert approved.outcome is Outcome.ALLOW
    assert world.gate.release(approved, LS).name == "bash"
    again = world.gate.before_tool(LS, _with(token))
    assert (again.outcome, _refused(world)) == (Outcome.ASK, (("approval", "approval.spent"),))


def test_an_approval_is_spent_exactly_once_by_64_threads() -> None:
    world = World(ASKS)
    _, token = _asked(world)
    assert _allowed_of_64(world.gate, token) == 1


def test_an_approval_is_spent_exactly_once_by_64_threads_over_two_gates_and_one_file(tmp_path: Any) -> None:
    path = tmp_path / "store.db"
    world = World(ASKS)
    gates = [
        Gate(replace(world.parts, approvals=SqliteApprovals(path, clock=world.clock), states=SqliteRunStates(path)))
        for _ in range(2)
    ]
    token = gates[0].approve(gates[0].before_tool(LS, RUN), by="ada")
    assert _allowed_of_64(gates[0], token, gates[1]) == 1


def _allowed_of_64(gate: Gate, token: str, other: Gate | None = None) -> int:
    outcomes: list[Outcome] = []
    start = threading.Barrier(64)

    def attempt(one: Gate) -> None:
        start.wait()
        outcomes.append(one.before_tool(LS, _with(token)).outcome)

    threads = [threading.Thread(target=attempt, args=(gate if at % 2 else other or gate,)) for at in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 64
    return outcomes.count(Outcome.ALLOW)


def test_an_approval_is_not_spent_on_a_call_that_is_denied_meanwhile() -> None:
    policy = Table({"bash": Outcome.ASK})
    world = World(policy)
    _, token = _asked(world)
    policy.outcomes["bash"] = Outcome.DENY
    assert world.gate.before_tool(LS, _with(token)).outcome is Outcome.DENY
    policy.outcomes["bash"] = Outcome.ASK
    assert world.gate.before_tool(LS, _with(token)).outcome is Outcome.ALLOW


def test_an_approval_is_not_spent_where_nothing_asks() -> None:
    policy = Table({"bash": Outcome.ASK})
    world = World(policy)
    _, token = _asked(world)
    policy.outcomes.clear()
    assert world.gate.before_tool(LS, _with(token)).outcome is Outcome.ALLOW
    policy.outcomes["bash"] = Outcome.ASK
    assert world.gate.before_tool(LS, _with(token)).outcome is Outcome.ALLOW


def test_an_approval_whose_store_fails_does_not_count() -> None:
    class Broken:
        def spend(self, jti: str, until: float) -> bool:
            raise OSError

    world = World(ASKS, approvals=Broken())
    _, token = _asked(world)
    assert world.gate.before_tool(LS, _with(token)).outcome is Outcome.ASK
    assert _refused(world) == (("approval", "approval.store-failed"),)


def test_a_store_that_answers_anything_but_true_does_not_count() -> None:
    class Odd:
        def spend(self, jti: str, until: float) -> Any:
            return "yes"

    world = World(ASKS, approvals=Odd())
    _, token = _asked(world)
    assert world.gate.before_tool(LS, _with(token)).outcome is Outcome.ASK


# --------------------------------------------------------------------------------------------------- exactly this call
def _in(**context: Any) -> Run:
    return replace(RUN, context=replace(RUN.context, **context))


def _as(**principal: Any) -> Run:
    return replace(RUN, principal=replace(RUN.principal, **principal))


@pytest.mark.parametrize(
    ("call", "run", "code"),
    [
        (Call("bash", {"command": "ls "}, "c1"), RUN, "token.arguments"),
        (Call("bash", {"command": "ls", "timeout": 1}, "c1"), RUN, "token.arguments"),
        (Call("sh", {"command": "ls"}, "c1"), RUN, "token.tool"),
        (LS, _in(scope_id="other"), "token.scope"),
        (LS, _in(thread_id="other"), "token.thread"),
        (LS, _as(id="bob"), "token.subject"),
        (LS, _as(agent="other"), "token.agent"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_approval_of_something_else_is_refused_with_its_code(call: Call, run: Run, code: str) -> None:
    world = World(Table({"bash": Outcome.ASK, "sh": Outcome.ASK}))
    _, token = _asked(world)
    assert world.gate.before_tool(call, _with(token, run)).outcome is Outcome.ASK
    assert _refused(world) == (("approval", code),)


def test_a_resumed_run_of_the_same_thread_may_show_an_approval() -> None:
    world = World(ASKS)
    _, token = _asked(world)
    assert world.gate.before_tool(replace(LS, id="c9"), _with(token, _in(run_id="r2", step_id="7"))).outcome is (
        Outcome.ALLOW
    )


def test_an_expired_approval_is_refused() -> None:
    world = World(ASKS)
    _, token = _asked(world)
    world.clock.time += 3600
    assert world.gate.before_tool(LS, _with(token)).outcome is Outcome.ASK
    assert _refused(world) == (("approval", "token.expired"),)


def test_an_approval_under_other_policies_is_refused() -> None:
    world = World(ASKS)
    _, token = _asked(world)
    other = world.with_engine(policy_digest="d2")
    assert other.before_tool(LS, _with(token)).outcome is Outcome.ASK
    assert _refused(world) == (("approval", "token.policy"),)


def test_an_approval_does_not_answer_what_the_call_did_not_ask_then() -> None:
    second = Table({}, "second")
    world = World(ASKS, second)
    _, token = _asked(world)
    second.outcomes["bash"] = Outcome.ASK
    assert world.gate.before_tool(LS, _with(token)).outcome is Outcome.ASK
    assert _refused(world) == (("approval", "token.asks"),)


def test_an_approval_of_one_effect_does_not_answer_another_of_the_same_rule() -> None:
    effect = FileWrite("/workspace/a")

    def asks(_: Request) -> Verdict:
        return Verdict(policy="p", outcome=Outcome.ASK, findings=(finding(Outcome.ASK, "p.ask", effect=effect),))

    world = World(Says(asks))
    _, token = _asked(world)
    effect = FileWrite("/etc/passwd")
    assert world.gate.before_tool(LS, _with(token)).outcome is Outcome.ASK
    assert _refused(world) == (("approval", "token.asks"),)


def test_a_forged_approval_is_refused_and_the_answer_is_given_live() -> None:
    world = World(ASKS)
    _, token = _asked(world)
    middle = len(token) // 2
    forged = f"{token[:middle]}{'A' if token[middle] != 'A' else 'B'}{token[middle + 1 :]}"
    assert world.gate.before_tool(LS, _with(forged)).outcome is Outcome.ASK
    assert _refused(world)[0][0] == "approval"


def test_other_tokens_are_no_approvals() -> None:
    world = World(ASKS)
    signed, _ = _asked(world)
    exposure = world.gate.before_model([], ["bash"], RUN).token
    run = replace(RUN, approvals=(signed.token, exposure, "", "rubbish"))
    assert world.gate.before_tool(LS, run).outcome is Outcome.ASK
    assert [code for _, code in _refused(world)] == ["token.purpose", "token.malformed"]


def test_the_right_one_of_several_approvals_is_spent() -> None:
    world = World(ASKS)
    _, other = _asked(world, Call("bash", {"command": "pwd"}))
    _, token = _asked(world)
    run = replace(RUN, approvals=(other, token))
    assert world.gate.before_tool(LS, run).outcome is Outcome.ALLOW
    assert world.gate.before_tool(Call("bash", {"command": "pwd"}), run).outcome is Outcome.ALLOW
    assert world.gate.before_tool(LS, run).outcome is Outcome.ASK


def test_more_approvals_than_anybody_gives_are_not_looked_at() -> None:
    world = World(ASKS)
    _, token = _asked(world)
    run = replace(RUN, approvals=("rubbish",) * 64 + (token,))
    assert world.gate.before_tool(LS, run).outcome is Outcome.ASK


# ------------------------------------------------------------------------------------------------- what can be approved
def test_an_approval_in_one_directory_is_none_in_another() -> None:
    """An answer about `git status` in one repository says nothing about another, whose settings may start programs."""
    world = World(ASKS)
    _, token = _asked(world)
    for moved in (_in(cwd="/workspace/other"), _in(sandbox="docker"), _in(workspace=("/",)), _in(home="/root")):
        assert world.gate.before_tool(LS, _with(token, moved)).outcome is Outcome.ASK
        assert _refused(world) == (("approval", "approval.place"),)
    state = world.states.load("s")
    world.states.save("s", state.version, replace(state, cwd="/elsewhere", version=state.version + 1))
    assert world.gate.before_tool(LS, _with(token)).outcome is Outcome.ASK
    assert _refused(world) == (("approval", "approval.place"),)


def test_only_what_asks_can_be_approved() -> None:
    for outcome in (Outcome.ALLOW, Outcome.DENY):
        world = World(Table({"bash": outcome}))
        with pytest.raises(TokenError) as caught:
            world.gate.approve(world.gate.before_tool(LS, RUN), by="ada")
        assert caught.value.code == "approval.not-asked"


def test_a_foreseen_question_cannot_be_approved() -> None:
    world = World(ASKS)
    (foreseen,) = world.gate.after_model([LS], RUN)
    with pytest.raises(TokenError) as caught:
        world.gate.approve(foreseen, by="ada")
    assert caught.value.code == "approval.not-asked"


def test_a_question_that_is_answered_twice_is_answered_once() -> None:
    world = World(ASKS)
    signed, token = _asked(world)
    again = world.gate.approve(signed, by="bob")
    assert world.gate.before_tool(LS, _with(token)).outcome is Outcome.ALLOW
    assert world.gate.before_tool(LS, _with(again)).outcome is Outcome.ASK
    assert _refused(world) == (("approval", "approval.spent"),)


def test_an_answer_that_a_host_gives_again_about_a_new_question_counts_once() -> None:
    """As LangGraph does with a stored answer, after a crash also in another process."""
    world = World(ASKS)
    outcomes = []
    for answer in ("yes-1", "yes-1", "yes-2"):
        signed = world.gate.before_tool(LS, RUN)
        token = world.gate.approve(signed, by="ada", answer=answer)
        outcomes.append(world.gate.before_tool(LS, _with(token)).outcome)
    assert outcomes == [Outcome.ALLOW, Outcome.ASK, Outcome.ALLOW]


def test_somebody_has_to_approve() -> None:
    world = World(ASKS)
    signed, _ = _asked(world)
    with pytest.raises(TokenError) as caught:
        world.gate.approve(signed, by="")
    assert caught.value.code == "approval.nobody"


def test_an_old_question_cannot_be_approved() -> None:
    world = World(ASKS)
    signed, _ = _asked(world)
    world.clock.time += 86_400
    with pytest.raises(TokenError) as caught:
        world.gate.approve(signed, by="ada")
    assert caught.value.code == "token.expired"


def test_an_altered_decision_cannot_be_approved() -> None:
    world = World(ASKS)
    signed, _ = _asked(world)
    request = signed.decision.request
    assert request is not None
    other = replace(request, arguments={"command": "rm -rf /"})
    with pytest.raises(TokenError) as caught:
        world.gate.approve(replace(signed, decision=replace(signed.decision, request=other)), by="ada")
    assert caught.value.code == "token.arguments"


def test_an_ask_without_a_reason_cannot_be_approved() -> None:
    world = World(Says(lambda _: Verdict(policy="p", outcome=Outcome.ASK)))
    with pytest.raises(TokenError) as caught:
        _asked(world)
    assert caught.value.code == "approval.unanswerable"


def test_an_approval_that_cannot_be_recorded_is_none() -> None:
    world = World(ASKS)
    signed, _ = _asked(world)
    world.log.fail()
    with pytest.raises(AuditError):
        world.gate.approve(signed, by="ada")
    with pytest.raises(AuditError):
        world.gate.reject(signed, by="ada")


def test_who_approved_is_recorded() -> None:
    world = World(ASKS)
    _asked(world)
    assert (world.log.last("approval")["by"], world.log.last("approval")["answer"]) == ("ada", "approved")


def test_a_rejected_call_stays_denied_in_its_step_whatever_is_decided_later() -> None:
    """In LangChain a person's no is lost if the call is not asked about again on resume; here it is not."""
    policy = Table({"bash": Outcome.ASK})
    world = World(policy)
    world.gate.reject(world.gate.before_tool(LS, RUN), by="ada")
    policy.outcomes.clear()
    assert set(rules(world.gate.before_tool(LS, RUN).findings)) == {"gate.rejected"}
    assert world.log.last("approval")["answer"] == "rejected"
    world.gate.after_model([LS], RUN)
    assert world.gate.before_tool(LS, RUN).outcome is Outcome.DENY


def test_a_model_that_repeats_a_rejected_call_is_refused_and_nobody_is_asked_again() -> None:
    world = World(ASKS)
    world.gate.reject(world.gate.before_tool(LS, RUN), by="ada")
    for step in range(2, 7):
        again = _in(step_id=str(step))
        assert rules(Gate(world.parts).before_tool(replace(LS, id=f"c{step}"), again).findings)[0] == "gate.rejected"
    assert world.gate.before_tool(Call("bash", {"command": "pwd"}, "d"), RUN).outcome is Outcome.ASK
    assert world.gate.before_tool(LS, _in(run_id="r2", step_id="9")).outcome is Outcome.ASK


def test_a_rejection_that_cannot_be_kept_is_told() -> None:
    world = World(ASKS)
    signed = world.gate.before_tool(LS, RUN)

    def locked(*_: object) -> None:
        raise StoreError("store.locked", "in use")

    world.states.save = locked  # type: ignore[method-assign, assignment]
    with pytest.raises(StoreError):
        world.gate.reject(signed, by="ada")
    with pytest.raises(TokenError):
        world.gate.reject(signed, by="")


# ------------------------------------------------------------------------------------------------------ rewritten calls
def _rewriting(request: Request) -> Verdict | None:
    if (request.arguments or {}).get("command") == "rm -i x":
        return Verdict(policy="p", outcome=Outcome.ASK, findings=(finding(Outcome.ASK, "p.ask"),))
    control = Control(kind=ControlKind.REWRITE, arguments={"command": "rm -i x"})
    return Verdict(policy="p", outcome=Outcome.DENY, findings=(finding(Outcome.DENY, "p.deny"),), control=control)


@pytest.mark.parametrize("command", ["rm x", "rm -i x"])
def test_an_approval_is_of_the_rewritten_call(command: str) -> None:
    world = World(Says(_rewriting))
    sent = Call("bash", {"command": "rm x"}, "c1")
    signed, token = _asked(world, sent)
    assert world.gate.question(signed).call == ("command: rm -i x",)
    approved = world.gate.before_tool(Call("bash", {"command": command}, "c1"), _with(token))
    assert (approved.outcome, dict(approved.call.arguments)) == (Outcome.ALLOW, {"command": "rm -i x"})
    assert world.gate.release(approved, approved.call)


# --------------------------------------------------------------------------------------------------------- the question
def _finding(effect: Any, rule: str = "p.ask") -> Finding:
    return Finding(
        rule=rule,
        code=rule,
        message="Deletes what cannot be made again.",
        outcome=Outcome.ASK,
        severity=Severity.HIGH,
        effect=effect,
        instead="Move it.",
    )


def _question(*findings: Finding, call: Call = LS) -> tuple[World, Any]:
    world = World(Says(lambda _: Verdict(policy="p", outcome=Outcome.ASK, findings=findings)))
    return world, world.gate.question(world.gate.before_tool(call, RUN))


def test_a_question_says_what_would_run_what_it_does_and_why_it_asks() -> None:
    _, question = _question(_finding(FileDelete("/workspace/a")))
    assert question.tool == "bash"
    assert question.call == ("command: ls",)
    assert question.does == ("process.execute program=ls",)
    assert question.asks == ("high: Deletes what cannot be made again. [p.ask] Instead: Move it.",)
    assert "thread `t`" in question.once
    assert question.text().startswith("bash wants to run:\n  command: ls\nIt would:\n  process.execute")


def test_nothing_of_a_question_is_cut_or_hidden() -> None:
    command = "echo a" + " " * 500 + "; rm -rf /\x1b[2K\u202e\n\r" + "x" * 5000 + " tail"
    _, question = _question(_finding(FileDelete("/a\x1b[31m")), call=Call("ba\u200bsh", {"z": 1, "command": command}))
    (shown, other) = question.call
    assert shown.startswith("command: echo a<500 blanks>; rm -rf /<U+001B>[2K<U+202E><U+000A><U+000D>xxx")
    assert shown.endswith("x tail")
    assert other == "z: 1"
    assert question.tool == "ba<U+200B>sh"
    assert all(line.isprintable() for line in question.text().split("\n"))


def test_nested_arguments_are_shown_in_full() -> None:
    _, question = _question(_finding(None), call=Call("edit", {"edits": [{"new": "a\u202eb", "old": None}]}))
    assert question.call == ('edits: [{"new": "a<U+202E>b", "old": null}]',)


def test_always_covers_just_the_rules_and_effects_that_ask() -> None:
    world, question = _question(_finding(FileDelete("/workspace/a")), _finding(FileDelete("/workspace/b"), "q.ask"))
    assert question.always == (
        "p.ask, in any directory, for: file.delete path=/workspace/a",
        "q.ask, in any directory, for: file.delete path=/workspace/b",
    )
    assert all((grant.tier, grant.uses) == (Tier.USER, None) for grant in question.grants)
    always = replace(RUN, grants=question.grants)
    assert world.gate.before_tool(LS, always).outcome is Outcome.ALLOW
    assert world.gate.before_tool(LS, always).outcome is Outcome.ALLOW


def test_always_does_not_cover_another_effect() -> None:
    _, question = _question(_finding(FileDelete("/workspace/a")))
    other, _ = _question(_finding(FileDelete("/workspace/b")))
    assert other.gate.before_tool(LS, replace(RUN, grants=question.grants)).outcome is Outcome.ASK


@pytest.mark.parametrize("asks", [(_finding(None),), (_finding(FileDelete("/a")), _finding(None, "q.ask"))])
def test_there_is_no_always_for_what_is_about_no_effect(asks: tuple[Finding, ...]) -> None:
    _, question = _question(*asks)
    assert (question.always, question.grants) == ((), ())


def test_a_number_of_any_size_is_shown() -> None:
    huge = 10**5000  # more digits than Python writes in decimal
    _, question = _question(call=Call("bash", {"n": {"of": [huge, 7, True]}, "m": 1}, id="1"))
    assert f'n: {{"of": ["{hex(huge)[:20]}' in "\n".join(question.call)
    assert "m: 1" in question.call
