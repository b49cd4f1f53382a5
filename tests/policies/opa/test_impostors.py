"""Servers that answer anything but properly: each is a denial with its code, and none passes the deadline."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest

from policyengine.effects import Facts
from policyengine.errors import UsageError
from policyengine.model import Outcome, Verdict
from policyengine.policies.opa import Opa, Server
from policyengine.policies.opa.exchange import MAX_BODY, MAX_HEAD
from policyengine.state import START
from tests.policies.opa.servers import Behaviour, asked, call, code, free_port, http, impostor, query, says

DEADLINE = 1.0  # seconds
SLACK = 1.0  # of a machine that does other things, too; who waits for a byte, or for each byte anew, waits longer
RULE = "agent.tools.allow"
YES = http(b'{"result": true}')


async def _asked(policy: Opa) -> Verdict:
    verdict = await policy.aevaluate(call(), Facts(), START)
    await policy.aclose()
    return verdict


def both(server: Server, deadline: float = DEADLINE) -> tuple[str, str]:
    """The codes that both faces give; each within the deadline."""
    policy = Opa(server, RULE, deadline=deadline)
    start = time.monotonic()
    first = asked(policy)
    middle = time.monotonic()
    second = asyncio.run(_asked(policy))
    policy.close()
    assert middle - start < deadline + SLACK
    assert time.monotonic() - middle < deadline + SLACK
    assert (first.outcome is Outcome.ALLOW, second.outcome is Outcome.ALLOW) == (not code(first), not code(second))
    return code(first), code(second)


def hang(connection: socket.socket, over: threading.Event) -> None:
    query(connection)
    over.wait()


def deaf(connection: socket.socket, over: threading.Event) -> None:
    over.wait()


def drip(connection: socket.socket, over: threading.Event) -> None:
    query(connection)
    for byte in YES:
        connection.sendall(bytes([byte]))
        if over.wait(0.2):
            return


def drip_head(connection: socket.socket, over: threading.Event) -> None:
    query(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while not over.wait(0.02):
        connection.sendall(b"x")


def late(connection: socket.socket, over: threading.Event) -> None:
    query(connection)
    over.wait(DEADLINE * 1.5)
    connection.sendall(YES)


def endless(connection: socket.socket, over: threading.Event) -> None:
    query(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not over.is_set():
        connection.sendall(b" " * 65536)


@pytest.mark.parametrize("behaviour", [hang, deaf, drip, drip_head, late])
def test_no_answer_in_time(behaviour: Behaviour) -> None:
    with impostor(behaviour) as server:
        assert both(server) == ("opa.timeout", "opa.timeout")


CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return CHUNKS + body + end


ANSWERS: list[tuple[str, bytes, str]] = [
    ("plain", YES, ""),
    ("false", http(b'{"result": false}'), "opa.denied"),
    ("with more keys", http(b'{"result": true, "decision_id": "a-1", "metrics": {}}'), ""),
    ("chunked", chunked(b'{"result"', b": true}"), ""),
    ("chunk extensions", CHUNKS + b'10;a=b\r\n{"result": true}\r\n0\r\n\r\n', ""),
    ("until the end", b'HTTP/1.1 200 OK\r\n\r\n{"result": true}', ""),
    ("version 1.0", b'HTTP/1.0 200 OK\r\nContent-Length: 16\r\n\r\n{"result": true}', ""),
    ("nothing", http(b""), "opa.malformed"),
    ("no JSON", http(b"yes"), "opa.malformed"),
    ("a list", http(b'[{"result": true}]'), "opa.malformed"),
    ("just true", http(b"true"), "opa.malformed"),
    ("true, then more", http(b'{"result": true} {"result": true}'), "opa.malformed"),
    ("twice", http(b'{"result": true, "result": true}'), "opa.malformed"),
    ("twice, inside", http(b'{"result": true, "metrics": {"a": 1, "a": 2}}'), "opa.malformed"),
    ("no UTF-8", http(b'{"result": true, "x": "\xff"}'), "opa.malformed"),
    ("UTF-16", http('{"result": true}'.encode("utf-16")), "opa.malformed"),
    ("deep", http(b'{"result": true, "x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"), "opa.malformed"),
    ("a huge number", http(b'{"result": true, "x": ' + b"9" * 10_000 + b"}"), "opa.malformed"),
    ("undefined", http(b"{}"), "opa.undefined"),
    ("other spelling", http(b'{"Result": true}'), "opa.undefined"),
    ("warning", http(b'{"result": true, "warning": {"code": "api_usage_warning"}}'), "opa.warning"),
    ("warning alone", http(b'{"warning": null}'), "opa.warning"),
    ("one", http(b'{"result": 1}'), "opa.not-boolean"),
    ("a text", http(b'{"result": "true"}'), "opa.not-boolean"),
    ("null", http(b'{"result": null}'), "opa.not-boolean"),
    ("an object", http(b'{"result": {"allow": true}}'), "opa.not-boolean"),
    ("400", http(b'{"result": true}', "400 Bad Request"), "opa.http-error"),
    ("404", http(b'{"result": true}', "404 Not Found"), "opa.http-error"),
    ("204", http(b'{"result": true}', "204 No Content"), "opa.http-error"),
    ("201", http(b'{"result": true}', "201 Created"), "opa.http-error"),
    ("redirect", http(b'{"result": true}', "307 Temporary Redirect", "Location: /yes"), "opa.http-error"),
    ("500", http(b'{"code": "internal_error", "errors": [{"code": []}, 1]}', "500 No"), "opa.http-error"),
    ("503", http(b"busy", "503 Service Unavailable"), "opa.http-error"),
    ("built-in", http(b'{"errors": [{"code": "eval_builtin_error"}]}', "500 No"), "opa.builtin-error"),
    ("another protocol", b"SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n", "opa.malformed"),
    ("HTTP/2", b"HTTP/2 200\r\n\r\n" + b'{"result": true}', "opa.malformed"),
    ("continue", b"HTTP/1.1 100 Continue\r\n\r\n" + YES, "opa.malformed"),
    ("a bad header", http(b'{"result": true}', "200 OK", "no header"), "opa.malformed"),
    ("a folded header", http(b'{"result": true}', "200 OK", " folded: yes"), "opa.malformed"),
    ("two lengths", http(b'{"result": true}', "200 OK", "Content-Length: 16"), "opa.malformed"),
    ("length and chunks", http(b'{"result": true}', "200 OK", "Transfer-Encoding: chunked"), "opa.malformed"),
    ("a negative length", b'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{"result": true}', "opa.malformed"),
    ("a length in words", b'HTTP/1.1 200 OK\r\nContent-Length: 0x10\r\n\r\n{"result": true}', "opa.malformed"),
    ("compressed", http(b'{"result": true}', "200 OK", "Content-Encoding: gzip"), "opa.malformed"),
    ("other coding", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "opa.malformed"),
    ("more than announced", YES + b" ", "opa.malformed"),
    ("a bad chunk", CHUNKS + b"zz\r\n", "opa.malformed"),
    ("a long chunk line", CHUNKS + b"1;" + b"x" * 300, "opa.malformed"),
    ("a chunk without end", chunked(b'{"result": true}', end=b"10xx"), "opa.closed"),
    ("a trailer", chunked(b'{"result": true}', end=b"0\r\nX: y\r\n\r\n"), "opa.malformed"),
    ("more after chunks", chunked(b'{"result": true}') + b"!", "opa.malformed"),
    ("cut head", b"HTTP/1.1 200 OK\r\nContent-Le", "opa.closed"),
    ("cut body", YES[:-1], "opa.closed"),
    ("cut at once", b"", "opa.closed"),
    ("a long head", http(b'{"result": true}', "200 OK", "X: " + "x" * MAX_HEAD), "opa.answer-too-large"),
    ("a long head, unfinished", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2 * MAX_HEAD, "opa.answer-too-large"),
    ("a long body", http(b'{"result": true}' + b" " * MAX_BODY), "opa.answer-too-large"),
    ("a long body, announced", b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "opa.answer-too-large"),
    ("a long chunk, announced", CHUNKS + b"ffffffff\r\n", "opa.answer-too-large"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "expected"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
def test_an_answer(answer: bytes, expected: str) -> None:
    with impostor(says(answer)) as server:
        assert both(server, deadline=10.0) == (expected, expected)


def test_a_body_without_end() -> None:
    with impostor(endless) as server:
        assert both(server, deadline=10.0) == ("opa.answer-too-large", "opa.answer-too-large")


def test_nobody_listens() -> None:
    assert both(Server(port=free_port())) == ("opa.refused", "opa.refused")


def test_there_is_no_such_socket() -> None:
    assert both(Server(unix="/nowhere/opa.sock")) == ("opa.refused", "opa.refused")


def test_a_full_backlog_is_a_timeout() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        assert both(Server(port=listener.getsockname()[1])) == ("opa.timeout", "opa.timeout")
        for one in waiting:
            one.close()


# ----------------------------------------------------------------------------------------------------------- keep-alive
def counting(answer: bytes) -> tuple[Behaviour, list[int]]:
    """A server that keeps its connections, and the number of queries on each."""
    counts: list[int] = []

    def behave(connection: socket.socket, over: threading.Event) -> None:
        counts.append(0)
        mine = len(counts) - 1
        while query(connection):
            counts[mine] += 1
            connection.sendall(answer)

    return behave, counts


def test_a_connection_serves_many_queries() -> None:
    behaviour, counts = counting(YES)
    with impostor(behaviour) as server:
        policy = Opa(server, RULE, deadline=10.0)
        assert [code(asked(policy)) for _ in range(5)] == [""] * 5
        policy.close()

        async def more() -> None:
            for _ in range(5):
                await policy.aevaluate(call(), Facts(), START)
            await policy.aclose()

        asyncio.run(more())
    assert counts == [5, 5]


@pytest.mark.parametrize("header", ["Connection: close", "connection: Close"])
def test_a_connection_that_the_server_closes_is_not_kept(header: str) -> None:
    behaviour, counts = counting(http(b'{"result": true}', "200 OK", header))
    with impostor(behaviour) as server:
        policy = Opa(server, RULE, deadline=10.0)
        assert [code(asked(policy)) for _ in range(3)] == [""] * 3
        policy.close()
    assert counts == [1, 1, 1]


def test_a_connection_closed_while_idle_is_replaced() -> None:
    with impostor(says(YES)) as server:
        policy = Opa(server, RULE, deadline=10.0)
        assert [code(asked(policy)) for _ in range(3)] == [""] * 3
        policy.close()

        async def more() -> list[str]:
            said = [code(await policy.aevaluate(call(), Facts(), START)) for _ in range(3)]
            await policy.aclose()
            return said

        assert asyncio.run(more()) == [""] * 3


def ahead(connection: socket.socket, over: threading.Event) -> None:
    """Answer the first query with no, and then, unasked, with yes."""
    query(connection)
    connection.sendall(http(b'{"result": false}'))
    over.wait(0.1)
    connection.sendall(YES)
    over.wait()


def test_an_answer_that_nobody_asked_for_answers_nothing() -> None:
    with impostor(ahead) as server:
        policy = Opa(server, RULE, deadline=10.0)
        assert code(asked(policy)) == "opa.denied"
        time.sleep(0.3)
        assert code(asked(policy)) == "opa.denied"
        policy.close()

        async def more() -> list[str]:
            first = await policy.aevaluate(call(), Facts(), START)
            await asyncio.sleep(0.3)
            second = await policy.aevaluate(call(), Facts(), START)
            await policy.aclose()
            return [code(first), code(second)]

        assert asyncio.run(more()) == ["opa.denied", "opa.denied"]


def test_a_late_answer_does_not_answer_the_next_query() -> None:
    """The connection of a query that ran out of time is never used again."""

    def behave(connection: socket.socket, over: threading.Event) -> None:
        query(connection)
        over.wait(DEADLINE)
        connection.sendall(YES)
        query(connection)
        over.wait()

    with impostor(behave) as server:
        policy = Opa(server, RULE, deadline=DEADLINE)
        assert [code(asked(policy)) for _ in range(2)] == ["opa.timeout"] * 2
        policy.close()


def test_a_cancelled_query_ends_at_once_and_leaves_nothing() -> None:
    async def cancelled(policy: Opa) -> None:
        task = asyncio.ensure_future(policy.aevaluate(call(), Facts(), START))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await policy.aclose()

    with impostor(hang) as server:
        start = time.monotonic()
        asyncio.run(cancelled(Opa(server, RULE, deadline=30.0)))
        assert time.monotonic() - start < 5


# -------------------------------------------------------------------------------------------------------- what is sent
def test_a_query_is_what_it_should_be() -> None:
    seen: list[bytes] = []

    def behave(connection: socket.socket, over: threading.Event) -> None:
        seen.append(query(connection))
        connection.sendall(YES)

    with impostor(behave) as server:
        policy = Opa(server, RULE, token="t0ken", deadline=10.0)
        asked(policy)
        policy.close()
    head, _, body = seen[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /v1/data/agent/tools/allow?strict-builtin-errors=true HTTP/1.1"
    assert "Authorization: Bearer t0ken" in lines
    assert f"Content-Length: {len(body)}" in lines
    assert body.startswith(b'{"input":{"principal":')
    assert "t0ken" not in repr(policy) + repr(server)


@pytest.mark.parametrize(
    "rule",
    ["", "allow", "a..b", "a.b/../c", "a.b?x=1", "a.b c", "a.b\r\nX: y", "a.1", "a.ü", "a/b.c", 'a["b"].c', "a.b%2f"],
)
def test_a_rule_is_made_of_identifiers(rule: str) -> None:
    with pytest.raises(UsageError):
        Opa(Server(), rule)


@pytest.mark.parametrize("host", ["", "a b", "a\r\nHost: b", "[::1]", "user@host", "a/b", "a?b", "ü"])
def test_a_host_is_a_host(host: str) -> None:
    with pytest.raises(UsageError):
        Server(host=host)


@pytest.mark.parametrize("port", [0, -1, 65536, True, "8181"])
def test_a_port_is_a_port(port: int) -> None:
    with pytest.raises(UsageError):
        Server(port=port)


@pytest.mark.parametrize("token", ["a b", "a\r\nX: y", "ü", "\x00"])
def test_a_token_is_one_word(token: str) -> None:
    with pytest.raises(UsageError):
        Opa(Server(), RULE, token=token)


@pytest.mark.parametrize("deadline", [0, -1, float("nan"), float("inf"), 61])
def test_a_deadline_is_short(deadline: float) -> None:
    with pytest.raises(UsageError):
        Opa(Server(), RULE, deadline=deadline)


def test_an_address_of_version_six_stands_in_brackets() -> None:
    assert Server(host="::1").authority == "[::1]:8181"
