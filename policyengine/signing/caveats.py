"""Delegations that narrow: caveats, each under a MAC whose key is the MAC before it (Macaroons, Birgisson et al. 2014).

A caveat can be added without any key, and can then not be dropped, moved or edited, because the MAC that it replaced is
no longer in the token. What a chain allows is the intersection of all its parts.
"""

from __future__ import annotations

from collections.abc import Iterable

from policyengine.errors import TokenError
from policyengine.records import Record, replace
from policyengine.signing.claims import (
    Claims,
    malformed,
    moment,
    names_or_none,
    read_list,
    write_list,
)

MAX_CAVEATS = 32


class Caveat(Record):
    """One restriction; what is None does not restrict.

    Attributes:
        agent: from here on this agent acts, for the one that acted before; it takes one of the levels that are left.
        names: the only tools that are left.
        expires: seconds since the epoch at which it has ceased to count.
        depth: how often it may still be handed down after this caveat.
    """

    agent: str | None = None
    names: frozenset[str] | None = None
    expires: float | None = None
    depth: int | None = None


def encoded(caveat: Caveat) -> bytes:
    """Write a caveat as JSON.

    Raises:
        TokenError: it is none that `decoded` would read (`token.claims`, `token.time`).
    """
    _check(caveat)
    names = None if caveat.names is None else sorted(caveat.names)
    expires = None if caveat.expires is None else float(caveat.expires)
    return write_list((caveat.agent, names, expires, caveat.depth))


def decoded(data: bytes) -> Caveat:
    """Read the JSON of a caveat whose MAC holds.

    Raises:
        TokenError: it is anything else than `encoded` writes (`token.malformed`).
    """
    agent, names, expires, depth = read_list(data, 4)
    if not (type(agent) in _TEXT and type(expires) in _TIME and type(depth) in _COUNT):
        raise malformed("a caveat of another type")
    caveat = Caveat(agent=agent, names=names_or_none(names), expires=expires, depth=depth)
    try:
        _check(caveat)
    except TokenError as error:
        raise malformed(error.message) from None
    return caveat


_NONE = type(None)
_TEXT, _TIME, _COUNT = {str, _NONE}, {float, _NONE}, {int, _NONE}


def _check(caveat: Caveat) -> None:
    if caveat.agent == "" or (caveat.depth is not None and (type(caveat.depth) is not int or caveat.depth < 0)):
        raise TokenError("token.claims", "a caveat's agent has a name, and its depth is a whole number")
    if caveat.expires is not None:
        moment(caveat.expires)


def narrowed(claims: Claims, caveats: Iterable[Caveat]) -> Claims:
    """Give what a delegation says after its caveats: never more than before them.

    Raises:
        TokenError: it was handed down more often than it may be (`token.depth`).
    """
    for caveat in caveats:
        claims = _narrowed_once(claims, caveat)
    return claims


def _narrowed_once(claims: Claims, caveat: Caveat) -> Claims:
    names, depth, agent, delegation = claims.names, claims.depth, claims.agent, claims.delegation
    if caveat.names is not None:
        names = caveat.names if names is None else names & caveat.names
    if caveat.agent is not None:
        if depth < 1:
            raise TokenError("token.depth", "handed down more often than it may be")
        agent, delegation, depth = caveat.agent, (*delegation, agent or claims.subject), depth - 1
    return replace(
        claims,
        names=names,
        agent=agent,
        delegation=delegation,
        depth=depth if caveat.depth is None else min(depth, caveat.depth),
        expires=claims.expires if caveat.expires is None else min(claims.expires, caveat.expires),
    )
