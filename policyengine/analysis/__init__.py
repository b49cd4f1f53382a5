"""From a request to facts: what would this call do? Pure, no verdicts, total.

A tool's description says what its arguments are; shell text goes to the interpreter, paths and URLs become effects.
What nobody described is Opaque(program), an argument that nobody described Opaque(option).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from policyengine.analysis.arguments import Analysis, handle
from policyengine.analysis.tools import Argument, Arguments, Tool
from policyengine.effects import Cause, Facts, Opaque, UseTool, WrittenFile
from policyengine.model import Frozen, Request, ResourceKind
from policyengine.shell.interpret import Situation
from policyengine.shell.programs import Programs
from policyengine.state import RunState

__all__ = ["Knowledge", "Tool", "analyze", "situation_of"]


class Knowledge(Protocol):
    """What is known beforehand: the descriptions of programs and tools."""

    @property
    def programs(self) -> Programs:
        """Descriptions of programs."""

    def tool(self, name: str) -> Tool | None:
        """The description of a tool; None where nobody described it."""


def analyze(request: Request, state: RunState, knowledge: Knowledge) -> Facts:
    """The effects of one call of a tool. A request about anything but a tool, or without arguments, has none."""
    if request.resource.kind is not ResourceKind.TOOL or request.arguments is None:
        return Facts()
    name = request.resource.id
    tool = knowledge.tool(name)
    if tool is None:
        return Facts((Opaque(Cause.PROGRAM, f"nobody described the tool `{name}`", origin=name),))
    cwd = request.context.cwd
    other = cwd if state.cwd is not None and state.cwd != cwd else ""
    analysis = Analysis(name, situation_of(request, state), knowledge.programs, other)
    _run(analysis, tool, request.arguments)
    return Facts(tuple(analysis.effects), tuple(analysis.written.values()), analysis.moved, analysis.left)


def situation_of(request: Request, state: RunState) -> Situation:
    """The situation in which a call starts: the context, and what the run knows."""
    context = request.context
    cwd = state.cwd if state.cwd is not None else context.cwd
    return Situation(
        cwd, context.home, context.workspace, context.env, context.shell.value, context.platform, _written(state),
        state.left(),
    )  # fmt: skip


def _written(state: RunState) -> Mapping[str, WrittenFile]:
    return state.files()


def _run(analysis: Analysis, tool: Tool, given: Mapping[str, Frozen]) -> None:
    if tool.use:
        analysis.effects.append(UseTool(analysis.origin, tool.use, origin=analysis.origin))
    if tool.opaque:
        analysis.opaque(Cause.PROGRAM, f"what `{analysis.origin}` does is not known")
    arguments = _meanings(tool, given)
    if arguments is None:
        analysis.opaque(Cause.OPTION, f"`{tool.by}` is none of {', '.join(tool.modes)}")
        return
    if tool.needs and all([given.get(name) is None for name in tool.needs]):
        analysis.opaque(Cause.UNPARSEABLE, f"expected the argument {' or '.join(f'`{name}`' for name in tool.needs)}")
    if not tool.opaque:
        for name, value in given.items():
            if name not in arguments and value is not None:
                analysis.opaque(Cause.OPTION, f"the argument `{name}` is not described")
    handle(analysis, arguments, given)


def _meanings(tool: Tool, given: Mapping[str, Frozen]) -> Arguments | None:
    """What the arguments mean in the mode that was chosen; None where there is no such mode."""
    if not tool.by:
        return tool.arguments
    chosen = given.get(tool.by)
    mode = tool.modes.get(chosen) if isinstance(chosen, str) else None
    return None if mode is None else Arguments({tool.by: Argument("data"), **tool.arguments, **mode})
