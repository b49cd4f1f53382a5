"""Keys of tokens and their rotation: which key signs, which only verify, which are refused.

    next         verifies and does not sign: given to every host before it becomes active
    active       signs and verifies; a keyring has exactly one
    verify_only  verifies what it signed while it was active
    retired      refused with a code of its own, so that a token of a withdrawn key is told from a forged one

To rotate: add a `next` key everywhere, make it `active` and the old one `verify_only`, and when the last token of the
old one has expired, `retired`. A keyring is a value; a host that rotates builds another.

Secrets never leave this module: others ask a keyring for the MAC of a message. They are in no repr, error or pickle.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import NoReturn

from policyengine.errors import TokenError

LEAST_BYTES = 32  # of a secret: as many as SHA-256 gives (RFC 2104, section 3)
MAX_DERIVED = 1024  # derived keys that a keyring keeps, each taken in by an HMAC
DOMAIN = b"policyengine/1/"  # before every label, so that a secret that others use too gives other keys here
_KID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class KeyState(StrEnum):
    """Where a key is in its life."""

    NEXT = "next"
    ACTIVE = "active"
    VERIFY_ONLY = "verify_only"
    RETIRED = "retired"


class _Unpicklable:
    """Something that is never written anywhere, and is its own copy."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"a `{type(self).__name__}` is never pickled")

    def __copy__(self) -> _Unpicklable:
        return self

    def __deepcopy__(self, memo: object) -> _Unpicklable:
        return self


class Key(_Unpicklable):
    """One secret, its public name `kid` (letters, digits, `-`, `_`) and its state.

    Raises:
        TokenError: the name is none (`key.name`), or the secret is too short (`key.short`).
    """

    __slots__ = ("_secret", "kid", "state")

    def __init__(self, kid: str, secret: bytes, state: KeyState = KeyState.ACTIVE) -> None:
        if not _KID.fullmatch(kid):
            raise TokenError("key.name", "a key's name has 1 to 64 letters, digits, `-` and `_`")
        if len(secret) < LEAST_BYTES:
            del secret  # of an error's frames, which crash reporters show
            raise TokenError("key.short", f"the secret of key `{kid}` needs at least {LEAST_BYTES} random bytes")
        self.kid = kid
        self.state = KeyState(state)
        self._secret = bytes(secret)

    def __repr__(self) -> str:
        return f"Key({self.kid!r}, {self.state.value})"


class Keyring(_Unpicklable):
    """The keys of a host, of which one signs.

    Raises:
        TokenError: two keys share a name or a secret (`key.duplicate`), or not exactly one is active (`key.active`).
    """

    __slots__ = ("_derived", "_keys", "active")

    def __init__(self, keys: Iterable[Key]) -> None:
        given = tuple(keys)
        self._keys = {key.kid: key for key in given}
        # A secret under two names would outlive its retirement under one of them.
        if len(self._keys) < len(given) or len({key._secret for key in given}) < len(given):
            raise TokenError("key.duplicate", "two keys of a keyring have the same name or the same secret")
        active = [key.kid for key in given if key.state is KeyState.ACTIVE]
        if len(active) != 1:
            raise TokenError("key.active", f"exactly one key has to be active, not {len(active)}")
        self.active = active[0]
        self._derived: dict[tuple[str, str, bytes], hmac.HMAC] = {}

    def __repr__(self) -> str:
        return f"Keyring({list(self._keys.values())!r})"

    def check(self, kid: str) -> None:
        """Refuse a name whose key must not be used.

        Raises:
            TokenError: nobody knows it (`token.unknown-key`), or it is retired (`token.retired-key`).
        """
        key = self._keys.get(kid)
        if key is None:
            raise TokenError("token.unknown-key", "signed with a key that this keyring does not know")
        if key.state is KeyState.RETIRED:
            raise TokenError("token.retired-key", f"signed with key `{kid}`, which is retired")

    def mac(self, kid: str, label: str, scope: bytes, message: bytes) -> bytes:
        """HMAC-SHA256 of a message with the key that belongs to this label and scope alone.

        Raises:
            TokenError: as for `check`.
        """
        self.check(kid)
        kept, at = self._derived, (kid, label, scope)
        keyed = kept.get(at)
        if keyed is None:
            keyed = hmac.new(_derived(self._keys[kid], label, scope), digestmod="sha256")
            if len(kept) < MAX_DERIVED:
                kept[at] = keyed
            else:  # another dict, since other threads may be using this one
                self._derived = {at: keyed}
        begun = keyed.copy()  # in which the key has been taken in already: that is half of what a short message costs
        begun.update(message)
        return begun.digest()


def _derived(key: Key, label: str, scope: bytes) -> bytes:
    """HKDF-SHA256 (RFC 5869). The salt is the scope's digest: HMAC cannot tell a key from the same and a zero byte."""
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415  7 ms, where something is signed
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415

    salt = hashlib.sha256(scope).digest()
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=DOMAIN + label.encode()).derive(key._secret)
