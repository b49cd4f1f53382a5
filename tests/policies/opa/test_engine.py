"""OPA as the engine's remote policy: asked last, and told apart from the engine's own deadline."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest

from policyengine.config.clock import SystemClock
from policyengine.effects import Facts
from policyengine.engine import Engine
from policyengine.model import Outcome, Request, Verdict
from policyengine.policies.opa import Opa, Server
from policyengine.policy import refusal
from policyengine.state import START, RunState
from tests.policies.opa.servers import Behaviour, call, free_port, http, impostor, query
from tests.policies.opa.test_impostors import RULE, SLACK, drip, hang

NOTHING = Facts()
DEADLINE = 3.0  # seconds; the engine gives its own code to what comes even later


class Says:
    """A policy with one answer."""

    name = "says"

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        return self.verdict


ALLOWS = Says(Verdict(policy="says", outcome=Outcome.ALLOW))
DENIES = Says(refusal("says", "test.no", "No."))


def decided(policy: Opa, first: Says) -> list[tuple[Outcome, list[str]]]:
    """What both faces of an engine decide, within the deadline of the policy."""
    engine = Engine(analyze=lambda request, state: NOTHING, policies=(first,), remote=(policy,), clock=SystemClock())

    async def again() -> tuple[Outcome, list[str]]:
        decision = (await engine.adecide(call(), START))[0]
        await policy.aclose()
        return decision.outcome, [finding.code for finding in decision.findings]

    start = time.monotonic()
    decision = engine.decide(call(), START)[0]
    assert time.monotonic() - start < policy.deadline + SLACK
    policy.close()
    return [(decision.outcome, [finding.code for finding in decision.findings]), asyncio.run(again())]


@pytest.mark.parametrize("behaviour", [hang, drip])
def test_a_late_server_is_named_by_the_policy_and_not_by_the_engine(behaviour: Behaviour) -> None:
    with impostor(behaviour) as server:
        assert decided(Opa(server, RULE, deadline=DEADLINE), ALLOWS) == [(Outcome.DENY, ["opa.timeout"])] * 2


def test_nobody_there_is_a_denial() -> None:
    policy = Opa(Server(port=free_port()), RULE, deadline=DEADLINE)
    assert decided(policy, ALLOWS) == [(Outcome.DENY, ["opa.refused"])] * 2


def test_a_call_that_is_denied_anyway_reaches_no_server() -> None:
    reached: list[bytes] = []

    def behave(connection: socket.socket, over: threading.Event) -> None:
        reached.append(query(connection))
        connection.sendall(http(b'{"result": true}'))

    with impostor(behave) as server:
        policy = Opa(server, RULE, deadline=10.0)
        assert decided(policy, DENIES) == [(Outcome.DENY, ["test.no"])] * 2
        assert reached == []
        assert decided(policy, ALLOWS) == [(Outcome.ALLOW, [])] * 2
    assert len(reached) == 2
