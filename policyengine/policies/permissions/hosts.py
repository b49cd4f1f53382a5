"""Which hosts a `WebFetch(domain:…)` specifier names: whole names, never their beginnings or ends as text.

`*.x.test` is every name below `x.test`, at any depth, and not `x.test` itself; `*` alone is every host; any other star
stands for text between two dots.
"""

from __future__ import annotations

import re

from policyengine.errors import LoadError
from policyengine.patterns import lazily
from policyengine.policies.permissions.globs import fits
from policyengine.records import Record

PREFIX = "domain:"


class HostPattern(Record):
    """A domain in lower case, without its final dot; its labels from the left."""

    labels: tuple[str, ...]
    below: bool  # `*.` at the beginning: every name below the labels
    every: bool = False


def host_pattern(specifier: str) -> HostPattern:
    """Read a specifier.

    Raises:
        LoadError: it does not begin with `domain:`, or what follows is no domain.
    """
    text = specifier.strip()
    if not text.lower().startswith(PREFIX):
        raise LoadError("a host without `domain:`", expected="`WebFetch(domain:NAME)`")
    name = normal(text[len(PREFIX) :].strip())
    if name == "*":
        return HostPattern(labels=(), below=False, every=True)
    below = name.startswith("*.")
    labels = tuple((name[2:] if below else name).split("."))
    if not all(labels) or not name.isascii() or any(mark in name for mark in "/:@ ?#"):
        raise LoadError(f"`{name}` is no domain", expected="a host name such as `docs.x.test`, or `*.x.test`")
    return HostPattern(labels=labels, below=below)


def normal(host: str) -> str:
    """A host's name as it is compared: lower case, no final dot."""
    return host.lower().removesuffix(".")


def names_host(pattern: HostPattern, host: str) -> bool:
    """Whether a host is one that the pattern names."""
    if pattern.every:
        return bool(host)
    labels = normal(host).split(".")
    if pattern.below:
        return len(labels) > len(pattern.labels) and _same(pattern.labels, labels[-len(pattern.labels) :])
    return len(labels) == len(pattern.labels) and _same(pattern.labels, labels)


def is_plain_web(url: str) -> bool:
    """Whether an address is fetched as web pages are, and all readers find the same host in it: a backslash is a slash
    to some (WHATWG URL 4.4) and part of a name to others (RFC 3986).
    """
    return _WEB(url) is not None and "\\" not in url


_WEB = lazily(r"(?:https?://|(?![a-z][a-z0-9+.-]*://))", re.IGNORECASE).match


def _same(wanted: tuple[str, ...], labels: list[str]) -> bool:
    return all(fits(want, have) for want, have in zip(wanted, labels, strict=True))
