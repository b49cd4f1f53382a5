"""What a run remembers, its bounds, and its stored form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policyengine.effects import (
    Contains,
    Effect,
    Facts,
    FileDelete,
    FileRead,
    FileWrite,
    Left,
    Taint,
    Transfer,
    Where,
    WrittenFile,
)
from policyengine.errors import RequestError
from policyengine.model import (
    ANONYMOUS,
    Context,
    Decision,
    Finding,
    Outcome,
    Request,
    Resource,
    ResourceKind,
    Severity,
)
from policyengine.records import replace
from policyengine.state import (
    NO_SKILLS,
    START,
    ActiveSkill,
    Label,
    RunState,
    SkillState,
    Slash,
    after,
    count,
    from_json,
    promote,
    remember,
    restrict,
    to_json,
    vouched,
)
from policyengine.state.run import (
    MAX_COUNTERS,
    MAX_PROMOTIONS,
    MAX_READS,
    MAX_RESTRICTIONS,
    MAX_SHELL,
    MAX_TEXT,
    MAX_TEXTS,
    MAX_TREES,
    MAX_WRITTEN,
)
from policyengine.state.skills import MAX_ENTRIES, MAX_OUTER, MAX_SKILLS

FETCHED = frozenset({Taint.FETCHED})
SECRET = frozenset({Taint.SECRET})
HI = WrittenFile("/a", "hi", FETCHED)


def _decision(outcome: Outcome, *labels: str) -> Decision:
    finding = Finding(rule="r", code="r", message="m", outcome=outcome, severity=Severity.LOW, labels=frozenset(labels))
    return Decision(outcome=outcome, findings=(finding,), effects=())


def _after(outcome: Outcome, *effects: Effect, state: RunState = START, **facts: Any) -> RunState:
    return after(state, Facts(effects, **facts), _decision(outcome))


def test_what_was_allowed_happened() -> None:
    state = _after(Outcome.ALLOW, FileRead("/b"), written=(HI,), cwd="/c")
    assert state.written == {"/a": HI}
    assert len(state.digests["/a"]) == 64
    assert (state.cwd, state.reads, state.version) == ("/c", {"/b": 1}, 1)


def test_what_was_denied_did_not_happen() -> None:
    state = after(START, Facts((FileRead("/b"),), (HI,), "/c"), _decision(Outcome.DENY, "secrets"))
    assert state == RunState(version=1, counters={"calls": 1, "denied": 1})


def test_what_is_asked_about_may_have_happened_or_not() -> None:
    before = _after(Outcome.ALLOW, written=(WrittenFile("/a", "old", SECRET),))
    state = _after(Outcome.ASK, written=(HI,), cwd="/c", state=before)
    assert state.written["/a"] == WrittenFile("/a", None, FETCHED | SECRET)
    assert "/a" not in state.digests
    assert state.cwd == ""


def test_an_unsure_write_of_the_same_text_keeps_it() -> None:
    before = _after(Outcome.ALLOW, written=(HI,))
    assert _after(Outcome.ASK, written=(HI,), state=before).written["/a"].text == "hi"
    assert _after(Outcome.ASK, written=(HI,)).written["/a"].text is None


def test_a_write_whose_text_is_not_known_replaces_what_was() -> None:
    before = _after(Outcome.ALLOW, written=(HI,))
    state = _after(Outcome.ALLOW, FileWrite("/a", taint=SECRET), state=before)
    assert state.written["/a"] == WrittenFile("/a", None, SECRET)


@pytest.mark.parametrize(
    "effect", [FileWrite("/a", where=Where.REMOTE), FileWrite("/a", unknown=True), FileWrite("/a*", glob=True)]
)
def test_a_write_elsewhere_or_nowhere_certain_is_no_file_of_ours(effect: Effect) -> None:
    assert _after(Outcome.ALLOW, effect).written == {}


@pytest.mark.parametrize(
    ("effect", "labels"),
    [
        (FileWrite("/a", taint=SECRET), {Label.SECRETS}),
        (Transfer("h", taint=SECRET), {Label.SECRETS}),
        (Contains("secret"), {Label.SECRETS}),
        (Contains("pii"), set()),
        (FileWrite("/a", taint=FETCHED), set()),
    ],
)
def test_secrets_in_a_calls_data_label_the_run(effect: Effect, labels: set[Label]) -> None:
    assert _after(Outcome.ALLOW, effect).labels == labels


def test_rules_label_the_run_for_good() -> None:
    state = after(START, Facts(), _decision(Outcome.ASK, "untrusted"))
    assert _after(Outcome.ALLOW, state=state).labels == {Label.UNTRUSTED}


def test_forgotten_files_may_be_any_file() -> None:
    files = [WrittenFile(f"/{number}", "x", FETCHED if number == 0 else frozenset()) for number in range(MAX_WRITTEN)]
    full = remember(START, files, sure=True)
    assert full.written_at("/other") is None
    over = remember(full, [WrittenFile("/new", "x")], sure=True)
    assert len(over.written) == len(over.digests) == MAX_WRITTEN
    assert over.written_at("/0") == WrittenFile("/0", None, FETCHED)
    assert over.written_at("/other") == WrittenFile("/other", None, FETCHED)
    assert over.written_at("/1") == files[1]
    assert over.files().get("/other") == WrittenFile("/other", None, FETCHED)
    assert full.files().get("/other") is None


def test_a_file_written_again_is_the_latest() -> None:
    state = remember(START, [WrittenFile("/a", "1"), WrittenFile("/b", "1"), WrittenFile("/a", "2")], sure=True)
    assert list(state.written) == ["/b", "/a"]


def test_texts_are_bounded_and_the_oldest_are_forgotten() -> None:
    long = remember(START, [WrittenFile("/a", "x" * (MAX_TEXT + 1), FETCHED)], sure=True)
    assert long.written["/a"] == WrittenFile("/a", None, FETCHED)
    assert "/a" in long.digests
    many = remember(START, [WrittenFile(f"/{number}", "x" * MAX_TEXT) for number in range(10)], sure=True)
    texts = [file.text for file in many.written.values()]
    assert texts[:2] == [None, None]
    assert sum(len(text or "") for text in texts) == MAX_TEXTS


def test_forgotten_reads_have_to_be_read_again() -> None:
    state = _after(Outcome.ALLOW, *(FileRead(f"/{number}") for number in range(MAX_READS + 1)))
    assert len(state.reads) == MAX_READS
    assert "/0" not in state.reads


def test_promotions_stop_at_their_bound() -> None:
    full = promote(START, (f"t{number}" for number in range(MAX_PROMOTIONS)))
    assert promote(full, ["one-more"]).promotions == full.promotions
    assert "t0" in full.promotions


def test_restrictions_beyond_their_bound_are_an_intersection() -> None:
    state = START
    for number in range(MAX_RESTRICTIONS):
        state = restrict(state, f"s{number}", {"a", "b", f"t{number}"})
    over = restrict(state, "last", {"a", "c"})
    assert over.restrictions == {"several": frozenset({"a"})}
    assert restrict(state, "s0", {"b"}).restrictions["s0"] == {"b"}


def test_skills_that_the_host_names_stay_when_it_names_them_no_more() -> None:
    call = Request(
        principal=ANONYMOUS,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, "t"),
        arguments={},
        context=Context(active_skills=("/s/a/SKILL.md",)),
    )
    for outcome in Outcome:
        state = after(START, Facts(), Decision(outcome=outcome, findings=(), effects=(), request=call))
        assert set(state.skills.loaded) == {"/s/a/SKILL.md"}
        again = replace(call, context=Context())
        assert after(state, Facts(), Decision(outcome=outcome, findings=(), effects=(), request=again)).skills == (
            state.skills
        )


def test_skills_that_find_no_room_leave_nothing_where_there_was_no_bound() -> None:
    full = vouched(NO_SKILLS, [f"/{number}" for number in range(MAX_SKILLS)])
    assert (len(full.loaded), full.ceiling) == (MAX_SKILLS, None)
    assert vouched(full, ["/0"]) == full
    assert vouched(full, ["/more"]).ceiling == ()
    assert vouched(replace(full, ceiling=("Read",)), ["/more"]).ceiling == ("Read",)


def test_counters_beyond_their_bound_share_one() -> None:
    state = count(START, *(f"c{number}" for number in range(MAX_COUNTERS)), "x", "y", "c0")
    assert (state.counters["other"], state.counters["c0"]) == (2, 2)
    assert len(state.counters) == MAX_COUNTERS + 1


FULL = RunState(
    version=3,
    written={"/a": HI, "/b": WrittenFile("/b", None)},
    digests={"/a": "0" * 64},
    forgotten=SECRET,
    cwd="",
    exports={"A": "\udcff"},
    functions={"f": "f() { :; }"},
    aliases={"a": "ls"},
    trees={"/r/": frozenset({Taint.FOREIGN})},
    links={"/l": "/t"},
    labels=frozenset({Label.SECRETS}),
    counters={"calls": 3},
    reads={"/a": 2},
    promotions=frozenset({"t"}),
    restrictions={"skill": frozenset({"a", "b"})},
    skills=SkillState(
        agent="writer",
        run="r1",
        message="m",
        reply=2,
        slash=Slash("/s/a/SKILL.md", "0", ("Read",)),
        loaded={"/s/b/SKILL.md": ActiveSkill("1", None, 1, complete=True, counts=True)},
        held=1,
        ceiling=("Read", "Bash(git:*)"),
        before=(),
        outer=(SkillState(ceiling=("Read",)),),
    ),
)

SKILLS = json.loads(to_json(START))["skills"]
BROKEN: list[dict[str, Any]] = [
    {"reply": -1},
    {"agent": None},
    {"slash": ["/s", "0"]},
    {"slash": ["/s", "0", "Read"]},
    {"loaded": {"/s": ["1", None, 1, 1, True, True]}},
    {"loaded": {"/s": ["1", None, 1, True, True]}},
    {"loaded": {f"/{number}": ["", None, 1, True, True, False] for number in range(MAX_SKILLS + 1)}},
    {"held": "1"},
    {"ceiling": "Read"},
    {"ceiling": ["Read"] * (MAX_ENTRIES + 1)},
    {"before": [None]},
    {"outer": [{}]},
    {"outer": [{**SKILLS, "outer": [SKILLS]}]},
    {"outer": [SKILLS] * (MAX_OUTER + 1)},
    {"more": 1},
]


@pytest.mark.parametrize("state", [START, FULL])
def test_a_stored_state_is_the_state(state: RunState) -> None:
    stored = to_json(state)
    assert from_json(stored) == state
    assert to_json(from_json(stored)) == stored
    assert stored.isascii()


@pytest.mark.parametrize(
    "change",
    [
        {"version": -1},
        {"version": True},
        {"version": 1.5},
        {"written": {}},
        {"written": [["/a", "x"]]},
        {"written": [["/a", 1, []]]},
        {"written": [["/a", "x", ["fetchd"]]]},
        {"digests": {"/a": "xyz"}},
        {"digests": []},
        {"forgotten": "secret"},
        {"cwd": 1},
        {"exports": {"A": None}},
        {"aliases": ["a"]},
        {"trees": {"/r/": ["strange"]}},
        {"links": {"/l": 1}},
        {"labels": ["nonsense"]},
        {"counters": {"calls": "3"}},
        {"reads": {str(number): 1 for number in range(MAX_READS + 1)}},
        {"promotions": [1]},
        {"restrictions": {"s": "a"}},
        {"skills": None},
        {"skills": {}},
        *({"skills": {**SKILLS, **part}} for part in BROKEN),
        {"more": 1},
    ],
)
def test_a_damaged_state_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(RequestError) as caught:
        from_json(json.dumps({**json.loads(to_json(FULL)), **change}))
    assert caught.value.code == "state.malformed"


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "state.malformed"), ("[]", "state.malformed"), ("{}", "state.format"), ("[" * 100_000, "state.malformed")],
)
def test_what_is_no_state_is_refused(text: str, code: str) -> None:
    with pytest.raises(RequestError) as caught:
        from_json(text)
    assert caught.value.code == code


def test_a_state_with_a_part_missing_is_refused() -> None:
    stored = json.loads(to_json(FULL))
    del stored["restrictions"]
    with pytest.raises(RequestError, match="its keys"):
        from_json(json.dumps(stored))


def _left(state: RunState, left: Left, outcome: Outcome = Outcome.ALLOW, *effects: Effect) -> RunState:
    return after(state, Facts(effects, left=left), _decision(outcome))


def test_what_a_call_leaves_stays() -> None:
    left = Left({"/r/": frozenset({Taint.FOREIGN})}, {"/l": "/t"}, {"A": "1"}, {"f": "f() { :; }"}, {"a": "ls"})
    assert _left(START, left).left() == left
    assert _left(_left(START, left), Left()).left() == left


def test_what_was_denied_leaves_nothing_and_what_is_asked_about_may() -> None:
    left = Left(links={"/l": "/t"})
    assert _left(START, left, Outcome.DENY).left() == Left()
    assert _left(START, left, Outcome.ASK).left() == left


def test_a_link_goes_with_its_removal() -> None:
    made = _left(START, Left(links={"/l": "/t", "/m": "/t"}))
    assert _left(made, Left(), Outcome.ALLOW, FileDelete("/l")).links == {"/m": "/t"}
    assert _left(made, Left(), Outcome.ASK, FileDelete("/l")).links == made.links


def test_trees_that_find_no_room_may_be_everywhere() -> None:
    state = START
    for number in range(MAX_TREES + 1):
        state = _left(state, Left(trees={f"/{number}/": frozenset({Taint.FOREIGN})}))
    assert len(state.trees) == MAX_TREES
    assert state.forgotten == frozenset({Taint.FOREIGN})


def test_a_shell_keeps_the_latest_names() -> None:
    state = START
    for number in range(MAX_SHELL + 1):
        state = _left(state, Left(exports={f"A{number}": ""}))
    assert len(state.exports) == MAX_SHELL
    assert "A0" not in state.exports
