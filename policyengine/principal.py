"""Who asks: the one builder of a `Principal`, from what the host's server vouches for.

Two steps, because two parties have to be kept apart. Where a request arrives, `server_context` drops every identity key
that the client sent and writes those that the server knows. Wherever a decision is made, `principal_of` reads that
context. Nothing here ever looks at what a model wrote.

Codes of `RequestError`: `principal.context`, `principal.id`, `principal.role`, `principal.attributes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policyengine.errors import RequestError
from policyengine.model import ANONYMOUS, Attributes, Frozen, Principal, digest_of, freeze, freeze_object
from policyengine.records import Record, replace

INTERNAL_SOURCE = "internal"  # what the host's authentication calls its own services
IS_INTERNAL, ROLE, USER, ATTRIBUTES = "is_internal", "user_role", "user_id", "authz_attributes"
CHANNEL_USER = "channel_user_id"
PROVEN = ("oauth_provider", "oauth_id", CHANNEL_USER)  # these become attributes of the same name

# Keys that say who somebody is. A host strips them from everything that a client may fill in freely.
IDENTITY_KEYS = frozenset({
    IS_INTERNAL, ROLE, USER, ATTRIBUTES, *PROVEN, "langgraph_auth_user", "langgraph_auth_user_id",
})  # fmt: skip
INHERITED = (IS_INTERNAL, ROLE, USER, ATTRIBUTES, *PROVEN)  # what a sub-agent takes over


class Identity(Record):
    """Whom the host authenticated: of a user's own request the user, of an internal one the owner that it acts for."""

    id: str
    roles: tuple[str, ...] = ()
    oauth_provider: str = ""
    oauth_id: str = ""
    attributes: Mapping[str, object] = {}


# -------------------------------------------------------------------------------------------- where requests come in
def stripped(sent: Mapping[str, object]) -> dict[str, object]:
    """Copy what a client sent without `IDENTITY_KEYS`: for `config`, `configurable`, `context` and the like."""
    return {key: value for key, value in sent.items() if key not in IDENTITY_KEYS}


def server_context(body: Mapping[str, object], *, auth_source: object, identity: Identity | None) -> dict[str, object]:
    """Make a run's context of a request's body: the client's own keys, and the server's word on who asks.

    Args:
        body: the request. Of it only the top-level `context` is read; identity in `config` never counts.
        auth_source: what the server's own authentication found, never a client's field. Internal is `INTERNAL_SOURCE`
            and nothing else, and only then is `context.channel_user_id` taken over.
        identity: whom the server authenticated; None for nobody.

    Raises:
        RequestError: `context` is there and is no object.
    """
    sent = body.get("context")
    if sent is not None and not isinstance(sent, Mapping):
        raise RequestError("principal.context", "`context` has to be an object")
    client = {} if sent is None else sent
    internal = type(auth_source) is str and auth_source == INTERNAL_SOURCE
    context = stripped(client) | {IS_INTERNAL: internal}
    channel = client.get(CHANNEL_USER)
    if internal and isinstance(channel, str) and channel:
        context[CHANNEL_USER] = channel
    if identity is not None:
        context |= {USER: identity.id, ROLE: identity.roles, ATTRIBUTES: freeze_object(identity.attributes)}
        context |= {key: value for key in PROVEN[:2] if (value := getattr(identity, key))}
    return context


def inherited(context: Mapping[str, object]) -> dict[str, object]:
    """Give a sub-agent's run the identity of its parent's: `is_internal` always, also when false; attributes copied.

    Raises:
        RequestError: the attributes are no JSON object.
    """
    passed = {key: context[key] for key in INHERITED if key in context}
    passed[IS_INTERNAL] = context.get(IS_INTERNAL) is True
    passed[ATTRIBUTES] = _attributes(context.get(ATTRIBUTES))
    return passed


# ------------------------------------------------------------------------------------------ where decisions are made
def principal_of(
    context: Mapping[str, object], *, default_role: str = "", agent: str = "", delegation: Iterable[str] = ()
) -> Principal:
    """Build the principal of a run from its server-owned context.

    Args:
        context: as `server_context` or `inherited` made it. `user_role` is a text or a list of texts.
        default_role: stands in for a role that is missing or empty, never for one that the policy does not know.
        agent: which agent acts.
        delegation: who handed the work down to it, outermost first.

    Raises:
        RequestError: id, role or attributes are of the wrong type.
    """
    roles = _roles(context.get(ROLE))
    proven = {key: freeze(context[key]) for key in PROVEN if context.get(key)}
    free = {key: value for key, value in _attributes(context.get(ATTRIBUTES)).items() if key not in PROVEN}
    return Principal(
        id=_id(context.get(USER)),
        roles=roles or ((default_role,) if default_role else ()),
        attributes=freeze_object(free | proven),
        internal=context.get(IS_INTERNAL) is True,
        agent=agent,
        delegation=tuple(delegation),
    )


def delegated(principal: Principal, agent: str) -> Principal:
    """Give the principal of a sub-agent: the same person, roles, attributes and internality, one step further down."""
    return replace(principal, agent=agent, delegation=(*principal.delegation, principal.agent or principal.id))


def exposure_key(principal: Principal, policy_digest: str, *others: Frozen) -> str:
    """Name an exposure: whatever is kept of one has to be kept under the whole principal and the policy's digest.

    Raises:
        RequestError: an attribute has no canonical form.
    """
    who = (principal.id, principal.roles, principal.attributes, principal.internal, principal.agent)
    return digest_of((*who, principal.delegation, policy_digest, others))


def _id(value: object) -> str:
    if value is None or value == "":
        return ANONYMOUS.id
    if not isinstance(value, str):
        raise RequestError("principal.id", f"`{USER}` has to be a text")
    return value


def _roles(value: object) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    roles = (value,) if isinstance(value, str) else value
    if not isinstance(roles, list | tuple) or not all(isinstance(role, str) for role in roles):
        raise RequestError("principal.role", f"`{ROLE}` has to be a text or a list of texts")
    return tuple(role for role in roles if role)


def _attributes(value: object) -> Attributes:
    if value is None:
        return freeze_object({})
    if not isinstance(value, Mapping):
        raise RequestError("principal.attributes", f"`{ATTRIBUTES}` has to be an object")
    return freeze_object(value)
