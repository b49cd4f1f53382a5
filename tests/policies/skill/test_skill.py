"""What active skills leave, and that nothing but a later reply's load or the user adds to it."""

from __future__ import annotations

import pytest

from policyengine.effects import Execute, Facts, FileRead, FileWrite, Opaque, UseTool, Where, WrittenFile
from policyengine.effects.terms import Cause
from policyengine.errors import UsageError
from policyengine.model import ANONYMOUS, Context, Outcome, Principal, Request, Resource, ResourceKind
from policyengine.policies.skill import Mode, Reading, Skill, SkillPolicy, Source, UserMessage
from policyengine.policies.skill.entries import Clause
from policyengine.policy import combine
from policyengine.records import replace
from policyengine.state import NO_SKILLS, START, from_json, remember, to_json, vouched
from policyengine.state.skills import MAX_OUTER, MAX_SKILLS
from tests.policies.skill.worlds import (
    NO_CONTEXT,
    Shelf,
    attempt,
    begin,
    call,
    code,
    complete,
    hear,
    left,
    load,
    path_of,
    reads,
    silent,
    skill,
)

TOOLS = ("Read", "Write", "Bash", "Grep", "task", "tool_search", "describe_skill", "mcp__github__get", "mcp__github")
SAFE = {"tool_search", "describe_skill"}
READER = skill("reader", "Read", "Grep")
SHELL = skill("shell", "Bash")
WRITER = skill("writer", "Write", "Read")
LEGACY = silent("legacy")
EMPTY = skill("empty")
PAIR = skill("pair", "mcp__github__*")


def _policy(*skills: Skill, **more: object) -> SkillPolicy:
    return SkillPolicy(registry=Shelf(*skills), **more)  # type: ignore[arg-type]


def _shelf(policy: SkillPolicy) -> Shelf:
    assert isinstance(policy.registry, Shelf)
    return policy.registry


# -------------------------------------------------------------------------------------------------------------- passive
def test_skills_that_are_only_installed_restrict_nothing_and_cost_nothing() -> None:
    policy = _policy(READER, SHELL)
    assert left(policy, START, TOOLS) == set(TOOLS)
    assert left(policy, begin(policy, begin(policy, START)), TOOLS) == set(TOOLS)
    assert _shelf(policy).asked == 0


def test_an_allowlist_of_an_agent_is_no_list_of_tools() -> None:
    policy = SkillPolicy(registry=Shelf(READER, SHELL, agents={"a": {READER.path}}))
    assert left(policy, START, TOOLS, who=Principal(agent="a")) == set(TOOLS)


# -------------------------------------------------------------------------------------------------------- skill context
@pytest.mark.parametrize(
    ("names", "allowed"),
    [
        (("reader",), {"Read", "Grep"}),
        (("reader", "shell"), {"Read", "Grep", "Bash"}),
        (("legacy",), set(TOOLS)),
        (("legacy", "shell"), {"Bash"}),  # a skill that declares nothing adds nothing
        (("shell", "legacy"), {"Bash"}),
        (("empty",), set()),
        (("empty", "legacy"), set()),
        (("empty", "shell"), {"Bash"}),
        (("pair",), {"mcp__github__get"}),
    ],
)
def test_loaded_skills_are_united(names: tuple[str, ...], allowed: set[str]) -> None:
    policy = _policy(READER, SHELL, LEGACY, EMPTY, PAIR)
    assert left(policy, load(policy, START, *names), TOOLS) == allowed | SAFE
    state = START
    for name in names:
        state = load(policy, state, name)
    assert left(policy, state, TOOLS) == allowed | SAFE


@pytest.mark.parametrize(
    ("names", "allowed"),
    [
        (("reader", "writer"), {"Read"}),
        (("reader", "shell"), set()),
        (("reader", "legacy"), {"Read", "Grep"}),
        (("legacy",), set(TOOLS)),
    ],
)
def test_loaded_skills_are_intersected_by_choice(names: tuple[str, ...], allowed: set[str]) -> None:
    policy = _policy(READER, SHELL, WRITER, LEGACY, mode=Mode.INTERSECTION)
    state = START
    for name in names:
        state = load(policy, state, name)
    assert left(policy, state, TOOLS) == allowed | SAFE
    assert left(policy, load(policy, START, *names), TOOLS) == allowed | SAFE


