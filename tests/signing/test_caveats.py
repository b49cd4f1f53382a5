"""Delegations: caveats narrow, and none can be dropped, moved or edited."""

from __future__ import annotations

import base64
import hmac
from typing import Any

import pytest

from policyengine.errors import TokenError
from policyengine.records import replace
from policyengine.signing import Caveat, Claims, Purpose, attenuate, sign, verify
from policyengine.signing.caveats import MAX_CAVEATS
from policyengine.signing.tokens import MAX_TOKEN
from tests.signing.rings import NOW, RING, SCOPE, claims

ROOT = claims(
    Purpose.DELEGATION, tool="", arguments_digest="", outcome=None, depth=3, names=frozenset("abc"), delegation=()
)
TOKEN = sign(ROOT, RING)


def opened(token: str, **demanded: Any) -> Claims:
    """What a delegation says."""
    given: dict[str, Any] = {"purpose": Purpose.DELEGATION, "scope_id": SCOPE, "now": NOW} | demanded
    return verify(token, RING, **given)


def refusal(token: str, **demanded: Any) -> str:
    """The code with which a delegation is refused."""
    with pytest.raises(TokenError) as caught:
        opened(token, **demanded)
    return caught.value.code


def test_without_a_caveat_it_says_what_was_signed() -> None:
    assert opened(TOKEN) == replace(ROOT, kid="k2")


@pytest.mark.parametrize(
    ("caveat", "changes"),
    [
        (Caveat(), {}),
        (Caveat(names=frozenset("bcd")), {"names": frozenset("bc")}),
        (Caveat(names=frozenset()), {"names": frozenset()}),
        (Caveat(expires=NOW + 5), {"expires": NOW + 5}),
        (Caveat(expires=NOW + 500), {}),
        (Caveat(expires=1_800_000_006), {"expires": 1_800_000_006.0}),
        (Caveat(agent="worker"), {"agent": "worker", "delegation": ("lead",), "depth": 2}),
        (Caveat(agent="worker", depth=0), {"agent": "worker", "delegation": ("lead",), "depth": 0}),
        (Caveat(depth=9), {}),
        (Caveat(depth=1), {"depth": 1}),
    ],
)
def test_a_caveat_narrows(caveat: Caveat, changes: dict[str, Any]) -> None:
    assert opened(attenuate(TOKEN, caveat)) == replace(ROOT, kid="k2", **changes)


def test_a_delegation_that_limits_no_names_is_limited_by_its_first_caveat() -> None:
    token = attenuate(sign(replace(ROOT, names=None), RING), Caveat(names=frozenset("x")))
    assert opened(token).names == frozenset("x")
    assert opened(attenuate(token, Caveat(names=frozenset("yz")))).names == frozenset()


def test_the_chain_names_who_handed_down() -> None:
    token = attenuate(attenuate(sign(replace(ROOT, agent=""), RING), Caveat(agent="a")), Caveat(agent="b"))
    found = opened(token, agent="b", delegation=("ann", "a"))
    assert (found.agent, found.delegation, found.depth) == ("b", ("ann", "a"), 1)
    assert refusal(token, agent="a") == "token.agent"


def test_it_is_not_handed_down_more_often_than_it_may_be() -> None:
    token = TOKEN
    for agent in ("a", "b", "c"):
        token = attenuate(token, Caveat(agent=agent))
        assert opened(token)
    assert refusal(attenuate(token, Caveat(agent="d"))) == "token.depth"
    assert opened(attenuate(token, Caveat(names=frozenset())))


def test_a_child_cannot_give_itself_more_levels() -> None:
    token = attenuate(attenuate(TOKEN, Caveat(agent="a", depth=0)), Caveat(depth=5))
    assert refusal(attenuate(token, Caveat(agent="b"))) == "token.depth"


def test_a_caveat_that_has_ended_ends_the_delegation() -> None:
    assert refusal(attenuate(TOKEN, Caveat(expires=NOW))) == "token.expired"


# -------------------------------------------------------------------------------------------------------------- attacks
CHILD = attenuate(attenuate(TOKEN, Caveat(names=frozenset("ab"))), Caveat(names=frozenset("a"), agent="worker"))
BODY, FIRST, SECOND, MAC = CHILD.rsplit(".", 3)


@pytest.mark.parametrize(
    "token",
    [
        f"{BODY}.{MAC}",
        f"{BODY}.{FIRST}.{MAC}",
        f"{BODY}.{SECOND}.{MAC}",
        f"{BODY}.{SECOND}.{FIRST}.{MAC}",
        f"{BODY}.{FIRST}.{SECOND}.{SECOND}.{MAC}",
        f"{BODY}.{FIRST}.{FIRST}.{MAC}",
        f"{BODY}.{FIRST}.{SECOND}.{TOKEN.rsplit('.', 1)[1]}",
        f"{BODY}.{FIRST}.{SECOND}",
        f"{BODY}..{FIRST}.{SECOND}.{MAC}",
        CHILD.replace(BODY, BODY[:-1] + ("A" if BODY[-1] != "A" else "B")),
    ],
)
def test_a_caveat_cannot_be_dropped_moved_or_doubled(token: str) -> None:
    assert refusal(token) == "token.mac"


