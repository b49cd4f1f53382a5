"""Where an OPA server listens, checked once, so that nothing of a request can reach a path or a header."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from policyengine.errors import UsageError
from policyengine.records import Record

if TYPE_CHECKING:
    from ssl import SSLContext

_HOST = re.compile(r"[A-Za-z0-9.:_-]{1,255}")
_TOKEN = re.compile(r"[\x21-\x7e]{1,8192}")  # RFC 6750 2.1 allows less
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")  # of Rego, in ASCII


class Server(Record):
    """An address: a TCP port (with TLS where a context is given), or the path of a Unix socket.

    Without TLS whoever sits on the way can answer `true`: keep it on the loopback address or a Unix socket.

    Raises:
        UsageError: the host or port is none.
    """

    host: str = "127.0.0.1"
    port: int = 8181
    unix: str = ""
    tls: SSLContext | None = None

    def __post_init__(self) -> None:
        if not _HOST.fullmatch(self.host):
            raise UsageError(f"`{self.host}` is no host, expected a name or an address without brackets")
        if type(self.port) is not int or not 0 < self.port < 65536:
            raise UsageError(f"`{self.port}` is no port, expected 1 to 65535")

    @property
    def authority(self) -> str:
        """The host and port as they stand in a URL (RFC 3986 3.2)."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def data_path(reference: str) -> str:
    """Turn `agent.tools.allow` into the path of the Data API; only identifiers of Rego pass (CVE-2025-46569).

    Raises:
        UsageError: a part is no identifier, or there are fewer than two.
    """
    parts = reference.split(".")
    if len(parts) < 2 or not all(_IDENTIFIER.fullmatch(part) for part in parts):
        raise UsageError(f"`{reference}` names no rule, expected a package and a rule like `agent.tools.allow`")
    return "/v1/data/" + "/".join(parts)


def query_head(server: Server, reference: str, token: str) -> bytes:
    """The head of every query for a rule, up to the value of `Content-Length`.

    `strict-builtin-errors` is always asked for: without it a failing built-in function counts as undefined, and a
    policy with `default allow := true` answers `true`.

    Raises:
        UsageError: the reference or the token cannot be used.
    """
    if token and not _TOKEN.fullmatch(token):
        raise UsageError("the token holds characters that no header may have")
    lines = [
        f"POST {data_path(reference)}?strict-builtin-errors=true HTTP/1.1",
        f"Host: {server.authority}",
        "Content-Type: application/json",
        "Accept: application/json",
        *([f"Authorization: Bearer {token}"] if token else []),
        "Content-Length: ",
    ]
    return "\r\n".join(lines).encode("ascii")
