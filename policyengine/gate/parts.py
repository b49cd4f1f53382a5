"""What stands behind a gate."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from policyengine.audit import Detail
from policyengine.engine import Engine
from policyengine.gate.memory import Memory
from policyengine.gate.messages import Messages
from policyengine.gate.terms import Capabilities
from policyengine.model import Frozen, Grant, Outcome
from policyengine.policies.guardrails.content import Content, Source, source_of_result
from policyengine.policies.guardrails.content.kinds import Described
from policyengine.policies.skill import SkillPolicy
from policyengine.policy import Policy
from policyengine.records import NamedTuple, Record, replace
from policyengine.signing import Keyring
from policyengine.stores import Approvals, RunStates


class Log(Protocol):
    """Where every answer is recorded before it is given."""

    def append(self, record: Mapping[str, Frozen]) -> object:
        """Keep a record.

        Raises:
            AuditError: it could not be kept.
        """


class Granting(Policy, Protocol):
    """Roles, as one policy."""

    @property
    def digest(self) -> str:
        """Names what it says."""

    @property
    def default_role(self) -> str:
        """Stands in for the role of a principal that has none; empty for nothing."""


class Live(Protocol):
    """Roles that are reloaded while a gate asks them (`config.rbac.LiveRbac`)."""

    @property
    def current(self) -> Granting:
        """The policy of this moment."""

    def reload(self) -> object:
        """Read it again; what is refused leaves it as it is. Gives how that ended."""


class Lifetimes(Record):
    """How long tokens are good for, in seconds."""

    decision: float = 300  # from the answer to the call
    question: float = 86_400  # from the question to the answer
    approval: float = 3_600  # from the answer to the call
    exposure: float = 86_400  # one step; it only narrows
    delegation: float = 86_400  # a sub-agent's run


def _describe_nothing(name: str) -> Described | None:
    del name
    return None


def _fresh() -> str:
    return secrets.token_hex(16)


class Parts(Record):
    """An engine and everything that a gate holds beside it.

    Attributes:
        engine: the policies, without those of `roles`.
        keyring: keys that sign and verify.
        approvals: used-up tokens.
        states: of runs.
        log: the audit log.
        content: content guardrails for messages, results and what the model says; None for none.
        skills: the skill policy among the engine's, which is told how a run goes on; None for none.
        describe: finds a tool's description, which says where its results come from; None is from anywhere.
        capabilities: what the host can enforce.
        default_role: stands in for the role of a principal that has none; empty for nothing. With `roles`, they say it.
        roles: a policy that may change; each question is answered by that of the moment in which it is asked, under a
            policy digest of its own, so that what another one has decided is decided again. None for none.
        grants: standing answers, of the operator or the person.
        detail: what of a call the log keeps.
        hidden_from: the least answer to a tool as such that hides it: DENY, or ASK where every call of it would ask.
        lifetimes: of tokens.
        waits: whether stores and log may take so long that an event loop should not wait for them.
        now: seconds since the epoch.
        fresh: a name that nobody can guess and nothing else has.
    """

    engine: Engine
    keyring: Keyring
    approvals: Approvals
    states: RunStates
    log: Log
    content: Content | None = None
    skills: SkillPolicy | None = None
    describe: Callable[[str], Described | None] = _describe_nothing
    capabilities: Capabilities = Capabilities()
    default_role: str = ""
    roles: Live | None = None
    grants: tuple[Grant, ...] = ()
    detail: Detail = Detail.REDACTED
    hidden_from: Outcome = Outcome.DENY
    lifetimes: Lifetimes = Lifetimes()
    waits: bool = True
    now: Callable[[], float] = time.time
    fresh: Callable[[], str] = _fresh

    def asking(self, roles: Granting) -> Parts:
        """Give the parts under roles that do not change."""
        engine = self.engine.also(roles, roles.digest)
        return replace(self, engine=engine, default_role=roles.default_role, roles=None)

    def source(self, tool: str) -> Source:
        """Where a tool's results come from."""
        return source_of_result(self.describe(tool))


class Held(NamedTuple):
    """A gate's parts, and what it remembers."""

    parts: Parts
    memory: Memory
    messages: Messages
