"""`policyengine decide`: a stream of requests in, a stream of decisions out, in order, one line each.

Nothing is read from the machine. Memory is bounded by the longest line and by what scopes have done, not by the stream.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO, TextIO

from policyengine.cli.core import Runs, open_runs, recorder_of
from policyengine.cli.status import Status
from policyengine.cli.wire import IMPOSSIBLE, Json, decision_json, dumps, error_json, id_of, loads, refusal, request_of
from policyengine.errors import RequestError

MAX_LINE = 16 * 1024 * 1024  # bytes; a command at its own limit fits with every character escaped
PROGRESS_SECONDS = 0.5


def run(options: argparse.Namespace) -> int:
    """Answer every line; `Status.DATA` at the end if some line was no request."""
    runs = open_runs(options, recorder=recorder_of(options))
    if sys.stdin is None:
        raise OSError("standard input is closed; give one JSON request a line")
    if sys.stdin.isatty():
        sys.stderr.write("policyengine: reading requests from the terminal, one JSON object a line; Ctrl-D ends\n")
    status = Status.ALLOW
    out = sys.stdout.buffer
    progress = _Progress(sys.stderr)
    for number, line in lines_of(sys.stdin.buffer):
        answer = answer_to(line, number, runs)
        out.write(dumps(answer).encode("ascii") + b"\n")
        out.flush()
        if "error" in answer:
            status = Status.DATA
        progress.count()
    progress.end()
    return status


def lines_of(source: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Every line that is not blank, with its number from 1; None for one that is longer than `MAX_LINE`."""
    number = 0
    while line := source.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE and not line.endswith(b"\n"):
            while (rest := source.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
            yield number, None
        elif line.strip():
            yield number, line


def answer_to(line: bytes | None, number: int, runs: Runs) -> Json:
    """Give the output object for one line (None: it was too long)."""
    value: object = None
    try:
        if line is None:
            raise RequestError("line.too-long", f"a line has more than {MAX_LINE} bytes")
        value = loads(line)
        request = request_of(value)
    except RequestError as error:
        if error.code in IMPOSSIBLE:
            return decision_json(id_of(value), runs.recorded(refusal(error)), 0.0)
        return error_json(id_of(value), error, number)
    return decision_json(id_of(value), *runs.decide(request))


class _Progress:
    """A running count, on a terminal only."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None
        self._count = 0
        self._next = time.monotonic() + PROGRESS_SECONDS

    def count(self) -> None:
        """One more line is done."""
        self._count += 1
        if self._stream is not None and time.monotonic() >= self._next:
            self._next = time.monotonic() + PROGRESS_SECONDS
            self._show("")

    def end(self) -> None:
        """The stream is over."""
        if self._stream is not None:
            self._show("\n")

    def _show(self, end: str) -> None:
        assert self._stream is not None
        self._stream.write(f"\r{self._count} decided{end}")
        self._stream.flush()
