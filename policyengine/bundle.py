"""One file of compiled rules and descriptions: an index, and JSON segments that are decoded when they are needed.

    offset  0   8 bytes   magic `PEBUNDLE`
            8   2         version of this format, big-endian like all numbers here
           10  32         SHA-256 of everything from offset 42 on: the digest of the policy
           42   8         length of everything from offset 50 on
           50   4         length of the header
           54  …          header, JSON: `sources` (digest of the files), `tier` (in whose name the bundle speaks),
                          `index` (group → name → [offset, length])
            …             segments, JSON; offsets count from the end of the header
            …   8         where it is signed: magic `PESIGNED`
                8         beginning of the SHA-256 of the public key
                64        Ed25519 signature over the first 42 bytes (`signing.bundles`)

The digest shows damage and names the policy. It is no signature: whoever may write the file can compute it. A bundle
that speaks in the organisation's name is opened only with a public key that its signature holds under.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeAlias

from policyengine.errors import BundleError, TokenError
from policyengine.model import Tier

Json: TypeAlias = Any  # what `json` reads and writes; taken apart by the reader of each group

MAGIC, SIGNED = b"PEBUNDLE", b"PESIGNED"
VERSION = 3
MAX_BYTES = 64 * 1024 * 1024
_HEAD = struct.Struct(">8sH32sQI")
_HASHED = 42  # where the digest begins to count
_SEAL = struct.Struct(">8s8s64s")
_AGAIN = "a file made by this version's `policyengine compile`"


# Name of a key, signature and signed bytes; raises TokenError where that is none of a trusted key.
Vouch: TypeAlias = Callable[[bytes, bytes, bytes], None]


def compile_bundle(groups: Mapping[str, Mapping[str, Json]], sources: str, tier: Tier = Tier.USER) -> bytes:
    """Write groups of named JSON values as a bundle; the same values give the same bytes.

    Args:
        groups: group → name → value.
        sources: digest of the files that the values were compiled from.
        tier: in whose name the bundle speaks; one of the organisation's is of no use until it is sealed.
    """
    index: dict[str, dict[str, list[int]]] = {}
    segments: list[bytes] = []
    offset = 0
    for group, values in sorted(groups.items()):
        index[group] = {}
        for name, value in sorted(values.items()):
            segment = _dumps(value)
            index[group][name] = [offset, len(segment)]
            segments.append(segment)
            offset += len(segment)
    header = _dumps({"sources": sources, "tier": int(tier), "index": index})
    rest = struct.pack(">I", len(header)) + header + b"".join(segments)
    hashed = struct.pack(">Q", len(rest)) + rest
    return MAGIC + struct.pack(">H", VERSION) + hashlib.sha256(hashed).digest() + hashed


def _dumps(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False).encode(
        "utf-8", "surrogatepass"
    )


def sealed(data: bytes, seal: Callable[[bytes], tuple[bytes, bytes]]) -> bytes:
    """Sign a bundle that is not signed yet; `seal` gives the name of its key and a signature of what it is given."""
    return data + _SEAL.pack(SIGNED, *seal(data[:_HASHED]))


def open_bundle(path: str | os.PathLike[str], sources: str | None = None, vouch: Vouch | None = None) -> Bundle:
    """Read a bundle; with `sources`, it has to be compiled from files of that digest, with `vouch`, to be signed.

    Raises:
        BundleError: it is missing, truncated, altered, stale or of another version, or its signature does not hold, or
            it speaks in the organisation's name and nobody vouches for that.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BundleError(f"cannot be read: {error.strerror}", file=str(path), expected="a bundle") from error
    return read_bundle(data, str(path), sources, vouch)


def read_bundle(data: bytes, file: str, sources: str | None = None, vouch: Vouch | None = None) -> Bundle:
    """Read a bundle from its bytes; `file` is what messages call it.

    Raises:
        BundleError: as for `open_bundle`.
    """
    if len(data) < _HEAD.size or data[:8] != MAGIC:
        raise BundleError("not a bundle, or cut off at its beginning", file=file, expected=_AGAIN)
    _, version, digest, length, header_length = _HEAD.unpack_from(data)
    if version != VERSION:
        raise BundleError(f"a bundle of format {version}", file=file, expected=f"format {VERSION}: compile it again")
    end = _HASHED + 8 + length
    seal = _seal(data, end, file)
    if hashlib.sha256(memoryview(data)[_HASHED:end]).digest() != digest:
        raise BundleError("a bundle that was altered", file=file, expected=_AGAIN)
    if vouch is not None:
        _check_seal(seal, data[:_HASHED], vouch, file)
    bundle = Bundle(data, digest.hex(), _HEAD.size + header_length, file)
    if bundle.tier < Tier.USER and vouch is None:
        raise BundleError(
            "a bundle in the organisation's name", file=file, expected="the organisation's public key to check it with"
        )
    if sources is not None and bundle.sources != sources:
        raise BundleError("a bundle of other sources than the present ones", file=file, expected="compile it again")
    return bundle


def _seal(data: bytes, end: int, file: str) -> tuple[bytes, bytes] | None:
    rest = data[end:]
    if len(data) == end:
        return None
    if len(rest) != _SEAL.size or not rest.startswith(SIGNED):
        raise BundleError("a bundle that is cut off or has something appended", file=file, expected=_AGAIN)
    _, key, signature = _SEAL.unpack(rest)
    return key, signature


def _check_seal(seal: tuple[bytes, bytes] | None, head: bytes, vouch: Vouch, file: str) -> None:
    if seal is None:
        raise BundleError("a bundle that is not signed", file=file, expected="one signed with a key that is trusted")
    try:
        vouch(*seal, head)
    except TokenError as error:
        raise BundleError(error.message, file=file, expected="one signed with a key that is trusted") from error


class Bundle:
    """An open bundle, whose bytes are `data`.

    `digest` names the policy, `sources` the files it was compiled from; `tier` is in whose name it speaks, the
    organisation's only if its signature holds.
    """

    __slots__ = ("_index", "_start", "data", "digest", "file", "sources", "tier")

    def __init__(self, data: bytes, digest: str, start: int, file: str) -> None:
        self.data = data
        self._start = start
        self.digest = digest
        self.file = file
        header = _loads(data[_HEAD.size : start], file)
        try:
            self.sources: str = header["sources"]
            self.tier = Tier(header["tier"])
            self._index: dict[str, dict[str, tuple[int, int]]] = header["index"]
        except (KeyError, TypeError, ValueError):
            _malformed(file)

    def group(self, name: str) -> Group:
        """Give a group's values by name; a group that was not written is empty."""
        return Group(self, self._index.get(name, {}))

    def segment(self, offset: int, length: int) -> Json:
        """Decode one segment.

        Raises:
            BundleError: the index is wrong about it.
        """
        start = self._start + offset
        return _loads(self.data[start : start + length], self.file)


class Group(Mapping[str, Json]):
    """The values of a group, each decoded every time that it is asked for."""

    __slots__ = ("_bundle", "_places")

    def __init__(self, bundle: Bundle, places: Mapping[str, tuple[int, int]]) -> None:
        self._bundle = bundle
        self._places = places

    def __getitem__(self, name: str) -> Json:
        return self._bundle.segment(*self._places[name])

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _loads(data: bytes, file: str) -> Json:
    try:
        return json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        _malformed(file)


def _malformed(file: str) -> NoReturn:
    raise BundleError("a bundle whose parts are not what its index says", file=file, expected=_AGAIN)
