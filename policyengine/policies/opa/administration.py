"""Health, and the upload of policies and data, by opa-python-client (the extra `opa`). No decision passes through here.

Its decision calls are not used: a kept-alive connection of our own answers several times faster, and keeps a deadline
(`policyengine bench --suite opa`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from policyengine.errors import LoadError, UsageError
from policyengine.policies.opa.server import Server

if TYPE_CHECKING:
    from opa_client.opa import OpaClient

SECONDS = 10.0  # that the server may be silent
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(/[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}){0,16}")


class Administration:
    """What an operator does with a server, beside asking it.

    Raises:
        UsageError: the extra is not installed, or the server listens on a Unix socket, which the client cannot reach.
    """

    __slots__ = ("_client",)

    def __init__(self, server: Server, *, token: str = "") -> None:
        if server.unix:
            raise UsageError("opa-python-client cannot reach a Unix socket, expected a host and port")
        try:
            from opa_client.opa import OpaClient  # noqa: PLC0415  an extra
        except ImportError as error:
            raise UsageError("opa-python-client is missing, expected `agent-policyengine[opa]`") from error
        host, _, _ = server.authority.rpartition(":")
        self._client: OpaClient = OpaClient(
            host=host, port=server.port, ssl=server.tls is not None, token=token or None, retries=0, timeout=SECONDS
        )

    def is_healthy(self) -> bool:
        """Whether the server says that it can answer."""
        return self._client.check_health() is True

    def put_policy(self, name: str, rego: str) -> None:
        """Upload a policy as it is (the client would otherwise rewrite one that the server refuses).

        Raises:
            LoadError: the server refuses it or cannot be reached.
            UsageError: the name has other parts than letters, digits, `_`, `.` and `-`.
        """
        _called(name, lambda: self._client.update_policy_from_string(rego, _checked(name), rego_compat=False))

    def put_data(self, name: str, document: Mapping[str, Any]) -> None:
        """Upload a document below `data`, in place of what was there.

        Raises:
            LoadError: the server refuses it or cannot be reached.
            UsageError: as for `put_policy`.
        """
        _called(name, lambda: self._client.update_or_create_data(dict(document), _checked(name)))

    def close(self) -> None:
        """Close the client's connections."""
        self._client.close_connection()


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"`{name}` is no name, expected parts of letters, digits, `_`, `.` and `-`")
    return name


def _called(name: str, call: Callable[[], object]) -> None:
    """Make a call; the client raises errors of its own, of requests and of json: here they are one."""
    from opa_client.errors import RegoParseError  # noqa: PLC0415  an extra, and there: a client was made
    from requests import RequestException  # noqa: PLC0415

    try:
        accepted = call()
    except (RegoParseError, RequestException, LookupError) as error:  # LookupError: an answer of another shape
        raise LoadError(f"the server did not take it: {error}", file=name) from error
    if accepted is not True:
        raise LoadError("the server did not take it", file=name)
