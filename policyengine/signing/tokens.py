"""Tokens: claims under a MAC over the exact characters that are carried.

    pe1 . purpose . key . scope . claims [ . caveat … ] . mac

Parts are joined by full stops; scope, claims, caveats and MAC are base64url without padding. The MAC is HMAC-SHA256
over the pre-authentication encoding (DSSE, protocol.md) of everything before it, as it is written, so nothing is parsed
or written again before it is known to be ours. The algorithm is fixed. Its key belongs to the scope that the *verifier*
names: a token of another scope fails even where somebody forgets to compare.

HMAC gives no non-repudiation: whoever can verify a token can also make one.
"""

from __future__ import annotations

import binascii
import hmac
import re
from typing import TypedDict, Unpack

from policyengine.errors import TokenError
from policyengine.signing import caveats, claims
from policyengine.signing.caveats import MAX_CAVEATS, Caveat
from policyengine.signing.claims import Claims, Purpose, SkillHash, malformed, moment
from policyengine.signing.keys import Keyring

VERSION = "pe1"
MAX_TOKEN = 64 * 1024  # characters
MAX_SCOPE = 1024  # bytes
_ANY_VERSION = re.compile(r"pe[0-9]{1,4}", re.ASCII)
_PURPOSES = {purpose.value: purpose for purpose in Purpose}
_TYPE = {purpose.value: f"policyengine/{purpose.value}/v1".encode() for purpose in Purpose}
_CAVEAT_TYPE = b"policyengine/caveat/v1"


class Expected(TypedDict, total=False):
    """What the verifier demands of a token beside its scope; what is left out is not demanded."""

    run: str
    parent_run: str
    step: str
    thread: str
    subject: str
    agent: str
    delegation: tuple[str, ...]
    tool: str
    arguments_digest: str
    policy_digest: str
    source: str
    skills: tuple[SkillHash, ...]
    sequence: int


