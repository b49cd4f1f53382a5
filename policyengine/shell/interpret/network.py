"""Roles that connect, fetch and send (`rules/commands/README.md`, Roles)."""

from __future__ import annotations

from policyengine.effects import Connect, Taint, Transfer
from policyengine.patterns import lazily
from policyengine.shell.interpret.content import stream_of
from policyengine.shell.interpret.files import is_dash, onto, read
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.interpret.stored import file_stream
from policyengine.shell.interpret.streams import Stream
from policyengine.shell.programs import Use
from policyengine.shell.urls import split_host, split_remote, split_url
from policyengine.shell.values import Value, tail_of


def _connect(invocation: Invocation, use: Use, host: str, port: str, url: str = "") -> None:
    invocation.connected = True
    invocation.peer = None if url else (host, port)  # over a URL one answer comes, no conversation
    invocation.machine.effects.append(
        Connect(
            host, port, url, _method(invocation) if url else "",
            not use.value.exact and not _host_known(use.value, host),
            False, False, invocation.where(use), use.value.span, invocation.origin,
        )
    )  # fmt: skip


def _host_known(value: Value, host: str) -> bool:
    """A URL's host is certain once something after it is written."""
    return bool(host) and value.text.partition("://")[2].find("/") > 0


def _method(invocation: Invocation) -> str:
    for flag in ("post", "put", "delete", "patch", "head"):
        if flag in invocation.reading.flags:
            return flag.upper()
    return "GET"


def url(invocation: Invocation, use: Use) -> None:
    """A URL that is fetched; `file:` is a local path."""
    text = use.value.text
    if text[:5].lower() == "file:":
        local = use._replace(value=use.value._replace(text=text[5:].removeprefix("//")))
        read(invocation, local)
        return
    url = split_url(text)
    _connect(invocation, use, url.host, url.port, text)
    if Taint.SECRET in use.value.taint:  # a secret in the path or query
        where, span = invocation.where(use), use.value.span
        invocation.machine.effects.append(
            Transfer(url.host, "", text, not use.value.exact, use.value.taint, where, span, invocation.origin)
        )


def document(invocation: Invocation, use: Use) -> None:
    """A file that is read, or what a URL names (`pip -r`)."""
    (url if "://" in use.value.text else read)(invocation, use)


def host(invocation: Invocation, use: Use) -> None:
    """A host that is connected to."""
    if Taint.SECRET in use.value.taint:  # as a part of the name (`dig $(base64 key).x.test`)
        said(invocation, use)
    host, port = split_host(use.value.text.rpartition("://")[2].partition("/")[0])
    if not port:
        given = invocation.given("port")
        port = given.text if given is not None else ""
    _connect(invocation, use, host, port)


def instead(invocation: Invocation, use: Use) -> None:
    """`curl --resolve HOST:PORT:ADDRESS,…` and `--connect-to HOST:PORT:HOST:PORT`: who is asked in a host's place."""
    parts = _COLON.split(use.value.text)
    port = parts[3] if len(parts) > 3 else parts[1] if len(parts) > 1 else ""
    for address in parts[2].split(",") if len(parts) > 2 else ():
        if address.strip("[]"):
            _connect(invocation, use, address.strip("[]+"), port)


_COLON = lazily(r":(?![^\[]*\])")  # not those of an address in brackets


def listen(invocation: Invocation, use: Use) -> None:
    """A port or address that is listened on."""
    text = use.value.text
    host, port = split_host(text) if ":" in text else ("", text)
    invocation.connected = True
    invocation.peer = (host, port)
    invocation.machine.effects.append(
        Connect(
            host,
            port,
            "",
            "",
            not use.value.exact,
            True,
            False,
            invocation.where(use),
            use.value.span,
            invocation.origin,
        )
    )


def _remote(use: Use) -> tuple[str, str] | None:
    text = use.value.text
    if "://" in text:
        url = split_url(text)
        return (url.host, url.path) if url.scheme != "file" else None
    return split_remote(text)


def source(invocation: Invocation, use: Use) -> None:
    """A local or remote source of a copy."""
    remote = _remote(use)
    if remote is None:
        read(invocation, use)
    else:
        _connect(invocation, use, remote[0], "")


def target(invocation: Invocation, use: Use) -> None:
    """A local or remote target of a copy; a remote one receives every local source."""
    remote = _remote(use)
    if remote is None:
        onto(invocation, use)
        return
    _connect(invocation, use, remote[0], "")
    sources = [source for source in invocation.reading.uses if source.role == "source" and _remote(source) is None]
    for source in sources:
        path = invocation.path(source)
        stream = file_stream(invocation.machine, path, tail_of(source.value) if path.unknown else "")
        invocation.machine.effects.append(
            Transfer(
                remote[0], path.path, "", False, stream.taint, invocation.machine.where,
                source.value.span, invocation.origin,
            )
        )  # fmt: skip


def upload(invocation: Invocation, use: Use) -> None:
    """A local file that is sent."""
    if is_dash(use.value):
        invocation.send(invocation.machine.stdin)
        return
    read(invocation, use)
    known = stream_of(invocation.machine, use, invocation.cwd)
    invocation.send(known, known.path, use.value.span)


def upload_data(invocation: Invocation, use: Use) -> None:
    """`curl -d`: a text, `@file`, or `name@file`."""
    if not _upload_named(invocation, use):
        value = use.value
        invocation.send(Stream(value.text if value.exact else None, value.taint), span=value.span)


def query_data(invocation: Invocation, use: Use) -> None:
    """`curl -G -d`: what becomes a part of the URL; a text says no more than a URL does, a file or a secret is sent."""
    if not _upload_named(invocation, use) and Taint.SECRET in use.value.taint:
        upload_data(invocation, use)


def said(invocation: Invocation, use: Use) -> None:
    """A text that goes along with a request, such as a header: sent where it holds a secret, unless that logs in."""
    if Taint.SECRET in use.value.taint and _FOR_LOGIN.match(use.value.text) is None:
        invocation.send(Stream(None, use.value.taint), span=use.value.span)


_FOR_LOGIN = lazily(r"(?i:(?:proxy-)?authorization|[\w-]*(?:key|token|auth|secret))\s*:")


def _upload_named(invocation: Invocation, use: Use) -> bool:
    """Send the file that data names, where it names one."""
    name, at, file = use.value.text.partition("@")
    if not at or not file or not (not name or name.isidentifier()):
        return False
    upload(invocation, use._replace(value=use.value._replace(text=file)))
    return True
