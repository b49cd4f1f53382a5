"""What an operating system's error means for a query."""

from __future__ import annotations

from policyengine.policies.opa.exchange import CLOSED, Failure

TIMEOUT = Failure("opa.timeout", "The server did not answer in time.")
REFUSED = Failure("opa.refused", "Nobody listens at the server's address.")


def failure_of(error: OSError) -> Failure:
    """Name the failure behind an error of a socket."""
    match error:
        case TimeoutError():
            return TIMEOUT
        case ConnectionRefusedError() | FileNotFoundError():  # of a Unix socket, the path
            return REFUSED
        case ConnectionError():
            return CLOSED
        case _:
            return Failure("opa.unreachable", f"There is no connection to the server ({type(error).__name__}).")
