"""From a bundle to an engine: what is loaded, and what the parts give together."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from policyengine.config import compiled, opened
from policyengine.config.clock import SystemClock
from policyengine.gate.standing import Named
from policyengine.model import Outcome
from policyengine.policies.skill import Mode, SkillPolicy
from policyengine.state import START
from tests.policies.rbac.worlds import policy
from tests.policies.rulesets import ZONES, profile, request, request_rule, rule, source
from tests.policies.skill.worlds import Shelf

FILES = [
    source("profiles", profile("plain", opaque="ask")),
    source("zones", ZONES),
    source(
        "rules",
        [
            rule(effect="file.delete", where={"path": {"zone": "system"}}, outcome="deny"),
            request_rule(id="test.hidden", where={"tool": "secret"}, outcome="deny"),
            rule(id="test.regex", effect="net.connect", where={"url": {"matches": "x$"}}),
        ],
    ),
    source("commands", {"rm": {"summary": "s", "manual": "rm(1)", "operands": "delete..."}}),
    source("tools", {"bash": {"summary": "s", "arguments": {"command": "shell"}}}),
]
COLD = """
import sys
from pathlib import Path
from policyengine.config import ready
from policyengine.model import ANONYMOUS, Context, Request, Resource, ResourceKind
from policyengine.state import START
engine = ready([Path(sys.argv[1])], "plain").engine()
request = Request(principal=ANONYMOUS, action="invoke", resource=Resource(ResourceKind.TOOL, "bash"),
                  arguments={"command": "rm /etc/x"}, context=Context())
print(engine.decide(request, START)[0].outcome.word)
slow = ("pydantic", "yaml", "re2", "casbin", "cryptography", "asyncio", "click")
print([name for name in slow if name in sys.modules])
"""


def test_the_parts_decide_together() -> None:
    engine = opened(compiled(FILES), "plain").engine()
    denied, _ = engine.decide(request(arguments={"command": "rm /etc/x"}), START)
    allowed, _ = engine.decide(request(arguments={"command": "rm x"}), START)
    asked, _ = engine.decide(request(arguments={"command": "foo"}), START)
    assert [one.outcome for one in (denied, allowed, asked)] == [Outcome.DENY, Outcome.ALLOW, Outcome.ASK]
    assert denied.policy_digest == compiled(FILES).digest
    assert engine.evaluate_tool(request("secret")).outcome is Outcome.DENY
    assert engine.evaluate_tool(request("bash")).outcome is Outcome.ALLOW


def test_the_digest_of_an_engine_names_the_policies_that_can_be_named() -> None:
    parts = opened(compiled(FILES), "plain")
    union, both = (SkillPolicy(registry=Shelf(), mode=mode) for mode in Mode)
    engines = [parts.engine(), parts.engine(union), parts.engine(both), parts.engine(policy()), parts.engine(Named())]
    assert len({engine.policy_digest for engine in engines}) == 4
    assert parts.engine(Named()).policy_digest == parts.digest  # it has no digest
    assert parts.engine(union, policy()).policy_digest == parts.engine(policy(), union).policy_digest


def test_a_process_with_a_bundle_loads_no_reader_of_rules(tmp_path: Path) -> None:
    bundle = tmp_path / "rules.bundle"
    bundle.write_bytes(compiled(FILES).data)
    ran = subprocess.run([sys.executable, "-c", COLD, str(bundle)], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["deny", "[]"]


def test_the_machines_clock_goes_forward_and_waits_only_so_long() -> None:
    clock = SystemClock()
    assert clock.seconds() <= clock.seconds()
    with pytest.raises(TimeoutError):
        asyncio.run(clock.within(asyncio.sleep(60), 0.001))
    assert asyncio.run(clock.within(asyncio.sleep(0, "answer"), 60)) == "answer"
