"""The process that analyses, asked by a deadline: one that is late is killed, and the next question starts another."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from policyengine.errors import UsageError
from policyengine.records import NamedTuple

START_SECONDS = 120.0  # that a process may take to load its model
MAX_TEXT = 200_000  # characters of one text
MAX_ANSWER = 4 * 1024 * 1024  # bytes
PATTERNS_ONLY = "-"
WORKER = "policyengine.policies.guardrails.presidio.worker"


class Entity(NamedTuple):
    """Something found: Presidio's name for its kind, `[start, end)` in code points, and a score up to 1."""

    kind: str
    start: int
    end: int
    score: float


class Failure(NamedTuple):
    """Why there is no answer; `code` is `guardrail.timeout`, `.too-large`, `.died`, `.malformed` or `.raised`."""

    code: str
    message: str


TIMEOUT = Failure("guardrail.timeout", "the analysis did not end in time")
DIED = Failure("guardrail.died", "the process that analyses ended")
MALFORMED = Failure("guardrail.malformed", "the process that analyses gave no answer that can be read")


class Presidio:
    """Presidio's analysis of texts in one language.

    Args:
        model: name of an installed spaCy model, without which there are no names of people and places.
        language: two letters.
        threshold: the least score that counts.
        deadline: seconds that a question may take, waiting for others and for the process to start included.

    Raises:
        UsageError: the extra or the model is not installed, or an argument cannot be used.
    """

    __slots__ = (
        "_language",
        "_lock",
        "_model",
        "_process",
        "_started",
        "_threshold",
        "_unread",
        "deadline",
        "is_ready",
    )

    def __init__(
        self, *, model: str | None = None, language: str = "en", threshold: float = 0.5, deadline: float = 5.0
    ) -> None:
        for name in ("presidio_analyzer", *([model] if model else [])):
            if not name.isidentifier() or importlib.util.find_spec(name) is None:
                raise UsageError(
                    f"`{name}` is not installed, expected `agent-policyengine[presidio]` and a spaCy model"
                )
        if not (0 < deadline <= 600 and 0 <= threshold <= 1 and language.isalpha()):
            raise UsageError("no deadline up to 600 seconds, threshold up to 1 and language of letters")
        self._model = model or PATTERNS_ONLY
        self._language = language
        self._threshold = threshold
        self.deadline = deadline
        self.is_ready = False  # whether the process has loaded its model
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._unread = b""

    def find(self, text: str) -> tuple[Entity, ...] | Failure:
        """Find the entities in a text, by their beginning; whoever gets a failure has to refuse."""
        end = time.monotonic() + self.deadline
        if len(text) > MAX_TEXT:
            return Failure("guardrail.too-large", f"the text is longer than {MAX_TEXT} characters")
        if not self._lock.acquire(timeout=self.deadline):
            return TIMEOUT
        try:
            return self._asked(text, end)
        except TimeoutError:
            if self.is_ready or time.monotonic() - self._started > START_SECONDS:
                self._kill()
            return TIMEOUT
        except (OSError, EOFError):
            self._kill()
            return DIED
        finally:
            self._lock.release()

    def start(self, seconds: float = START_SECONDS) -> bool:
        """Start the process, and say whether it is ready after so many seconds at most."""
        with self._lock:
            try:
                self._make_ready(time.monotonic() + seconds)
            except (OSError, EOFError):  # too late, or it ended
                self._kill()
            return self.is_ready

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._kill()

    def _asked(self, text: str, end: float) -> tuple[Entity, ...] | Failure:
        process = self._make_ready(end)
        question = json.dumps({"text": text, "language": self._language}).encode("ascii") + b"\n"
        self._send(process, question, end)
        return self._understood(self._line(process, end), len(text))

    def _make_ready(self, end: float) -> subprocess.Popen[bytes]:
        """Start the process where there is none, and wait until it has loaded its model.

        Raises:
            TimeoutError: it has not yet.
            EOFError: it ended.
        """
        if self._process is None or self._process.poll() is not None:
            self._kill()
            self._started = time.monotonic()
            command = [
                sys.executable,
                "-P",
                "-m",
                WORKER,
                self._model,
                self._language,
            ]  # -P: nothing of the folder we are in
            self._process = subprocess.Popen(  # noqa: S603  our own module
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
            )
            assert self._process.stdin is not None
            os.set_blocking(self._process.stdin.fileno(), False)
        if not self.is_ready:
            self.is_ready = json.loads(self._line(self._process, end)) == {"ready": True}
        return self._process

    def _send(self, process: subprocess.Popen[bytes], data: bytes, end: float) -> None:
        assert process.stdin is not None
        view = memoryview(data)
        while view:
            if not select.select([], [process.stdin], [], _left(end))[1]:
                raise TimeoutError
            view = view[process.stdin.write(view) or 0 :]

    def _line(self, process: subprocess.Popen[bytes], end: float) -> bytes:
        """Read one line of an answer."""
        assert process.stdout is not None
        data = bytearray(self._unread)
        while b"\n" not in data:
            if not select.select([process.stdout], [], [], _left(end))[0]:
                raise TimeoutError
            piece = process.stdout.read(65536)
            if not piece or len(data) > MAX_ANSWER:
                raise EOFError
            data += piece
        line, _, rest = bytes(data).partition(b"\n")
        self._unread = rest
        return line

    def _understood(self, line: bytes, length: int) -> tuple[Entity, ...] | Failure:
        try:
            answer = json.loads(line)
            if "error" in answer:
                return Failure("guardrail.raised", "the analysis failed")
            entities = sorted(
                (_entity(one, length) for one in answer["entities"]), key=lambda one: (one.start, -one.end)
            )
        except (ValueError, TypeError, LookupError):
            self._kill()
            return MALFORMED
        return tuple(one for one in entities if one.score >= self._threshold)

    def _kill(self) -> None:
        process, self._process = self._process, None
        self.is_ready, self._unread = False, b""
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    if pipe is not None:
                        pipe.close()


def _entity(one: Any, length: int) -> Entity:
    kind, start, end, score = one
    if not (isinstance(kind, str) and 0 <= start < end <= length):
        raise ValueError("no place in the text")
    return Entity(kind, int(start), int(end), float(score))


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
