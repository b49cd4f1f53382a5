"""Tokens: what was signed is what is read, and everything else is refused with its own code."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest

from policyengine.errors import TokenError
from policyengine.model import Obligation, Outcome
from policyengine.records import replace
from policyengine.signing import Ask, Claims, Key, Keyring, Purpose, sign, verify
from policyengine.signing.tokens import MAX_SCOPE, MAX_TOKEN
from tests.signing.rings import CLAIMS, DIGEST, GONE, KEY, NEXT, NOW, OLD, RING, SCOPE, claims, hkdf

TOKEN = sign(CLAIMS, RING)
VERSION, PURPOSE, KID, SCOPE_PART, PAYLOAD, MAC = TOKEN.split(".")


def refusal(token: Any, **changes: Any) -> str:
    """The code with which a token is refused."""
    given: dict[str, Any] = {"purpose": Purpose.DECISION, "scope_id": SCOPE, "now": NOW} | changes
    with pytest.raises(TokenError) as caught:
        verify(token, RING, **given)
    return caught.value.code


def b64(data: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def forged(values: object, purpose: str = "decision", key: bytes = KEY._secret) -> str:
    """A token with a right MAC around whatever JSON, made by the description alone."""
    return sealed(b64(json.dumps(values).encode()), purpose, key)


def sealed(payload: str, purpose: str = "decision", key: bytes = KEY._secret) -> str:
    """A token with a right MAC around whatever text."""
    body = f"pe1.{purpose}.k2.{b64(SCOPE.encode())}.{payload}"
    kind = f"policyengine/{purpose}/v1"
    derived = hkdf(key, hashlib.sha256(SCOPE.encode()).digest(), f"policyengine/1/{purpose}".encode())
    mac = hmac.digest(derived, f"DSSEv1 {len(kind)} {kind} {len(body)} {body}".encode(), "sha256")
    return f"{body}.{b64(mac)}"


# --------------------------------------------------------------------------------------------------------- what is good
def test_what_was_signed_is_what_is_read() -> None:
    found = verify(TOKEN, RING, purpose=Purpose.DECISION, scope_id=SCOPE, now=NOW)
    assert found == replace(CLAIMS, kid="k2")


def test_a_token_is_what_its_description_says() -> None:
    """Key, encoding before authentication, and parts, all made without the package."""
    assert sealed(PAYLOAD) == TOKEN
    values = json.loads(base64.urlsafe_b64decode(PAYLOAD + "=" * (-len(PAYLOAD) % 4)))
    assert values == [
        "jti-1", NOW, NOW, NOW + 60, "run-1", "run-0", "step-3", "thread-5", "ann", "lead", "bash", DIGEST, "slash",
        "ef" * 32, 0, 7, ["root"], "allow", ["net.unknown", "fs.outside"], [["truncate", 4096, ["a", "b"]]],
        [["/skills/x/SKILL.md", "cd" * 32]], ["bash", "read_file"], [],
    ]  # fmt: skip


def test_the_same_claims_give_the_same_token() -> None:
    names = ["read_file", "bash"]
    assert sign(replace(CLAIMS, names=frozenset(names)), RING) == TOKEN
    assert sign(replace(CLAIMS, kid="other"), RING) == TOKEN


def test_every_field_of_an_obligation_is_signed() -> None:
    assert Obligation._fields == ("kind", "limit", "names")


@pytest.mark.parametrize("key", [KEY, OLD, NEXT], ids=lambda key: key.state.value)
def test_keys_that_are_not_retired_verify(key: Key) -> None:
    token = sign(CLAIMS, Keyring([Key(key.kid, key._secret)]))
    assert verify(token, RING, purpose=Purpose.DECISION, scope_id=SCOPE, now=NOW).kid == key.kid


def test_only_the_active_key_signs() -> None:
    assert sign(CLAIMS, RING).split(".")[2] == KEY.kid


@pytest.mark.parametrize(
    "other",
    [
        claims(Purpose.EXPOSURE, tool="", arguments_digest="", outcome=None, names=None),
        claims(Purpose.EXPOSURE, tool="", arguments_digest="", outcome=None, names=frozenset()),
        claims(Purpose.APPROVAL, outcome=None, asks=(Ask("a.b"), Ask("c.d", DIGEST))),
        claims(Purpose.DELEGATION, depth=3),
        claims(outcome=Outcome.DENY, rules=(), obligations=(), skills=(), names=None, sequence=0),
        claims(tool='caf\u00e9 "\\\n\0\U0001f600', issued=0, not_before=0),
    ],
    ids=["exposure", "exposure of nothing", "approval", "delegation", "bare", "odd names"],
)
def test_other_claims_are_read_as_they_were_signed(other: Claims) -> None:
    found = verify(sign(other, RING), RING, purpose=other.purpose, scope_id=SCOPE, now=NOW)
    assert found == replace(other, kid="k2")


def test_what_is_demanded_and_is_so_holds() -> None:
    demanded: dict[str, Any] = {
        name: getattr(CLAIMS, name)
        for name in ("run", "parent_run", "step", "thread", "subject", "agent", "delegation", "tool",
                     "arguments_digest", "policy_digest", "source", "skills", "sequence")
    }  # fmt: skip
    assert verify(TOKEN, RING, purpose=Purpose.DECISION, scope_id=SCOPE, now=NOW, **demanded)


# ----------------------------------------------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("token", "code"),
    [
        ("", "token.malformed"),
        ("x", "token.malformed"),
        (".....", "token.malformed"),
        (None, "token.malformed"),
        (TOKEN.encode(), "token.malformed"),
        ("ey" + TOKEN, "token.malformed"),
        (TOKEN + "\u00e9", "token.malformed"),
        (TOKEN + "\n", "token.mac"),
        (" " + TOKEN, "token.malformed"),
        (TOKEN + "=", "token.mac"),
        (TOKEN + ".", "token.malformed"),
        (TOKEN.replace("pe1", "pe2", 1), "token.version"),
        (TOKEN.replace("pe1", "pe01", 1), "token.version"),
        (TOKEN.replace("pe1", "PE1", 1), "token.malformed"),
        (f"{VERSION}.decision2.{KID}.{SCOPE_PART}.{PAYLOAD}.{MAC}", "token.malformed"),
        (f"{VERSION}.exposure.{KID}.{SCOPE_PART}.{PAYLOAD}.{MAC}", "token.purpose"),
        (f"{VERSION}.{PURPOSE}.k9.{SCOPE_PART}.{PAYLOAD}.{MAC}", "token.unknown-key"),
        (f"{VERSION}.{PURPOSE}..{SCOPE_PART}.{PAYLOAD}.{MAC}", "token.unknown-key"),
        (f"{VERSION}.{PURPOSE}.k0.{SCOPE_PART}.{PAYLOAD}.{MAC}", "token.retired-key"),
        (f"{VERSION}.{PURPOSE}.k1.{SCOPE_PART}.{PAYLOAD}.{MAC}", "token.mac"),
        (f"{VERSION}.{PURPOSE}.k3.{SCOPE_PART}.{PAYLOAD}.{MAC}", "token.mac"),
        (f"{VERSION}.{PURPOSE}.{KID}.cnVuLTI.{PAYLOAD}.{MAC}", "token.mac"),
        (f"{VERSION}.{PURPOSE}.{KID}.!.{PAYLOAD}.{MAC}", "token.malformed"),
        (f"{VERSION}.{PURPOSE}.{KID}..{PAYLOAD}.{MAC}", "token.mac"),
        (f"{VERSION}.{PURPOSE}.{KID}.{SCOPE_PART}..{MAC}", "token.mac"),
        (f"{VERSION}.{PURPOSE}.{KID}.{SCOPE_PART}.{PAYLOAD}.", "token.mac"),
        (f"{VERSION}.{PURPOSE}.{KID}.{SCOPE_PART}.{MAC}", "token.malformed"),
        (f"{VERSION}.{PURPOSE}.{KID}.{SCOPE_PART}.{PAYLOAD}.W10.{MAC}", "token.malformed"),
        ("pe1." * 100_000, "token.too-large"),
        ("pe1" + "." * (MAX_TOKEN - 3), "token.malformed"),
    ],
)
def test_what_is_no_token_of_ours_is_refused(token: Any, code: str) -> None:
    assert refusal(token) == code


@pytest.mark.parametrize(
    ("demanded", "code"),
    [
        ({"run": "run-2"}, "token.run"),
        ({"parent_run": ""}, "token.run"),
        ({"step": "step-4"}, "token.step"),
        ({"thread": "thread-6"}, "token.thread"),
        ({"subject": "bob"}, "token.subject"),
        ({"agent": "worker"}, "token.agent"),
        ({"delegation": ()}, "token.agent"),
        ({"tool": "write_file"}, "token.tool"),
        ({"arguments_digest": "ac" * 32}, "token.arguments"),
        ({"policy_digest": ""}, "token.policy"),
        ({"source": "skill_context"}, "token.source"),
        ({"skills": ()}, "token.skills"),
        ({"sequence": 8}, "token.sequence"),
        ({"tool": None}, "token.tool"),
        ({"purpose": Purpose.APPROVAL}, "token.purpose"),
        ({"scope_id": "run-2"}, "token.scope"),
        ({"scope_id": ""}, "token.scope"),
        ({"scope_id": SCOPE + "\0"}, "token.scope"),
        ({"scope_id": "r" * (MAX_SCOPE + 1)}, "token.too-large"),
        ({"now": NOW - 0.001}, "token.not-yet-valid"),
        ({"now": NOW + 60}, "token.expired"),
        ({"now": NOW + 1e9}, "token.expired"),
    ],
)
def test_a_token_for_something_else_is_refused(demanded: dict[str, Any], code: str) -> None:
    assert refusal(TOKEN, **demanded) == code


@pytest.mark.parametrize(
    "now", [float("nan"), float("inf"), float("-inf"), -1.0, 1e300, 10**400, True, "1800000000", None]
)
def test_a_clock_that_shows_no_time_verifies_nothing(now: Any) -> None:
    assert refusal(TOKEN, now=now) == "token.time"


def test_what_nobody_knows_cannot_be_demanded() -> None:
    unknown: dict[str, Any] = {"argument_digest": ""}
    with pytest.raises(KeyError, match="argument_digest"):
        verify(TOKEN, RING, purpose=Purpose.DECISION, scope_id=SCOPE, now=NOW, **unknown)


def test_a_token_of_a_key_that_was_retired_meanwhile_is_refused() -> None:
    token = sign(CLAIMS, Keyring([Key(GONE.kid, GONE._secret)]))
    assert refusal(token) == "token.retired-key"


def test_a_token_of_a_stranger_with_our_keys_name_is_refused() -> None:
    assert refusal(sign(CLAIMS, Keyring([Key(KEY.kid, b"9" * 32)]))) == "token.mac"


def test_a_token_of_another_scope_is_told_from_a_forged_one() -> None:
    other = sign(replace(CLAIMS, scope="run-2"), RING)
    assert refusal(other) == "token.scope"
    assert refusal(other[:-1] + ("A" if other[-1] != "A" else "B")) == "token.mac"


def test_no_character_can_be_changed() -> None:
    for at, own in enumerate(TOKEN):
        for other in ("", *"AQgw.-_=0k \n".replace(own, "")):
            refusal(TOKEN[:at] + other + TOKEN[at + 1 :])


def test_two_spellings_of_the_same_base64_are_two_tokens() -> None:
    """Of the last character of a MAC two bits mean nothing (RFC 4648, section 3.5)."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    twin = TOKEN[:-1] + alphabet[alphabet.index(TOKEN[-1]) ^ 1]
    assert base64.urlsafe_b64decode(twin.split(".")[-1] + "=") == base64.urlsafe_b64decode(MAC + "=")
    assert refusal(twin) == "token.mac"