def test_names_are_exact() -> None:
    policy = _policy(skill("a", "read", "Bash "))
    assert left(policy, load(policy, START, "a"), ("Read", "read", "bash", "READ", "", "Rea\u0064")) == {"read"}


def test_starting_a_sub_agent_is_never_exempt() -> None:
    policy = _policy(READER, skill("leader", "task"))
    assert code(policy, load(policy, START, "reader"), "task") == "skill.not-allowed"
    assert code(policy, load(policy, START, "leader"), "task") == "allow"
    with pytest.raises(UsageError, match="hands work on"):
        SkillPolicy(registry=Shelf(), framework=frozenset({"tool_search", "task"}))


@pytest.mark.parametrize(
    ("effects", "answer"),
    [
        ((), "allow"),
        ((UseTool("tool_search", "discover"),), "allow"),
        ((FileRead("/x"),), "allow"),
        ((Opaque(Cause.PROGRAM, "nobody described the tool"),), "allow"),
        ((Execute("ls"),), "skill.not-allowed"),
        ((UseTool("tool_search", "discover"), FileWrite("/x")), "skill.not-allowed"),
        ((UseTool("tool_search", "agent"),), "skill.not-allowed"),
        ((Opaque(Cause.CODE, "x"),), "skill.not-allowed"),
    ],
)
def test_framework_safe_tools_reveal_and_do_not_execute(effects: tuple[object, ...], answer: str) -> None:
    policy = _policy(READER)
    assert code(policy, load(policy, START, "reader"), "tool_search", *effects) == answer  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------- the same reply
def test_a_load_restricts_the_rest_of_its_own_reply() -> None:
    policy = _policy(READER)
    state = attempt(policy, begin(policy, START), "reader")
    assert code(policy, state, "Bash") == "skill.not-allowed"
    assert policy.evaluate(call("Read"), reads("reader"), state).outcome is Outcome.ALLOW


def test_a_load_that_its_own_skill_would_forbid_goes_on() -> None:
    policy = _policy(SHELL, READER)
    state = attempt(policy, begin(policy, START), "shell", "reader")
    for name in ("shell", "reader"):
        assert policy.evaluate(call("Read"), reads(name), state).outcome is Outcome.ALLOW
    beside = Facts((*reads("shell").effects, FileRead("/etc/passwd")))
    assert policy.evaluate(call("Read"), beside, state).outcome is Outcome.DENY
    assert policy.evaluate(call("Read"), reads("shell"), begin(policy, state)).outcome is Outcome.DENY


def test_a_load_adds_nothing_to_its_own_reply() -> None:
    policy = _policy(READER, SHELL)
    state = complete(policy, attempt(policy, load(policy, START, "reader"), "shell"), "shell")
    assert left(policy, state, TOOLS) == {"Read", "Grep"} | SAFE
    assert left(policy, begin(policy, state), TOOLS) == {"Read", "Grep", "Bash"} | SAFE


def test_a_load_that_failed_restricts_and_adds_nothing() -> None:
    policy = _policy(READER, SHELL)
    state = begin(policy, attempt(policy, load(policy, START, "reader"), "shell"))
    assert left(policy, state, TOOLS) == {"Read", "Grep"} | SAFE
    state = begin(policy, attempt(policy, begin(policy, START), "shell"))
    assert left(policy, state, TOOLS) == {"Bash"} | SAFE


def test_a_shell_that_prints_the_file_restricts_and_adds_nothing() -> None:
    policy = _policy(READER, SHELL)
    printed = Facts((Execute("cat", arguments=(path_of("reader"),)), *reads("reader").effects))
    state = begin(policy, policy.attempt(begin(policy, START), [(call("Bash"), printed)]))
    assert left(policy, state, TOOLS) == {"Read", "Grep"} | SAFE
    state = load(policy, START, "shell")
    state = policy.attempt(state, [(call("Bash"), printed)])
    state = begin(policy, policy.complete(state, call("Bash"), printed))
    assert left(policy, state, TOOLS) == {"Bash"} | SAFE


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Skill", {"skill": " reader "}),
        ("Skill", {"command": "reader", "args": "x"}),
        ("load_skill", {"name": "plugin:reader"}),
        ("SlashCommand", {"command": "/reader and a task"}),
    ],
)
def test_tools_that_load_by_name_load(tool: str, arguments: dict[str, str]) -> None:
    policy = _policy(READER)
    request, facts = replace(call(tool), arguments=arguments), Facts((UseTool(tool, "discover"),))
    state = policy.attempt(begin(policy, START), [(request, facts)])
    assert code(policy, state, "Bash") == "skill.not-allowed"
    assert policy.evaluate(request, facts, state).outcome is Outcome.ALLOW
    state = begin(policy, policy.complete(state, request, facts))
    assert left(policy, state, TOOLS) == {"Read", "Grep"} | SAFE


