"""Roles and grants as one policy, asked for calls, tool catalogues and routes alike.

A principal is asked about under its roles and under its id, with `id_prefix` in front of the id: ids and role names are
one namespace in Casbin, and without a prefix somebody who calls himself `admin` would be one. Any of them may grant; a
line that denies one of them denies the principal. What no line is about is denied (allowed only where the effect is
`!some(where (p.eft == deny))`). Arguments never count: the answer about a tool is the answer about every call of it.

Codes: `rbac.unknown-role`, `rbac.missing-role`, `rbac.invalid-domain`, `rbac.not-granted`, `rbac.denied`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from itertools import filterfalse
from operator import methodcaller
from typing import Protocol

from policyengine.effects import Facts
from policyengine.errors import UsageError
from policyengine.model import (
    Finding,
    Outcome,
    Principal,
    Request,
    Resource,
    ResourceKind,
    Severity,
    Verdict,
)
from policyengine.policies.rbac.asking import Many, name_in_one_field, object_of
from policyengine.policy import DISCOVERY
from policyengine.records import Record
from policyengine.state import RunState

NAME = "rbac"
INVOKE = "invoke"  # the action that tools are asked about
ALLOWED = Verdict(policy=NAME, outcome=Outcome.ALLOW)


class Answers(Protocol):
    """Policy lines that can be asked."""

    def decide(self, parts: Sequence[str]) -> int:
        """Give the number of the line that answers: positive allows, negative denies, 0 none is about it.

        `parts` are what `asking.Source` numbers.
        """

    def decide_each(self, subjects: Sequence[str], asked: Many) -> list[int]:
        """Give for each request the line that denies one of these subjects, else one that allows one."""


class Lines(Record):
    """Loaded policy lines, and what is known about them.

    Attributes:
        answers: the lines.
        has_object: whether lines have kind and name in one field.
        subjects: every name that is a subject, has a role or is one.
        otherwise: the outcome where no line is about a request.
        digest: names model, lines and settings.
        place: turns a line's number into what a person looks up.
        id_prefix: stands before a principal's id, never before a role's name.
        domain: the attribute of a principal that names its domain; without it the domain is the empty text.
        default_role: what a missing role is replaced with when principals are built; the empty text for nothing.
    """

    answers: Answers
    has_object: bool
    subjects: Set[str]
    otherwise: Outcome
    digest: str
    place: Callable[[int], str]
    id_prefix: str = "user:"
    domain: str = "domain"
    default_role: str = ""


def _refusal(code: str, message: str, instead: str = "") -> Verdict:
    finding = Finding(
        rule=code, code=code, message=message, outcome=Outcome.DENY, severity=Severity.MEDIUM, instead=instead
    )
    return Verdict(policy=NAME, outcome=Outcome.DENY, findings=(finding,))


# Verdicts are made once: making one takes longer than deciding.
_UNKNOWN_ROLE = _refusal("rbac.unknown-role", "A role of this principal is not known to the policy.")
_MISSING_ROLE = _refusal("rbac.missing-role", "This principal has no role, and the policy does not know its id.")
_INVALID_DOMAIN = _refusal("rbac.invalid-domain", "The domain of this principal is not a text.")
_NOT_GRANTED = _refusal(
    "rbac.not-granted",
    "No role of this principal grants this action on this resource.",
    "Choose another tool, or ask an administrator for the grant.",
)


class Rbac:
    """The policy. `exempt` holds the tools that a build generated itself; see `generating`."""

    __slots__ = ("_decide", "_denials", "_domain", "_has_object", "_lines", "_prefix", "_roles", "exempt", "name")

    def __init__(self, lines: Lines, exempt: frozenset[str] = frozenset()) -> None:
        self.name = NAME
        self.exempt = exempt
        self._lines = lines
        prefix = lines.id_prefix
        self._decide = lines.answers.decide
        self._domain, self._prefix, self._has_object = lines.domain, lines.id_prefix, lines.has_object
        # Without a prefix every name may be both.
        self._roles = frozenset(
            filterfalse(methodcaller("startswith", prefix), lines.subjects) if prefix else lines.subjects
        )
        self._denials: dict[int, Verdict] = {}  # at most one for every line that denies

    @property
    def digest(self) -> str:
        """Name the model, the lines and the settings."""
        return self._lines.digest

    @property
    def default_role(self) -> str:
        """The role that stands in for a missing one: hand it to `principal_of`."""
        return self._lines.default_role

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge a call, or with `arguments` None a tool: the answer is the same."""
        resource = request.resource
        if self.exempt and resource.id in self.exempt and resource.kind is ResourceKind.TOOL:
            return ALLOWED
        return self.judge(request.principal, resource, request.action)

    def bounds(self, request: Request, names: Sequence[str], state: RunState) -> list[Verdict]:
        """Judge a catalogue: for each name what `evaluate` says."""
        principal, kind = request.principal, request.resource.kind
        domain = principal.attributes.get(self._domain, "")
        if type(domain) is not str:
            judged = [_INVALID_DOMAIN] * len(names)
        else:
            subjects, granted, otherwise = self._sides(principal)
            things = [name_in_one_field(kind, name) for name in names] if self._has_object else [""] * len(names)
            asked = Many(("", domain, kind.value, "", "", request.action), names, things)
            judged = [
                self._denial(number) if number < 0 else granted if number else otherwise
                for number in self._lines.answers.decide_each(subjects, asked)
            ]
        if self.exempt and kind is ResourceKind.TOOL:
            judged = [ALLOWED if name in self.exempt else one for name, one in zip(names, judged, strict=True)]
        return judged

    def _sides(self, principal: Principal) -> tuple[list[str], Verdict, Verdict]:
        """Under which names a principal is asked about, and the answers where a line grants, and where none is."""
        for at, role in enumerate(principal.roles):
            if role not in self._roles:  # those before it may still deny
                return list(principal.roles[:at]), _UNKNOWN_ROLE, _UNKNOWN_ROLE
        subject = self._prefix + principal.id
        return [*principal.roles, subject], ALLOWED, self._unlisted(principal, subject)

    def judge(self, principal: Principal, resource: Resource, action: str) -> Verdict:
        """Judge an action on a resource. Exemptions do not count here: catalogues and routes know none."""
        attributes = principal.attributes
        domain = attributes.get(self._domain, "") if attributes else ""
        if type(domain) is not str:
            return _INVALID_DOMAIN
        # `.value` goes through a descriptor of `enum` that costs as much as two look-ups.
        kind, name, decide = resource.kind._value_, resource.id, self._decide
        thing = object_of(resource) if self._has_object else ""
        answer = 0
        for role in principal.roles:
            if role not in self._roles:
                return _UNKNOWN_ROLE
            found = decide((role, domain, kind, name, thing, action))
            if found < 0:
                return self._denial(found)
            answer = answer or found
        subject = self._prefix + principal.id
        found = decide((subject, domain, kind, name, thing, action))
        if found < 0:
            return self._denial(found)
        if found or answer:
            return ALLOWED
        return self._unlisted(principal, subject)

    def _unlisted(self, principal: Principal, subject: str) -> Verdict:
        """The answer where no line is about a request."""
        if not principal.roles and subject not in self._lines.subjects:
            return _MISSING_ROLE
        return ALLOWED if self._lines.otherwise is Outcome.ALLOW else _NOT_GRANTED

    def granting(self, principal: Principal, resource: Resource, action: str = INVOKE) -> str:
        """Say which line grants, for people who look into a policy; the empty text where none does."""
        if self.judge(principal, resource, action) is not ALLOWED:
            return ""
        numbers = (self._decide(parts) for parts in self._asked(principal, resource, action))
        return next((self._lines.place(number) for number in numbers if number > 0), "")

    def _asked(self, principal: Principal, resource: Resource, action: str) -> Iterable[tuple[str, ...]]:
        domain = str(principal.attributes.get(self._lines.domain, ""))
        for subject in (*principal.roles, self._lines.id_prefix + principal.id):
            yield (subject, domain, resource.kind.value, resource.id, object_of(resource), action)

    def _denial(self, number: int) -> Verdict:
        known = self._denials.get(number)
        if known is None:
            place = self._lines.place(-number)
            known = _refusal("rbac.denied", f"The policy denies this action on this resource ({place}).")
            self._denials[number] = known
        return known

    def generating(self, deferred: Collection[str]) -> Rbac:
        """Give the policy for a build that generated `tool_search` over these deferred tools.

        The generated tool is not asked about again, because what it can find has been filtered already. That holds
        for no other name, for no build without deferred tools, and for no other policy.
        """
        return Rbac(self._lines, frozenset({DISCOVERY}) if deferred else frozenset())


