"""What tools declare, as a policy: every declaration about a tool holds, and every check that fails is told.

    tool.undeclared, tool.unclassified   nobody answers for the tool, and that is required
    tool.side-effect.KIND                it declares a denied side effect, or nobody answers for it that it has none
    tool.not-background-safe             it may not run where nobody watches
    tool.approval-required               each call asks
    tool.no-sandbox                      it needs a sandbox, and the run has none
    tool.credential-not-released         it uses a credential; asks
    tool.effect.KIND                     the call has a denied side effect, whatever the tool declares
    tool.exceeds-side-effects.KIND       the call has a side effect that the tool does not declare
    tool.no-workspace                    the call touches files, and the tool may not
    tool.outside-workspace               the call leaves the workspace and the tool's trusted roots
    tool.workspace-unknown               it may leave them; asks
    tool.undeclared-credentials          the call uses secrets, and the tool declares no credentials

The first six are about a tool as such; those that deny hide it. Calls are judged by what their analysis says, so what
an analysis does not know (`Opaque`) is the profile's to answer, not this policy's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product, repeat
from types import MappingProxyType
from typing import TypeAlias

from policyengine.effects import Facts
from policyengine.model import Context, Finding, Frozen, Obligation, Outcome, Request, ResourceKind, Verdict, digest_of
from policyengine.policies.tool.annotations import hint_of
from policyengine.policies.tool.calls import Call, Limits, limits_of, limits_of_hint
from policyengine.policies.tool.declared import Standing, about, findings_of, findings_of_hint, obligations_of
from policyengine.policies.tool.metadata import UNDECLARED, Hint, Metadata, Sandbox, Settings
from policyengine.records import NamedTuple, Record
from policyengine.state import RunState

NAME = "tool"
Declarations: TypeAlias = tuple[Metadata, ...]
Hints: TypeAlias = tuple[Hint, ...]
NO_HINTS: Mapping[str, Hints] = MappingProxyType({})
_ALLOWED = Verdict(policy=NAME, outcome=Outcome.ALLOW)
_UNLISTED: Declarations = (UNDECLARED,)


class _Ready(NamedTuple):
    """What the calls of a tool have in common: the verdict about the tool, the obligations, what each may do."""

    bound: Verdict
    duties: tuple[Obligation, ...]
    limits: tuple[Limits, ...]


class ToolPolicy:
    """Declarations about tools, and what the host asks of all of them.

    Args:
        tools: name → what is declared about it: one declaration, or several that all hold. A tool that is not in it
            counts as one that may do anything, wherever a setting asks.
        settings: by default they ask nothing.
        hints: name → what others say of it.
    """

    __slots__ = ("_bounds", "_hints", "_listed", "_tools", "_unlisted", "name", "settings")

    def __init__(
        self,
        tools: Mapping[str, Metadata | Declarations],
        settings: Settings = Settings(),  # noqa: B008  frozen
        hints: Mapping[str, Hints] = NO_HINTS,
    ) -> None:
        self.name = NAME
        self.settings = settings
        self._tools = {name: (said,) if isinstance(said, Metadata) else said for name, said in tools.items()}
        self._hints = dict(hints)
        making = _Making(settings)
        self._listed = {
            is_sandboxed: {
                name: making.ready(self._said(name), Standing(self._is_approved(name), is_sandboxed))
                for name in (*self._tools, *self._hints)
            }
            for is_sandboxed in (False, True)
        }
        standings = map(Standing._make, product((False, True), repeat=2))
        self._unlisted = {standing: making.ready(_Said(_UNLISTED), standing) for standing in standings}
        named = (*self._listed[False], *(settings.approved or ()))
        self._bounds = {
            is_sandboxed: {name: self._ready(name, is_sandboxed).bound for name in named}
            for is_sandboxed in (False, True)
        }

    def _said(self, name: str) -> _Said:
        return _Said(self._tools.get(name, _UNLISTED), self._hints.get(name, ()))

    @property
    def digest(self) -> str:
        """Name the declarations, settings and hints."""
        said: dict[str, Frozen] = {name: tuple(map(_plain, all_said)) for name, all_said in self._tools.items()}
        hints: dict[str, Frozen] = {name: tuple(map(_plain, all_hints)) for name, all_hints in self._hints.items()}
        return digest_of((_plain(self.settings), said, hints))

    def tightened(self, settings: Settings) -> ToolPolicy:
        """Give the policy with further settings (`Settings.tightened`): none of its own is dropped."""
        return ToolPolicy(self._tools, self.settings.tightened(settings), self._hints)

    def declaring(self, tools: Mapping[str, Metadata]) -> ToolPolicy:
        """Give the policy with further declarations: those that are there go on to hold.

        They come from somebody whose word does not count for a tool: one that was not declared stays undeclared.
        """
        said = {name: (*self._tools.get(name, _UNLISTED), more) for name, more in tools.items()}
        return ToolPolicy({**self._tools, **said}, self.settings, self._hints)

    def hinted(self, annotations: Mapping[str, object]) -> ToolPolicy:
        """Give the policy with what servers of the Model Context Protocol say of their tools: name → annotations."""
        more = {name: (*self._hints.get(name, ()), hint_of(said)) for name, said in annotations.items()}
        return ToolPolicy(self._tools, self.settings, {**self._hints, **more})

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge a call; with `arguments` None, the tool alone."""
        name = request.resource.id
        if request.resource.kind is not ResourceKind.TOOL:
            return _ALLOWED
        ready = self._ready(name, self._is_sandboxed(request.context))
        if request.arguments is None:
            return ready.bound
        found = self._found(ready, Call(request, facts.effects)) if facts.effects else {}
        if not (ready.duties or found or ready.bound.findings):
            return ready.bound
        findings = (*(about(finding, name) for finding in ready.bound.findings), *found)
        outcome = max((finding.outcome for finding in findings), default=Outcome.ALLOW)
        return Verdict(policy=NAME, outcome=outcome, findings=findings, obligations=ready.duties)

    def bounds(self, request: Request, names: Sequence[str], state: RunState) -> list[Verdict]:
        """Judge a catalogue: for each name what `evaluate` says without arguments."""
        if request.resource.kind is not ResourceKind.TOOL:
            return [_ALLOWED] * len(names)
        is_sandboxed = self._is_sandboxed(request.context)
        other = self._unlisted[Standing(False, is_sandboxed)].bound  # of a name that nothing says anything of
        return list(map(self._bounds[is_sandboxed].get, names, repeat(other)))

    def _found(self, ready: _Ready, call: Call) -> dict[Finding, None]:
        """What is against a call beside what is against its tool; of two declarations' equal objections one."""
        found = dict.fromkeys(call.denied(self.settings.deny))
        for limits in ready.limits:
            found |= dict.fromkeys(call.beyond(limits))
        return found

    def _ready(self, name: str, is_sandboxed: bool) -> _Ready:
        listed = self._listed[is_sandboxed].get(name)
        return self._unlisted[Standing(self._is_approved(name), is_sandboxed)] if listed is None else listed

    def _is_approved(self, name: str) -> bool:
        approved = self.settings.approved
        return approved is not None and name in approved

    def _is_sandboxed(self, context: Context) -> bool:
        sandboxes = self.settings.sandboxes
        return context.sandbox == Sandbox.REQUIRED if sandboxes is None else context.sandbox in sandboxes


