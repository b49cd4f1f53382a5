"""`policyengine bench --suite sign`: what a token of a decision costs, beside its HMAC alone.

Every sample is one whole call in CPU time of the thread, each with another token; the keys of the scope are derived
before, as in a run after its first call. `verify` demands what a gate does. Nothing else is kept between two calls.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from policyengine.cli.quantiles import Cost, cost_of
from policyengine.cli.wire import dumps
from policyengine.config.keys import fresh_name
from policyengine.model import Obligation, ObligationKind, Outcome
from policyengine.records import replace
from policyengine.signing import Claims, Key, Keyring, Purpose, SkillHash, sign, verify

CASE_SECONDS = 2.0
TOKENS = 2_000
MAX_SAMPLES = 50_000
NOW, SCOPE = 1_800_000_000.0, "run-0001"
DIGEST = hashlib.sha256(b"").hexdigest()
T = TypeVar("T")


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    ring = Keyring([Key("bench", secrets.token_bytes(32))])
    claims = [_claims(number) for number in range(TOKENS)]
    tokens = [sign(one, ring) for one in claims]
    key, messages = secrets.token_bytes(32), [token.encode() for token in tokens]

    def verified(token: str) -> Claims:
        return verify(
            token, ring, purpose=Purpose.DECISION, scope_id=SCOPE, now=NOW, run="run-0001", step="step-7",
            thread="thread-3", subject="ann", agent="lead", delegation=(), tool="bash", arguments_digest=DIGEST,
            policy_digest=DIGEST,
        )  # fmt: skip

    costs = {"sign": _cost(lambda one: sign(one, ring), claims), "verify": _cost(verified, tokens)}
    others = {"hmac": _cost(lambda message: hmac.digest(key, message, "sha256"), messages)}
    if options.json:
        print(dumps({"sign": _json(costs), "reference": _json(others)}))
    else:
        print("\n".join(_table(costs, others, len(tokens[0]))))
    return 0


def _claims(number: int) -> Claims:
    return replace(_CLAIMS, jti=fresh_name(), sequence=number)


_CLAIMS = Claims(
    purpose=Purpose.DECISION, jti="0", scope=SCOPE, issued=NOW, not_before=NOW, expires=NOW + 60,
    run="run-0001", step="step-7", thread="thread-3", subject="ann", agent="lead", tool="bash",
    arguments_digest=DIGEST, outcome=Outcome.ALLOW, rules=("net.download", "fs.outside-workspace"),
    obligations=(Obligation(kind=ObligationKind.TRUNCATE, limit=65_536),),
    source="slash", skills=(SkillHash("/skills/review/SKILL.md", DIGEST),), policy_digest=DIGEST,
)  # fmt: skip


def _cost(work: Callable[[T], object], inputs: Sequence[T]) -> Cost:
    samples: list[int] = []
    cpu, end = time.thread_time_ns, time.monotonic() + CASE_SECONDS
    while time.monotonic() < end and len(samples) < MAX_SAMPLES:
        for one in inputs:
            start = cpu()
            work(one)
            samples.append(cpu() - start)
    return cost_of(sorted(samples), 2)


def _json(costs: dict[str, Cost]) -> dict[str, dict[str, float]]:
    return {name: cost._asdict() for name, cost in costs.items()}


def _table(costs: dict[str, Cost], others: dict[str, Cost], length: int) -> Iterator[str]:
    yield f"{'sign':16}{'median us':>12}{'p99 us':>12}{'n':>10}   tokens of {length} characters"
    rows = costs | {f"reference {name}": cost for name, cost in others.items()}
    yield from (f"{name:16}{cost.p50_us:>12.2f}{cost.p99_us:>12.2f}{cost.n:>10}" for name, cost in rows.items())
