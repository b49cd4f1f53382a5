"""JSON-like data made immutable, and its name: a digest that no two different values share."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from policyengine.errors import RequestError

Frozen: TypeAlias = "bool | int | float | str | tuple[Frozen, ...] | Mapping[str, Frozen] | None"
Attributes: TypeAlias = Mapping[str, Frozen]
EMPTY: Attributes = MappingProxyType({})
MAX_VALUE_DEPTH = 64  # nesting of arguments and attributes; deeper is refused, never followed


def freeze(value: object, depth: int = 0) -> Frozen:
    """Deep-copy JSON-like data into immutable form: lists become tuples, objects read-only mappings.

    Raises:
        RequestError: a value is no JSON value, a key is no string, a number is not finite, or the nesting exceeds
            `MAX_VALUE_DEPTH`.
    """
    if depth > MAX_VALUE_DEPTH:
        raise _too_deep()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if type(value) is str else str.__str__(value)  # a subclass may say something else later on
    if isinstance(value, int):
        return value if type(value) is int else int.__int__(value)
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, list | tuple):
        return tuple(freeze(item, depth + 1) for item in value)
    if isinstance(value, Mapping):
        return MappingProxyType({_key(key): freeze(item, depth + 1) for key, item in value.items()})
    raise RequestError("request.not-json", f"a value of type `{type(value).__name__}` is not JSON data")


def freeze_object(value: object) -> Attributes:
    """`freeze` for something that has to be a JSON object.

    Raises:
        RequestError: it is not an object, or `freeze` refuses something in it.
    """
    frozen = freeze(value)
    if not isinstance(frozen, Mapping):
        raise RequestError("request.not-object", f"expected an object, found `{type(value).__name__}`")
    return frozen


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise RequestError("request.not-json", f"an object key of type `{type(key).__name__}` is not a string")
    return key if type(key) is str else str.__str__(key)


def digest_of(value: Frozen) -> str:
    """SHA-256, hex, over a type-tagged, length-prefixed encoding: no two different values share one.

    Integers and floats differ, as do 0.0 and -0.0; the order of an object's keys does not count, that of a list does.

    Raises:
        RequestError: a number is not finite, or the nesting exceeds `MAX_VALUE_DEPTH`.
    """
    pieces: list[bytes] = []
    _encode(value, pieces, -1)  # the value's own frame is no level
    return hashlib.sha256(b"".join(pieces)).hexdigest()


_length = struct.Struct(">Q").pack
# What stands before a short text, list or object.
_TEXT, _LIST, _OBJECT = (tuple(tag + _length(size) for size in range(256)) for tag in (b"s", b"l", b"o"))


def _encode(value: Frozen, into: list[bytes], depth: int) -> None:
    """Exact types are told first, as they are what frozen data has; an enumeration's member is a text or number too."""
    kind = type(value)
    if kind is str:
        _encode_text(value, into)  # type: ignore[arg-type]  # mypy does not narrow by `type(x) is`
    elif value is None or kind is bool:
        into.append(b"n" if value is None else b"t" if value else b"f")
    elif kind is tuple:
        _encode_list(value, into, depth)  # type: ignore[arg-type]
    elif isinstance(value, str):
        _encode_text(value, into)
    elif isinstance(value, int):
        digits = b"%x" % value  # hexadecimal has no limit on digits
        into.append(b"i" + _length(len(digits)) + digits)
    elif isinstance(value, float):
        into.append(b"d" + struct.pack(">d", _finite(value)))
    elif isinstance(value, tuple):
        _encode_list(value, into, depth)
    else:
        _encode_object(value, into, depth)


def _encode_text(value: str, into: list[bytes]) -> None:
    data = value.encode("utf-8", "surrogatepass")
    size = len(data)
    into += (_TEXT[size] if size < 256 else b"s" + _length(size), data)


def _encode_list(value: tuple[Frozen, ...], into: list[bytes], depth: int) -> None:
    if depth > MAX_VALUE_DEPTH:
        raise _too_deep()
    size = len(value)
    into.append(_LIST[size] if size < 256 else b"l" + _length(size))
    for item in value:
        if type(item) is str:  # most are: a call less for each
            data = item.encode("utf-8", "surrogatepass")
            size = len(data)
            into += (_TEXT[size] if size < 256 else b"s" + _length(size), data)
        else:
            _encode(item, into, depth + 1)


def _encode_object(value: Mapping[str, Frozen], into: list[bytes], depth: int) -> None:
    if depth > MAX_VALUE_DEPTH:
        raise _too_deep()
    size = len(value)
    into.append(_OBJECT[size] if size < 256 else b"o" + _length(size))
    for key in sorted(value):
        _encode_text(key, into)
        _encode(value[key], into, depth + 1)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise RequestError("request.not-finite", "numbers must be finite")
    return value if type(value) is float else float.__float__(value)


def _too_deep() -> RequestError:
    return RequestError("request.too-deep", f"values nest deeper than {MAX_VALUE_DEPTH} levels")
