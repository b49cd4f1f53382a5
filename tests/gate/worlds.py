"""Gates over small worlds: policies that are tables, a clock that is set, a log that is a list and may fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from policyengine.effects import Execute, Facts
from policyengine.engine import Engine
from policyengine.errors import AuditError
from policyengine.gate import Call, Capabilities, Gate, Parts, Run
from policyengine.model import (
    Context,
    Finding,
    Frozen,
    Obligation,
    Outcome,
    Principal,
    Request,
    Severity,
    Verdict,
)
from policyengine.records import replace
from policyengine.signing import Key, Keyring
from policyengine.state import RunState
from policyengine.stores import MemoryApprovals, MemoryRunStates

NOW = 1_790_000_000.0
ALL = Capabilities(
    can_ask=True, can_rewrite=True, can_change_results=True, can_sandbox=True, can_notify=True, can_stop=True,
    can_interrupt=True,
)  # fmt: skip
KEYS = Keyring([Key("k1", b"0123456789abcdef0123456789abcdef")])
RUN = Run(
    principal=Principal(id="ada", roles=("dev",), agent="lead"),
    context=Context(scope_id="s", run_id="r", step_id="1", thread_id="t", tags=frozenset({"quiet"})),
)
LS = Call("bash", {"command": "ls"}, "c1")


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.time = NOW

    def __call__(self) -> float:
        return self.time


class Log:
    """A log in memory."""

    def __init__(self) -> None:
        self.records: list[Mapping[str, Frozen]] = []
        self.error: Exception | None = None

    def append(self, record: Mapping[str, Frozen]) -> None:
        if self.error is not None:
            raise self.error
        self.records.append(record)

    def fail(self) -> None:
        self.error = AuditError("audit.full", "no space is left")

    def last(self, kind: str) -> Mapping[str, Frozen]:
        return next(record for record in reversed(self.records) if record["type"] == kind)


def finding(outcome: Outcome, rule: str, **more: Any) -> Finding:
    """A finding of a table."""
    return Finding(rule=rule, code=rule, message=f"{rule} says so.", outcome=outcome, severity=Severity.MEDIUM, **more)


class Table:
    """A policy that is a table: tool → outcome, and for other arguments than it names ALLOW."""

    def __init__(self, outcomes: Mapping[str, Outcome], name: str = "table") -> None:
        self.name = name
        self.outcomes = dict(outcomes)
        self.asked = 0

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        del state
        self.asked += 1
        outcome = self.outcomes.get(request.resource.id, Outcome.ALLOW)
        if outcome is Outcome.ALLOW:
            return Verdict(policy=self.name, outcome=outcome)
        effect = facts.effects[0] if facts.effects else None
        found = finding(outcome, f"{self.name}.{outcome.word}", effect=effect)
        return Verdict(policy=self.name, outcome=outcome, findings=(found,))


class Says:
    """A policy that is a function of the request."""

    def __init__(self, function: Callable[[Request], Verdict | None], name: str = "says") -> None:
        self.name = name
        self._function = function

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        del facts, state
        return self._function(request) or Verdict(policy=self.name, outcome=Outcome.ALLOW)


def owing(*obligations: Obligation) -> Says:
    """A policy that allows with obligations."""
    return Says(lambda _: Verdict(policy="owing", outcome=Outcome.ALLOW, obligations=obligations))


def analyze(request: Request, state: RunState) -> Facts:
    """Say that a call executes its command, or itself."""
    del state
    said = (request.arguments or {}).get("command", request.resource.id)
    words = tuple(str(said).split()) or ("",)
    return Facts((Execute(words[0], arguments=words[1:]),))


class World:
    """A gate with everything behind it in reach."""

    def __init__(self, *policies: Any, **changes: Any) -> None:
        self.log, self.clock = Log(), Clock()
        self.states, self.approvals = MemoryRunStates(), MemoryApprovals(clock=self.clock)
        engine = Engine(analyze=analyze, policies=policies or (Table({}),), policy_digest="d1")
        self.parts = replace(
            Parts(
                engine=engine, keyring=KEYS, approvals=self.approvals, states=self.states, log=self.log,
                capabilities=ALL, waits=False, now=self.clock,
            ),
            **changes,
        )  # fmt: skip
        self.gate = Gate(self.parts)

    def with_engine(self, **changes: Any) -> Gate:
        """Another gate over the same stores, with another engine."""
        return Gate(replace(self.parts, engine=replace(self.parts.engine, **changes)))


def rules(findings: tuple[Finding, ...]) -> list[str]:
    """Ids of the rules that denied or asked."""
    return [one.rule for one in findings if one.outcome is not Outcome.ALLOW]
