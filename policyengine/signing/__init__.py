"""Decisions, exposures, approvals and delegations as tokens, bound to the scope, call and time that they are for.

Pure: keys, times and random names come in as values (`config.keys` reads keys).

    token = sign(claims, keyring)
    claims = verify(token, keyring, purpose=Purpose.DECISION, scope_id=scope, now=now, tool=name, …)

A token can only narrow: what is enforced is always what the live policies say *and* what was signed.
"""

from policyengine.signing.caveats import Caveat
from policyengine.signing.claims import Ask, Claims, Purpose, SkillHash
from policyengine.signing.keys import Key, Keyring, KeyState
from policyengine.signing.tokens import Expected, attenuate, sign, verify

__all__ = [
    "Ask",
    "Caveat",
    "Claims",
    "Expected",
    "Key",
    "KeyState",
    "Keyring",
    "Purpose",
    "SkillHash",
    "attenuate",
    "sign",
    "verify",
]
