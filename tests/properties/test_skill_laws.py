"""The widening law: what skills leave to a run grows only by the user and by loads that ended in an earlier reply."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyengine.model import Context, Principal
from policyengine.policies.permissions.syntax import names_tool
from policyengine.policies.skill import Mode, Skill, SkillPolicy
from policyengine.policies.skill.entries import clause_of, narrowed
from policyengine.records import replace
from policyengine.state import START, Entries, RunState, from_json, promote, to_json, vouched
from policyengine.state.skills import MAX_SKILLS
from tests.policies.skill.worlds import Shelf, attempt, complete, hear, left, path_of, skill

TOOLS = ("a", "b", "c", "mcp__s__x", "mcp__s__y", "tool_search")
ENTRIES = ("a", "b", "c", "mcp__s", "mcp__s__*", "mcp__s__x", "a(1)", "b(2)")
NAMES = ("p", "q", "r", "s", "t")
WHO = Principal(agent="w")
Event: TypeAlias = "tuple[str, tuple[str, ...]]"

_allowed = st.none() | st.lists(st.sampled_from(ENTRIES), max_size=3, unique=True).map(tuple)
_skill = st.builds(
    lambda name, allowed, enabled, widens: skill(name, allowed=allowed, enabled=enabled, widens=widens),
    st.sampled_from(NAMES),
    _allowed,
    st.sampled_from((True, True, True, False)),
    st.sampled_from((True, True, True, False)),
)
_names = st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(tuple)
_SAME_REGISTRY = ("begin", "begin", "attempt", "attempt", "complete", "complete", "vouch", "store", "evict", "promote")
_USER = ("say", "slash")
_REGISTRY = ("edit", "disable", "enable", "remove", "restore", "fail", "recover")


def _events(*kinds: str) -> st.SearchStrategy[list[Event]]:
    return st.lists(st.tuples(st.sampled_from(kinds), _names), max_size=14)


def _admitted(entries: Entries) -> set[str]:
    """The tools that entries name; all of them where nothing is restricted."""
    if entries is None:
        return set(TOOLS)
    patterns = [pattern for pattern in clause_of(entries) if pattern.specifier is None]
    return {tool for tool in TOOLS if any(names_tool(pattern, tool) for pattern in patterns)} | {"tool_search"}


class _World:
    """A run, its registry, and what the test itself keeps count of: which loads have ended well."""

    def __init__(self, skills: Iterable[Skill], mode: Mode) -> None:
        self.shelf = Shelf(*skills)
        self.policy = SkillPolicy(registry=self.shelf, mode=mode)
        self.state = START
        self.begun: dict[str, str] = {}  # skill → the digest that its load began with
        self.ended: dict[str, str] = {}  # skill → the digest that its load ended with, since the last reply began
        self.messages = 0
        self.taken: dict[str, Skill] = {}

    @property
    def left(self) -> set[str]:
        return left(self.policy, self.state, TOOLS, who=WHO)

    def happen(self, event: Event) -> None:
        kind, names = event
        getattr(self, f"_{kind}")(tuple(name for name in names if path_of(name) in self.shelf.skills) or names)

    def may_add(self, *, silent: bool = True) -> set[str]:
        """What the loads that have ended may add when the next reply begins, those `silent` about tools too."""
        added: set[str] = set()
        for name, digest in self.ended.items():
            skill = self.shelf.skills.get(path_of(name))
            if skill is not None and digest in ("", skill.digest) and (silent or skill.allowed is not None):
                added |= _admitted(skill.allowed)
        return added

    def _begin(self, names: tuple[str, ...]) -> None:
        self.state = self.policy.begin(self.state, Context(run_id="r"), WHO)

    def _vouch(self, names: tuple[str, ...]) -> None:
        self.ended |= {name: "" for name in names if path_of(name) not in self.state.skills.loaded}
        self.state = replace(self.state, skills=vouched(self.state.skills, map(path_of, names)))

    def _attempt(self, names: tuple[str, ...]) -> None:
        self.state = attempt(self.policy, self.state, *names)
        self.begun |= {name: self._digest(name) for name in names}

    def _complete(self, names: tuple[str, ...]) -> None:
        self.state = complete(self.policy, self.state, *names)
        for name in names:
            if self.begun.get(name) == self._digest(name) != "":
                self.ended[name] = self.begun[name]

    def _digest(self, name: str) -> str:
        skill = self.shelf.skills.get(path_of(name))
        return "" if skill is None else skill.digest

    def _store(self, names: tuple[str, ...]) -> None:
        self.state = from_json(to_json(self.state))

    def _evict(self, names: tuple[str, ...]) -> None:
        gone = set(map(path_of, names))
        kept = {path: active for path, active in self.state.skills.loaded.items() if path not in gone}
        self.state = replace(self.state, skills=replace(self.state.skills, loaded=kept))

    def _promote(self, names: tuple[str, ...]) -> None:
        self.state = promote(self.state, self.left)

    def _say(self, names: tuple[str, ...]) -> None:
        self._hear("go on")

    def _slash(self, names: tuple[str, ...]) -> None:
        self._hear(f"/{names[0] if names else 'nothing'} x")

    def _hear(self, text: str) -> None:
        self.messages += 1
        self.state = hear(self.policy, self.state, text, id=f"m{self.messages}", run=f"r{self.messages}", who=WHO)

    def _edit(self, names: tuple[str, ...]) -> None:
        for at, name in enumerate(names):
            if path_of(name) in self.shelf.skills:
                allowed = (None, ("a", "b", "c"), ())[(len(self.begun) + at) % 3]
                self.shelf.change(name, digest=f"{self._digest(name)}+", allowed=allowed)

    def _disable(self, names: tuple[str, ...]) -> None:
        self._change(names, enabled=False)

    def _enable(self, names: tuple[str, ...]) -> None:
        self._change(names, enabled=True)

    def _change(self, names: tuple[str, ...], *, enabled: bool) -> None:
        for name in names:
            if path_of(name) in self.shelf.skills:
                self.shelf.change(name, enabled=enabled)

    def _remove(self, names: tuple[str, ...]) -> None:
        for name in names:
            taken = self.shelf.skills.pop(path_of(name), None)
            if taken is not None:
                self.taken[path_of(name)] = taken

    def _restore(self, names: tuple[str, ...]) -> None:
        self.shelf.skills |= self.taken

    def _fail(self, names: tuple[str, ...]) -> None:
        self.shelf.fails = True

    def _recover(self, names: tuple[str, ...]) -> None:
        self.shelf.fails = False


_worlds = st.lists(_skill, min_size=1, max_size=5, unique_by=lambda one: one.name)


@settings(max_examples=150, deadline=None)
@given(skills=_worlds, events=_events(*_SAME_REGISTRY, *_USER), mode=st.sampled_from(Mode))
def test_what_may_execute_grows_only_by_the_user_and_by_loads_that_ended(
    skills: list[Skill], events: list[Event], mode: Mode
) -> None:
    """Between two messages of the user only the beginning of a reply adds something, and only what such loads allow."""
    world = _World(skills, mode)
    declared = False
    for event in events:
        kind, names = event
        before, slash, may_add = world.left, world.state.skills.slash, world.may_add(silent=not declared)
        world.happen(event)
        declared |= kind == "attempt" and any(one.allowed is not None for one in skills if one.name in names)
        added = world.left - before
        if added and kind not in _USER:
            assert kind in ("begin", "vouch")  # the host's word is about earlier replies
            assert (slash, mode) == (None, Mode.UNION)
            assert added <= (may_add if kind == "begin" else world.may_add(silent=not declared))


@settings(max_examples=150, deadline=None)
@given(skills=_worlds, events=_events(*_SAME_REGISTRY, *_USER, *_REGISTRY), mode=st.sampled_from(Mode))
def test_no_change_of_the_registry_leaves_more_than_was_loaded(
    skills: list[Skill], events: list[Event], mode: Mode
) -> None:
    """The ceiling grows only when a reply begins, by ended loads; what is left lies below it, or below the slash's."""
    world = _World(skills, mode)
    for event in events:
        before, ceiling, may_add = world.left, world.state.skills.ceiling, world.may_add()
        world.happen(event)
        now = world.state.skills
        slash = now.slash
        assert world.left <= _admitted(now.ceiling if slash is None else slash.allowed)
        grown = _admitted(now.ceiling) - _admitted(ceiling)
        assert not grown or (event[0] == "begin" and mode is Mode.UNION and grown <= may_add)
        assert now.ceiling is not None or ceiling is None
        suspects = any(not (active.digest or active.complete) for active in now.loaded.values())
        if (
            event[0] in ("attempt", "complete", "store", "evict", "promote", "disable", "remove", "fail")
            and not suspects
        ):
            assert world.left <= before


