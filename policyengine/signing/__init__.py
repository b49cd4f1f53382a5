"""Decisions, exposures, approvals and delegations as tokens, bound to the scope, call and time that they are for.

Pure: keys, times and random names come in as values (`config.keys` reads keys).

    token = sign(claims, keyring)
    claims = verify(token, keyring, purpose=Purpose.DECISION, scope_id=scope, now=now, tool=name, …)

A token can only narrow: what is enforced is always what the live policies say *and* what was signed.
"""

from policyengine.signing.approvals import ask_of, asks_of, grants_of, open_asks
from policyengine.signing.caveats import Caveat
from policyengine.signing.claims import Ask, Claims, Purpose, SkillHash
from policyengine.signing.keys import Key, Keyring, KeyState
from policyengine.signing.redaction import REDACTION_KEYS, redacted
from policyengine.signing.tokens import Expected, attenuate, sign, verify

__all__ = [
    "REDACTION_KEYS",
    "Ask",
    "Caveat",
    "Claims",
    "Expected",
    "Key",
    "KeyState",
    "Keyring",
    "Purpose",
    "SkillHash",
    "ask_of",
    "asks_of",
    "attenuate",
    "grants_of",
    "open_asks",
    "redacted",
    "sign",
    "verify",
]