@pytest.mark.parametrize(
    ("tool", "argument"), [("Skill", "nothing"), ("Skill", 7), ("Skill", " "), ("describe_skill", "reader")]
)
def test_what_names_no_skill_or_only_describes_it_is_no_load(tool: str, argument: object) -> None:
    policy = _policy(READER)
    assert policy.attempt(START, [(call(tool, skill=argument), Facts())]) is START


@pytest.mark.parametrize(
    "effect",
    [
        FileRead(path_of("reader"), unknown=True),
        FileRead(path_of("reader"), glob=True),
        FileRead(path_of("reader"), where=Where.REMOTE),
        FileRead("/skills/reader/other.md"),
    ],
)
def test_what_is_no_read_of_the_file_is_no_load(effect: FileRead) -> None:
    policy = _policy(READER)
    assert policy.attempt(START, [(call("Read"), Facts((effect,)))]) is START


# ---------------------------------------------------------------------------------------------------------- authorising
@pytest.mark.parametrize("change", [{"enabled": False}, {"refused": "no front matter", "allowed": ()}])
def test_what_is_withdrawn_counts_at_once(change: dict[str, object]) -> None:
    policy = _policy(READER)
    state = load(policy, START, "reader")
    _shelf(policy).change("reader", **change)
    assert code(policy, state, "Read") == "skill.none-authorised"
    assert left(policy, state, TOOLS) == SAFE


def test_a_skill_outside_the_allowlist_of_the_agent_is_not_authorised() -> None:
    policy = SkillPolicy(registry=Shelf(READER, SHELL, agents={"a": {SHELL.path}, "b": set()}))
    state = load(policy, START, "reader")
    assert left(policy, state, TOOLS, who=Principal(agent="c")) == {"Read", "Grep"} | SAFE
    assert left(policy, state, TOOLS, who=Principal(agent="a")) == SAFE
    assert left(policy, state, TOOLS, who=Principal(agent="b")) == SAFE


def test_a_skill_of_the_same_name_elsewhere_is_another_skill() -> None:
    other = skill("custom", "Bash", name="reader")
    policy = SkillPolicy(registry=Shelf(READER, other, agents={"a": {READER.path}}))
    state = load(policy, START, "custom")
    assert left(policy, state, TOOLS, who=Principal(agent="a")) == SAFE
    state = load(policy, load(policy, START, "reader"), "custom")
    assert left(policy, state, TOOLS, who=Principal(agent="a")) == {"Read", "Grep"} | SAFE


def test_stale_skills_are_skipped_only_beside_one_that_is_left() -> None:
    policy = _policy(READER, SHELL)
    state = load(policy, START, "reader", "shell")
    _shelf(policy).remove("reader")
    assert left(policy, state, TOOLS) == {"Bash"} | SAFE
    _shelf(policy).remove("shell")
    assert left(policy, state, TOOLS) == SAFE


def test_a_restriction_does_not_end_with_its_skill_where_only_silent_ones_are_left() -> None:
    policy = _policy(READER, LEGACY)
    state = load(policy, START, "reader", "legacy")
    _shelf(policy).remove("reader")
    assert left(policy, state, TOOLS) == SAFE


def test_in_an_intersection_a_skill_that_is_gone_still_takes_away() -> None:
    policy = _policy(READER, WRITER, mode=Mode.INTERSECTION)
    state = load(policy, START, "reader", "writer")
    _shelf(policy).remove("reader")
    assert left(policy, state, TOOLS) == {"Read"} | SAFE


def test_a_load_stands_in_for_no_other_skill_in_its_own_reply() -> None:
    policy = _policy(LEGACY, silent("second"), SHELL)
    state = load(policy, START, "legacy")
    _shelf(policy).remove("legacy")
    for name in ("second", "shell"):
        during = attempt(policy, state, name)
        assert left(policy, during, TOOLS) == SAFE
        assert left(policy, begin(policy, during), TOOLS) == SAFE  # it did not end well
    assert left(policy, load(policy, state, "shell"), TOOLS) == {"Bash"} | SAFE


