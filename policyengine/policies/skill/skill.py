"""What active skills allow (`allowed-tools`), as one policy.

Only a skill that was really activated restricts anything: by the user's slash command, which then is the only one that
counts, or by a load of its SKILL.md. Several are united (or intersected): one that declares nothing adds nothing once
another declares something; where none does, nothing is restricted. Where nobody can say what is allowed (the registry
fails, no active skill is authorised), only framework-safe tools are left: they may reveal, never execute. Nothing else
is exempt, tools that start sub-agents least of all.

Codes: `skill.not-allowed`, `skill.not-covered`, `skill.registry-failed`, `skill.none-authorised`, `skill.not-signed`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from policyengine.effects import Cause, Contains, Effect, Facts, FileRead, Opaque, UseTool, Where
from policyengine.errors import UsageError
from policyengine.model import (
    Context,
    Finding,
    Outcome,
    Principal,
    Request,
    Resource,
    ResourceKind,
    Severity,
    Verdict,
    digest_of,
)
from policyengine.policies.skill.activation import (
    Counting,
    Heard,
    Mode,
    attempted,
    begun,
    completed,
    heard,
    inherited,
    lost,
)
from policyengine.policies.skill.claims import SkillClaims
from policyengine.policies.skill.entries import Admission, Reading
from policyengine.policies.skill.registry import Problem, Registry, Skill, problem_of
from policyengine.policies.skill.resolving import NONE_AUTHORISED, REGISTRY_FAILED, Resolved, resolved
from policyengine.policies.skill.slash import UserMessage
from policyengine.records import NamedTuple, Record, replace
from policyengine.state import ActiveSkill, RunState, SkillState, suspected, vouched

NAME = "skill"
FRAMEWORK = frozenset({"tool_search", "describe_skill"})
# Tools that hand work to somebody else: exempting one would let a restricted skill delegate around its policy.
DELEGATING = frozenset({
    "task", "Task", "agent", "Agent", "subagent", "run_subagent", "runSubagent", "spawn_agent", "delegate",
    "delegate_task", "new_task",
})  # fmt: skip
DISCOVERING = "discover"  # the category of tools that find or describe tools and skills
# Tools that load a skill whose name is one of their arguments.
LOADERS = frozenset({"Skill", "skill", "load_skill", "use_skill", "activate_skill", "SlashCommand", "slash_command"})
FILE = "SKILL.md"
ALLOWED = Verdict(policy=NAME, outcome=Outcome.ALLOW)
NO_FACTS = Facts()


def _denial(code: str, message: str, instead: str) -> Verdict:
    finding = Finding(
        rule=code, code=code, message=message, outcome=Outcome.DENY, severity=Severity.MEDIUM, instead=instead
    )
    return Verdict(policy=NAME, outcome=Outcome.DENY, findings=(finding,))


# Verdicts are made once: making one takes longer than deciding, and a catalogue looks at each object once.
_ANOTHER = "Use a tool that the skill names in `allowed-tools`, or ask the user to start another skill."
_DENIALS = {
    Admission.NO: _denial("skill.not-allowed", "The active skills do not allow this tool.", _ANOTHER),
    Admission.UNCOVERED: _denial(
        "skill.not-covered", "The active skills allow this tool only for other arguments.", _ANOTHER
    ),
}
_PROBLEMS = {
    REGISTRY_FAILED: _denial(
        REGISTRY_FAILED,
        "The active skills could not be looked up, so only tools that find or describe others are left.",
        "Try again, or ask the user.",
    ),
    NONE_AUTHORISED: _denial(
        NONE_AUTHORISED,
        "No active skill may be used now, so only tools that find or describe others are left.",
        "Ask the user to start a skill that is installed, enabled and available.",
    ),
}


class Loading(NamedTuple):
    """Skills that a call loads; `alone`: it does nothing else. `suspected`: paths, where the registry fails."""

    skills: tuple[Skill, ...] = ()
    alone: bool = False
    suspected: tuple[str, ...] = ()


class SkillPolicy(Record):
    """The policy, and what a gate tells it of a run.

    Attributes:
        registry: asked anew for every answer that depends on skills.
        mode: what several skills leave together.
        reading: how entries of `allowed-tools` are read.
        framework: tools that are left whatever happens, as far as a call of one only reveals.
        loaders: tools that load a skill by its name.

    Raises:
        UsageError: a tool that hands work on is to be exempt.
    """

    registry: Registry
    mode: Mode = Mode.UNION
    reading: Reading = Reading()
    framework: frozenset[str] = FRAMEWORK
    loaders: frozenset[str] = LOADERS

    def __post_init__(self) -> None:
        wrong = sorted(self.framework & DELEGATING)
        if wrong:
            raise UsageError(f"the tool `{wrong[0]}` hands work on, so that no policy of skills can exempt it")

    @property
    def name(self) -> str:
        """Name the policy in findings and records."""
        return NAME

    @property
    def digest(self) -> str:
        """Name the settings. What the skills say themselves is named beside each one that is active."""
        return digest_of((self.mode.value, tuple(sorted(self.framework)), tuple(sorted(self.loaders))))

    # ---------------------------------------------------------------------------------------------------------- judging
    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge a call, or with `arguments` None a tool; about a resource of kind skill, whether it may be active."""
        kind = request.resource.kind
        if kind is ResourceKind.SKILL:
            return self._activation(request.resource, request.principal)
        if kind is not ResourceKind.TOOL or self._is_passive(request, state):
            return ALLOWED
        skills = self._known(request, state)
        if request.arguments is not None and _differs(skills) and self.loading(request, facts).alone:
            skills = _before(skills)
        return self._judged(self._levels(skills, state, request.principal), request, facts)

    def bounds(self, request: Request, names: Sequence[str], state: RunState) -> list[Verdict]:
        """Give for each name what `evaluate` says about it without arguments, with the skills resolved once."""
        kind = request.resource.kind
        if kind is not ResourceKind.TOOL or self._is_passive(request, state):
            return [self.evaluate(_about(request, name), NO_FACTS, state) for name in names]
        levels = self._levels(self._known(request, state), state, request.principal)
        return self._bounds(levels, names)

    def _is_passive(self, request: Request, state: RunState) -> bool:
        return state.skills.is_passive and not request.context.active_skills

    def _known(self, request: Request, state: RunState) -> SkillState:
        """The run's skills, and those that the host says are active without the run having loaded them."""
        said = request.context.active_skills
        if not said:
            return state.skills
        if not state.skills.loaded and state.skills.ceiling is None:
            return vouched(state.skills, said)
        return attempted(state.skills, self._found(said), self._counting(state))

    def _found(self, paths: Iterable[str]) -> list[Skill]:
        try:
            return [skill for path in paths if (skill := self.registry.find(path)) is not None]
        except Exception:  # whatever a registry raises: the run's own skills will meet it as well
            return []

    def _levels(self, skills: SkillState, state: RunState, principal: Principal) -> list[Resolved]:
        """What is left by this run's skills, and by those of the runs around it; all of them bind."""
        counting = self._counting(state)
        own = resolved(skills, counting, principal.agent)
        return [own, *(resolved(outer, counting, outer.agent) for outer in skills.outer)]

    def _judged(self, levels: Iterable[Resolved], request: Request, facts: Facts) -> Verdict:
        if request.resource.id in self.framework and all(map(_reveals, facts.effects)):
            return ALLOWED
        for level in levels:
            if level.problem:
                return _PROBLEMS[level.problem]
            for clause in level.clauses:
                admission = self.reading.admits(clause, request, facts)
                if admission is not Admission.YES:
                    return _DENIALS[admission]
        return ALLOWED

    def _bounds(self, levels: Iterable[Resolved], names: Iterable[str]) -> list[Verdict]:
        """What is said about tools whatever their arguments, as `_judged` does without any."""
        checks: list[tuple[Callable[[str], bool], Verdict]] = []
        for level in levels:
            if level.problem:
                checks.append((_never, _PROBLEMS[level.problem]))
            checks += [(self.reading.namer(clause), _DENIALS[Admission.NO]) for clause in level.clauses]
        framework = self.framework
        return [ALLOWED if name in framework else _first(checks, name) for name in names]

    def _activation(self, resource: Resource, principal: Principal) -> Verdict:
        try:
            problem = problem_of(self.registry, self.registry.find(resource.id), principal.agent)
        except Exception:  # whatever a registry raises: nothing is known
            return _PROBLEMS[REGISTRY_FAILED]
        return ALLOWED if problem is None else _refused(problem)

    # ------------------------------------------------------------------------------------------------ what a gate tells
    def hear(self, state: RunState, message: UserMessage | None, context: Context, principal: Principal) -> Heard:
        """Take note of the newest genuine message of the user, before each model call; None where there is none."""
        skills = replace(state.skills, agent=principal.agent)
        if message is None or message.genuine is not True:
            return Heard(skills=skills)
        return heard(skills, message, context.run_id, self.registry)

    def begin(self, state: RunState, context: Context, principal: Principal, *, replies: int = 0) -> RunState:
        """Begin a model call: what was loaded before counts from now on.

        `replies` is how many replies of this run the host has on record: where it has some and the state none, the
        state is lost, and nothing is left.
        """
        skills = replace(vouched(state.skills, context.active_skills), agent=principal.agent)
        if replies > 0 and skills.reply == 0:
            skills = lost(skills)
        return replace(state, skills=begun(skills, self._counting(state)))

    def loading(self, request: Request, facts: Facts) -> Loading:
        """Say which skills a call loads: whatever reads a SKILL.md does, by its path, with whichever tool.

        Only a call that does nothing else can add to what is allowed later; a shell that prints the file cannot. One
        whose path is not known, or a glob, is not noticed.
        """
        paths = [effect.path for effect in facts.effects if type(effect) is FileRead and _is_one_file(effect)]
        try:
            named = self._by_loader(request)
            found = {path: skill for path in paths if (skill := self.registry.find(path)) is not None}
        except Exception:  # whatever a registry raises: nothing is known, but a file of that name may be one
            return Loading(suspected=tuple(path for path in paths if path.endswith(f"/{FILE}")))
        if named:
            return Loading(tuple(named), alone=all(map(_reveals, facts.effects)))
        alone = bool(found) and all(type(effect) is FileRead and effect.path in found for effect in facts.effects)
        return Loading(tuple({skill.path: skill for skill in found.values()}.values()), alone)

    def _by_loader(self, request: Request) -> list[Skill]:
        """The skills that the arguments of a loader name: `pdf`, `plugin:pdf`, `/pdf and a task`."""
        if request.resource.id not in self.loaders:
            return []
        texts = [value for value in (request.arguments or {}).values() if isinstance(value, str)]
        words = [text.split(maxsplit=1)[0].removeprefix("/") for text in texts if text.strip()]
        names = dict.fromkeys(name for word in words for name in (word, word.rpartition(":")[2]))
        return [skill for name in names if (skill := self.registry.named(name)) is not None]

    def attempt(self, state: RunState, calls: Iterable[tuple[Request, Facts]]) -> RunState:
        """Note the loads that are about to begin, for all calls of a reply before any of them is decided."""
        loads = [self.loading(request, facts) for request, facts in calls]
        found = [skill for load in loads for skill in load.skills]
        suspects = [path for load in loads for path in load.suspected]
        if not (found or suspects):
            return state
        return replace(state, skills=attempted(suspected(state.skills, suspects), found, self._counting(state)))

    def complete(self, state: RunState, request: Request, facts: Facts) -> RunState:
        """Note that a call has ended without an error: what it did nothing but load counts from the next reply on."""
        loading = self.loading(request, facts)
        return replace(state, skills=completed(state.skills, loading.skills)) if loading.alone else state

    def delegate(self, state: RunState, principal: Principal) -> SkillState:
        """Give the skills of a sub-agent's run; `principal` is the parent's."""
        return inherited(state.skills, principal.agent)

    def _counting(self, state: RunState) -> Counting:
        return Counting(self.registry, self.mode, lambda path: state.written_at(path) is not None)

    # ---------------------------------------------------------------------------------------------------------- signing
    def claims(self, request: Request, state: RunState, names: Collection[str]) -> SkillClaims:
        """Say what a token about this run has to carry; `names` are all tools there are, deferred ones included."""
        levels = self._levels(self._known(request, state), state, request.principal)
        refs = {ref.id: ref for level in levels for ref in level.skills}
        if all(level.is_open for level in levels):
            return SkillClaims(source=levels[0].source, skills=tuple(refs.values()))
        bounds = zip(names, self._bounds(levels, names), strict=True)
        left = frozenset(name for name, bound in bounds if bound.outcome is Outcome.ALLOW)
        return SkillClaims(source=levels[0].source, skills=tuple(refs.values()), names=left)


