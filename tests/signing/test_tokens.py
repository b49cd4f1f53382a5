"""Tokens: what was signed is what is read, and everything else is refused with its own code."""

from __future__ import annotations

from policyengine.records import replace
from policyengine.signing import Purpose, sign, verify
from tests.signing.rings import CLAIMS, NOW, RING, SCOPE


def test_what_was_signed_is_what_is_read() -> None:
    found = verify(sign(CLAIMS, RING), RING, purpose=Purpose.DECISION, scope_id=SCOPE, now=NOW)
    assert found == replace(CLAIMS, kid="k2")
