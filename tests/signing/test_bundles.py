"""Signatures of bundles: RFC 8032 over an encoding of their own, and nothing shows the private key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from policyengine.errors import TokenError
from policyengine.signing.bundles import sealer, vouching

# RFC 8032, section 7.1, test 1
SECRET = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
HEAD = bytes(range(42))


def private(encryption: KeySerializationEncryption | None = None) -> bytes:
    """The private key of the RFC, as PEM."""
    key = Ed25519PrivateKey.from_private_bytes(SECRET)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())


def public(key: bytes = PUBLIC) -> bytes:
    """A public key, as PEM."""
    return Ed25519PublicKey.from_public_bytes(key).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def test_a_seal_names_its_key_and_signs_the_head() -> None:
    name, signature = sealer(private()).seal(HEAD)
    assert name == hashlib.sha256(PUBLIC).digest()[:8]
    encoded = b"DSSEv1 22 policyengine/bundle/v1 42 " + HEAD
    Ed25519PublicKey.from_public_bytes(PUBLIC).verify(signature, encoded)
    assert sealer(private()).public == public()
    vouching([public()])(name, signature, HEAD)


@pytest.mark.parametrize("change", [lambda pem: pem, bytes.strip, lambda pem: pem.replace(b"\n", b"\r\n")])
def test_a_public_key_is_read_as_others_read_it(change: Callable[[bytes], bytes]) -> None:
    name, signature = sealer(private()).seal(HEAD)
    vouching([change(public())])(name, signature, HEAD)


def test_any_of_several_keys_will_do() -> None:
    other = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    name, signature = sealer(private()).seal(HEAD)
    vouching([public(other), public()])(name, signature, HEAD)
    with pytest.raises(TokenError) as caught:
        vouching([public(other)])(name, signature, HEAD)
    assert caught.value.code == "seal.key"
    with pytest.raises(TokenError) as caught:
        vouching([])(name, signature, HEAD)
    assert caught.value.code == "seal.key"


@pytest.mark.parametrize("position", [0, 31, 32, 63])
def test_another_signature_or_head_does_not_hold(position: int) -> None:
    name, signature = sealer(private()).seal(HEAD)
    wrong = bytearray(signature)
    wrong[position] ^= 1
    for given in ((bytes(wrong), HEAD), (signature, HEAD[:-1] + b"x"), (signature, HEAD + b"x"), (b"", HEAD)):
        with pytest.raises(TokenError) as caught:
            vouching([public()])(name, *given)
        assert caught.value.code == "seal.signature"


ELLIPTIC = generate_private_key(SECP256R1())
NOT_PRIVATE = [
    b"", b"x", SECRET, public(), private(BestAvailableEncryption(b"pass")), private()[:60],
    ELLIPTIC.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
]  # fmt: skip
NOT_PUBLIC = [
    b"", b"x", PUBLIC, private(), public()[:-40], public() + public(), b"x" + public(),
    public().replace(b"MCow", b"MCox"), public().replace(b"MCow", b"M!ow"), public().replace(b"=", b""),
    public().replace(b"\n", b""),
    b"-----BEGIN PUBLIC KEY-----\n" + b"\n" * 9999,
    ELLIPTIC.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
]  # fmt: skip


@pytest.mark.parametrize("pem", NOT_PRIVATE)
def test_what_is_no_private_key_of_this_kind_is_refused(pem: bytes) -> None:
    with pytest.raises(TokenError, match="openssl genpkey") as caught:
        sealer(pem)
    assert caught.value.code == "key.format"


@pytest.mark.parametrize("pem", NOT_PUBLIC)
def test_what_is_no_public_key_of_this_kind_is_refused(pem: bytes) -> None:
    with pytest.raises(TokenError, match="openssl pkey") as caught:
        vouching([pem])
    assert caught.value.code == "key.format"
