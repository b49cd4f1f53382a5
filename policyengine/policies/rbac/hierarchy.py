"""Roles above a name, per domain, as far up as the depth limit goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

DEPTH = 10  # pycasbin's own limit (`RoleManager(10)`): names in a chain, its first included, so nine links
EVERYWHERE = "*"
NOWHERE = ""  # the domain of a hierarchy without domains
Roles = tuple[str, ...]
Links = dict[str, dict[str, Roles]]  # domain → name → the roles directly above it


class Hierarchy:
    """Who is above whom. Names that no line mentions are never kept.

    What lies above is kept for the roles directly above a name, not for the name: a million people with a few hundred
    roles take a few hundred tuples.
    """

    __slots__ = ("_links", "_reached")

    def __init__(self, links: Links, depth: int = DEPTH) -> None:
        self._links = links
        self._reached: dict[str, dict[Roles, Roles]] = {
            domain: {roles: _reached(roles, direct, depth - 1) for roles in set(direct.values())}
            for domain, direct in links.items()
        }

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains that have links."""
        return tuple(self._links)

    def directly(self, domain: str) -> Mapping[str, Roles]:
        """Give the roles directly above every name of a domain."""
        return self._links.get(domain, {})

    def reached(self, domain: str) -> Mapping[Roles, Roles]:
        """Give for the roles directly above some name all roles above it, nearest first."""
        return self._reached.get(domain, {})

    def above(self, name: str, domain: str = NOWHERE) -> Roles:
        """Give the roles that a name has in a domain, nearest first, without the name itself."""
        direct = self.directly(domain).get(name)
        return () if direct is None else self._reached[domain][direct]

    def names(self) -> Iterator[str]:
        """Go through the names that have a role or are one, some more than once."""
        for domain, direct in self._links.items():
            yield from direct
            for roles in self._reached[domain]:
                yield from roles


def _reached(first: Roles, direct: Mapping[str, Roles], levels: int) -> Roles:
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
