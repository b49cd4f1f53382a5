"""Registries in memory, and calls, for the tests of the skill policy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from policyengine.effects import Effect, Facts, FileRead
from policyengine.model import ANONYMOUS, Context, Principal, Request, Resource, ResourceKind
from policyengine.policies.skill import Skill, SkillPolicy, UserMessage
from policyengine.records import replace
from policyengine.state import RunState

NO_CONTEXT = Context(run_id="r1")


def path_of(name: str) -> str:
    return f"/skills/{name}/SKILL.md"


def skill(name: str, /, *allowed: str, **more: Any) -> Skill:
    """A skill that declares these tools."""
    known: dict[str, Any] = {"path": path_of(name), "name": name, "digest": f"{name}-1", "allowed": allowed}
    return Skill(**(known | more))


def silent(name: str, /, **more: Any) -> Skill:
    """A skill that declares nothing."""
    return skill(name, **({"allowed": None} | more))


class Shelf:
    """A registry whose skills a test may change."""

    def __init__(self, *skills: Skill, agents: dict[str, set[str]] | None = None) -> None:
        self.skills = {one.path: one for one in skills}
        self.agents = agents or {}
        self.fails = False
        self.asked = 0

    def find(self, path: str) -> Skill | None:
        self._ask()
        return self.skills.get(path)

    def named(self, name: str) -> Skill | None:
        self._ask()
        return next((one for one in self.skills.values() if one.name == name), None)

    def permits(self, skill: Skill, agent: str) -> bool:
        self._ask()
        return agent not in self.agents or skill.path in self.agents[agent]

    def change(self, name: str, **changes: Any) -> None:
        """Change a skill, as an editor or administrator does."""
        self.skills[path_of(name)] = replace(self.skills[path_of(name)], **changes)

    def remove(self, name: str) -> None:
        del self.skills[path_of(name)]

    def _ask(self) -> None:
        self.asked += 1
        if self.fails:
            raise OSError("the disk is gone")


def call(tool: str, *, context: Context = NO_CONTEXT, who: Principal = ANONYMOUS, **arguments: Any) -> Request:
    resource = Resource(ResourceKind.TOOL, tool)
    return Request(principal=who, action="invoke", resource=resource, arguments=arguments, context=context)


def reads(*names: str) -> Facts:
    """What a call does that reads the files of skills."""
    return Facts(tuple(FileRead(path_of(name)) for name in names))


def code(policy: SkillPolicy, state: RunState, tool: str, *effects: Effect, **more: Any) -> str:
    """The code of the answer, or `allow`."""
    verdict = policy.evaluate(call(tool, **more), Facts(effects), state)
    return verdict.findings[0].code if verdict.findings else verdict.outcome.word


def left(policy: SkillPolicy, state: RunState, tools: Iterable[str], **more: Any) -> set[str]:
    """The tools that may execute."""
    return {tool for tool in tools if code(policy, state, tool, **more) == "allow"}


def begin(policy: SkillPolicy, state: RunState, context: Context = NO_CONTEXT, who: Principal = ANONYMOUS) -> RunState:
    return policy.begin(state, context, who)


def attempt(policy: SkillPolicy, state: RunState, *names: str) -> RunState:
    """Begin to load skills, each by a call of its own."""
    return policy.attempt(state, [(call("Read"), reads(name)) for name in names])


def complete(policy: SkillPolicy, state: RunState, *names: str) -> RunState:
    for name in names:
        state = policy.complete(state, call("Read"), reads(name))
    return state


def load(policy: SkillPolicy, state: RunState, *names: str) -> RunState:
    """Load skills in a reply of their own, and begin the next one."""
    state = begin(policy, state)
    return begin(policy, complete(policy, attempt(policy, state, *names), *names))


def hear(policy: SkillPolicy, state: RunState, text: str, *, run: str = "r1", id: str = "m1", **more: Any) -> RunState:
    message = UserMessage(id=id, text=text, genuine=True)
    heard = policy.hear(state, message, Context(run_id=run), more.get("who", ANONYMOUS))
    return replace(state, skills=heard.skills)