def test_a_silent_skill_whose_load_ends_brings_no_other_back_whose_load_did_not() -> None:
    policy = _policy(LEGACY, SHELL, skill("off", "Read", enabled=False))
    state = attempt(policy, begin(policy, START), "legacy", "shell")
    assert left(policy, state, TOOLS) == {"Bash"} | SAFE
    state = attempt(policy, complete(policy, state, "legacy"), "off")
    assert left(policy, state, TOOLS) == SAFE
    state = begin(policy, state)
    assert left(policy, state, TOOLS) == SAFE
    assert left(policy, begin(policy, complete(policy, state, "shell")), TOOLS) == {"Bash"} | SAFE


def test_an_edit_does_not_take_over_what_a_withdrawn_skill_left() -> None:
    policy = _policy(READER, SHELL, skill("local", "Read", widens=False))
    state = load(policy, START, "local", "reader", "shell")
    _shelf(policy).change("shell", enabled=False)
    for name in ("reader", "local"):
        _shelf(policy).change(name, digest="2", allowed=("Read", "Bash"))
    during = attempt(policy, state, "reader")
    assert left(policy, during, TOOLS) == {"Read"} | SAFE
    assert left(policy, load(policy, state, "local"), TOOLS) == {"Read"} | SAFE


def test_a_registry_that_fails_leaves_only_what_is_safe_and_comes_back() -> None:
    policy = _policy(READER)
    state = load(policy, START, "reader")
    _shelf(policy).fails = True
    assert code(policy, state, "Read") == "skill.registry-failed"
    assert left(policy, state, TOOLS) == SAFE
    assert left(policy, START, TOOLS) == set(TOOLS)  # nothing is active
    _shelf(policy).fails = False
    assert left(policy, state, TOOLS) == {"Read", "Grep"} | SAFE


def test_a_registry_that_gives_rubbish_has_failed() -> None:
    policy = _policy(READER)
    state = load(policy, START, "reader")
    _shelf(policy).skills[READER.path] = "READER"  # type: ignore[assignment]
    assert code(policy, state, "Read") == "skill.registry-failed"


def test_a_load_while_the_registry_fails_is_not_forgotten() -> None:
    policy = _policy(READER, SHELL)
    state = begin(policy, START)
    _shelf(policy).fails = True
    state = attempt(policy, state, "reader")
    assert left(policy, state, TOOLS) == SAFE
    _shelf(policy).fails = False
    assert left(policy, begin(policy, state), TOOLS) == {"Read", "Grep"} | SAFE
    _shelf(policy).fails = True
    state = attempt(policy, begin(policy, state), "shell")
    _shelf(policy).fails = False
    assert left(policy, begin(policy, begin(policy, state)), TOOLS) == {"Read", "Grep"} | SAFE


# -------------------------------------------------------------------------------------------------------------- editing
def test_an_edited_skill_is_read_anew_and_never_leaves_more_than_when_it_was_loaded() -> None:
    policy = _policy(READER)
    state = load(policy, START, "reader")
    _shelf(policy).change("reader", digest="2", allowed=("Read", "Bash"))
    assert left(policy, state, TOOLS) == {"Read"} | SAFE
    _shelf(policy).change("reader", digest="3", allowed=None)
    assert left(policy, state, TOOLS) == {"Read", "Grep"} | SAFE
    _shelf(policy).change("reader", digest="4", allowed=())
    assert left(policy, state, TOOLS) == SAFE


def test_an_edited_skill_counts_once_it_was_loaded_again() -> None:
    policy = _policy(READER)
    state = load(policy, START, "reader")
    _shelf(policy).change("reader", digest="2", allowed=("Read", "Bash"))
    during = complete(policy, attempt(policy, state, "reader"), "reader")
    assert left(policy, during, TOOLS) == {"Read"} | SAFE
    assert left(policy, begin(policy, during), TOOLS) == {"Read", "Bash"} | SAFE


def test_a_skill_that_is_edited_while_it_is_loaded_does_not_count() -> None:
    policy = _policy(READER, SHELL)
    state = attempt(policy, load(policy, START, "reader"), "shell")
    _shelf(policy).change("shell", digest="2", allowed=("Bash", "Write"))
    assert left(policy, begin(policy, complete(policy, state, "shell")), TOOLS) == {"Read", "Grep"} | SAFE
    state = complete(policy, attempt(policy, state, "shell"), "shell")
    _shelf(policy).change("shell", digest="3")
    assert left(policy, begin(policy, state), TOOLS) == {"Read", "Grep"} | SAFE