# ------------------------------------------------------------------------------------------------------------- routes
PERMISSIONS = ("threads:read", "threads:write", "threads:delete", "runs:create", "runs:read", "runs:cancel")


class RoutePermissions(Record):
    """What a principal may do with a gateway's routes, decided once for an HTTP request.

    They stand beside the host's own checks (who owns a thread, who administers) and replace none of them.

    Attributes:
        granted: permissions of `PERMISSIONS`.
        refused: each other permission → the code that says why.
    """

    granted: frozenset[str]
    refused: Mapping[str, str]

    def allows(self, permission: str) -> bool:
        """Whether a permission is granted.

        Raises:
            UsageError: there is no such permission.
        """
        if permission not in PERMISSIONS:
            raise UsageError(f"there is no route permission `{permission}`, expected one of {', '.join(PERMISSIONS)}")
        return permission in self.granted


def route_permissions(policy: Rbac | None, principal: Callable[[], Principal]) -> RoutePermissions:
    """Decide all six permissions, each once; a failure about one refuses that one.

    Args:
        policy: None where there is no RBAC policy: then all are granted and nobody is asked.
        principal: builds the principal, and is called only where there is a policy.

    Raises:
        RequestError: there is a policy, and no principal can be built.
    """
    if policy is None:
        return RoutePermissions(granted=frozenset(PERMISSIONS), refused={})
    who = principal()
    codes = {permission: _route(policy, who, permission) for permission in PERMISSIONS}
    return RoutePermissions(
        granted=frozenset(permission for permission, code in codes.items() if not code),
        refused={permission: code for permission, code in codes.items() if code},
    )


def _route(policy: Rbac, principal: Principal, permission: str) -> str:
    """Why a permission is refused; empty where it is granted."""
    try:
        verdict = policy.judge(principal, Resource(ResourceKind.ROUTE, permission), permission.partition(":")[2])
    except Exception:  # an error about one permission says nothing about the others
        return "rbac.failed"
    if type(verdict) is not Verdict or verdict.outcome is not Outcome.ALLOW:
        return verdict.findings[0].code if type(verdict) is Verdict and verdict.findings else "rbac.failed"
    return ""