def test_a_caveat_cannot_be_edited() -> None:
    wider = base64.urlsafe_b64encode(b'["worker",["a","c"],null,null]').decode().rstrip("=")
    assert refusal(f"{BODY}.{FIRST}.{wider}.{MAC}") == "token.mac"


def test_two_caveats_are_not_one_of_their_texts_together() -> None:
    """A MAC over parts that are merely joined could not tell where one ends."""
    middle = len(SECOND) // 4 * 2
    for cut in (f"{FIRST}{SECOND}", f"{FIRST}.{SECOND[:middle]}.{SECOND[middle:]}"):
        assert refusal(f"{BODY}.{cut}.{MAC}") == "token.mac"


def test_only_a_delegation_takes_caveats() -> None:
    decision = sign(claims(), RING)
    with pytest.raises(TokenError) as caught:
        attenuate(decision, Caveat())
    assert caught.value.code == "token.purpose"
    body, mac = decision.rsplit(".", 1)
    key = base64.urlsafe_b64decode(mac + "=")
    added = base64.urlsafe_b64encode(b"[null,[],null,null]").decode().rstrip("=")
    kind = "policyengine/caveat/v1"
    longer = hmac.digest(key, f"DSSEv1 {len(kind)} {kind} {len(added)} {added}".encode(), "sha256")
    forged = f"{body}.{added}.{base64.urlsafe_b64encode(longer).decode().rstrip('=')}"
    with pytest.raises(TokenError) as caught:
        verify(forged, RING, purpose=Purpose.DECISION, scope_id=SCOPE, now=NOW)
    assert caught.value.code == "token.malformed"


@pytest.mark.parametrize(
    "payload",
    [
        b"{}",
        b"[]",
        b"[null,null,null]",
        b"[null,null,null,null,null]",
        b"[1,null,null,null]",
        b'["",null,null,null]',
        b'[null,"abc",null,null]',
        b"[null,{},null,null]",
        b"[null,null,1,null]",
        b"[null,null,-1.0,null]",
        b"[null,null,NaN,null]",
        b"[null,null,1e999,null]",
        b"[null,null,null,-1]",
        b"[null,null,null,1.0]",
        b"[null,null,null,true]",
        b"[null,null,null," + b"9" * 5_000 + b"]",
        rb'["\ud800",null,null,null]',
        rb'[null,["a","\udfff"],null,null]',
    ],
)
def test_only_caveats_of_this_version_are_read(payload: bytes) -> None:
    """Whoever holds a delegation can add any text with a right MAC."""
    body, mac = TOKEN.rsplit(".", 1)
    added = base64.urlsafe_b64encode(payload).decode().rstrip("=")
    kind = "policyengine/caveat/v1"
    key = base64.urlsafe_b64decode(mac + "=")
    longer = hmac.digest(key, f"DSSEv1 {len(kind)} {kind} {len(added)} {added}".encode(), "sha256")
    token = f"{body}.{added}.{base64.urlsafe_b64encode(longer).decode().rstrip('=')}"
    assert refusal(token) == "token.malformed"


@pytest.mark.parametrize(
    ("caveat", "code"),
    [
        (Caveat(agent=""), "token.claims"),
        (Caveat(depth=-1), "token.claims"),
        (Caveat(depth=True), "token.claims"),
        (Caveat(expires=float("nan")), "token.time"),
        (Caveat(expires=float("inf")), "token.time"),
        (Caveat(expires=-1.0), "token.time"),
        (Caveat(agent="\ud800"), "token.claims"),
        (Caveat(depth=10**5_000), "token.claims"),
        (Caveat(names=frozenset({"n" * MAX_TOKEN})), "token.too-large"),
    ],
)
def test_what_nobody_could_verify_is_not_added(caveat: Caveat, code: str) -> None:
    with pytest.raises(TokenError) as caught:
        attenuate(TOKEN, caveat)
    assert caught.value.code == code


def test_caveats_are_bounded() -> None:
    token = TOKEN
    for _ in range(MAX_CAVEATS):
        token = attenuate(token, Caveat())
    assert opened(token)
    with pytest.raises(TokenError) as caught:
        attenuate(token, Caveat())
    assert caught.value.code == "token.too-large"


@pytest.mark.parametrize("text", ["", "x", TOKEN.replace("pe1", "pe9"), TOKEN[:-3] + "!!!"])
def test_nothing_else_is_narrowed(text: str) -> None:
    with pytest.raises(TokenError):
        attenuate(text, Caveat())


def test_a_broken_token_may_be_narrowed_but_never_counts() -> None:
    assert refusal(attenuate(TOKEN[:-2] + "AA", Caveat())) == "token.mac"
