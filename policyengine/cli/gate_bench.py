"""`policyengine bench --suite gate`: what a call costs in front of a tool, up to the recorded and signed answer.

`before_tool` is one whole answer of a gate: roles (1,000 grant lines), tool metadata, a skill that the user has started
(its file is looked at again), the shell's analysis and all rules, the step's exposure, the run's state kept, the answer
signed, and the record in the log, which is kept against a crash of the process. Beside it stand its parts, the same in
a run of as many calls as there are commands, the same by the clock on the wall, and a log kept against a loss of power.

A sample is one call, in CPU time of the thread where nothing else is said; the cases take turns. Nothing is kept
between two calls but what a run keeps.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from policyengine.audit import AuditKey, AuditLog, Durability, decision_record
from policyengine.cli.core import ready_rules
from policyengine.cli.quantiles import Cost, cost_of
from policyengine.cli.wire import Json, dumps
from policyengine.config import Ready
from policyengine.config.keys import fresh_name
from policyengine.config.rbac import from_texts, shipped_folder
from policyengine.config.skills import load
from policyengine.config.skills_folders import SETTLED
from policyengine.engine import Engine
from policyengine.gate import Call, Capabilities, Gate, Message, Parts, Run
from policyengine.model import Context, Decision, Frozen, Principal, Request, Resource, ResourceKind, freeze_object
from policyengine.policies.rbac import Rbac
from policyengine.policies.skill import SkillPolicy
from policyengine.policies.tool import Metadata, Settings, SideEffect, ToolPolicy, Workspace
from policyengine.records import replace
from policyengine.signing import Claims, Key, Keyring, Purpose, sign
from policyengine.stores import MemoryApprovals, MemoryRunStates

BLOCK_SECONDS = 0.25
BLOCKS = 10
GRANTS = 1_000
TOOLS = 200
SCOPE = "scope-1"
SKILL = "---\nname: work\ndescription: Everyday work.\nallowed-tools: [Bash, bash, Read]\n---\nWork.\n"
SETTINGS = "roots:\n  - {path: skills, name: skills}\n"


Work: TypeAlias = Callable[[int], Callable[[], object]]  # the sample's number → what is timed
Clock: TypeAlias = Callable[[], int]  # nanoseconds
CPU, WALL = time.thread_time_ns, time.perf_counter_ns


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    from policyengine.cli.bench import everyday  # noqa: PLC0415  which imports this

    commands = [_text(request) for request in everyday(options.input)]
    with tempfile.TemporaryDirectory() as folder:
        costs = _costs(World(ready_rules(options), folder, commands).cases())
    durability = Durability.PROCESS_CRASH.value
    cases = {"before_tool": costs.pop("before_tool")}
    if options.json:
        named = {name: cost | {"durability": durability} for name, cost in _json(cases).items()}
        print(dumps({"gate": named, "reference": _json(costs)}))
    else:
        print("\n".join(_table(cases, costs, durability)))
    return 0


def _text(request: Request) -> str:
    command = (request.arguments or {}).get("command")
    return command if isinstance(command, str) else ""


class World:
    """A gate over everything, and its parts one by one."""

    def __init__(self, rules: Ready, folder: str, commands: Sequence[str]) -> None:
        self._bare = rules.engine()
        skills = _skills(folder)
        self._engine = rules.engine(_rbac(), _tools(), skills)
        keys = [AuditKey("bench", secrets.token_bytes(32))]
        self._log = AuditLog(os.path.join(folder, "log"), keys)
        self._lasting = AuditLog(os.path.join(folder, "lasting"), keys, durability=Durability.POWER_LOSS)
        self._ring = Keyring([Key("bench", secrets.token_bytes(32))])
        self._states = MemoryRunStates()
        self._gate = Gate(
            Parts(
                engine=self._engine, keyring=self._ring, approvals=MemoryApprovals(), states=self._states,
                log=self._log, skills=skills, describe=rules.tool, capabilities=Capabilities(can_ask=True),
            )
        )  # fmt: skip
        self._run = self._begun()
        self._begin = self._states.load(SCOPE)
        self._calls = [Call("bash", {"command": text}, f"call-{at}") for at, text in enumerate(commands)]
        self._requests = [self._request(call) for call in self._calls]
        self._decided = [self._engine.decide(request, self._begin)[0] for request in self._requests]
        self._records = [decision_record(decision) for decision in self._decided]

    def _begun(self) -> Run:
        """A run in its first step: the user has started a skill, and the tools are exposed."""
        context = Context(scope_id=SCOPE, run_id="run-1", step_id="step-1", thread_id="thread-1")
        run = Run(principal=Principal(id="ann", roles=("role7",), agent="lead"), context=context)
        names = ("bash", "Read", *(f"tool{at}" for at in range(TOOLS - 2)))
        exposed = self._gate.before_model([Message("/work on it", id="m", genuine=True)], names, run)
        return replace(run, exposure=exposed.token)

    def _request(self, call: Call) -> Request:
        return Request(
            principal=self._run.principal,
            action="invoke",
            resource=Resource(ResourceKind.TOOL, call.name),
            arguments=freeze_object(call.arguments),
            context=replace(self._run.context, call_id=call.id, now=time.time()),
        )

    def cases(self) -> dict[str, tuple[Work, Clock]]:
        """The whole, what it consists of, and what follows it."""
        return {
            "before_tool": (self._whole, CPU),
            "shell: analysis and rules": (lambda number: self._asked(self._bare, number), CPU),
            "with rbac, tool and skill": (lambda number: self._asked(self._engine, number), CPU),
            "sign": (self._signed, CPU),
            "make record": (lambda number: lambda: decision_record(self._fresh(number)), CPU),
            "append, process-crash": (lambda number: lambda: self._log.append(self._record(number)), CPU),
            "release": (self._released, CPU),
            "before_tool, in a run": (self._going_on, CPU),
            "before_tool, by the wall": (self._whole, WALL),
            "append, power-loss, by the wall": (self._lasts, WALL),
        }

    def _whole(self, number: int) -> Callable[[], object]:
        """One whole answer in a run that has just begun."""
        self._states.forget(SCOPE)
        self._states.save(SCOPE, 0, self._begin)
        call = self._calls[number % len(self._calls)]
        return lambda: self._gate.before_tool(call, self._run)

    def _going_on(self, number: int) -> Callable[[], object]:
        """The same where all commands are one run."""
        if number % len(self._calls) == 0:
            return self._whole(number)
        call = self._calls[number % len(self._calls)]
        return lambda: self._gate.before_tool(call, self._run)

    def _lasts(self, number: int) -> Callable[[], object]:
        return lambda: self._lasting.append(self._record(number))

    def _asked(self, engine: Engine, number: int) -> Callable[[], object]:
        request = replace(self._requests[number % len(self._requests)])
        return lambda: engine.decide(request, self._begin)

    def _record(self, number: int) -> dict[str, Frozen]:
        return self._records[number % len(self._records)]

    def _fresh(self, number: int) -> Decision:
        """A decision whose digests nobody has asked for yet."""
        decision = self._decided[number % len(self._decided)]
        request = decision.request
        return replace(decision, request=None if request is None else replace(request))

    def _signed(self, number: int) -> Callable[[], object]:
        request, now = self._requests[number % len(self._requests)], time.time()
        claims = Claims(
            purpose=Purpose.DECISION, jti=fresh_name(), scope=SCOPE, issued=now, not_before=now, expires=now + 60,
            run="run-1", step="step-1", thread="thread-1", subject="ann", agent="lead", tool="bash",
            arguments_digest=request.arguments_digest, outcome=self._decided[number % len(self._decided)].outcome,
            policy_digest=self._engine.policy_digest,
        )  # fmt: skip
        return lambda: sign(claims, self._ring)

    def _released(self, number: int) -> Callable[[], object]:
        call = Call("bash", {"command": "ls"}, f"call-{number}")
        signed = self._gate.before_tool(call, self._run)
        return lambda: self._gate.release(signed, call)


def _rbac() -> Rbac:
    with open(os.path.join(shipped_folder(), "model.conf"), encoding="utf-8") as file:
        model = file.read()
    lines = [f"p, role{line // 10}, *, tool, tool{line}, *, allow" for line in range(GRANTS)]
    lines += [f"p, role7, *, tool, {name}, *, allow" for name in ("bash", "Read")]
    return from_texts(model, "\n".join(lines))


def _tools() -> ToolPolicy:
    shell = Metadata(
        classified=True, side_effects=frozenset(SideEffect) - {SideEffect.READ_ONLY}, workspace=Workspace.ANY
    )
    others = {f"tool{at}": Metadata(classified=True) for at in range(TOOLS)}
    return ToolPolicy({"bash": shell, "Read": shell, **others}, Settings(require_classification=True))


def _skills(folder: str) -> SkillPolicy:
    place = os.path.join(folder, "skills", "work")
    os.makedirs(place)
    for path, text in ((os.path.join(place, "SKILL.md"), SKILL), (os.path.join(folder, "skills.yaml"), SETTINGS)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    time.sleep(SETTLED / 1e9)  # files that are younger are read again each time, and skills seldom are
    return load(os.path.join(folder, "skills.yaml"))


# ----------------------------------------------------------------------------------------------------------- measuring
def _costs(cases: dict[str, tuple[Work, Clock]]) -> dict[str, Cost]:
    """Take samples of the cases in turn, a block of each, so that other work on the machine slows all of them alike.

    What is done to get a sample ready is not timed.
    """
    samples: dict[str, list[int]] = {name: [] for name in cases}
    for _ in range(BLOCKS):
        for name, (work, clock) in cases.items():
            samples[name] += _block(work, clock, len(samples[name]))
    return {name: cost_of(sorted(taken), 1) for name, taken in samples.items()}


def _block(work: Work, clock: Clock, number: int) -> list[int]:
    taken: list[int] = []
    end = time.monotonic() + BLOCK_SECONDS
    while time.monotonic() < end:
        one = work(number + len(taken))
        start = clock()
        one()
        taken.append(clock() - start)
    return taken


def _json(costs: dict[str, Cost]) -> dict[str, Json]:
    return {name: cost._asdict() for name, cost in costs.items()}


def _table(costs: dict[str, Cost], others: dict[str, Cost], durability: str) -> Iterator[str]:
    yield f"{'gate':42}{'median us':>12}{'p99 us':>12}{'n':>9}   log kept against: {durability}"
    rows = costs | {f"reference {name}": cost for name, cost in others.items()}
    yield from (f"{name:42}{cost.p50_us:>12.1f}{cost.p99_us:>12.1f}{cost.n:>9}" for name, cost in rows.items())
