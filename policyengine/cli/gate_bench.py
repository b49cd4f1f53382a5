"""`policyengine bench --suite gate`: what a call costs in front of a tool, up to the recorded and signed answer.

`before_tool` is one whole answer of a gate: roles (1,000 grant lines), tool metadata, an active skill read from its
file, the shell's analysis and all rules, the step's exposure verified, the run's state kept, the decision signed, and
the record in the log, which is kept against a crash of the process. Beside it stand its parts, the same by the clock on
the wall, and what a log costs that is kept against a loss of power.

A sample is one call of the everyday commands, in CPU time of the thread. Nothing is kept between two calls but what a
run keeps; every pass over the commands is another run.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator

from policyengine.audit import AuditKey, AuditLog, Durability, decision_record
from policyengine.cli.core import ready_rules
from policyengine.cli.everyday import EVERYDAY
from policyengine.cli.quantiles import median_and_p99
from policyengine.cli.wire import dumps
from policyengine.config import Ready
from policyengine.config.keys import fresh_name
from policyengine.config.rbac import from_texts, shipped_folder
from policyengine.config.skills import load
from policyengine.engine import Engine
from policyengine.gate import Call, Capabilities, Gate, Parts, Run, SignedDecision
from policyengine.model import Context, Decision, Frozen, Principal, Request, Resource, ResourceKind, freeze_object
from policyengine.policies.rbac import Rbac
from policyengine.policies.skill import SkillPolicy
from policyengine.policies.tool import Metadata, Settings, SideEffect, ToolPolicy, Workspace
from policyengine.records import NamedTuple, replace
from policyengine.signing import Claims, Key, Keyring, Purpose, sign, verify
from policyengine.state import START
from policyengine.stores import MemoryApprovals, MemoryRunStates

CASE_SECONDS = 4.0
PART_SECONDS = 2.0
MAX_SAMPLES = 20_000
GRANTS = 1_000
TOOLS = 200
SKILL = "---\nname: work\ndescription: Everyday work.\nallowed-tools: [Bash, bash, Read]\n---\nWork.\n"
SETTINGS = "roots:\n  - {path: skills, name: skills}\n"


class Cost(NamedTuple):
    """What a case costs: microseconds, and how many samples say so."""

    p50_us: float
    p99_us: float
    n: int


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(ready_rules(options), folder)
        costs = {"before_tool": _cost(world.before_tool, CASE_SECONDS)}
        others = {name: _cost(work, PART_SECONDS) for name, work in world.parts().items()}
        others["before_tool, by the wall"] = _cost(world.before_tool, PART_SECONDS, time.perf_counter_ns)
        others["append, power-loss, by the wall"] = _cost(world.appended_for_good, PART_SECONDS, time.perf_counter_ns)
    durability = Durability.PROCESS_CRASH.value
    if options.json:
        print(dumps({"gate": _json(costs), "reference": _json(others), "durability": durability}))
    else:
        print("\n".join(_table(costs, others, durability)))
    return 0


class World:
    """A gate over everything, and its parts one by one; `number` counts the calls."""

    def __init__(self, rules: Ready, folder: str) -> None:
        self._skill, self._skills = _skill(folder)
        self._rules = rules
        self._engine = rules.engine(_rbac(), _tools(), self._skills)
        self._key = AuditKey("bench", secrets.token_bytes(32))
        self._log = AuditLog(os.path.join(folder, "log"), [self._key])
        self._lasting = AuditLog(os.path.join(folder, "lasting"), [self._key], durability=Durability.POWER_LOSS)
        self._ring = Keyring([Key("bench", secrets.token_bytes(32))])
        self._parts = Parts(
            engine=self._engine, keyring=self._ring, approvals=MemoryApprovals(), states=MemoryRunStates(),
            log=self._log, skills=self._skills, describe=rules.tool, capabilities=Capabilities(can_ask=True),
        )  # fmt: skip
        self._gate = Gate(self._parts)
        self._run = self._begun(0)
        self._calls = [Call("bash", {"command": text}, f"call-{at}") for at, text in enumerate(EVERYDAY)]
        self._requests = [self._request(call) for call in self._calls]
        self._decided = [self._engine.decide(request, START)[0] for request in self._requests]
        self._records = [decision_record(decision) for decision in self._decided]
        self._bare = rules.engine()

    def _begun(self, number: int) -> Run:
        context = Context(
            scope_id=f"scope-{number}", run_id=f"run-{number}", step_id="step-1", thread_id="thread-1",
            active_skills=(self._skill,),
        )  # fmt: skip
        run = Run(principal=Principal(id="ann", roles=("role7",), agent="lead"), context=context)
        names = ("bash", "Read", *(f"tool{at}" for at in range(TOOLS - 2)))
        return replace(run, exposure=self._gate.before_model((), names, run).token)

    def _request(self, call: Call) -> Request:
        return Request(
            principal=self._run.principal,
            action="invoke",
            resource=Resource(ResourceKind.TOOL, call.name),
            arguments=freeze_object(call.arguments),
            context=replace(self._run.context, call_id=call.id, now=time.time()),
        )

    def before_tool(self, number: int) -> Callable[[], SignedDecision]:
        """One whole answer."""
        if number % len(self._calls) == 0:
            self._run = self._begun(number)
            self._gate.before_tool(self._calls[0], self._run)  # derives the keys of the scope
        run, call = self._run, self._calls[number % len(self._calls)]
        return lambda: self._gate.before_tool(call, run)

    def parts(self) -> dict[str, Callable[[int], Callable[[], object]]]:
        """What it consists of, and what follows it."""
        return {
            "shell: analysis and rules": lambda number: self._asked(self._bare, number),
            "with rbac, tool and skill": lambda number: self._asked(self._engine, number),
            "verify exposure": lambda _: self._verified(),
            "sign": self._signed,
            "make record": lambda number: lambda: decision_record(self._fresh(number)),
            "append, process-crash": lambda number: (
                lambda: self._log.append(self._records[number % len(self._records)])
            ),
            "release": self._released,
        }

    def _asked(self, engine: Engine, number: int) -> Callable[[], object]:
        request = replace(self._requests[number % len(self._requests)])
        return lambda: engine.decide(request, START)

    def _record(self, number: int) -> dict[str, Frozen]:
        return self._records[number % len(self._records)]

    def _fresh(self, number: int) -> Decision:
        """A decision whose digests nobody has asked for yet."""
        decision = self._decided[number % len(self._decided)]
        request = decision.request
        return replace(decision, request=None if request is None else replace(request))

    def _verified(self) -> Callable[[], object]:
        token, scope = self._run.exposure, self._run.context.scope_id
        return lambda: verify(token, self._ring, purpose=Purpose.EXPOSURE, scope_id=scope, now=time.time())

    def _signed(self, number: int) -> Callable[[], object]:
        request, now = self._requests[number % len(self._requests)], time.time()
        claims = Claims(
            purpose=Purpose.DECISION, jti=fresh_name(), scope="scope-0", issued=now, not_before=now, expires=now + 60,
            run="run-0", step="step-1", thread="thread-1", subject="ann", agent="lead", tool="bash",
            arguments_digest=request.arguments_digest, outcome=self._decided[number % len(self._decided)].outcome,
            policy_digest=self._engine.policy_digest,
        )  # fmt: skip
        return lambda: sign(claims, self._ring)

    def _released(self, number: int) -> Callable[[], object]:
        call = Call("bash", {"command": "ls"}, f"call-{number}")
        signed = self._gate.before_tool(call, self._run)
        return lambda: self._gate.release(signed, call)

    def appended_for_good(self, number: int) -> Callable[[], object]:
        """Append what a loss of power leaves."""
        return lambda: self._lasting.append(self._record(number))


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


def _skill(folder: str) -> tuple[str, SkillPolicy]:
    place = os.path.join(folder, "skills", "work")
    os.makedirs(place)
    for path, text in ((os.path.join(place, "SKILL.md"), SKILL), (os.path.join(folder, "skills.yaml"), SETTINGS)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.utime(path, (1_700_000_000, 1_700_000_000))  # long ago, as such files usually are
    return os.path.join(place, "SKILL.md"), load(os.path.join(folder, "skills.yaml"))


# ----------------------------------------------------------------------------------------------------------- measuring
def _cost(
    work: Callable[[int], Callable[[], object]], seconds: float, clock: Callable[[], int] = time.thread_time_ns
) -> Cost:
    """Take samples; what is done to get one ready is not timed."""
    samples: list[int] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end and len(samples) < MAX_SAMPLES:
        one = work(len(samples))
        start = clock()
        one()
        samples.append(clock() - start)
    p50, p99 = median_and_p99(sorted(samples))
    return Cost(round(p50 / 1000, 1), round(p99 / 1000, 1), len(samples))


def _json(costs: dict[str, Cost]) -> dict[str, dict[str, float]]:
    return {name: cost._asdict() for name, cost in costs.items()}


def _table(costs: dict[str, Cost], others: dict[str, Cost], durability: str) -> Iterator[str]:
    yield f"{'gate':42}{'median us':>12}{'p99 us':>12}{'n':>9}   log kept against: {durability}"
    rows = costs | {f"reference {name}": cost for name, cost in others.items()}
    yield from (f"{name:42}{cost.p50_us:>12.1f}{cost.p99_us:>12.1f}{cost.n:>9}" for name, cost in rows.items())