# ------------------------------------------------------------------------ authentic, and yet not what this version says
VALUES: list[Any] = json.loads(base64.urlsafe_b64decode(PAYLOAD + "=" * (-len(PAYLOAD) % 4)))


def changed(at: int, value: object) -> list[Any]:
    """The values of the token, one of them changed."""
    return [*VALUES[:at], value, *VALUES[at + 1 :]]


def test_the_forger_of_these_tests_is_believed() -> None:
    assert verify(forged(VALUES), RING, purpose=Purpose.DECISION, scope_id=SCOPE, now=NOW)


@pytest.mark.parametrize(
    "values",
    [
        {},
        [],
        None,
        "x",
        VALUES[:-1],
        [*VALUES, []],
        dict(enumerate(VALUES)),
        changed(0, ""),
        changed(0, 1),
        changed(0, "a b"),
        changed(0, "j" * 65),
        changed(1, "now"),
        changed(1, 1_800_000_000),
        changed(1, True),
        changed(1, -1.0),
        changed(2, 1e300),
        changed(3, float("nan")),
        changed(3, float("inf")),
        changed(3, NOW),
        changed(4, None),
        changed(10, ""),
        changed(11, ""),
        changed(14, -1),
        changed(14, 1.0),
        changed(15, True),
        changed(15, -1),
        changed(16, "root"),
        changed(16, ["root", 1]),
        changed(16, None),
        changed(17, None),
        changed(17, "ALLOW"),
        changed(17, 0),
        changed(17, ["allow"]),
        changed(18, {"a": 1}),
        changed(19, [["truncate", 4096]]),
        changed(19, [["truncate", -1, []]]),
        changed(19, [["truncate", True, []]]),
        changed(19, [["nothing", None, []]]),
        changed(19, [[["truncate"], None, []]]),
        changed(19, {}),
        changed(20, [["a"]]),
        changed(20, [["a", 1]]),
        changed(20, ["ab"]),
        changed(21, "bash"),
        changed(21, {"bash": 1}),
        changed(22, [["a", None]]),
        changed(22, "ab"),
    ],
)
def test_only_the_claims_of_this_version_are_read(values: object) -> None:
    assert refusal(forged(values)) == "token.malformed"


