"""`policyengine bench --suite opa`: what asking a real OPA server costs, beside opa-python-client and `http.client`.

The server is started here, on the loopback address, with the sample policy. Times are wall-clock times, since most of
the work is another process's; every case asks the same question, and the cases take turns, so that other work on the
machine falls on all of them alike.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

from policyengine.cli.quantiles import median_and_p99
from policyengine.cli.wire import Json, dumps
from policyengine.config.sources import shipped
from policyengine.effects import Facts, FileWrite
from policyengine.errors import UsageError
from policyengine.model import Context, Outcome, Principal, Request, Resource, ResourceKind, freeze_object
from policyengine.policies.opa import Opa, Server, input_document
from policyengine.policies.opa.document import encoded
from policyengine.records import NamedTuple
from policyengine.state import START

RULE = "agent.tools.allow"
ROUNDS = 8
ROUND = 150  # questions of one case in one round
TOGETHER = 16  # threads or tasks that ask at once
DEADLINE = 30.0  # seconds; nothing here is about being late
START_SECONDS = 20
REQUEST = Request(
    principal=Principal(id="dev", roles=("engineer",)),
    action="invoke",
    resource=Resource(ResourceKind.TOOL, "bash"),
    arguments=freeze_object({"command": "sed -i s/a/b/ src/server/router.py && git diff --stat | tail -20"}),
    context=Context(),
)
FACTS = Facts((FileWrite("/workspace/src/server/router.py", origin="sed"),))


class Cost(NamedTuple):
    """What one case costs: microseconds a decision as its asker sees them, and decisions a second in all."""

    p50_us: float
    p99_us: float
    n: int
    per_second: float


Round = Callable[[], "list[float]"]  # asks `ROUND` times and gives the seconds that each took


def program() -> str | None:
    """Where the real server is: named by POLICYENGINE_OPA (which then has to be there), beside Python, or on PATH."""
    named = os.environ.get("POLICYENGINE_OPA")
    if named:
        return named
    beside = os.path.join(os.path.dirname(sys.executable), "opa")
    return beside if os.path.isfile(beside) else shutil.which("opa")


def run(options: argparse.Namespace) -> int:
    """Measure and print.

    Raises:
        UsageError: there is no server to start.
    """
    found = program()
    if found is None:
        raise UsageError("the OPA server is missing, expected it in POLICYENGINE_OPA, beside Python or on PATH")
    with tempfile.TemporaryDirectory() as folder, _running(found, folder) as (server, unix):
        costs, others = _measured(server, unix)
    if options.json:
        print(dumps({"opa": _json(costs), "reference": _json(others)}))
    else:
        print("\n".join(_table(costs, others)))
    return 0


@contextmanager
def _running(found: str, folder: str) -> Iterator[tuple[Server, Server]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        server = Server(port=probe.getsockname()[1])
    unix, rules = os.path.join(folder, "opa.sock"), os.path.join(shipped(), "opa")
    process = subprocess.Popen(  # noqa: S603  the server that the user named
        [found, "run", "--server", "--v1-compatible", "--disable-telemetry", "--log-level", "error",
         "--addr", server.authority, "--addr", f"unix://{unix}",
         os.path.join(rules, "tools.rego"), os.path.join(rules, "data.json")],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait(server)
        yield server, Server(unix=unix)
    finally:
        process.kill()
        process.wait()


def _wait(server: Server) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=1)
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                connection.close()
                return
        connection.close()
        time.sleep(0.02)
    raise UsageError("the OPA server did not start")


# ------------------------------------------------------------------------------------------------------------- measure
def _measured(server: Server, unix: Server) -> tuple[dict[str, Cost], dict[str, Cost]]:
    with ExitStack() as stack, asyncio.Runner() as runner:
        policy = stack.enter_context(closing(Opa(server, RULE, deadline=DEADLINE)))
        local = stack.enter_context(closing(Opa(unix, RULE, deadline=DEADLINE)))
        cases: dict[str, Round] = {
            "thread": lambda: _in_turn(lambda: _allowed(policy)),
            "unix": lambda: _in_turn(lambda: _allowed(local)),
            "loop": lambda: runner.run(_in_loop(policy, 1)),
            f"threads{TOGETHER}": lambda: _in_threads(lambda: _allowed(policy)),
            f"tasks{TOGETHER}": lambda: runner.run(_in_loop(policy, TOGETHER)),
        }
        references = {"http.client": _plain_client(server, stack), **_python_client(server, stack)}
        both = {**cases, **references}
        samples: dict[str, list[float]] = {name: [] for name in both}
        spent = dict.fromkeys(both, 0.0)
        for number in range(ROUNDS + 1):  # the first is for connecting
            for name, ask in both.items():
                start = time.perf_counter()
                took = ask()
                if number:
                    spent[name] += time.perf_counter() - start
                    samples[name] += took
        runner.run(policy.aclose())
    costs = {name: _cost(samples[name], spent[name]) for name in both}
    return {name: costs[name] for name in cases}, {name: costs[name] for name in references}


def _cost(samples: list[float], seconds: float) -> Cost:
    p50, p99 = median_and_p99(sorted(samples))
    return Cost(round(p50 * 1e6, 1), round(p99 * 1e6, 1), len(samples), round(len(samples) / seconds, 1))


def _allowed(policy: Opa) -> None:
    _check(policy.evaluate(REQUEST, FACTS, START).outcome is Outcome.ALLOW)


def _check(allowed: bool) -> None:
    if not allowed:
        raise UsageError("the OPA server gave another answer than the sample policy's")


def _in_turn(ask: Callable[[], None], times: int = ROUND) -> list[float]:
    took = []
    for _ in range(times):
        start = time.perf_counter()
        ask()
        took.append(time.perf_counter() - start)
    return took


def _in_threads(ask: Callable[[], None]) -> list[float]:
    took: list[float] = []
    threads = [threading.Thread(target=lambda: took.extend(_in_turn(ask, ROUND // TOGETHER))) for _ in range(TOGETHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


async def _in_loop(policy: Opa, together: int) -> list[float]:
    async def ask() -> None:
        _check((await policy.aevaluate(REQUEST, FACTS, START)).outcome is Outcome.ALLOW)

    took = await asyncio.gather(*[_awaited(ask, ROUND // together) for _ in range(together)])
    return [seconds for one in took for seconds in one]


async def _awaited(ask: Callable[[], Awaitable[None]], times: int) -> list[float]:
    took = []
    for _ in range(times):
        start = time.perf_counter()
        await ask()
        took.append(time.perf_counter() - start)
    return took


# ---------------------------------------------------------------------------------------------------------- references
def _plain_client(server: Server, stack: ExitStack) -> Round:
    """A kept-alive connection of the standard library, without a deadline for the whole."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=DEADLINE)
    stack.callback(connection.close)
    path = "/v1/data/agent/tools/allow?strict-builtin-errors=true"

    def ask() -> None:
        connection.request("POST", path, encoded(input_document(REQUEST, FACTS, START)))
        _check(connection.getresponse().read().strip() == b'{"result":true}')

    return lambda: _in_turn(ask)


