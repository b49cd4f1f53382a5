"""Keys of an audit log: one secret, and from it one key for each use, so that no MAC of one use passes for another."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from enum import StrEnum

from policyengine.errors import AuditError
from policyengine.records import Record

MIN_SECRET = 32  # bytes
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Use(StrEnum):
    """What a MAC stands on."""

    RECORD = "record"
    HEAD = "head"
    ANCHOR = "anchor"


class AuditKey(Record, kw_only=False):
    """A named secret of at least `MIN_SECRET` random bytes, kept where nobody who may write the log can read it."""

    kid: str
    secret: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.kid, str) or not NAME.fullmatch(self.kid):
            raise AuditError("audit.key", "a key's id is 1 to 64 letters, digits, dots, dashes and underscores")
        if not isinstance(self.secret, bytes) or len(self.secret) < MIN_SECRET:
            raise AuditError("audit.key", f"a key's secret has to be at least {MIN_SECRET} bytes long")

    def __repr__(self) -> str:
        return f"AuditKey(kid={self.kid!r})"


class Macs:
    """MACs under several keys: those that may be met, of which writers use the first."""

    def __init__(self, keys: Iterable[AuditKey]) -> None:
        given = tuple(keys)
        if not given:
            raise AuditError("audit.key", "an audit log needs a key")
        self.kid = given[0].kid
        self._derived = {
            (key.kid, use): hmac.new(_derived(key, use), digestmod="sha256") for key in given for use in Use
        }
        if len(self._derived) < len(given) * len(Use):
            raise AuditError("audit.key", "two keys have the same id")

    def knows(self, kid: str) -> bool:
        """Whether there is a key of that id."""
        return (kid, Use.RECORD) in self._derived

    def mac(self, use: Use, data: bytes, kid: str = "") -> str:
        """Give the MAC, hex, of what is written; under the key that writers use, or another known one."""
        begun = self._derived[kid or self.kid, use].copy()  # it has taken the key in already
        begun.update(data)
        return begun.hexdigest()

    def holds(self, use: Use, kid: str, data: bytes, mac: str) -> bool:
        """Whether a MAC is the one that a known key gives."""
        return hmac.compare_digest(self.mac(use, data, kid), mac)


def _derived(key: AuditKey, use: Use) -> bytes:
    """HKDF-Expand (RFC 5869, 2.3) for one block: the secret is uniform already, so nothing needs extracting."""
    return hmac.digest(key.secret, f"policyengine/audit/{use.value}/v1\x01".encode(), "sha256")
