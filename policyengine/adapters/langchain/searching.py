"""Deferred tools: what the model is not shown before it has found it.

The search itself is a call like any other. What it finds is what this step's exposure left to be found, so a tool that
is hidden cannot be learnt of, and one that was found is shown from the next step on, where the policies leave it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_function

from policyengine.adapters.langchain.faces import Steps, adone, asked, done
from policyengine.adapters.langchain.runs import PARENT
from policyengine.engine.exposure import DISCOVERY
from policyengine.gate import Catalogue, Gate

MAX_FOUND = 8  # tools of one search
MAX_WORDS = 32  # of a query that count
NOTHING = "No tool that may be used now matches."
_ABOUT = (
    "Find further tools by words of their names and descriptions. Gives the schemas of those that match best; they can "
    "be called from your next reply on."
)


class Search:
    """The tool that finds deferred tools."""

    def __init__(self, gate: Gate, deferred: frozenset[str]) -> None:
        self._gate = gate
        self._deferred = deferred
        self.tool: BaseTool = StructuredTool.from_function(
            self._find, coroutine=self._afind, name=DISCOVERY, description=_ABOUT
        )

    def catalogue(self, names: tuple[str, ...], tools: Sequence[BaseTool | dict[str, Any]]) -> Catalogue:
        """Say which tools of a model call are deferred; a tool of the host's that has the name is no search of ours."""
        return Catalogue(
            names=names, deferred=self._deferred & frozenset(names), generated=any(one is self.tool for one in tools)
        )

    def _find(self, query: str) -> str:
        return done(self._gate, self._found(query))

    async def _afind(self, query: str) -> str:
        return await adone(self._gate, self._found(query))

    def _found(self, query: str) -> Steps[str]:
        """Give the schemas of the best that may be found; what may not be takes no place among them."""
        call = PARENT.get()
        best = [] if call is None else self._matching(query, call.runtime.tools)
        for start in range(0, len(best), MAX_FOUND):
            assert call is not None  # as above
            result = yield from asked("discovered", *_told(best[start : start + MAX_FOUND]), call.run)
            if result.names:
                return str(result.schemas)
        return NOTHING

    def _matching(self, query: str, tools: Iterable[BaseTool]) -> list[BaseTool]:
        """The deferred tools with most of the words, in the host's order where as many."""
        words, rated = frozenset(query.lower().split()[:MAX_WORDS]), []
        for tool in tools:
            text = f"{tool.name} {tool.description}".lower()
            fit = sum(word in text for word in words) if tool.name in self._deferred else 0
            rated += [(fit, tool)] if fit else []
        return [tool for _, tool in sorted(rated, key=lambda one: -one[0])]


def _told(found: Sequence[BaseTool]) -> tuple[list[str], str]:
    return [tool.name for tool in found], json.dumps([convert_to_openai_function(tool) for tool in found])
