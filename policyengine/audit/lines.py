"""What stands in the files of a log: lines of records, and heads. Pure.

A line of a segment, in this order and without blanks:

    {"v":1,"segment":NAME,"seq":N,"at":SECONDS,"kid":KEY,"prev":HASH,"record":{…},"mac":MAC}

`seq` counts from 1; `prev` is the SHA-256, hex, of the whole line before (64 zeros in the first); `mac` is the
HMAC-SHA-256 over the bytes in front of `,"mac"`. A MAC is checked over the bytes that were read, before anything in
them is believed. A head has two slots of `SLOT` bytes, written in turn, so that a torn write leaves the other:

    {"v":1,"segment":NAME,"count":N,"last":HASH,"kid":KEY,"mac":MAC}
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from json.encoder import JSONEncoder
from typing import Any

from policyengine.audit.keys import Macs, Use
from policyengine.errors import AuditError
from policyengine.model import Frozen
from policyengine.records import NamedTuple

MAX_LINE = 16 * 1024 * 1024  # bytes
SLOT = 512  # bytes: a disk's sector, which is written whole
START_HASH = "0" * 64
_NAME = rb"([A-Za-z0-9][A-Za-z0-9._-]{0,63})"
_HASH = rb"([0-9a-f]{64})"
_LINE = re.compile(
    rb'\{"v":1,"segment":"' + _NAME + rb'","seq":([1-9][0-9]{0,14}),"at":([0-9.e+-]{1,32}),"kid":"' + _NAME
    + rb'","prev":"' + _HASH + rb'","record":(.*),"mac":"' + _HASH + rb'"\}\n',
    re.DOTALL,
)  # fmt: skip
_HEAD = re.compile(
    rb'\{"v":1,"segment":"' + _NAME + rb'","count":([0-9]{1,15}),"last":"' + _HASH + rb'","kid":"' + _NAME
    + rb'","mac":"' + _HASH + rb'"\} *\n'
)  # fmt: skip
_OTHER_VERSION = re.compile(rb'\{"v":(?!1,)[0-9]{1,9},')
_MAC = len(b',"mac":""}\n') + 64  # bytes from the MAC to the end of the line


def _plain(value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):  # read-only mappings are no dicts
        return dict(value)
    raise TypeError(f"a value of type `{type(value).__name__}`")


_encode = JSONEncoder(
    ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":"), default=_plain
).encode  # what contains itself nests too deep


def record_json(record: Mapping[str, Frozen]) -> str:
    """Write a record as ASCII JSON on one line.

    Raises:
        AuditError: something in it is no JSON value, or nests too deep (`audit.record`).
    """
    try:
        return _encode(record if type(record) is dict else dict(record))
    except (TypeError, ValueError, RecursionError) as error:
        raise AuditError("audit.record", f"a record that cannot be written: {error}") from error


def digest(line: bytes) -> str:
    """Name a line, by which the next one refers to it."""
    return hashlib.sha256(line).hexdigest()


class Line(NamedTuple):
    """A line whose MAC holds."""

    segment: str
    seq: int
    at: float  # seconds since the epoch, never before the line in front of it
    prev: str
    digest: str  # of this line
    record: bytes  # JSON

    def content(self) -> dict[str, Any]:
        """Decode the record.

        Raises:
            AuditError: it nests deeper than can be read here (`audit.record`).
        """
        try:
            found: dict[str, Any] = json.loads(self.record)
        except (ValueError, RecursionError) as error:
            raise AuditError("audit.record", f"record {self.seq} of `{self.segment}` cannot be decoded") from error
        return found


class Head(NamedTuple):
    """How many lines a segment has, and the digest of the last."""

    segment: str
    total: int
    last: str
    torn: bool = False  # the other slot is damaged: one more line was being written


class Fault(NamedTuple):
    """Why something that was read does not count."""

    code: str
    message: str


def line_of(data: bytes, macs: Macs) -> Line | Fault:
    """Read one line, its end included."""
    match = _LINE.fullmatch(data)
    if match is None:
        if _OTHER_VERSION.match(data):
            return Fault("audit.version", "a line of a format that this version does not know")
        return Fault("audit.altered", "a line that is not what any writer writes")
    segment, seq, at, kid, prev, record, mac = match.groups()
    key = kid.decode()
    if not macs.knows(key):
        return Fault("audit.key-unknown", f"a line under the key `{key}`, which was not given")
    if not macs.holds(Use.RECORD, key, data[:-_MAC], mac.decode()):
        return Fault("audit.altered", "a line whose MAC does not hold")
    return Line(segment.decode(), int(seq), float(at), prev.decode(), digest(data), record)


def head_slot(segment: str, count: int, last: str, macs: Macs) -> bytes:
    """Write a head; it belongs into slot `count % 2`."""
    said = f'{{"v":1,"segment":"{segment}","count":{count},"last":"{last}","kid":"{macs.kid}"'.encode()
    return (said + f',"mac":"{macs.mac(Use.HEAD, said)}"}}'.encode()).ljust(SLOT - 1) + b"\n"


def is_blank(data: bytes) -> bool:
    """Whether the file of a head was made and not written yet."""
    return not data.strip(b"\0")


def head_of(data: bytes, macs: Macs) -> Head | Fault:
    """Read the two slots of a head: the newer that holds counts."""
    slots = [_slot_of(data[SLOT * index : SLOT * (index + 1)], index, macs) for index in (0, 1)]
    heads = [slot for slot in slots if isinstance(slot, Head)]
    unknown = [slot for slot in slots if isinstance(slot, Fault) and slot.code == "audit.key-unknown"]
    if unknown:
        return unknown[0]
    if len(data) > 2 * SLOT or not heads:
        return Fault("audit.head-altered", "a head that does not hold")
    newest = max(heads, key=lambda head: head.total)
    # The first slot is written when a segment is begun, the second with its first record.
    is_whole = len(heads) == 2 or (newest.total == 0 and not data[SLOT:])
    return newest._replace(torn=not is_whole)


def _slot_of(data: bytes, index: int, macs: Macs) -> Head | Fault:
    match = _HEAD.fullmatch(data)
    if match is None:
        return Fault("audit.head-altered", "a head that is not what any writer writes")
    segment, total, last, kid, mac = match.groups()
    key = kid.decode()
    if not macs.knows(key):
        return Fault("audit.key-unknown", f"a head under the key `{key}`, which was not given")
    said = data[: match.start(5) - len(b',"mac":"')]
    if not macs.holds(Use.HEAD, key, said, mac.decode()) or int(total) % 2 != index:
        return Fault("audit.head-altered", "a head that does not hold")
    return Head(segment.decode(), int(total), last.decode())


class Anchor(NamedTuple):
    """A line of a log, named where the log cannot be changed."""

    segment: str
    seq: int
    digest: str


_ANCHOR = re.compile(
    r"audit1:([A-Za-z0-9._-]{1,64}):([A-Za-z0-9._-]{1,64}):([1-9][0-9]{0,14}):([0-9a-f]{64}):([0-9a-f]{64})"
)


def anchor_text(anchor: Anchor, macs: Macs) -> str:
    """Write an anchor as one word: `audit1:KEY:SEGMENT:NUMBER:DIGEST:MAC`."""
    said = f"audit1:{macs.kid}:{anchor.segment}:{anchor.seq}:{anchor.digest}"
    return f"{said}:{macs.mac(Use.ANCHOR, said.encode())}"


def anchor_of(text: str, macs: Macs) -> Anchor:
    """Read an anchor.

    Raises:
        AuditError: it is none, or its key is not known (`audit.anchor`).
    """
    match = _ANCHOR.fullmatch(text.strip())
    if match is None:
        raise AuditError("audit.anchor", "an anchor is what `policyengine audit checkpoint` prints")
    kid, segment, seq, named, mac = match.groups()
    if not macs.knows(kid):
        raise AuditError("audit.anchor", f"the anchor is under the key `{kid}`, which was not given")
    if not macs.holds(Use.ANCHOR, kid, match[0][: -len(mac) - 1].encode(), mac):
        raise AuditError("audit.anchor", "the anchor's MAC does not hold: it was altered")
    return Anchor(segment, int(seq), named)
