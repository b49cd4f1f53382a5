"""What a Casbin model says, taken apart: which field of a request is compared with which of a policy line, and how.

Only shapes whose index answers as pycasbin does are described here. A matcher compiles if it is a conjunction (`&&`) of
these terms, in any order. R is a field of the request, P one of the policy, D the field with the request's domain; no R
and no P is in two terms, and D is no role:

    r.R == p.P                                        equal
    (r.R == p.P || p.P == "*")                        equal, or the line says `*`
    keyMatch(r.R, p.P)                                equal, or the line's text up to its first `*` begins the request's
    globMatch(r.R, p.P)                               a glob of literals, `*` and `?`; no `/`, brackets, braces, `**`
    g(r.R, p.P)                                       the same name, or a role above it; also g2, g3 and so on
    (g(r.R, p.P) || p.P == "*")                       the same, or the line says `*`
    g(r.R, p.P, r.D)                                  roles in the domain that the request names
    (g(r.R, p.P, r.D) || g(r.R, p.P, "*"))            roles in that domain, and those of the domain `*`

At least one term is `==` or a role, and no line has the characters U+0000 or U+0001 in a field that is compared. The
effect is one of three, spelt as Casbin wants them:

    some(where (p.eft == allow))
    some(where (p.eft == allow)) && !some(where (p.eft == deny))
    !some(where (p.eft == deny))

Everything else runs on pycasbin's own Enforcer.
"""

from __future__ import annotations

from enum import Enum

from policyengine.records import NamedTuple


class Match(Enum):
    """How a field of a request is compared with a field of a policy line."""

    EQUAL = "=="
    ROLE = "g"
    KEY = "keyMatch"
    GLOB = "globMatch"


class Combining(Enum):
    """How the lines that match become an answer (Casbin's policy effect)."""

    ALLOW_OVERRIDE = "some(where (p_eft == allow))"
    DENY_OVERRIDE = "some(where (p_eft == allow)) && !some(where (p_eft == deny))"
    DENY_ONLY = "!some(where (p_eft == deny))"  # what no line denies is allowed
    OTHER = ""  # priorities, which depend on the order of lines


class Term(NamedTuple):
    """One comparison. `request` and `policy` are positions of fields."""

    match: Match
    request: int
    policy: int
    star: bool = False  # a line that says `*` matches everything
    roles: str = "g"  # of ROLE: which hierarchy
    domain: int | None = None  # of ROLE: position of the request's domain
    everywhere: bool = False  # of ROLE: the links of the domain `*` count too


class Shape(NamedTuple):
    """A model that compiles."""

    terms: tuple[Term, ...]
    combining: Combining
    effect: int | None  # position of a line's effect; None where every line allows
