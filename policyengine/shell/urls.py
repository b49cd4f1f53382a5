"""Splitting URLs and host operands into the parts that rules look at, and reading every spelling of an IPv4 address."""

from __future__ import annotations

import re

from policyengine.patterns import lazily
from policyengine.records import NamedTuple

__all__ = ["Url", "as_fetched", "host_name", "is_remote", "split_host", "split_remote", "split_url"]

_SCHEME = lazily(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_NUMBER = lazily(r"(?:0[xX][0-9A-Fa-f]{1,16}|\d{1,20})\Z")
_REMOTE = lazily(r"(?:[^/:@\[\]]+@)?(\[[^\]/]+\]|[^/:@\[\]]+):(?!//)")
MAX_HOST = 255  # octets of a name (RFC 1035 2.3.4); longer texts are no host and stay as they are


class Url(NamedTuple):
    """A URL taken apart; `port` is empty where the scheme's own is meant."""

    scheme: str
    host: str
    port: str
    path: str


def split_url(text: str, default_scheme: str = "http") -> Url:
    """Take a URL apart (RFC 3986 3); without a scheme `default_scheme` is assumed, as curl and wget do."""
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else default_scheme
    rest = text[found.end() :] if found else text
    end = len(rest)
    for mark in "/?#\\":
        place = rest.find(mark, 0, end)
        end = place if place >= 0 else end
    host, port = split_host(rest[:end])
    return Url(scheme, host, port, rest[end:])


def as_fetched(text: str) -> str:
    """A URL as libraries that follow the URL standard take it (WHATWG URL 4.4): blanks, slashes and dots are mended."""
    text = text.strip(_BLANKS).translate(_DROPPED)
    found = _WEB.match(text)
    if found is not None:
        text = f"{found[1]}://{text[found.end() :]}"
    elif text[:2] in ("//", "\\\\", "/\\", "\\/"):
        text = "http://" + text[2:]
    return text.translate(_DOTS)


_BLANKS = "".join(map(chr, range(33)))
_DROPPED = {ord(character): None for character in "\t\r\n"}
_DOTS = dict.fromkeys(map(ord, "\u3002\uff0e\uff61"), ".")  # dots in host names (UTS 46)
_WEB = lazily(r"(https?|wss?|ftp):[/\\]*", re.IGNORECASE)


def split_host(text: str) -> tuple[str, str]:
    """`[user[:password]@]host[:port]` or `[v6]:port` as host and port."""
    text = text.rpartition("@")[2]
    if text[:1] == "[":
        inner, _, rest = text[1:].partition("]")
        return inner.lower(), rest[1:] if rest[:1] == ":" else ""
    if text.count(":") > 1:  # a bare IPv6 address
        return text.lower(), ""
    host, _, port = text.partition(":")
    return host_name(host), port


def split_remote(text: str) -> tuple[str, str] | None:
    """`[user@]host:path` as host and path, or None for a local path (a slash before the colon makes it so: scp(1))."""
    found = _REMOTE.match(text)
    return (found[1].strip("[]").lower(), text[found.end() :]) if found else None


def is_remote(text: str) -> bool:
    """Whether a source or target of a copy is on another host: `host:path`, or a URL that is no `file:`."""
    return not text.startswith("file://") if "://" in text else split_remote(text) is not None


def host_name(host: str) -> str:
    """A host in lower case without its final dot; IPv4 in any spelling `inet_aton` reads becomes dotted decimal."""
    host = host.lower().rstrip(".")
    if not host or len(host) > MAX_HOST or not host[0].isdigit():
        return host
    parts = host.split(".")
    if len(parts) > 4 or not all(_NUMBER.match(part) for part in parts):
        return host
    numbers = [_number(part) for part in parts]
    if None in numbers:
        return host
    return _dotted([number for number in numbers if number is not None]) or host


def _number(text: str) -> int | None:
    base = 16 if text[:2] in ("0x", "0X") else 8 if text[0] == "0" and len(text) > 1 else 10
    try:
        return int(text, base)
    except ValueError:
        return None


def _dotted(numbers: list[int]) -> str | None:
    """`inet_aton`'s reading: the last number fills all octets that remain."""
    *heads, last = numbers
    if any(head > 255 for head in heads) or last >= 256 ** (4 - len(heads)):
        return None
    value = last
    for place, head in enumerate(heads):
        value += head << (8 * (3 - place))
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))