def test_a_silent_skill_that_declares_something_now_restricts() -> None:
    policy = _policy(LEGACY)
    state = load(policy, START, "legacy")
    _shelf(policy).change("legacy", digest="2", allowed=("Bash",))
    assert left(policy, state, TOOLS) == {"Bash"} | SAFE


@pytest.mark.parametrize("mode", Mode)
def test_skills_of_the_project_and_of_the_run_itself_only_restrict(mode: Mode) -> None:
    policy = _policy(READER, skill("local", "Bash", "Read", widens=False), SHELL, mode=mode)
    state = load(policy, load(policy, START, "reader"), "local")
    assert left(policy, state, TOOLS) <= {"Read", "Grep"} | SAFE
    alone = load(policy, START, "local")
    assert left(policy, alone, TOOLS) == {"Read", "Bash"} | SAFE
    own = remember(load(policy, START, "reader"), [WrittenFile(SHELL.path, None)], sure=True)
    assert left(policy, load(policy, own, "shell"), TOOLS) <= {"Read", "Grep"} | SAFE


# -------------------------------------------------------------------------------------------------- losing and evicting
def test_skills_beyond_the_bound_take_no_restriction_away() -> None:
    many = [silent(f"s{number}") for number in range(MAX_SKILLS)]
    policy = _policy(READER, SHELL, *many)
    state = load(policy, START, "reader")
    for one in many:
        state = load(policy, state, one.name)
    assert len(state.skills.loaded) == MAX_SKILLS
    assert left(policy, load(policy, state, "shell"), TOOLS) == {"Read", "Grep"} | SAFE
    last = load(policy, START, *(one.name for one in many))
    assert left(policy, last, TOOLS) == set(TOOLS)
    assert left(policy, load(policy, last, "reader"), TOOLS) == SAFE  # it found no room, and still restricts


def test_losing_all_skills_leaves_nothing() -> None:
    policy = _policy(READER, LEGACY)
    state = load(policy, START, "reader")
    emptied = replace(state, skills=replace(state.skills, loaded={}))
    assert left(policy, emptied, TOOLS) == SAFE
    assert left(policy, load(policy, emptied, "legacy"), TOOLS) == SAFE


def test_losing_some_skills_leaves_nothing() -> None:
    policy = _policy(READER, SHELL, LEGACY)
    for gone in (READER, SHELL, LEGACY):
        state = load(policy, START, "reader", "shell", "legacy")
        kept = {path: active for path, active in state.skills.loaded.items() if path != gone.path}
        assert left(policy, replace(state, skills=replace(state.skills, loaded=kept)), TOOLS) == SAFE


def test_a_state_that_is_lost_while_replies_are_on_record_leaves_nothing_until_the_user_says_more() -> None:
    policy = _policy(READER, LEGACY)
    state = policy.begin(START, NO_CONTEXT, ANONYMOUS, replies=3)
    assert left(policy, state, TOOLS) == SAFE
    assert policy.evaluate(call("Read"), reads("reader"), state).outcome is Outcome.DENY
    assert left(policy, load(policy, state, "legacy"), TOOLS) == SAFE
    assert left(policy, hear(policy, state, "/reader go"), TOOLS) == {"Read", "Grep"} | SAFE
    known = begin(policy, START)
    assert left(policy, policy.begin(known, NO_CONTEXT, ANONYMOUS, replies=3), TOOLS) == set(TOOLS)


def test_a_stored_run_is_the_run() -> None:
    policy = _policy(READER, SHELL)
    state = complete(policy, attempt(policy, load(policy, START, "reader"), "shell"), "shell")
    assert left(policy, begin(policy, from_json(to_json(state))), TOOLS) == {"Read", "Grep", "Bash"} | SAFE


# ------------------------------------------------------------------------------------------------------ the host's word
def test_skills_that_the_host_names_are_active() -> None:
    policy = _policy(READER, SHELL)
    context = Context(active_skills=(READER.path,))
    assert left(policy, START, TOOLS, context=context) == {"Read", "Grep"} | SAFE
    both = Context(active_skills=(READER.path, SHELL.path))
    assert left(policy, START, TOOLS, context=both) == {"Read", "Grep", "Bash"} | SAFE
    gone = Context(active_skills=("/skills/nothing/SKILL.md",))
    assert left(policy, START, TOOLS, context=gone) == SAFE


