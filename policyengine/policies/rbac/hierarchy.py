"""Roles above a name, per domain, as far up as the depth limit goes."""

from __future__ import annotations

from collections.abc import Mapping

DEPTH = 10  # pycasbin's own limit (`RoleManager(10)`): names in a chain, its first included, so nine links
EVERYWHERE = "*"
NOWHERE = ""  # the domain of a hierarchy without domains
Links = dict[str, dict[str, tuple[str, ...]]]  # domain → name → the roles directly above it


class Hierarchy:
    """Who is above whom. Names that no line mentions are never kept.

    Names with the same roles directly above them share what lies further up, so that a million people with a few
    hundred roles take a million references and a few hundred tuples.
    """

    __slots__ = ("_above", "names")

    def __init__(self, links: Links, depth: int = DEPTH) -> None:
        self._above: dict[str, Mapping[str, tuple[str, ...]]] = {
            domain: _above(direct, depth) for domain, direct in links.items()
        }
        below = (frozenset(direct) for direct in links.values())
        roles = (frozenset(roles) for direct in links.values() for roles in set(direct.values()))
        self.names: frozenset[str] = frozenset().union(*below, *roles)

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains that have links."""
        return tuple(self._above)

    def all_above(self, domain: str) -> Mapping[str, tuple[str, ...]]:
        """Give the roles above every name of a domain."""
        return self._above.get(domain, {})

    def above(self, name: str, domain: str = NOWHERE) -> tuple[str, ...]:
        """Give the roles that a name has in a domain, nearest first, without the name itself."""
        known = self._above.get(domain)
        return () if known is None else known.get(name, ())


def _above(direct: Mapping[str, tuple[str, ...]], depth: int) -> Mapping[str, tuple[str, ...]]:
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    above = {}
    for name, roles in direct.items():
        found = shared.get(roles)
        if found is None:
            found = shared[roles] = _reached(roles, direct, depth - 1)
        above[name] = found
    return above


def _reached(first: tuple[str, ...], direct: Mapping[str, tuple[str, ...]], levels: int) -> tuple[str, ...]:
    """Everything at most so many levels up, breadth first: the nearest way to a name counts."""
    reached: dict[str, None] = {}
    level = first
    for _ in range(levels):
        fresh = [name for name in level if name not in reached]
        if not fresh:
            break
        reached.update(dict.fromkeys(fresh))
        level = tuple(role for name in fresh for role in direct.get(name, ()))
    return tuple(reached)
