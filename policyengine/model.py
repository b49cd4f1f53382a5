"""The types of a decision, named in the field's terms (XACML 3.0, Cedar, NIST SP 800-162).

Everything is frozen. What comes from outside is deep-frozen once, at the edge (`freeze`); `Request.digest` names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from operator import itemgetter
from typing import Any

from policyengine.effects import Effect, Span
from policyengine.frozen import (
    EMPTY,
    MAX_VALUE_DEPTH,
    Attributes,
    Frozen,
    digest_of,
    freeze,
    freeze_object,
)
from policyengine.records import Record, computed_once

__all__ = [
    "ANONYMOUS",
    "EMPTY",
    "MAX_VALUE_DEPTH",
    "Attributes",
    "Context",
    "Control",
    "ControlKind",
    "Decision",
    "Exposure",
    "Finding",
    "Frozen",
    "Grant",
    "Obligation",
    "ObligationKind",
    "Outcome",
    "Principal",
    "Request",
    "Resource",
    "ResourceKind",
    "Severity",
    "ShellKind",
    "Tier",
    "Verdict",
    "digest_of",
    "enforced",
    "freeze",
    "freeze_object",
]


class Outcome(IntEnum):
    """The answer, ordered by strictness: combining is `max`."""

    ALLOW = 0
    ASK = 1
    DENY = 2

    @property
    def word(self) -> str:
        """The lower-case spelling used on every wire."""
        return self.name.lower()


class Severity(IntEnum):
    """How much a finding matters, ordered."""

    INFO = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    @property
    def word(self) -> str:
        """The lower-case spelling used on every wire."""
        return self.name.lower()


class Tier(IntEnum):
    """Where a rule, grant or description comes from. The project tier may only tighten."""

    SHIPPED = 0
    ORGANISATION = 1
    USER = 2
    PROJECT = 3


class ResourceKind(StrEnum):
    """What kind of thing is acted on."""

    TOOL = "tool"
    MODEL = "model"
    SKILL = "skill"
    ROUTE = "route"
    MCP_SERVER = "mcp_server"
    SANDBOX = "sandbox"


class ShellKind(StrEnum):
    """Which shell reads a command; `unknown` means the strictest of the plausible readings counts."""

    BASH = "bash"
    SH = "sh"
    ZSH = "zsh"
    UNKNOWN = "unknown"


class Principal(Record):
    """Who asks, as the runtime vouches for it; never built from model-visible text."""

    id: str = "anonymous"
    roles: tuple[str, ...] = ()
    attributes: Attributes = EMPTY
    internal: bool = False
    agent: str = ""
    delegation: tuple[str, ...] = ()


ANONYMOUS = Principal()


class Resource(Record, kw_only=False):
    """What is acted on."""

    kind: ResourceKind
    id: str


class Context(Record):
    """The circumstances, vouched for by the runtime. `env` is None where the environment is unknown."""

    scope_id: str = ""
    run_id: str = ""
    parent_run_id: str = ""
    step_id: str = ""
    thread_id: str = ""
    call_id: str = ""
    now: float | None = None  # seconds since the epoch
    cwd: str = "/workspace"
    home: str = "/home/agent"
    workspace: tuple[str, ...] = ("/workspace",)
    env: Mapping[str, str] | None = None
    shell: ShellKind = ShellKind.BASH
    platform: str = "linux"
    sandbox: str = "none"
    depth: int = 0
    tags: frozenset[str] = frozenset()
    active_skills: tuple[str, ...] = ()
    model: str = ""  # the model that is asked for, or whose call this is; empty where the host does not say


class Request(Record, slots=False):  # `digest` is computed once
    """One question: may `principal` do `action` to `resource` with these `arguments` here and now.

    `arguments` is deep-frozen, or None for the exposure question (a bound over all arguments).
    """

    principal: Principal
    action: str
    resource: Resource
    arguments: Attributes | None
    context: Context

    @computed_once
    def digest(self) -> str:
        """SHA-256, hex, over a canonical encoding of the whole request except `context.now`; computed when asked for.

        Tool and arguments are in it by `arguments_digest`, which every answer about a call needs as well.

        Raises:
            RequestError: a value has no canonical form (NaN, infinity, nesting beyond `MAX_VALUE_DEPTH`).
        """
        return digest_of(_request_value(self))

    @computed_once
    def arguments_digest(self) -> str:
        """The same over tool and arguments alone: what an executor compares with what it is about to run.

        Raises:
            RequestError: a value has no canonical form.
        """
        return digest_of((self.resource.kind.value, self.resource.id, self.arguments))


class Finding(Record):
    """One thing a policy has to say. `rule` is its id, `code` a stable reason code."""

    rule: str
    code: str
    message: str
    outcome: Outcome
    severity: Severity
    span: Span | None = None
    instead: str = ""
    references: tuple[str, ...] = ()
    effect: Effect | None = None
    shadow: bool = False  # evaluated and recorded, not enforced
    labels: frozenset[str] = frozenset()  # what the run carries from now on if the call runs (`state.Label`)

    @property
    def rank(self) -> tuple[Any, ...]:
        """What findings are ordered by, the strictest first; those with the same are said in the same words."""
        return (-self.outcome, self.shadow, -self.severity, self.span or (-1, -1), self.rule, self.message)


class ObligationKind(StrEnum):
    """What an enforcement point must do beside letting a call run."""

    REDACT = "redact"
    TRUNCATE = "truncate"
    NEUTRALISE = "neutralise"
    SANDBOX = "sandbox"
    TIMEOUT = "timeout"
    NOTIFY = "notify"


class Obligation(Record):
    """A duty of the enforcement point; one that cannot discharge it must deny.

    `limit` is in bytes (TRUNCATE) or milliseconds (TIMEOUT); `names` are what to redact, neutralise or notify.
    """

    kind: ObligationKind
    limit: int | None = None
    names: frozenset[str] = frozenset()


class ControlKind(StrEnum):
    """What else a decision may do to the run."""

    REWRITE = "rewrite"
    STOP = "stop"
    INTERRUPT = "interrupt"


class Control(Record):
    """At most one per decision: rewrite the arguments, stop with a final text, or interrupt."""

    kind: ControlKind
    text: str = ""
    arguments: Attributes | None = None
    at: float = 0.0  # when it was asked for, in the run's own order; of two equal controls the earlier stays


class Grant(Record):
    """A standing or given answer to named asks: never to a deny.

    `rules` are the rule ids it answers, `effects` the effect values it covers (None: all effects of those rules).
    `until` is seconds since the epoch, None for no end; `uses` how often it may still be used, None for unbounded.
    `call` names the one call, and where it runs, that it is for (`policy.call_digest`); empty for any.
    """

    source: str
    tier: Tier
    rules: frozenset[str]
    effects: frozenset[Effect] | None = None
    until: float | None = None
    uses: int | None = None
    call: str = ""


class Verdict(Record, slots=False):  # policies give the same ones again and again: what follows is computed once
    """One policy's answer."""

    policy: str
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    obligations: tuple[Obligation, ...] = ()
    control: Control | None = None

    @computed_once
    def explained(self) -> tuple[Finding, ...]:
        """The findings, with one more where the outcome is stricter than they say: it counts, and no grant names it."""
        if self.outcome <= enforced(self.findings):
            return self.findings
        bare = Finding(
            rule=f"engine.unexplained.{self.policy}",
            code="engine.unexplained",
            message=f"The policy {self.policy} gave this answer without a reason.",
            outcome=self.outcome,
            severity=Severity.MEDIUM,
        )
        return (*self.findings, bare)

    @computed_once
    def ranked(self) -> tuple[tuple[tuple[Any, ...], Finding], ...]:
        """The same, each behind its rank, the strictest first."""
        return tuple(sorted([(finding.rank, finding) for finding in self.explained], key=itemgetter(0)))