# Claim → the code that says that another was demanded.
_CODES = {
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


def sign(what: Claims, keyring: Keyring) -> str:
    """Sign claims with the active key.

    Raises:
        TokenError: they say nothing that can be signed (`token.claims`, `token.time`), or too much (`token.too-large`).
    """
    scope, purpose, kid = claims.utf8(what.scope), what.purpose.value, keyring.active
    body = f"{VERSION}.{purpose}.{kid}.{_text(_scope(scope))}.{_text(claims.encoded(what))}"
    token = f"{body}.{_text(_root_mac(keyring, purpose, kid, scope, body))}"
    return _bounded(token)


def verify(
    token: str, keyring: Keyring, *, purpose: Purpose, scope_id: str, now: float, **expected: Unpack[Expected]
) -> Claims:
    """Give what a token says, after its MAC, its times and whatever is demanded of it have held.

    Args:
        token: as `sign` or `attenuate` gave it.
        keyring: the present keys.
        purpose: the only purpose that will do.
        scope_id: the scope in which the token is shown, as the host declares it.
        now: seconds since the epoch. There is no leeway: hosts whose clocks differ sign with an earlier `not_before`.
        expected: claims that have to have just these values.

    Raises:
        TokenError: it is refused. Codes: `token.too-large`, `token.malformed`, `token.version`, `token.purpose`,
            `token.unknown-key`, `token.retired-key`, `token.scope`, `token.mac`, `token.depth`, `token.not-yet-valid`,
            `token.expired`, and `token.run`, `.step`, `.thread`, `.subject`, `.agent`, `.tool`, `.arguments`,
            `.policy`, `.source`, `.skills`, `.sequence` for what is not as demanded; `token.time` where `now` is no
            time.
        KeyError: something is demanded that no token says.
    """
    present = moment(now)
    head = _Head(token)
    head.check(purpose)
    found = _opened(head, keyring, claims.utf8(scope_id), scope_id)
    if present < found.not_before:
        raise TokenError("token.not-yet-valid", "not valid yet")
    if present >= found.expires:
        raise TokenError("token.expired", "expired")
    for name, value in expected.items():
        code = _CODES[name]  # first: what is not known must not look as if it had been checked
        if getattr(found, name) != value:
            raise TokenError(code, f"issued for another `{name}`")
    return found


def attenuate(token: str, caveat: Caveat) -> str:
    """Narrow a delegation, without any key. Whether the result counts is `verify`'s to say.

    Raises:
        TokenError: it is no delegation (`token.purpose`, `token.malformed`, …), or the result is too long
            (`token.too-large`), or the caveat cannot be one (`token.claims`, `token.time`).
    """
    head = _Head(token)
    head.check(Purpose.DELEGATION)
    if len(head.caveats) >= MAX_CAVEATS:
        raise TokenError("token.too-large", f"more than {MAX_CAVEATS} caveats")
    added = _text(caveats.encoded(caveat))
    return _bounded(f"{head.body}.{added}.{_text(_next_mac(_bytes(head.mac), added))}")


class _Head:
    """A token taken apart at its full stops, and nothing more: all of it may be forged."""

    __slots__ = ("body", "caveats", "kid", "mac", "payload", "purpose", "root", "scope", "version")

    def __init__(self, token: str) -> None:
        if type(token) is not str or not token.isascii():
            raise malformed("a token is ASCII text")
        if len(token) > MAX_TOKEN:
            raise TokenError("token.too-large", f"longer than {MAX_TOKEN} characters")
        self.body, _, self.mac = token.rpartition(".")
        parts = self.body.split(".", MAX_CAVEATS + 6)
        self.version = parts[0]
        if self.version != VERSION:
            known = _ANY_VERSION.fullmatch(self.version)
            raise TokenError("token.version", f"expected version `{VERSION}`") if known else malformed("no token")
        if not 5 <= len(parts) <= 5 + MAX_CAVEATS:
            raise malformed("not the parts of a token")
        _, self.purpose, self.kid, self.scope, self.payload, *self.caveats = parts
        self.root = self.body if not self.caveats else ".".join(parts[:5])

    def check(self, purpose: Purpose) -> None:
        """Refuse another purpose, and caveats where none can be."""
        if self.purpose not in _PURPOSES:
            raise malformed("no purpose")
        if self.purpose != purpose:
            raise TokenError("token.purpose", f"expected a token for `{purpose.value}`")
        if self.caveats and purpose is not Purpose.DELEGATION:
            raise malformed("caveats in a token that is no delegation")


def _opened(head: _Head, keyring: Keyring, scope: bytes, scope_id: str) -> Claims:
    if not hmac.compare_digest(head.scope, _text(_scope(scope))):
        # Told from a forgery only if it is truly signed for the scope that it names.
        ours = _holds(head, keyring, _bytes(head.scope))
        raise TokenError("token.scope", "issued for another scope") if ours else _forged()
    if not _holds(head, keyring, scope):
        raise _forged()
    found = claims.decoded(_bytes(head.payload), _PURPOSES[head.purpose], head.kid, scope_id)
    if not head.caveats:
        return found
    return caveats.narrowed(found, [caveats.decoded(_bytes(one)) for one in head.caveats])


def _holds(head: _Head, keyring: Keyring, scope: bytes) -> bool:
    """Whether the MAC is that of the characters before it. Compared as text: base64 has two spellings of the same."""
    mac = _root_mac(keyring, head.purpose, head.kid, scope, head.root)
    for caveat in head.caveats:
        mac = _next_mac(mac, caveat)
    return hmac.compare_digest(head.mac, _text(mac))


def _root_mac(keyring: Keyring, purpose: str, kid: str, scope: bytes, body: str) -> bytes:
    return keyring.mac(kid, purpose, _scope(scope), authenticated(_TYPE[purpose], body.encode("ascii")))


def _next_mac(mac: bytes, caveat: str) -> bytes:
    return hmac.digest(mac, authenticated(_CAVEAT_TYPE, caveat.encode("ascii")), "sha256")


def authenticated(kind: bytes, body: bytes) -> bytes:
    """Encode what is authenticated as DSSE does: no two pairs of a kind and a body give the same bytes."""
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)


def _scope(scope: bytes) -> bytes:
    if len(scope) > MAX_SCOPE:
        raise TokenError("token.too-large", f"a scope longer than {MAX_SCOPE} bytes")
    return scope


def _forged() -> TokenError:
    return TokenError("token.mac", "altered, or not signed with a key of ours")


def _bounded(token: str) -> str:
    if len(token) > MAX_TOKEN:
        raise TokenError("token.too-large", f"longer than {MAX_TOKEN} characters")
    return token


def _text(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).translate(_TO_URL, b"=").decode("ascii")


def _bytes(text: str) -> bytes:
    try:
        return binascii.a2b_base64(
            text.encode("ascii").translate(_FROM_URL) + b"=" * (-len(text) % 4), strict_mode=True
        )
    except binascii.Error:
        raise malformed("not base64url") from None


_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_+/=", b"+/!!!")
