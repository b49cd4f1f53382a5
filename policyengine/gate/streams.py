"""What a model says, cleaned while it says it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TypeAlias

from policyengine.gate.terms import Delta, Run
from policyengine.policies.guardrails.content import Content, Scanner, Source

MAX_STREAMS = 1024  # open at once; the one that was idle longest is closed, and no more of it is shown
Key: TypeAlias = tuple[str, ...]


class Streams:
    """Open streams. A piece whose beginning was not seen is not shown: nothing could tell what it is the end of."""

    __slots__ = ("_content", "_lock", "_open")

    def __init__(self, content: Content | None) -> None:
        self._content = content
        self._open: OrderedDict[Key, tuple[int, Scanner]] = OrderedDict()
        self._lock = threading.Lock()

    def fed(self, delta: Delta, run: Run) -> str:
        """Take a piece and give what may be shown."""
        if self._content is None:
            return delta.text
        context = run.context
        key = (context.scope_id, context.thread_id, context.run_id, run.principal.agent, delta.stream)
        with self._lock:  # pieces of one stream come one after the other; scanning takes microseconds
            scanner = self._scanner(key, delta.index)
            if scanner is None:
                return ""
            shown = scanner.feed(delta.text)
            if delta.final:
                shown += scanner.finish()
                del self._open[key]
            return shown

    def _scanner(self, key: Key, index: int) -> Scanner | None:
        if index == 0:
            assert self._content is not None
            self._open[key] = (0, self._content.scanner(Source.OUTPUT))
        known = self._open.get(key)
        if known is None or known[0] != index:
            self._open.pop(key, None)
            return None
        self._open[key] = (index + 1, known[1])
        self._open.move_to_end(key)
        while len(self._open) > MAX_STREAMS:
            self._open.popitem(last=False)
        return known[1]
