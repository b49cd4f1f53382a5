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

The first six are about a tool as such, and hide it. Calls are judged by what their analysis says, so what an analysis
does not know (`Opaque`) is the profile's to answer, not this policy's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TypeAlias

from policyengine.effects import Facts
from policyengine.model import Context, Finding, Frozen, Obligation, Outcome, Request, ResourceKind, Verdict, digest_of
from policyengine.policies.tool.annotations import hint_of
from policyengine.policies.tool.calls import Call, Limits, limits_of
from policyengine.policies.tool.declared import Standing, about, findings_of, obligations_of
from policyengine.policies.tool.metadata import UNDECLARED, Metadata, Sandbox, Settings
from policyengine.records import NamedTuple, Record
from policyengine.state import RunState

NAME = "tool"
Declarations: TypeAlias = tuple[Metadata, ...]
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
    """

    __slots__ = ("_listed", "_tools", "_unlisted", "name", "settings")

    def __init__(self, tools: Mapping[str, Metadata | Declarations], settings: Settings = Settings()) -> None:  # noqa: B008  frozen
        self.name = NAME
        self.settings = settings
        self._tools = {name: (said,) if isinstance(said, Metadata) else said for name, said in tools.items()}
        bounds = _Bounds(settings)
        self._listed = {
            is_sandboxed: {
                name: bounds.ready(said, Standing(self._is_approved(name), is_sandboxed))
                for name, said in self._tools.items()
            }
            for is_sandboxed in (False, True)
        }
        standings = map(Standing._make, product((False, True), repeat=2))
        self._unlisted = {standing: bounds.ready(_UNLISTED, standing) for standing in standings}

    @property
    def digest(self) -> str:
        """Name the declarations and settings."""
        said: dict[str, Frozen] = {name: tuple(map(_plain, all_said)) for name, all_said in self._tools.items()}
        return digest_of((_plain(self.settings), said))

    def tightened(self, settings: Settings) -> ToolPolicy:
        """Give the policy with further settings (`Settings.tightened`): none of its own is dropped."""
        return ToolPolicy(self._tools, self.settings.tightened(settings))

    def declaring(self, tools: Mapping[str, Metadata]) -> ToolPolicy:
        """Give the policy with further declarations: those that are there go on to hold.

        They come from somebody whose word does not count for a tool: one that was not declared stays undeclared.
        """
        said = {name: (*self._tools.get(name, _UNLISTED), more) for name, more in tools.items()}
        return ToolPolicy({**self._tools, **said}, self.settings)

    def hinted(self, annotations: Mapping[str, Mapping[str, object]]) -> ToolPolicy:
        """Give the policy with what servers of the Model Context Protocol say of their tools: name → annotations."""
        return self.declaring({name: hint_of(hints) for name, hints in annotations.items()})

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
        listed = self._listed[is_sandboxed]
        return [(listed.get(name) or self._ready(name, is_sandboxed)).bound for name in names]

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


class _Bounds:
    """Makes the verdicts about tools as such; tools of which the same is found share one."""

    __slots__ = ("_made", "_settings")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[tuple[Finding, ...], Verdict] = {(): _ALLOWED}

    def ready(self, said: Declarations, standing: Standing) -> _Ready:
        """Judge a tool by its declarations."""
        found = tuple(dict.fromkeys(finding for one in said for finding in findings_of(one, self._settings, standing)))
        verdict = self._made.get(found)
        if verdict is None:
            outcome = max(finding.outcome for finding in found)
            verdict = self._made[found] = Verdict(policy=NAME, outcome=outcome, findings=found)
        return _Ready(verdict, tuple(obligations_of(said, self._settings, standing)), tuple(map(limits_of, said)))


def _plain(record: Record) -> Frozen:
    values = (getattr(record, name) for name in record._fields)
    return tuple(tuple(sorted(value)) if isinstance(value, frozenset) else value for value in values)
