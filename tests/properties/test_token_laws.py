"""The laws of tokens: any change is noticed, with the right code; replays fail; what is signed only narrows."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from policyengine.errors import TokenError
from policyengine.model import (
    ANONYMOUS,
    Context,
    Finding,
    Grant,
    Obligation,
    ObligationKind,
    Outcome,
    Request,
    Resource,
    ResourceKind,
    Verdict,
    freeze_object,
)
from policyengine.policy import combine, discharge
from policyengine.records import replace
from policyengine.signing import (
    Ask,
    Caveat,
    Claims,
    Key,
    Keyring,
    KeyState,
    Purpose,
    SkillHash,
    asks_of,
    attenuate,
    grants_of,
    sign,
    verify,
)
from policyengine.signing.claims import MAX_TIME
from tests.properties.test_core_laws import FINDINGS, VERDICTS

MODERATELY = settings(max_examples=50)
RING = Keyring([
    Key("old", b"1" * 32, KeyState.VERIFY_ONLY), Key("now", b"2" * 32), Key("next", b"3" * 32, KeyState.NEXT),
    Key("gone", b"4" * 32, KeyState.RETIRED),
])  # fmt: skip
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMED = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
TOOLS = st.sampled_from(["bash", "read", "write", "web"])
TIMES = st.floats(0, MAX_TIME, allow_nan=False) | st.floats(1e9, 2e9)
OBLIGATIONS = st.builds(
    Obligation,
    kind=st.sampled_from(ObligationKind),
    limit=st.none() | st.integers(0, 2**63),
    names=st.frozensets(TEXT, max_size=2),
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "jti": st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True),
    "scope": NAMED,
    "issued": TIMES,
    "run": TEXT,
    "parent_run": TEXT,
    "step": TEXT,
    "thread": TEXT,
    "subject": TEXT,
    "agent": TEXT,
    "delegation": st.lists(TEXT, max_size=2).map(tuple),
    "tool": NAMED,
    "arguments_digest": NAMED,
    "outcome": st.sampled_from(Outcome),
    "rules": st.lists(TEXT, max_size=3).map(tuple),
    "obligations": st.lists(OBLIGATIONS, max_size=2).map(tuple),
    "source": TEXT,
    "skills": st.lists(st.builds(SkillHash, TEXT, TEXT), max_size=2).map(tuple),
    "names": st.none() | st.frozensets(TOOLS, max_size=3),
    "asks": st.lists(st.builds(Ask, TEXT, TEXT), min_size=1, max_size=2).map(tuple),
    "depth": st.integers(0, 5),
    "policy_digest": TEXT,
    "sequence": st.integers(0, 2**63),
}


@st.composite
def all_claims(draw: st.DrawFn, /) -> Claims:
    """Any claims that can be signed."""
    start, end = sorted((draw(TIMES), draw(TIMES)))
    assume(start < end)
    drawn = {name: draw(values) for name, values in FIELDS.items()}
    return Claims(purpose=draw(st.sampled_from(Purpose)), not_before=start, expires=end, **drawn)


def opened(token: str, claims: Claims, **changes: Any) -> Claims:
    """Open a token where and when it counts, but for changes."""
    return verify(
        token, RING, **{"purpose": claims.purpose, "scope_id": claims.scope, "now": claims.not_before, **changes}
    )


def refusal(token: str, claims: Claims, **changes: Any) -> str:
    """The code with which a token is refused."""
    with pytest.raises(TokenError) as caught:
        opened(token, claims, **changes)
    return caught.value.code


@MODERATELY
@given(all_claims())
def test_what_is_signed_is_what_is_read(claims: Claims) -> None:
    token = sign(claims, RING)
    assert opened(token, claims) == replace(claims, kid="now")
    assert opened(token, claims, now=math.nextafter(claims.expires, 0)) == replace(claims, kid="now")


# Part of a token → the codes with which a change in it may be refused.
CODES = [
    {"token.malformed", "token.version"},  # version
    {"token.malformed", "token.purpose"},
    {"token.unknown-key", "token.malformed"},
    {"token.mac", "token.malformed"},  # scope
    {"token.mac", "token.malformed"},  # claims: malformed where the change makes another part of it
    {"token.mac", "token.malformed"},
]


@MODERATELY
@given(all_claims(), st.data())
def test_any_changed_character_of_a_token_is_noticed(claims: Claims, data: st.DataObject) -> None:
    token = sign(claims, RING)
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.characters(exclude_characters=token[at]) | st.sampled_from("AB.-_=0").filter(token[at].__ne__))
    code = refusal(token[:at] + other + token[at + 1 :], claims)
    assert code in CODES[token[:at].count(".")] | ({"token.mac", "token.unknown-key"} if token[at] == "." else set())
    if other.isalnum() and other.isascii() and token[at] != "." and token[:at].count(".") >= 4:
        assert code == "token.mac"


@MODERATELY
@given(all_claims(), st.data())
def test_any_cut_or_addition_is_noticed(claims: Claims, data: st.DataObject) -> None:
    token = sign(claims, RING)
    at = data.draw(st.integers(0, len(token) - 1))
    refusal(token[:at], claims)
    refusal(token[at + 1 :], claims)
    refusal(token[:at] + data.draw(st.characters()) + token[at:], claims)
    refusal(token + data.draw(st.text(min_size=1, max_size=3)), claims)


DEMANDS = {
    "run": "token.run",
    "parent_run": "token.run",
    "step": "token.step",
    "thread": "token.thread",
    "subject": "token.subject",
    "agent": "token.agent",
    "delegation": "token.agent",
    "tool": "token.tool",
    "arguments_digest": "token.arguments",
    "policy_digest": "token.policy",
    "source": "token.source",
    "skills": "token.skills",
    "sequence": "token.sequence",
}


@MODERATELY
@given(all_claims(), st.sampled_from(sorted(DEMANDS)), st.data())
def test_a_token_for_something_else_is_refused(claims: Claims, name: str, data: st.DataObject) -> None:
    token = sign(claims, RING)
    own = getattr(claims, name)
    demanded: dict[str, Any] = {name: own}
    assert opened(token, claims, **demanded)
    demanded[name] = data.draw(FIELDS[name].filter(lambda value: value != own))
    assert refusal(token, claims, **demanded) == DEMANDS[name]


@MODERATELY
@given(all_claims(), NAMED)
def test_a_token_is_of_one_scope(claims: Claims, scope: str) -> None:
    assume(scope != claims.scope)
    assert refusal(sign(claims, RING), claims, scope_id=scope) == "token.scope"


@MODERATELY
@given(all_claims(), st.sampled_from(Purpose))
def test_a_token_is_for_one_purpose(claims: Claims, purpose: Purpose) -> None:
    assume(purpose is not claims.purpose)
    assert refusal(sign(claims, RING), claims, purpose=purpose) == "token.purpose"


@MODERATELY
@given(all_claims(), TIMES)
def test_a_token_counts_from_its_beginning_to_its_end(claims: Claims, now: float) -> None:
    token = sign(claims, RING)
    if now < claims.not_before:
        assert refusal(token, claims, now=now) == "token.not-yet-valid"
    elif now >= claims.expires:
        assert refusal(token, claims, now=now) == "token.expired"
    else:
        assert opened(token, claims, now=now)


ARGUMENTS = st.dictionaries(st.sampled_from(["path", "command"]), st.text(max_size=3) | st.integers(0, 3), max_size=2)


def _request(tool: str, arguments: dict[str, Any]) -> Request:
    resource = Resource(ResourceKind.TOOL, tool)
    return Request(
        principal=ANONYMOUS, action="invoke", resource=resource, arguments=freeze_object(arguments), context=Context()
    )


@MODERATELY
@given(TOOLS, ARGUMENTS, TOOLS, ARGUMENTS)
def test_a_token_is_for_one_call(tool: str, arguments: dict[str, Any], tool2: str, arguments2: dict[str, Any]) -> None:
    """Another tool has the code of tools, other arguments that of arguments, whatever the difference between them."""
    signed, shown = _request(tool, arguments), _request(tool2, arguments2)
    claims = Claims(
        purpose=Purpose.DECISION, jti="j", scope="s", issued=1.0, not_before=1.0, expires=2.0, tool=tool,
        arguments_digest=signed.arguments_digest, outcome=Outcome.ALLOW,
    )  # fmt: skip
    demanded = {"tool": tool2, "arguments_digest": shown.arguments_digest}
    if tool != tool2:
        assert refusal(sign(claims, RING), claims, **demanded) == "token.tool"
    elif repr(arguments) != repr(arguments2) and arguments != arguments2:
        assert refusal(sign(claims, RING), claims, **demanded) == "token.arguments"
    elif arguments == arguments2:
        assert opened(sign(claims, RING), claims, **demanded)


# ---------------------------------------------------------------------------------------------------------- delegation
CAVEATS = st.builds(
    Caveat,
    agent=st.none() | st.sampled_from(["a", "b"]),
    names=st.none() | st.frozensets(TOOLS, max_size=3),
    expires=st.none() | st.floats(0, 20),
    depth=st.none() | st.integers(0, 4),
)
DELEGATIONS = st.builds(
    Claims,
    purpose=st.just(Purpose.DELEGATION),
    jti=st.just("j"),
    scope=st.just("s"),
    issued=st.just(0.0),
    not_before=st.just(0.0),
    expires=st.just(15.0),
    names=FIELDS["names"],
    depth=FIELDS["depth"],
    agent=st.sampled_from(["", "lead"]),
)


def allowed(token: str, tool: str, now: float) -> bool:
    """Whether a delegation allows a tool."""
    try:
        names = verify(token, RING, purpose=Purpose.DELEGATION, scope_id="s", now=now).names
    except TokenError:
        return False
    return names is None or tool in names


@MODERATELY
@given(DELEGATIONS, st.lists(CAVEATS, max_size=5))
def test_a_child_may_do_no_more_than_its_parent(claims: Claims, caveats: list[Caveat]) -> None:
    """allowed(child) ⊆ allowed(parent), for every tool at every time, along the whole chain."""
    parent = sign(claims, RING)
    for caveat in caveats:
        child = attenuate(parent, caveat)
        for tool in ("bash", "read", "write", "web", "other"):
            for now in (0.0, 5.0, 10.0, 14.9, 15.0, 19.0):
                assert allowed(child, tool, now) <= allowed(parent, tool, now)
        parent = child


@MODERATELY
@given(DELEGATIONS, st.lists(CAVEATS, max_size=4), st.lists(CAVEATS, max_size=2))
def test_what_a_chain_allows_is_the_intersection_of_its_parts(
    claims: Claims, caveats: list[Caveat], more: list[Caveat]
) -> None:
    token = sign(claims, RING)
    for caveat in caveats:
        token = attenuate(token, caveat)
    limits = [names for names in (claims.names, *(one.names for one in caveats)) if names is not None]
    ends = [claims.expires, *(one.expires for one in caveats if one.expires is not None)]
    try:
        found = verify(token, RING, purpose=Purpose.DELEGATION, scope_id="s", now=0.0)
    except TokenError as error:
        assert error.code in {"token.depth", "token.expired"}
        assert error.code == "token.depth" or min(ends) <= 0.0
        return
    assert found.expires == min(ends)
    assert found.names == (frozenset.intersection(*limits) if limits else None)
    assert len(found.delegation) - len(claims.delegation) == sum(one.agent is not None for one in caveats)
    assert found.depth <= claims.depth


@MODERATELY
@given(DELEGATIONS, st.lists(CAVEATS, min_size=1, max_size=4), st.data())
def test_a_chain_cannot_be_dropped_from_moved_or_edited(
    claims: Claims, caveats: list[Caveat], data: st.DataObject
) -> None:
    token = sign(claims, RING)
    for caveat in caveats:
        token = attenuate(token, caveat)
    *head, mac = token.split(".")
    chain = head[5:]
    other = data.draw(st.lists(st.sampled_from(chain), max_size=len(chain) + 1))
    if other != chain:
        assert refusal(".".join([*head[:5], *other, mac]), claims) == "token.mac"
    at = data.draw(st.integers(0, len(chain) - 1))
    edited = [*chain[:at], attenuate(sign(claims, RING), data.draw(CAVEATS)).split(".")[5], *chain[at + 1 :]]
    if edited != chain:
        assert refusal(".".join([*head[:5], *edited, mac]), claims) == "token.mac"


# ------------------------------------------------------------------------------------------------ approvals, narrowing
@MODERATELY
@given(st.lists(VERDICTS, min_size=1, max_size=3), st.lists(FINDINGS, max_size=4))
def test_an_approval_lowers_only_the_asks_it_names(verdicts: list[Verdict], answered: list[Finding]) -> None:
    verdict = combine(verdicts)
    asks = asks_of(answered)
    assume(asks)
    claims = Claims(
        purpose=Purpose.APPROVAL, jti="j", scope="s", issued=0.0, not_before=0.0, expires=9.0, tool="t",
        arguments_digest="d", asks=asks,
    )  # fmt: skip
    grants: tuple[Grant, ...]
    try:
        grants = grants_of(claims, verdict.findings)
    except TokenError:
        grants = ()
    if discharge(verdict, grants, 1.0):
        assert verdict.outcome is Outcome.ASK
        assert set(asks_of(verdict.findings)) <= set(asks)
    assert not discharge(verdict, grants, 9.0)
