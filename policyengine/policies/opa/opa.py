"""The policy: one rule of one OPA server, asked about each call."""

from __future__ import annotations

import time

from policyengine.effects import Facts
from policyengine.errors import UsageError
from policyengine.model import Outcome, Request, Verdict
from policyengine.policies.opa import blocking, events
from policyengine.policies.opa.answers import verdict
from policyengine.policies.opa.document import MAX_INPUT, encoded, input_document
from policyengine.policies.opa.exchange import Failure
from policyengine.policies.opa.server import Server, query_head
from policyengine.state import RunState

SHARE = 0.9  # of the deadline that a query may take; the rest is for naming what was late


class Opa:
    """A rule of an OPA server as a remote policy: `true` allows, everything else is DENY.

    Args:
        server: where it listens.
        rule: dotted path of the rule, package first (`agent.tools.allow`), as the operator wrote it.
        token: bearer token for the server; it is not shown anywhere.
        deadline: seconds that a decision may take, connecting included.
        name: of the policy, in findings.

    Raises:
        UsageError: an argument cannot be used.
    """

    __slots__ = ("_blocking", "_events", "_head", "deadline", "name")

    def __init__(self, server: Server, rule: str, *, token: str = "", deadline: float = 0.5, name: str = "opa") -> None:
        if not 0 < deadline <= 60:
            raise UsageError(f"`{deadline}` is no deadline, expected up to 60 seconds")
        self.name = name
        self.deadline = deadline
        self._head = query_head(server, rule, token)
        self._blocking = blocking.Connections(server)
        self._events = events.Connections(server)

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Ask the server, in this thread. Without arguments nothing is asked: nobody can say what they would be."""
        end = time.monotonic() + self.deadline * SHARE
        if request.arguments is None:
            return Verdict(policy=self.name, outcome=Outcome.ALLOW)
        query = self._query(request, facts, state)
        return verdict(self.name, query if isinstance(query, Failure) else self._blocking.ask(query, end))

    async def aevaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Ask as `evaluate` does, on the running event loop."""
        end = time.monotonic() + self.deadline * SHARE
        if request.arguments is None:
            return Verdict(policy=self.name, outcome=Outcome.ALLOW)
        query = self._query(request, facts, state)
        left = end - time.monotonic()
        return verdict(self.name, query if isinstance(query, Failure) else await self._events.ask(query, left))

    def close(self) -> None:
        """Close the connections that threads have left open."""
        self._blocking.close()

    async def aclose(self) -> None:
        """Close the connections that the running event loop has left open."""
        self._events.close()

    def _query(self, request: Request, facts: Facts, state: RunState) -> bytes | Failure:
        try:
            body = encoded(input_document(request, facts, state))
        except UnicodeEncodeError:
            return Failure("opa.input-not-text", "The call holds text that is no valid Unicode.")
        if len(body) > MAX_INPUT:
            return Failure("opa.input-too-large", f"The input is longer than {MAX_INPUT} bytes.")
        return b"%s%d\r\n\r\n%s" % (self._head, len(body), body)
