"""Keyrings: which keys sign and verify, which keys belong to which scope, and that no key is ever shown."""

from __future__ import annotations

import copy
import hashlib
import hmac
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from policyengine.errors import TokenError
from policyengine.signing import Key, Keyring, KeyState
from policyengine.signing import keys as keys_module
from policyengine.signing.keys import MAX_DERIVED
from tests.signing.rings import GONE, KEY, NEXT, OLD, RING, hkdf


def test_the_hkdf_of_these_tests_is_that_of_the_rfc() -> None:
    """RFC 5869, test case 1, as far as one block goes."""
    salt, info = bytes(range(13)), bytes(range(0xF0, 0xFA))
    okm = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
    assert hkdf(b"\x0b" * 22, salt, info).hex() == okm
    assert HKDF(algorithm=SHA256(), length=32, salt=salt, info=info).derive(b"\x0b" * 22).hex() == okm


def test_a_key_belongs_to_one_label_and_scope() -> None:
    derived = hkdf(KEY._secret, hashlib.sha256(b"run").digest(), b"policyengine/1/decision")
    assert RING.mac("k2", "decision", b"run", b"x") == hmac.digest(derived, b"x", "sha256")
    others = {
        RING.mac(kid, label, scope, b"x")
        for kid in ("k1", "k2", "k3")
        for label in ("decision", "approval", "")
        for scope in (b"", b"run", b"run\0", b"r" * 64, b"r" * 65, hashlib.sha256(b"r" * 65).digest())
    }
    assert len(others) == 3 * 3 * 6


def test_strange_scopes_do_not_make_a_keyring_grow_without_end() -> None:
    ring = Keyring([KEY])
    first = ring.mac("k2", "decision", b"0", b"x")
    for number in range(MAX_DERIVED + 10):
        ring.mac("k2", "decision", b"%d" % number, b"x")
    assert len(ring._derived) <= MAX_DERIVED
    assert ring.mac("k2", "decision", b"0", b"x") == first


def test_threads_share_a_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "MAX_DERIVED", 2)
    ring = Keyring([KEY])
    right = {number: Keyring([KEY]).mac("k2", "decision", b"%d" % number, b"x") for number in range(5)}

    def work(start: int) -> bool:
        return all(ring.mac("k2", "decision", b"%d" % (n % 5), b"x") == right[n % 5] for n in range(start, start + 400))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ([], "key.active"),
        ([OLD], "key.active"),
        ([KEY, Key("k9", b"9" * 32)], "key.active"),
        ([KEY, Key("k2", b"9" * 32, KeyState.NEXT)], "key.duplicate"),
        ([KEY, Key("k9", KEY._secret, KeyState.RETIRED)], "key.duplicate"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(keys: list[Key], code: str) -> None:
    with pytest.raises(TokenError) as caught:
        Keyring(keys)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("kid", "secret", "code"),
    [
        ("", b"x" * 32, "key.name"),
        ("a.b", b"x" * 32, "key.name"),
        ("a\n", b"x" * 32, "key.name"),
        ("\u00e9", b"x" * 32, "key.name"),
        ("k" * 65, b"x" * 32, "key.name"),
        ("a", b"x" * 31, "key.short"),
        ("a", b"", "key.short"),
    ],
)
def test_what_is_no_key_is_refused(kid: str, secret: bytes, code: str) -> None:
    with pytest.raises(TokenError) as caught:
        Key(kid, secret)
    assert caught.value.code == code


def test_rotation_refuses_a_key_only_when_it_is_retired() -> None:
    def ring(*states: KeyState) -> Keyring:
        return Keyring(Key(f"k{at}", b"%d" % at * 32, state) for at, state in enumerate(states))

    early = ring(KeyState.ACTIVE, KeyState.NEXT)
    later = ring(KeyState.VERIFY_ONLY, KeyState.ACTIVE)
    last = ring(KeyState.RETIRED, KeyState.ACTIVE, KeyState.NEXT)
    assert (early.active, later.active, last.active) == ("k0", "k1", "k1")
    assert early.mac("k1", "decision", b"s", b"x") == later.mac("k1", "decision", b"s", b"x")
    assert early.mac("k0", "decision", b"s", b"x") == later.mac("k0", "decision", b"s", b"x")
    with pytest.raises(TokenError) as caught:
        last.mac("k0", "decision", b"s", b"x")
    assert caught.value.code == "token.retired-key"


def test_a_keyring_knows_only_its_keys() -> None:
    with pytest.raises(TokenError) as caught:
        RING.check("k9")
    assert caught.value.code == "token.unknown-key"


# ------------------------------------------------------------------------------------------------- nothing shows a key
SECRET = b"\x01very-secret-and-long-enough-1234"


@pytest.mark.parametrize("show", [repr, str, "{}".format, "{!r}".format, ascii])
def test_a_key_shows_its_name_and_state(show: Callable[[object], str]) -> None:
    key = Key("mine", SECRET)
    assert show(key) == "Key('mine', active)"
    assert show(Keyring([key])) == "Keyring([Key('mine', active)])"


@pytest.mark.parametrize("what", [Key("mine", SECRET), Keyring([Key("mine", SECRET)])], ids=["key", "keyring"])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_keys_are_never_pickled(what: object, protocol: int) -> None:
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(what, protocol)


@pytest.mark.parametrize("what", [KEY, RING])
def test_a_copy_is_the_thing_itself(what: Any) -> None:
    assert copy.copy(what) is what
    assert copy.deepcopy({"keys": [what]})["keys"][0] is what


def test_a_key_has_no_dictionary() -> None:
    assert not hasattr(GONE, "__dict__")
    assert not hasattr(RING, "__dict__")
    assert Key(NEXT.kid, NEXT._secret, NEXT.state) != NEXT