def test_an_empty_context_takes_no_restriction_away() -> None:
    policy = _policy(READER)
    state = policy.begin(START, Context(active_skills=(READER.path,)), ANONYMOUS)
    for later in (state, begin(policy, state), policy.begin(state, Context(), ANONYMOUS)):
        assert left(policy, later, TOOLS, context=Context()) == {"Read", "Grep"} | SAFE


def test_a_context_adds_nothing_to_what_a_run_has_loaded_in_the_same_reply() -> None:
    policy = _policy(READER, SHELL)
    state = load(policy, START, "reader")
    context = Context(active_skills=(SHELL.path,))
    assert left(policy, state, TOOLS, context=context) == {"Read", "Grep"} | SAFE


def test_a_load_adds_nothing_to_what_only_the_host_named() -> None:
    policy = _policy(READER, SHELL)
    begun = policy.begin(START, Context(active_skills=(READER.path,)), ANONYMOUS)
    for state in (begun, replace(START, skills=vouched(NO_SKILLS, [READER.path]))):
        assert left(policy, attempt(policy, state, "shell"), TOOLS) == {"Read", "Grep"} | SAFE


def test_in_an_intersection_a_skill_that_the_host_names_and_nobody_may_use_leaves_nothing() -> None:
    policy = _policy(LEGACY, mode=Mode.INTERSECTION)
    state = replace(START, skills=vouched(NO_SKILLS, ["/skills/nothing/SKILL.md", LEGACY.path]))
    assert left(policy, state, TOOLS) == SAFE
    assert left(policy, begin(policy, state), TOOLS) == SAFE
    assert left(_policy(LEGACY), state, TOOLS) == set(TOOLS)


# ---------------------------------------------------------------------------------------------------------------- slash
def test_a_slash_command_is_authoritative() -> None:
    policy = _policy(READER, SHELL, LEGACY)
    state = hear(policy, load(policy, START, "shell"), "/reader what is here?")
    assert left(policy, state, TOOLS) == {"Read", "Grep"} | SAFE
    assert policy.claims(call("Read"), state, TOOLS).source is Source.SLASH
    state = load(policy, state, "shell")
    assert left(policy, state, TOOLS) == {"Read", "Grep"} | SAFE
    assert left(policy, hear(policy, state, "/legacy x", id="m2", run="r2"), TOOLS) == set(TOOLS)


def test_a_message_that_nobody_sent_activates_nothing() -> None:
    policy = _policy(READER)
    heard = policy.hear(START, UserMessage(id="m", text="/reader", genuine=False), NO_CONTEXT, ANONYMOUS)
    assert heard.skills.is_passive
    assert policy.hear(START, None, NO_CONTEXT, ANONYMOUS).skills.is_passive


def test_a_slash_command_holds_for_its_run() -> None:
    policy = _policy(READER, SHELL)
    state = hear(policy, load(policy, START, "shell"), "/reader x")
    assert left(policy, hear(policy, state, "go on", id="m2"), TOOLS) == {"Read", "Grep"} | SAFE
    assert left(policy, hear(policy, state, "/reader x", run="r2"), TOOLS) == {"Read", "Grep"} | SAFE  # resumed
    assert left(policy, hear(policy, state, "go on", run="r2", id="m2"), TOOLS) == {"Bash"} | SAFE
    assert left(policy, hear(policy, state, "/shell", id="m2"), TOOLS) == {"Bash"} | SAFE
    unnamed = hear(policy, START, "/reader x", run="")
    assert left(policy, hear(policy, unnamed, "go on", run="", id="m2"), TOOLS) == set(TOOLS)


