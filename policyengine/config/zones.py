"""The schema of zones: named lists of path and host patterns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from policyengine.config.validated import Schema, validated
from policyengine.config.yamlfile import Document, Place
from policyengine.policies.ruleset.hosts import network_of, normal_host
from policyengine.policies.ruleset.sight import BUILTIN

Patterns = Annotated[list[str], Field(min_length=1)]


class PathZoneSpec(Schema):
    """A named place in the file system; `excepted` takes paths out again."""

    summary: str
    patterns: Patterns
    excepted: list[str] = Field(default=[], alias="except")


class HostZoneSpec(Schema):
    """A named set of hosts: names, globs over names, addresses, networks (`10.0.0.0/8`)."""

    summary: str
    patterns: Patterns


class ZonesSpec(Schema):
    """One `zones.yaml`."""

    paths: dict[str, PathZoneSpec] = Field(default={})
    hosts: dict[str, HostZoneSpec] = Field(default={})


_FILE = TypeAdapter(ZonesSpec)


@dataclass(frozen=True, slots=True)
class CompiledZones:
    """Patterns and exceptions of path zones, patterns of host zones, by name."""

    paths: dict[str, tuple[list[str], list[str]]]
    hosts: dict[str, list[str]]

    def plain(self) -> dict[str, Any]:  # Any: JSON
        """Give the form that a bundle stores."""
        return {"paths": self.paths, "hosts": self.hosts}


def compile_zones(documents: Iterable[Document]) -> CompiledZones:
    """Check zones and gather them.

    Raises:
        LoadError: a pattern cannot name anything, or a name is taken.
    """
    zones = CompiledZones({}, {})
    for document in documents:
        spec = validated(_FILE, document)
        for name, paths in spec.paths.items():
            place: Place = ("paths", name)
            _check_name(name, zones.paths, document, place)
            for pattern in (*paths.patterns, *paths.excepted):
                _check_path(pattern, document, place)
            zones.paths[name] = (paths.patterns, paths.excepted)
        for name, hosts in spec.hosts.items():
            _check_name(name, zones.hosts, document, ("hosts", name))
            for pattern in hosts.patterns:
                _check_host(pattern, document, ("hosts", name))
            zones.hosts[name] = hosts.patterns
    return zones


def _check_name(name: str, taken: Iterable[str], document: Document, place: Place) -> None:
    if name in BUILTIN:
        raise document.error(f"the zone `{name}` comes from the request's context", place, expected="another name")
    if name in taken:
        raise document.error(f"the zone `{name}` is defined twice", place, expected="a new name")


def _check_path(pattern: str, document: Document, place: Place) -> None:
    parts = pattern.split("/")
    uneven = pattern != "/" and any(part in ("", ".", "..") for part in parts[1:])
    if parts[0] not in ("", "~", "**") or uneven:
        raise document.error(
            f"the pattern `{pattern}` names no path", place, expected="a normal path from `/`, `~/` or `**/`"
        )
    if "[" in pattern or "{" in pattern or any("**" in part and part != "**" for part in parts):
        raise document.error(
            f"the pattern `{pattern}` is no glob of `*`, `?` and `**`", place, expected="`*`, `?`, `**`"
        )


def _check_host(pattern: str, document: Document, place: Place) -> None:
    if "/" in pattern and network_of(normal_host(pattern)) is None:
        raise document.error(f"the pattern `{pattern}` is no network", place, expected="`address/bits`")