class _Said(NamedTuple):
    """All that is said of a tool."""

    declarations: Declarations
    hints: Hints = ()


class _Making:
    """Makes what the calls of tools have in common; tools of which the same is found share a verdict."""

    __slots__ = ("_settings", "_verdicts")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._verdicts: dict[tuple[Finding, ...], Verdict] = {(): _ALLOWED}

    def ready(self, said: _Said, standing: Standing) -> _Ready:
        """Judge a tool by what is said of it."""
        duties = obligations_of(said.declarations, self._settings, standing)
        limits = (*map(limits_of, said.declarations), *map(limits_of_hint, said.hints))
        return _Ready(self._verdict(tuple(dict.fromkeys(self._found(said, standing)))), tuple(duties), limits)

    def _found(self, said: _Said, standing: Standing) -> Iterator[Finding]:
        for one in said.declarations:
            yield from findings_of(one, self._settings, standing)
        for hint in said.hints:
            yield from findings_of_hint(hint, self._settings)

    def _verdict(self, found: tuple[Finding, ...]) -> Verdict:
        verdict = self._verdicts.get(found)
        if verdict is None:
            outcome = max(finding.outcome for finding in found)
            verdict = self._verdicts[found] = Verdict(policy=NAME, outcome=outcome, findings=found)
        return verdict


def _plain(record: Record) -> Frozen:
    values = (getattr(record, name) for name in record._fields)
    return tuple(tuple(sorted(value)) if isinstance(value, frozenset) else value for value in values)