def _never(name: str) -> bool:
    return False


def _first(checks: Iterable[tuple[Callable[[str], bool], Verdict]], name: str) -> Verdict:
    """The verdict of the first check that does not name a tool."""
    for names, verdict in checks:
        if not names(name):
            return verdict
    return ALLOWED


def _about(request: Request, name: str) -> Request:
    resource = Resource(request.resource.kind, name)
    return Request(
        principal=request.principal, action=request.action, resource=resource, arguments=None, context=request.context
    )


def _differs(skills: SkillState) -> bool:
    """Whether what this reply has begun to load makes a difference to what is left now (`resolving.resolved`)."""
    if skills.slash is not None:  # then nothing else counts
        return False
    return skills.ceiling != skills.before or not all(_stays(one, skills) for one in skills.loaded.values())


def _stays(active: ActiveSkill, skills: SkillState) -> bool:
    return active.counts or not active.digest or active.reply < skills.reply


def _before(skills: SkillState) -> SkillState:
    """The run's skills as they were when this reply began: a call that only loads is not bound by its own load."""
    loaded = {path: active for path, active in skills.loaded.items() if _stays(active, skills)}
    return replace(skills, loaded=loaded, held=skills.held - len(skills.loaded) + len(loaded), ceiling=skills.before)


def _refused(problem: Problem) -> Verdict:
    return _denial(problem.code, problem.message, "Ask the user to start a skill that is available.")


def _is_one_file(effect: FileRead) -> bool:
    return effect.where is Where.HERE and not (effect.unknown or effect.glob or effect.recursive)


def _reveals(effect: Effect) -> bool:
    """Whether an effect is one of finding out: reading, describing, or what a tool that nobody described may do."""
    if isinstance(effect, UseTool):
        return effect.category == DISCOVERING
    if isinstance(effect, Opaque):
        return effect.cause in (Cause.PROGRAM, Cause.OPTION)
    return isinstance(effect, FileRead | Contains)
