"""What went wrong with decisions that were kept beside a bearer token, in a context that every tool could write.

There the token stood next to the list of allowed names, nothing covered the list, and the token was good for every run
of the instance that had made it. Each test fails on that design.
"""

from __future__ import annotations

import base64
import hmac
import json
from types import SimpleNamespace
from typing import Any

import pytest

from policyengine.errors import TokenError
from policyengine.signing import Claims, Purpose, sign, tokens, verify
from tests.signing.rings import NOW, RING, SCOPE, claims

DECISION = claims(
    Purpose.EXPOSURE, tool="", arguments_digest="", outcome=None, names=frozenset({"read_file"}), source="slash"
)


def shown(token: str, **demanded: Any) -> Claims:
    """What a decision says, where it is shown."""
    given: dict[str, Any] = {"purpose": Purpose.EXPOSURE, "scope_id": SCOPE, "now": NOW} | demanded
    return verify(token, RING, **given)


def test_the_allowed_names_cannot_be_edited_where_they_are_kept() -> None:
    context = {"decision": sign(DECISION, RING)}
    body, payload, mac = context["decision"].rsplit(".", 2)
    values = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    values[21] = ["bash", "read_file"]
    edited = base64.urlsafe_b64encode(json.dumps(values, separators=(",", ":")).encode()).decode().rstrip("=")
    with pytest.raises(TokenError) as caught:
        shown(f"{body}.{edited}.{mac}")
    assert caught.value.code == "token.mac"


def test_what_was_verified_cannot_be_edited_either() -> None:
    found = shown(sign(DECISION, RING))
    with pytest.raises(AttributeError):
        found.names = None  # type: ignore[misc]
    with pytest.raises(AttributeError):
        found.names.add("bash")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("demanded", "code"),
    [
        ({"scope_id": "run-9"}, "token.scope"),
        ({"run": "run-9"}, "token.run"),
        ({"step": "step-9"}, "token.step"),
        ({"thread": "thread-9"}, "token.thread"),
        ({"subject": "bob"}, "token.subject"),
        ({"agent": "worker"}, "token.agent"),
        ({"policy_digest": "00" * 32}, "token.policy"),
        ({"source": "skill_context"}, "token.source"),
        ({"skills": ()}, "token.skills"),
        ({"now": NOW + 3600}, "token.expired"),
    ],
)
def test_a_decision_is_of_no_use_elsewhere_or_later(demanded: dict[str, Any], code: str) -> None:
    token = sign(DECISION, RING)
    assert shown(token).names == frozenset({"read_file"})
    with pytest.raises(TokenError) as caught:
        shown(token, **demanded)
    assert caught.value.code == code


@pytest.mark.parametrize("version", ["1", "pe", "pe1.0", "True", "pe2"])
def test_a_version_is_one_text(version: str) -> None:
    with pytest.raises(TokenError) as caught:
        shown(sign(DECISION, RING).replace("pe1", version, 1))
    assert caught.value.code in {"token.version", "token.malformed"}


def test_macs_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[object, object]] = []

    def compare(one: str, other: str) -> bool:
        compared.append((one, other))
        return hmac.compare_digest(one, other)

    token = sign(DECISION, RING)
    monkeypatch.setattr(tokens, "hmac", SimpleNamespace(compare_digest=compare, digest=hmac.digest))
    shown(token)
    mac = token.rsplit(".", 1)[1]
    assert (mac, mac) in compared


def test_an_empty_list_is_not_the_absence_of_one() -> None:
    assert shown(sign(claims(Purpose.EXPOSURE, names=frozenset()), RING)).names == frozenset()
    assert shown(sign(claims(Purpose.EXPOSURE, names=None), RING)).names is None