@settings(max_examples=100, deadline=None)
@given(skills=_worlds, events=_events(*_SAME_REGISTRY, "slash"), more=_events(*_SAME_REGISTRY, "slash"))
def test_a_sub_agent_is_left_no_more_than_its_parent(
    skills: list[Skill], events: list[Event], more: list[Event]
) -> None:
    """allowed(child) ⊆ allowed(parent), whatever the child loads or is told."""
    world = _World(skills, Mode.UNION)
    for event in events:
        world.happen(event)
    parent = world.left
    world.state = replace(START, skills=world.policy.delegate(world.state, WHO))
    assert world.left == parent
    for event in more:
        world.happen(event)
        assert world.left <= parent


@given(one=_allowed, other=_allowed)
def test_what_two_lists_have_in_common_is_in_both(one: Entries, other: Entries) -> None:
    both = narrowed(one, other)
    assert _admitted(both) <= _admitted(one) & _admitted(other)
    assert narrowed(one, one) == one
    if one is not None and other is not None and both is not None:
        scopes = {entry for entry in both if "(" in entry}
        for entries in (one, other):
            assert scopes <= set(entries) | {entry for entry in scopes if entry[0] in entries}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda state: replace(state, skills=replace(state.skills, ceiling=None, held=0)),  # eviction elsewhere
        lambda state: START,  # an empty context
    ],
)
def test_the_law_bites(wrong: Callable[[RunState], RunState]) -> None:
    """A run that forgets its ceiling with its skills, as bounded contexts elsewhere do, breaks the law."""
    world = _World([skill("p", "a")], Mode.UNION)
    for event in ("begin", "attempt", "complete", "begin", "evict"):
        world.happen((event, ("p",)))
    before = world.left
    emptied = replace(world.state, skills=replace(world.state.skills, loaded={}))
    assert not left(world.policy, wrong(emptied), TOOLS, who=WHO) <= before
    assert MAX_SKILLS > 0
