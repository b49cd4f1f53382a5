"""Keys and claims that tests of tokens begin with."""

from __future__ import annotations

import hmac
from typing import Any

from policyengine.model import Obligation, ObligationKind, Outcome
from policyengine.records import replace
from policyengine.signing import Claims, Key, Keyring, KeyState, Purpose, SkillHash

NOW = 1_800_000_000.5
SCOPE = "run-1"
DIGEST = "ab" * 32

KEY = Key("k2", b"2" * 32)
NEXT = Key("k3", b"3" * 32, KeyState.NEXT)
OLD = Key("k1", b"1" * 32, KeyState.VERIFY_ONLY)
GONE = Key("k0", b"0" * 32, KeyState.RETIRED)
RING = Keyring([GONE, OLD, KEY, NEXT])

CLAIMS = Claims(
    purpose=Purpose.DECISION,
    jti="jti-1",
    scope=SCOPE,
    issued=NOW,
    not_before=NOW,
    expires=NOW + 60,
    run="run-1",
    parent_run="run-0",
    step="step-3",
    thread="thread-5",
    subject="ann",
    agent="lead",
    delegation=("root",),
    tool="bash",
    arguments_digest=DIGEST,
    outcome=Outcome.ALLOW,
    rules=("net.unknown", "fs.outside"),
    obligations=(Obligation(kind=ObligationKind.TRUNCATE, limit=4096, names=frozenset({"b", "a"})),),
    source="slash",
    skills=(SkillHash("/skills/x/SKILL.md", "cd" * 32),),
    names=frozenset({"bash", "read_file"}),
    policy_digest="ef" * 32,
    sequence=7,
)


def claims(purpose: Purpose = Purpose.DECISION, **changes: Any) -> Claims:
    """`CLAIMS` for another purpose, with changes."""
    return replace(CLAIMS, purpose=purpose, **changes)


def hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """HKDF-SHA256 for one block (RFC 5869, sections 2.2 and 2.3), by hand."""
    return hmac.digest(hmac.digest(salt, secret, "sha256"), info + b"\x01", "sha256")