def enforced(findings: Iterable[Finding]) -> Outcome:
    """Give the strictest outcome among findings that are enforced."""
    strictest = Outcome.ALLOW
    for finding in findings:
        if finding.outcome > strictest and not finding.shadow:
            strictest = finding.outcome
    return strictest


class Decision(Record, slots=False):  # `id` and `request_digest` are computed when somebody asks
    """The final answer, with everything that led to it. `findings` are strictest first."""

    outcome: Outcome
    findings: tuple[Finding, ...]
    effects: tuple[Effect, ...]
    obligations: tuple[Obligation, ...] = ()
    control: Control | None = None
    grants: tuple[Grant, ...] = ()
    request: Request | None = None  # None where what arrived could not be made a request
    policy_digest: str = ""
    state_version: int = 0  # of the run's state before the call
    rewritten: Decision | None = None  # the decision about the rewritten call, where there was one

    @computed_once
    def request_digest(self) -> str:
        """Name the request that was decided: its digest, or empty where there was none.

        Raises:
            RequestError: the request has no digest.
        """
        return "" if self.request is None else self.request.digest

    @computed_once
    def id(self) -> str:
        """Name the decision: the same question to the same rules in the same state has the same answer and name.

        Raises:
            RequestError: the request has no digest.
        """
        rules = tuple(finding.rule for finding in self.findings)
        later = "" if self.rewritten is None else self.rewritten.id
        return digest_of((self.request_digest, self.policy_digest, self.state_version, int(self.outcome), rules, later))


class Exposure(Record):
    """Which tools a model may see: name → outcome bound and reasons. `deferred` are visible only by discovery."""

    visible: tuple[str, ...]
    deferred: tuple[str, ...]
    hidden: Mapping[str, tuple[Finding, ...]]


def _request_value(request: Request) -> Frozen:
    principal, context = request.principal, request.context
    return (
        (principal.id, tuple(sorted(principal.roles)), principal.attributes, principal.internal, principal.agent,
         principal.delegation),
        request.action,
        request.arguments_digest,
        (context.scope_id, context.run_id, context.parent_run_id, context.step_id, context.thread_id, context.call_id,
         context.cwd, context.home, context.workspace, context.env, context.shell.value, context.platform,
         context.sandbox, context.depth, tuple(sorted(context.tags)), context.active_skills, context.model),
    )  # fmt: skip
