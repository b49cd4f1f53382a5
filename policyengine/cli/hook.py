"""`policyengine hook RUNTIME`: one payload on standard input, one answer on standard output.

Every failure is raised: `policyengine.cli.main` turns it into status 2, the only one that a host takes for a block.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from policyengine.adapters.claude_code import Host, is_tool_call, to_answer, to_request
from policyengine.cli.arguments import parse
from policyengine.cli.core import open_runs, recorder_of
from policyengine.cli.wire import dumps, loads
from policyengine.errors import RequestError, UsageError

if TYPE_CHECKING:
    from policyengine.stores import RunStates

MAX_PAYLOAD = 64 * 1024 * 1024  # bytes


def answer(words: list[str]) -> int:
    """Read, decide and write; 0, or an exception."""
    if sys.stdout is None or sys.stdin is None:
        raise OSError("standard input and output have to be open")
    options = _options(words)
    payload = loads(_read())
    reply: dict[str, object] = {}
    if is_tool_call(payload):
        host = Host(
            home=os.path.expanduser("~"), platform=sys.platform, shell=os.environ.get("SHELL", ""),
            workspace=tuple(os.path.abspath(root) for root in options.workspace),
        )  # fmt: skip
        request = to_request(payload, host)
        projects = (request.context.cwd, *request.context.workspace)
        runs = open_runs(options, projects, os.path.realpath, recorder_of(options))
        if options.state is not None:
            runs.keep_in(_stored(options.state))
        reply = to_answer(runs.decide(request)[0])
    sys.stdout.write(dumps(reply) + "\n")
    sys.stdout.flush()
    return 0


def _options(words: list[str]) -> argparse.Namespace:
    options = parse(words)
    if options.command != "hook":
        raise UsageError("options come after `hook claude-code`")
    return options


def _stored(path: str) -> RunStates:
    """Open the file of run states, in a folder that is made where it is missing.

    Raises:
        StoreError: it cannot be used, or others may write it.
    """
    from policyengine.stores.sqlite import SqliteRunStates  # noqa: PLC0415  for those who keep something

    os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
    return SqliteRunStates(path)


def _read() -> bytes:
    payload = sys.stdin.buffer.read(MAX_PAYLOAD + 1)
    if len(payload) > MAX_PAYLOAD:
        raise RequestError("hook.payload", f"the payload has more than {MAX_PAYLOAD} bytes")
    return payload