def test_an_edit_does_not_widen_what_the_user_started_also_where_the_run_is_resumed() -> None:
    policy = _policy(READER)
    state = hear(policy, START, "/reader x")
    _shelf(policy).change("reader", digest="2", allowed=("Read", "Bash"))
    for later in (state, hear(policy, state, "/reader x"), hear(policy, state, "/reader x", run="r2")):
        assert left(policy, later, TOOLS) == {"Read"} | SAFE
    _shelf(policy).remove("reader")
    assert left(policy, state, TOOLS) == SAFE


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (None, "skill.not-installed"),
        ({"enabled": False}, "skill.disabled"),
        ({"refused": "no front matter"}, "skill.unreadable"),
        ({"path": "/elsewhere/SKILL.md"}, "skill.not-for-agent"),
    ],
)
def test_a_slash_command_that_cannot_be_followed_says_why_and_leaves_nothing(
    change: dict[str, object] | None, problem: str
) -> None:
    policy = SkillPolicy(registry=Shelf(READER, agents={"": {READER.path}}))
    if change is None:
        _shelf(policy).remove("reader")
    else:
        _shelf(policy).change("reader", **change)
    message = UserMessage(id="m", text="/reader x", genuine=True)
    heard = policy.hear(START, message, NO_CONTEXT, ANONYMOUS)
    assert heard.problem is not None
    assert (heard.problem.code, heard.skill) == (problem, None)
    assert left(policy, replace(START, skills=heard.skills), TOOLS) == SAFE


def test_a_slash_command_while_the_registry_fails_leaves_nothing() -> None:
    policy = _policy(READER)
    _shelf(policy).fails = True
    heard = policy.hear(START, UserMessage(id="m", text="/reader", genuine=True), NO_CONTEXT, ANONYMOUS)
    assert heard.problem is not None
    assert heard.problem.code == "skill.registry-failed"
    _shelf(policy).fails = False
    assert left(policy, replace(START, skills=heard.skills), TOOLS) == SAFE


def test_what_was_loaded_in_another_run_is_authorised_anew() -> None:
    policy = SkillPolicy(registry=Shelf(READER, SHELL, agents={"strict": {SHELL.path}}))
    state = hear(policy, load(policy, START, "reader", "shell"), "and now?", run="r2", id="m2")
    assert left(policy, state, TOOLS) == {"Read", "Grep", "Bash"} | SAFE
    assert left(policy, state, TOOLS, who=Principal(agent="strict")) == {"Bash"} | SAFE


# --------------------------------------------------------------------------------------------------------------- scopes
def _covers_git(clause: Clause, request: Request, facts: Facts) -> bool:
    wanted = {pattern.specifier for pattern in clause}
    return "git:*" in wanted and all(isinstance(one, Execute) and one.program == "git" for one in facts.effects)


def test_an_entry_with_a_specifier_binds_the_arguments() -> None:
    policy = _policy(skill("git", "Bash(git:*)", "Read"), reading=Reading(_covers_git))
    state = load(policy, START, "git")
    assert code(policy, state, "Bash", Execute("git")) == "allow"
    assert code(policy, state, "Bash", Execute("git"), Execute("rm")) == "skill.not-covered"
    assert code(policy, state, "Bash") == "skill.not-covered"  # nothing is known of what it does
    assert code(policy, state, "Write", Execute("git")) == "skill.not-allowed"
    bound = policy.evaluate(replace(call("Bash"), arguments=None), Facts(), state)
    assert bound.outcome is Outcome.ALLOW


def test_an_entry_with_a_specifier_is_never_the_bare_tool() -> None:
    policy = _policy(skill("git", "Bash(git:*)"))
    assert code(policy, load(policy, START, "git"), "Bash", Execute("git")) == "skill.not-covered"


def test_a_tool_may_be_known_under_other_names_where_it_is_described_so() -> None:
    def naming(tool: str) -> str:
        return {"bash": "Bash", "sh": "Bash"}.get(tool, tool)

    policy = _policy(skill("a", "Bash", "mine"), reading=Reading(naming=naming))
    assert left(policy, load(policy, START, "a"), ("Bash", "bash", "sh", "mine", "Mine")) == {
        "Bash",
        "bash",
        "sh",
        "mine",
    }


# ----------------------------------------------------------------------------------------------------------- sub-agents
def test_what_binds_a_run_binds_those_of_its_sub_agents() -> None:
    policy = _policy(READER, SHELL, WRITER)
    parent = load(policy, START, "reader")
    child = replace(START, skills=policy.delegate(parent, Principal(agent="lead")))
    assert left(policy, child, TOOLS) == {"Read", "Grep"} | SAFE
    assert left(policy, load(policy, child, "shell"), TOOLS) == SAFE
    assert left(policy, load(policy, child, "writer"), TOOLS) == {"Read"} | SAFE
    assert left(policy, hear(policy, child, "/shell"), TOOLS) == SAFE
    _shelf(policy).change("reader", enabled=False)
    assert left(policy, child, TOOLS) == SAFE


