"""What records say, and what they never say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyengine.audit import (
    Answer,
    CallStatus,
    Detail,
    approval_record,
    decision_record,
    exposure_record,
    refused_token_record,
    result_record,
)
from policyengine.audit.lines import record_json
from policyengine.audit.records import MAX_ITEMS, request_of, values_of
from policyengine.effects import FileWrite
from policyengine.errors import AuditError
from policyengine.model import (
    Context,
    Control,
    ControlKind,
    Decision,
    Exposure,
    Finding,
    Grant,
    Obligation,
    ObligationKind,
    Outcome,
    Principal,
    Request,
    Resource,
    ResourceKind,
    Severity,
    ShellKind,
    Tier,
    freeze_object,
)
from policyengine.records import replace

SECRET = "hunter2-THE-SECRET"

FINDING = Finding(
    rule="team.write", code="write", message=f"Writes {SECRET}.", outcome=Outcome.ASK, severity=Severity.MEDIUM,
    instead=SECRET, effect=FileWrite(f"/w/{SECRET}"), references=(SECRET,),
)  # fmt: skip
REQUEST = Request(
    principal=Principal(id="ann", roles=("dev",), attributes=freeze_object({"token": SECRET}), agent="lead"),
    action="invoke",
    resource=Resource(ResourceKind.TOOL, "bash"),
    arguments=freeze_object({"command": f"echo {SECRET} > x", "password": SECRET, "n": 3, "deep": {"key": [SECRET]}}),
    context=Context(
        scope_id="s", run_id="r", parent_run_id="p", step_id="t", thread_id="h", call_id="c", now=5.0,
        env={"KEY": SECRET}, cwd=f"/w/{SECRET}", tags=frozenset({"b", "a"}), active_skills=("review",),
        shell=ShellKind.ZSH, model="large",
    ),
)  # fmt: skip
GRANT = Grant(
    source="user", tier=Tier.USER, rules=frozenset({"team.write"}), effects=frozenset({FileWrite(f"/w/{SECRET}")}),
    until=9.0, uses=1,
)  # fmt: skip
DECISION = Decision(
    outcome=Outcome.ALLOW, findings=(FINDING,), effects=(FileWrite(f"/w/{SECRET}"),), grants=(GRANT,),
    obligations=(Obligation(kind=ObligationKind.TRUNCATE, limit=10),), request=REQUEST, policy_digest="d" * 64,
    control=Control(kind=ControlKind.STOP, text=SECRET), state_version=4,
)  # fmt: skip
REWRITTEN = replace(DECISION, rewritten=replace(DECISION, outcome=Outcome.DENY))
RECORDS = {
    "decision": decision_record(DECISION),
    "rewritten": decision_record(REWRITTEN),
    "denied": decision_record(replace(DECISION, outcome=Outcome.DENY, grants=())),
    "exposure": exposure_record(
        REQUEST, Exposure(visible=("Read",), deferred=("Bash",), hidden={"Write": (FINDING,), "Edit": ()})
    ),
    "token": refused_token_record("token.expired", "decision", REQUEST),
    "approval": approval_record(DECISION, Answer.APPROVED, by="ann", jti="j1", covers=["team.write"]),
    "result": result_record(DECISION, CallStatus.OK, size=12, discharged=DECISION.obligations),
}


@pytest.mark.parametrize("name", RECORDS)
def test_no_record_says_a_value(name: str) -> None:
    """Neither arguments nor environment, working directory, attributes, messages, effects or final texts."""
    assert SECRET not in record_json(RECORDS[name])


def test_a_decision_says_what_was_asked_decided_and_why() -> None:
    record = json.loads(record_json(RECORDS["decision"]))
    request = record["request"]
    assert record["id"] == DECISION.id
    assert (record["outcome"], record["policy_digest"], record["state_version"]) == ("allow", "d" * 64, 4)
    assert record["findings"] == [
        {"rule": "team.write", "code": "write", "outcome": "ask", "severity": "medium", "shadow": False}
    ]
    assert record["obligations"] == [{"kind": "truncate", "limit": 10, "names": []}]
    assert record["control"] == "stop"
    assert record["grants"] == [
        {"source": "user", "tier": "user", "rules": ["team.write"], "effects": 1, "until": 9.0, "uses": 1}
    ]
    assert (request["digest"], request["arguments_digest"]) == (REQUEST.digest, REQUEST.arguments_digest)
    assert request["principal"] == {
        "id": "ann", "roles": ["dev"], "internal": False, "agent": "lead", "delegation": []
    }  # fmt: skip
    assert request["context"] == {
        "scope_id": "s", "run_id": "r", "parent_run_id": "p", "step_id": "t", "thread_id": "h", "call_id": "c",
        "active_skills": ["review"], "model": "large",
    }  # fmt: skip
    assert request["arguments"] == [
        ["command", "text", 27], ["password", "text", 18], ["n", "number", None], ["deep", "object", 1]
    ]  # fmt: skip


def test_a_denial_has_the_fields_of_an_allowed_call() -> None:
    assert RECORDS["denied"].keys() == RECORDS["decision"].keys()


def test_the_decision_about_a_rewritten_call_is_in_the_record() -> None:
    record = json.loads(record_json(RECORDS["rewritten"]))
    assert (record["outcome"], record["rewritten"]["outcome"], record["rewritten"]["rewritten"]) == (
        "allow", "deny", None
    )  # fmt: skip


def test_a_decision_about_no_request_is_recorded_too() -> None:
    decision = Decision(outcome=Outcome.DENY, findings=(FINDING,), effects=())
    record = decision_record(decision, Detail.FULL)
    assert (record["request"], record["values"], record["outcome"]) == (None, None, "deny")


def test_an_exposure_says_what_was_hidden_by_which_rule() -> None:
    record = json.loads(record_json(RECORDS["exposure"]))
    assert (record["event"], record["visible"], record["deferred"]) == ("ToolsFiltered", ["Read"], ["Bash"])
    assert record["hidden"] == {"Write": [["team.write", "write"]], "Edit": []}
    assert record["context"]["run_id"] == "r"


def test_an_approval_keeps_the_scope_in_which_it_was_given() -> None:
    once = approval_record(DECISION, Answer.SPENT, by="ann", jti="j1")
    always = RECORDS["approval"]
    assert (once["covers"], always["covers"]) == ((), ("team.write",))
    assert (once["answer"], once["jti"], once["by"], once["decision"]) == ("spent", "j1", "ann", DECISION.id)


def test_a_result_refers_to_its_decision() -> None:
    record = RECORDS["result"]
    assert (record["decision"], record["status"], record["size"]) == (DECISION.id, "ok", 12)
    assert record["arguments_digest"] == REQUEST.arguments_digest


def test_names_that_a_model_chose_are_bounded() -> None:
    long = "x" * 1_000_000
    request = replace(
        REQUEST,
        resource=Resource(ResourceKind.TOOL, long),
        arguments=freeze_object({long: 1} | {f"a{number}": 1 for number in range(2000)}),
    )
    findings = tuple(replace(FINDING, rule=f"r{number}") for number in range(5000))
    record = decision_record(replace(DECISION, request=request, findings=findings))
    assert len(record_json(record)) < 100_000
    assert record["findings_left_out"] == 5000 - MAX_ITEMS


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2J", "\u202e", "\ud800", "\0"])
def test_a_record_is_one_line_of_plain_characters(name: str) -> None:
    request = replace(REQUEST, resource=Resource(ResourceKind.TOOL, name))
    written = record_json(decision_record(replace(DECISION, request=request), Detail.FULL))
    assert written.isascii()
    assert written.isprintable()


def test_with_full_detail_the_request_can_be_restored() -> None:
    record = decision_record(DECISION, Detail.FULL)
    assert SECRET in record_json(record)
    restored = request_of(json.loads(record_json(record))["values"])
    assert restored == REQUEST
    assert restored.digest == REQUEST.digest


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    arguments=st.none() | st.dictionaries(st.text(), JSON, max_size=4),
    attributes=st.dictionaries(st.text(), JSON, max_size=2),
    env=st.none() | st.dictionaries(st.text(), st.text(), max_size=2),
    tags=st.frozensets(st.text(), max_size=3),
    roles=st.lists(st.text(), max_size=3),
    kind=st.sampled_from(ResourceKind),
    shell=st.sampled_from(ShellKind),
    now=st.none() | st.floats(0, 1e12),
)
def test_any_request_comes_back_as_it_was(  # noqa: PLR0917  one for each strategy
    arguments: dict[str, object] | None,
    attributes: dict[str, object],
    env: dict[str, str] | None,
    tags: frozenset[str],
    roles: list[str],
    kind: ResourceKind,
    shell: ShellKind,
    now: float | None,
) -> None:
    request = Request(
        principal=Principal(id="a", roles=tuple(roles), attributes=freeze_object(attributes), delegation=("x",)),
        action="invoke",
        resource=Resource(kind, "t"),
        arguments=None if arguments is None else freeze_object(arguments),
        context=Context(env=env, tags=tags, shell=shell, now=now, workspace=("/a", "/b"), depth=2),
    )
    restored = request_of(json.loads(record_json(values_of(request))))
    assert restored == request
    assert restored.digest == request.digest


@pytest.mark.parametrize("spoil", ["principal", "action", "kind", "arguments", "context"])
def test_what_is_no_request_is_refused(spoil: str) -> None:
    values = values_of(REQUEST)
    for changed in ({**values, spoil: "odd"}, {key: value for key, value in values.items() if key != spoil}, None, 7):
        if changed == {**values, "action": "odd"}:
            continue
        with pytest.raises(AuditError) as caught:
            request_of(changed)
        assert caught.value.code == "audit.record"