@pytest.mark.parametrize(
    "payload",
    [
        b64(b""),
        b64(b"\xff"),
        b64(b"[" * 20_000),
        b64(json.dumps(VALUES).encode() + b" "),
        b64(b" " + json.dumps(VALUES).encode()),
        b64(json.dumps(changed(15, 0)).replace(", 0, [", ", " + "9" * 5000 + ", [").encode()),
        "!!!!",
        "A",
        PAYLOAD + "=",
        base64.b64encode(json.dumps(changed(12, "\u00ff\u00fe?>")).encode()).decode().replace("=", "") + "/",
    ],
    ids=["empty", "not UTF-8", "deep", "space after", "space before", "huge number", "no base64", "cut", "padded", "/"],
)
def test_only_well_formed_payloads_are_read(payload: str) -> None:
    assert refusal(sealed(payload)) == "token.malformed"


def test_a_decision_says_something() -> None:
    assert refusal(forged(changed(22, []), "approval"), purpose=Purpose.APPROVAL) == "token.malformed"


# -------------------------------------------------------------------------------------------------- what is not signed
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"jti": ""}, "token.claims"),
        ({"jti": "a.b"}, "token.claims"),
        ({"jti": "j" * 65}, "token.claims"),
        ({"scope": ""}, "token.claims"),
        ({"scope": "\ud800"}, "token.claims"),
        ({"scope": "r" * (MAX_SCOPE + 1)}, "token.too-large"),
        ({"tool": ""}, "token.claims"),
        ({"tool": "\ud83d\ude00"}, "token.claims"),
        ({"arguments_digest": ""}, "token.claims"),
        ({"outcome": None}, "token.claims"),
        ({"purpose": Purpose.APPROVAL}, "token.claims"),
        ({"depth": -1}, "token.claims"),
        ({"sequence": True}, "token.claims"),
        ({"expires": NOW}, "token.claims"),
        ({"expires": NOW - 1}, "token.claims"),
        ({"issued": float("nan")}, "token.time"),
        ({"issued": -1.0}, "token.time"),
        ({"not_before": float("-inf")}, "token.time"),
        ({"expires": float("inf")}, "token.time"),
        ({"expires": 1e300}, "token.time"),
        ({"expires": 10**400}, "token.time"),
        ({"expires": True}, "token.time"),
        ({"rules": ("r" * 1000,) * 100}, "token.too-large"),
    ],
)
def test_what_nobody_could_verify_is_not_signed(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(TokenError) as caught:
        sign(replace(CLAIMS, **changes), RING)
    assert caught.value.code == code


def test_hundreds_of_names_fit_into_a_token() -> None:
    names = frozenset(f"mcp__some_server__a_tool_with_a_long_name_{number}" for number in range(500))
    token = sign(replace(CLAIMS, names=names), RING)
    assert verify(token, RING, purpose=Purpose.DECISION, scope_id=SCOPE, now=NOW).names == names


def test_no_message_shows_what_a_token_says() -> None:
    for wrong in (TOKEN[:-2] + "xx", TOKEN.replace(PAYLOAD, PAYLOAD[:-4]), TOKEN.replace("k2", "k0")):
        with pytest.raises(TokenError) as caught:
            verify(wrong, RING, purpose=Purpose.DECISION, scope_id=SCOPE, now=NOW)
        assert MAC not in str(caught.value)
        assert PAYLOAD[:20] not in str(caught.value)