def test_a_slash_command_binds_sub_agents() -> None:
    policy = _policy(READER, SHELL)
    child = replace(START, skills=policy.delegate(hear(policy, START, "/reader"), ANONYMOUS))
    assert left(policy, child, TOOLS) == {"Read", "Grep"} | SAFE
    assert policy.claims(call("Read"), child, TOOLS).names == frozenset({"Read", "Grep"} | SAFE)


def test_an_outer_run_is_judged_by_the_allowlist_of_its_own_agent() -> None:
    policy = SkillPolicy(registry=Shelf(READER, agents={"child": set()}))
    child = replace(START, skills=policy.delegate(load(policy, START, "reader"), Principal(agent="lead")))
    assert left(policy, child, TOOLS, who=Principal(agent="child")) == {"Read", "Grep"} | SAFE


def test_runs_that_lie_too_deep_have_nothing_left() -> None:
    policy = _policy(READER)
    state = START
    for _ in range(MAX_OUTER):
        state = replace(START, skills=policy.delegate(state, ANONYMOUS))
    assert left(policy, state, TOOLS) == set(TOOLS)
    assert left(policy, replace(START, skills=policy.delegate(state, ANONYMOUS)), TOOLS) == SAFE
    assert from_json(to_json(state)) == state


# ----------------------------------------------------------------------------------------------------------- catalogues
def test_a_catalogue_is_bounded_as_its_tools_are() -> None:
    policy = _policy(READER, skill("git", "Bash(git:*)"))
    for state in (START, load(policy, START, "reader"), load(policy, START, "git"), hear(policy, START, "/none")):
        request = replace(call(""), arguments=None)
        bounds = policy.bounds(request, TOOLS, state)
        one_by_one = [
            policy.evaluate(replace(request, resource=Resource(ResourceKind.TOOL, name)), Facts(), state)
            for name in TOOLS
        ]
        assert bounds == one_by_one
        assert len({id(bound) for bound in bounds}) <= 2


def test_other_resources_are_others_to_judge() -> None:
    policy = _policy(EMPTY)
    state = load(policy, START, "empty")
    for kind in (ResourceKind.MODEL, ResourceKind.ROUTE, ResourceKind.SANDBOX, ResourceKind.MCP_SERVER):
        request = replace(call("Read"), resource=Resource(kind, "x"))
        assert policy.evaluate(request, Facts(), state).outcome is Outcome.ALLOW
        assert [one.outcome for one in policy.bounds(replace(request, arguments=None), ("x",), state)] == [
            Outcome.ALLOW
        ]


def test_a_skill_as_a_resource_is_judged_by_whether_it_may_be_active() -> None:
    policy = SkillPolicy(registry=Shelf(READER, SHELL, agents={"a": {READER.path}}))

    def answer(path: str) -> str:
        resource = Resource(ResourceKind.SKILL, path)
        request = replace(call("x", who=Principal(agent="a")), resource=resource)
        verdict = policy.evaluate(request, Facts(), START)
        return verdict.findings[0].code if verdict.findings else verdict.outcome.word

    assert answer(READER.path) == "allow"
    assert answer(SHELL.path) == "skill.not-for-agent"
    assert answer("/x") == "skill.not-installed"
    _shelf(policy).fails = True
    assert answer(READER.path) == "skill.registry-failed"


# -------------------------------------------------------------------------------------------------------------- signing
def test_a_token_carries_what_is_active_and_what_is_left() -> None:
    policy = _policy(READER, SHELL)
    assert policy.claims(call("Read"), START, TOOLS).names is None
    claims = policy.claims(call("Read"), load(policy, START, "reader"), TOOLS)
    assert (claims.source, claims.names) == (Source.SKILL_CONTEXT, frozenset({"Read", "Grep"} | SAFE))
    assert [(one.id, one.digest) for one in claims.skills] == [(READER.path, READER.digest)]


def test_verdicts_explain_themselves() -> None:
    policy = _policy(READER)
    verdict = policy.evaluate(call("Bash"), Facts(), load(policy, START, "reader"))
    assert combine([verdict]).findings == verdict.findings
    assert verdict.findings[0].instead
    assert NO_SKILLS.is_passive
