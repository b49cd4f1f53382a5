"""Bundles: what was written is read, and damage is told."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyengine.bundle import VERSION, compile_bundle, open_bundle, read_bundle, sealed
from policyengine.errors import BundleError, TokenError
from policyengine.model import Tier

GROUPS: dict[str, dict[str, Any]] = {"program": {"git": {"a": [1, "é"]}, "ls": None}, "rules": {"x": [True, 1.5]}}
DATA = compile_bundle(GROUPS, "sources")


def test_what_was_written_is_read() -> None:
    bundle = read_bundle(DATA, "f", "sources")
    assert {name: dict(bundle.group(name)) for name in GROUPS} == GROUPS
    assert bundle.sources == "sources"
    assert dict(bundle.group("none")) == {}


def test_the_same_values_give_the_same_bytes() -> None:
    turned = {name: dict(reversed(values.items())) for name, values in reversed(GROUPS.items())}
    assert compile_bundle(turned, "sources") == DATA


def test_other_values_have_another_digest() -> None:
    other = compile_bundle({**GROUPS, "rules": {"x": [True, 1.25]}}, "sources")
    assert read_bundle(other, "f").digest != read_bundle(DATA, "f").digest


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_any_changed_byte_is_noticed(position: int, change: int) -> None:
    altered = bytearray(DATA)
    altered[position] ^= change
    with pytest.raises(BundleError):
        read_bundle(bytes(altered), "f")


@given(st.integers(0, len(DATA) - 1))
def test_any_cut_is_noticed(length: int) -> None:
    with pytest.raises(BundleError):
        read_bundle(DATA[:length], "f")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a bundle, or cut off"),
        (b"- id: x\n" * 20, "not a bundle, or cut off"),
        (DATA[:-1], "cut off or has something appended"),
        (DATA + b"x", "cut off or has something appended"),
        (DATA[:-1] + b"x", "altered"),
        (DATA[:8] + struct.pack(">H", VERSION + 1) + DATA[10:], f"a bundle of format {VERSION + 1}"),
    ],
)
def test_a_bundle_that_cannot_be_trusted_says_why_and_what_to_do(data: bytes, message: str) -> None:
    with pytest.raises(BundleError, match=message) as caught:
        read_bundle(data, "f")
    assert "compile" in caught.value.expected
    assert caught.value.file == "f"


def test_a_stale_bundle_is_refused() -> None:
    with pytest.raises(BundleError, match="other sources") as caught:
        read_bundle(DATA, "f", "present")
    assert caught.value.expected == "compile it again"


def test_a_missing_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="cannot be read"):
        open_bundle(tmp_path / "none")


def test_a_bundle_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(DATA)
    assert open_bundle(tmp_path / "b", "sources").digest == read_bundle(DATA, "f").digest


# ----------------------------------------------------------------------------------------------------------- signatures
ORGANISATION = compile_bundle(GROUPS, "sources", Tier.ORGANISATION)


def _seal(head: bytes) -> tuple[bytes, bytes]:
    return b"nameofky", hashlib.sha512(b"secret" + head).digest()


def _vouch(name: bytes, signature: bytes, head: bytes) -> None:
    if (name, signature) != _seal(head):
        raise TokenError("seal.signature", "the signature does not hold")


def test_a_signed_bundle_is_read_as_it_is_written() -> None:
    bundle = read_bundle(sealed(ORGANISATION, _seal), "f", "sources", _vouch)
    assert {name: dict(bundle.group(name)) for name in GROUPS} == GROUPS
    assert bundle.tier is Tier.ORGANISATION
    assert bundle.digest == read_bundle(sealed(ORGANISATION, _seal), "f", vouch=_vouch).digest


def test_a_bundle_is_the_users_unless_it_says_otherwise() -> None:
    assert read_bundle(DATA, "f").tier is Tier.USER
    assert read_bundle(sealed(DATA, _seal), "f", vouch=_vouch).tier is Tier.USER


@pytest.mark.parametrize("data", [ORGANISATION, sealed(ORGANISATION, _seal)], ids=["unsigned", "signed"])
def test_nobody_speaks_in_the_organisations_name_unchecked(data: bytes) -> None:
    with pytest.raises(BundleError, match="in the organisation's name") as caught:
        read_bundle(data, "f")
    assert "public key" in caught.value.expected


@pytest.mark.parametrize("data", [ORGANISATION, DATA])
def test_where_a_signature_is_demanded_an_unsigned_bundle_is_refused(data: bytes) -> None:
    with pytest.raises(BundleError, match="not signed"):
        read_bundle(data, "f", vouch=_vouch)


@given(st.integers(0, len(ORGANISATION) + 79), st.integers(1, 255))
def test_any_changed_byte_of_a_signed_bundle_is_noticed(position: int, change: int) -> None:
    altered = bytearray(sealed(ORGANISATION, _seal))
    altered[position] ^= change
    with pytest.raises(BundleError):
        read_bundle(bytes(altered), "f", vouch=_vouch)


@given(st.integers(0, len(ORGANISATION) + 79))
def test_any_cut_of_a_signed_bundle_is_noticed(length: int) -> None:
    with pytest.raises(BundleError):
        read_bundle(sealed(ORGANISATION, _seal)[:length], "f", vouch=_vouch)


def test_a_signature_of_another_bundle_does_not_do() -> None:
    other = sealed(compile_bundle({}, "sources", Tier.ORGANISATION), _seal)
    with pytest.raises(BundleError, match="does not hold"):
        read_bundle(ORGANISATION + other[-80:], "f", vouch=_vouch)


def test_an_unchecked_signature_is_not_parsed_before_it_is_refused() -> None:
    broken = compile_bundle({}, "s").replace(b'"tier"', b'"teir"')
    data = broken[:10] + hashlib.sha256(broken[42:]).digest() + broken[42:]
    with pytest.raises(BundleError, match="does not hold"):
        read_bundle(sealed(data, lambda _: (b"nameofky", bytes(64))), "f", vouch=_vouch)
