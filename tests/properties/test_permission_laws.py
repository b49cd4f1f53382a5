"""The laws of permission rules, whatever the rules and the calls are."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from policyengine.config import Ready
from policyengine.model import Outcome, Request, Tier
from policyengine.policy import placeless
from policyengine.records import replace
from policyengine.state import START
from tests.policies.permissions.worlds import asking, decide, permissions, request, workstation
from tests.policies.permissions.worlds import settings as file_of

Lists: TypeAlias = dict[str, list[str]]
World: TypeAlias = Callable[[], Ready]

RULES = st.sampled_from([
    "Bash", "Bash(git:*)", "Bash(git push:*)", "Bash(git diff *)", "Bash(ls)", "Bash(rm:*)", "Bash(rm -rf *)",
    "Bash(cat *)", "Bash(* --force)", "Bash(echo:*)", "Bash(sudo ls:*)", "Bash(curl:*)", "Bash(npx a *)", "Bash(sh:*)",
    "Bash(git push origin main)", "Read", "Read(.env)", "Read(./src/**)", "Read(//etc/**)", "Edit", "Edit(./out/**)",
    "Write(a)", "WebFetch", "WebFetch(domain:x.test)", "WebFetch(domain:*.x.test)", "mcp__a", "mcp__a__b", "Task(x)",
])  # fmt: skip
PIECES = st.sampled_from([
    "git push", "git push origin main", "git push --force", "git diff HEAD", "git -C x push", "ls", "ls -l", "rm a",
    "rm -rf a", "cat .env", "cat src/a", "cat /etc/hosts", 'cat "$x"', "echo a", "echo a > out/b", "echo a > a",
    "sudo ls /x", "curl https://x.test/a", "curl https://a.x.test", "npx a b", "sh -c 'git push'", "sed -i s/a/b/ a",
    "frob --force", "$x y", "python3 -c 'print(1)'", "X=1 git push", "timeout 5 git push",
])  # fmt: skip
JOINTS = st.sampled_from([" ; ", " && ", " | ", " || ", "\n", " & "])
COMMANDS = st.builds(
    lambda first, rest: first + "".join(joint + piece for joint, piece in rest),
    PIECES,
    st.lists(st.tuples(JOINTS, PIECES), max_size=2),
)
CALLS = st.one_of(
    COMMANDS.map(request),
    st.builds(
        lambda tool, path: request(tool=tool, arguments={"file_path": path}),
        st.just("Read"),
        st.sampled_from(["/workspace/.env", "/workspace/src/a", "/etc/a", "a"]),
    ),
    st.sampled_from(["mcp__a__b", "mcp__a__c", "mcp__b__b"]).map(lambda tool: request(tool=tool, arguments={"x": 1})),
    st.just(request(tool="WebFetch", arguments={"url": "https://x.test/", "prompt": ""})),
    st.just(request(tool="Task", arguments={"subagent_type": "x", "prompt": ""})),
)
LISTS = st.fixed_dictionaries({
    "allow": st.lists(RULES, max_size=4), "ask": st.lists(RULES, max_size=1), "deny": st.lists(RULES, max_size=1),
})  # fmt: skip
WORLDS = st.sampled_from([asking, workstation])
PROJECT = "/workspace/.claude/settings.json"


@settings(max_examples=60)
@given(CALLS, LISTS, LISTS, WORLDS)
def test_the_project_tier_never_loosens(call: Request, own: Lists, projects: Lists, world: World) -> None:
    """With a project's rules the answer is at least as strict as without."""
    files = [file_of(own)]
    before = decide(call, files, world()).outcome
    after = decide(call, [*files, file_of(projects, Tier.PROJECT, PROJECT)], world()).outcome
    assert after >= before


@settings(max_examples=60)
@given(CALLS, LISTS, WORLDS)
def test_a_grant_lowers_only_the_asks_that_it_names(call: Request, lists: Lists, world: World) -> None:
    """What turns an ask into an allow names every ask by its rule and its effect, and only such that were found."""
    decision = decide(call, [file_of(lists)], world())
    asks = [one for one in decision.findings if one.outcome is Outcome.ASK and not one.shadow]
    if not decision.grants:
        assert decision.outcome is max((one.outcome for one in decision.findings), default=Outcome.ALLOW)
        return
    assert max(one.outcome for one in decision.findings) is Outcome.ASK
    for ask in asks:
        assert ask.effect is not None
        assert not ask.rule.startswith("permission.")
        assert any(
            ask.rule in grant.rules and placeless(ask.effect) in (grant.effects or ()) for grant in decision.grants
        )
    named = {(one.rule, placeless(one.effect)) for one in asks if one.effect is not None}
    assert all({rule for rule, _ in named} >= grant.rules for grant in decision.grants)
    assert all({effect for _, effect in named} >= (grant.effects or frozenset()) for grant in decision.grants)


@settings(max_examples=40)
@given(CALLS, LISTS, st.lists(RULES, max_size=2), st.sampled_from(["ask", "deny"]), WORLDS)
def test_more_deny_and_ask_rules_never_loosen(
    call: Request,
    lists: Lists,
    more: list[str],
    kind: str,
    world: World,
) -> None:
    """A deny or ask rule more gives an answer at least as strict."""
    stricter = {**lists, kind: [*lists[kind], *more]}
    assert decide(call, [file_of(stricter)], world()).outcome >= decide(call, [file_of(lists)], world()).outcome


@settings(max_examples=40)
@given(CALLS, LISTS, WORLDS, st.randoms(use_true_random=False))
def test_the_order_of_rules_and_files_plays_no_part(call: Request, lists: Lists, world: World, random: Random) -> None:
    """Rules in another order, and in files of their own, give the same answer."""
    singles = [file_of({key: [rule]}) for key, rules in lists.items() for rule in rules]
    random.shuffle(singles)
    assert decide(call, singles, world()).outcome is decide(call, [file_of(lists)], world()).outcome


@settings(max_examples=40)
@given(PIECES, st.lists(RULES, max_size=3), PIECES, JOINTS)
def test_another_command_on_the_line_never_loosens(piece: str, allow: list[str], other: str, joint: str) -> None:
    """A line is allowed only if each of its commands is by itself."""
    files = [file_of({"allow": allow})]
    whole = decide(request(piece + joint + other), files, asking()).outcome
    assert whole >= decide(request(piece), files, asking()).outcome


@settings(max_examples=30)
@given(CALLS, LISTS)
def test_the_bound_over_all_arguments_is_below_every_answer_before_grants(call: Request, lists: Lists) -> None:
    """A tool that rules hide is one whose every call they deny."""
    policy = permissions(workstation(), file_of(lists))
    engine = workstation().engine(policy)
    bound = engine.evaluate_tool(replace(call, arguments=None)).outcome
    assert bound <= engine.decide(call, START)[0].outcome
