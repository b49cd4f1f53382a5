"""Decoders of Python's library, so that what is hidden in constant text is read."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Callable

from policyengine.effects import Taint, Taints
from policyengine.shell.values import Value

MAX_TEXT = 64 * 1024  # of one computed value
_DECODED: Taints = frozenset({Taint.DECODED})

# Functions whose result may be computed from a constant text.
DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "base64.b64decode": lambda data: base64.b64decode(data + b"=" * (-len(data) % 4)),
    "base64.standard_b64decode": lambda data: base64.b64decode(data + b"=" * (-len(data) % 4)),
    "base64.urlsafe_b64decode": lambda data: base64.urlsafe_b64decode(data + b"=" * (-len(data) % 4)),
    "base64.decodebytes": base64.b64decode,
    "base64.b32decode": base64.b32decode,
    "base64.b16decode": base64.b16decode,
    "base64.a85decode": base64.a85decode,
    "base64.b85decode": base64.b85decode,
    "binascii.a2b_base64": binascii.a2b_base64,
    "binascii.unhexlify": binascii.unhexlify,
    "binascii.a2b_hex": binascii.unhexlify,
    "bytes.fromhex": lambda data: bytes.fromhex(data.decode()),
    "bytearray.fromhex": lambda data: bytes.fromhex(data.decode()),
    "zlib.decompress": lambda data: zlib.decompressobj().decompress(data, MAX_TEXT),
}


def decoded(decoder: Callable[[bytes], bytes], value: Value) -> Value:
    """The text that a decoder makes of a constant one."""
    taint = value.taint | _DECODED
    if not value.exact:
        return Value("", exact=False, taint=taint)
    try:
        return Value(decoder(value.text.encode("latin-1")).decode("latin-1"), taint=taint)
    except (ValueError, binascii.Error, zlib.error):
        return Value("", exact=False, taint=taint)
