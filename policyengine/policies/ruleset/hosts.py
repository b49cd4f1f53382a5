"""Which named zones a host belongs to. A pattern is a host name, a glob over host names, an address or a network.

Addresses are compared as numbers: `2130706433`, `0x7f.1` and `127.0.0.1` are one host (inet_aton(3) forms).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from policyengine.patterns import Test, glob_test
from policyengine.policies.ruleset.globs import is_glob
from policyengine.records import NamedTuple

NONE: frozenset[str] = frozenset()


class Network(NamedTuple):
    """The addresses of one version whose leading bits are those of `first`."""

    version: int
    first: int
    shift: int  # number of trailing bits that are free


class Hosts:
    """Host zones, indexed: names by a table, globs and networks by a scan of the few there are."""

    __slots__ = ("_globs", "_heads", "_names", "_networks", "_tails")

    def __init__(self, zones: Mapping[str, Iterable[str]]) -> None:
        names: dict[str, set[str]] = {}
        self._globs: list[tuple[Test, str]] = []
        self._networks: list[tuple[Network, str]] = []
        for zone, patterns in zones.items():
            for pattern in map(normal_host, patterns):
                network = network_of(pattern)
                if network is not None:
                    self._networks.append((network, zone))
                elif is_glob(pattern):
                    self._globs.append((glob_test(pattern), zone))
                else:
                    names.setdefault(pattern, set()).add(zone)
        self._names = {name: frozenset(found) for name, found in names.items()}
        # How globs begin, or else end: one comparison each says that none matches.
        globs = [pattern.replace("?", "*") for pattern in map(normal_host, chain(*zones.values())) if is_glob(pattern)]
        self._heads = tuple(glob.partition("*")[0] for glob in globs if glob[0] != "*")
        self._tails = tuple(glob.rpartition("*")[2] for glob in globs if glob[0] == "*")

    def zones_of(self, host: str) -> frozenset[str]:
        """The names of the zones that a host belongs to; none for an empty name."""
        if not host:
            return NONE
        name = normal_host(host)
        address = address_of(name)
        if address is not None:
            name = _dotted(*address) or name
        found = set()
        if name.endswith(self._tails) or name.startswith(self._heads):
            found = {zone for test, zone in self._globs if test(name)}
        if address is not None:
            version, number = address
            found.update(
                zone
                for (wanted, first, shift), zone in self._networks
                if wanted == version and number >> shift == first >> shift
            )
        return self._names.get(name, NONE).union(found)


def normal_host(host: str) -> str:
    """A host name in lower case, without brackets, zone index and final dot."""
    return host.lower().strip("[]").partition("%")[0].rstrip(".")


def network_of(pattern: str) -> Network | None:
    """The network that `address` or `address/bits` stands for, or None where it is no address."""
    text, slash, bits = pattern.partition("/")
    address = address_of(text)
    if address is None or (slash and not bits.isdecimal()):
        return None
    width = 32 if address[0] == 4 else 128
    return Network(address[0], address[1], max(width - int(bits), 0) if slash else 0)


def address_of(name: str) -> tuple[int, int] | None:
    """Version and number of an address, or None for a name. An IPv4-mapped one counts as IPv4 (RFC 4291 2.5.5.2)."""
    if ":" in name:
        return _address6(name)
    if not name[:1].isdigit():
        return None
    number = _address4(name)
    return None if number is None else (4, number)


def _address4(name: str) -> int | None:
    """One to four numbers, decimal, octal or hexadecimal; the last fills what is left (inet_aton(3))."""
    parts = [_number(part) for part in name.split(".", 4)]
    *heads, last = parts
    if len(parts) > 4 or last is None or last >= 256 ** (5 - len(parts)):
        return None
    total = last
    for index, part in enumerate(heads):
        if part is None or part > 255:
            return None
        total += part << (24 - 8 * index)
    return total


def _dotted(version: int, number: int) -> str:
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0)) if version == 4 else ""


def _number(text: str) -> int | None:
    if not text.isascii() or len(text) > 16:
        return None
    base = 16 if text[:2] == "0x" else 8 if text[:1] == "0" else 10
    try:
        return int(text, base)
    except ValueError:
        return None


def _address6(name: str) -> tuple[int, int] | None:
    from ipaddress import IPv6Address  # noqa: PLC0415  a few ms that only addresses with a colon cost

    try:
        address = IPv6Address(name)
    except ValueError:
        return None
    mapped = address.ipv4_mapped
    return (6, int(address)) if mapped is None else (4, int(mapped))
