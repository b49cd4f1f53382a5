"""Ed25519 (RFC 8032) over a bundle's head, in which a digest stands for the rest.

Keys come as PEM texts: private ones as PKCS #8, unencrypted (`openssl genpkey -algorithm ed25519`), public ones as
SubjectPublicKeyInfo (`openssl pkey -pubout`). Unlike with tokens, whoever can verify cannot sign.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from policyengine.errors import TokenError
from policyengine.records import NamedTuple
from policyengine.signing.tokens import authenticated

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

TYPE = b"policyengine/bundle/v1"
NAME_BYTES = 8


class Sealer(NamedTuple):
    """What signs heads with a private key, giving its name and a signature, and the public key, PEM."""

    seal: Callable[[bytes], tuple[bytes, bytes]]
    public: bytes


def sealer(pem: bytes) -> Sealer:
    """Read a private key.

    Raises:
        TokenError: it is none of Ed25519 (`key.format`).
    """
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415

    key = _private(pem)
    del pem  # of the error's frame, which a crash reporter would show
    if key is None:
        raise TokenError("key.format", f"not a private key of Ed25519: make one with `{_HOW}`")
    public = key.public_key()
    name = _name(public)
    return Sealer(
        lambda head: (name, key.sign(authenticated(TYPE, head))),
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    )


def vouching(pems: Iterable[bytes]) -> Callable[[bytes, bytes, bytes], None]:
    """Give what checks the name of a key, a signature and a head against public keys, and raises TokenError where the
    key is none of them (`seal.key`) or the signature does not hold (`seal.signature`).

    Raises:
        TokenError: one is no public key of Ed25519 (`key.format`).
    """
    keys = {_name(key): key for key in map(_public, pems)}

    def vouch(name: bytes, signature: bytes, head: bytes) -> None:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

        if name not in keys:
            raise TokenError("seal.key", "signed with a key that is not trusted here")
        try:
            keys[name].verify(signature, authenticated(TYPE, head))
        except InvalidSignature:
            raise TokenError("seal.signature", "the signature does not hold") from None

    return vouch


def _name(key: Ed25519PublicKey) -> bytes:
    return hashlib.sha256(key.public_bytes_raw()).digest()[:NAME_BYTES]


_HOW = "openssl genpkey -algorithm ed25519 -out FILE"


def _private(pem: bytes) -> Ed25519PrivateKey | None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415  7 ms
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    key = _loaded(lambda: load_pem_private_key(pem, password=None))
    return key if isinstance(key, Ed25519PrivateKey) else None


def _public(pem: bytes) -> Ed25519PublicKey:
    """Read what `openssl pkey -pubout` writes: of this one kind of key its 44 bytes are always the same but for the key
    (RFC 8410, section 4), and a reader of every kind would cost a hook 25 ms.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415  7 ms

    der = _der(pem)
    if len(der) == 44 and der.startswith(_ED25519):
        return Ed25519PublicKey.from_public_bytes(der[12:])
    raise TokenError("key.format", "not a public key of Ed25519: make one with `openssl pkey -in KEY -pubout`")


def _der(pem: bytes) -> bytes:
    found = _PEM.fullmatch(pem.strip())
    try:
        return b"" if found is None else binascii.a2b_base64(b"".join(found[1].split()), strict_mode=True)
    except binascii.Error:
        return b""


_PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----\s([A-Za-z0-9+/=\s]*)\s-----END PUBLIC KEY-----")
_ED25519 = bytes.fromhex("302a300506032b6570032100")


def _loaded(load: Callable[[], object]) -> object:
    """A key, or None: the errors of a reader may hold what it read."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415

    try:
        return load()
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it is encrypted
        return None