def _python_client(server: Server, stack: ExitStack) -> dict[str, Round]:
    """opa-python-client, where it is installed."""
    try:
        from opa_client.opa import OpaClient  # noqa: PLC0415  a comparator here
    except ImportError:
        return {}
    client = OpaClient(host=server.host, port=server.port, retries=0, timeout=DEADLINE)
    document = json.loads(encoded(input_document(REQUEST, FACTS, START)))[
        "input"
    ]  # made once: what it takes to ask, only

    def ask() -> None:
        answer = client.query_rule(document, "agent.tools", "allow", {"strict-builtin-errors": True})
        _check(answer.get("result") is True)

    return {"opa-python-client": lambda: _in_turn(ask)}


def _json(costs: dict[str, Cost]) -> Json:
    return {name: cost._asdict() for name, cost in costs.items()}


def _table(costs: dict[str, Cost], others: dict[str, Cost]) -> Iterator[str]:
    yield f"{'opa':30}{'median us':>12}{'p99 us':>12}{'per second':>12}{'n':>9}"
    rows = costs | {f"reference {name}": cost for name, cost in others.items()}
    yield from (f"{name:30}{c.p50_us:>12.1f}{c.p99_us:>12.1f}{c.per_second:>12.0f}{c.n:>9}" for name, c in rows.items())
