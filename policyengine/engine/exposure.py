"""Which tools of a catalogue a model may see: those for which `Engine.evaluate_tool` leaves an answer below DENY.

What is hidden can therefore never be decided otherwise, whatever its arguments. Nothing is kept between two catalogues:
what is answered within one is answered once for all tools about which the policies gave the very same verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import itemgetter
from typing import Any

from policyengine.engine.closed import checked
from policyengine.engine.engine import NO_FACTS, Engine
from policyengine.errors import UsageError
from policyengine.model import Exposure, Finding, Outcome, Request, Resource, Verdict
from policyengine.policy import DISCOVERY, Policy, combine, enforced, explained, rank
from policyengine.records import NamedTuple, Record, replace
from policyengine.state import START, RunState

__all__ = ["DISCOVERY", "Catalogue", "discovering", "exposed"]


class Catalogue(Record):
    """The tools of a build.

    Attributes:
        names: all of them in order, a framework's own tools included.
        deferred: those that a model only finds by `DISCOVERY` until they are promoted.
        generated: whether the build itself made the catalogue's `DISCOVERY`, over `deferred`. Only that one is excused
            from the policies about roles (`discovering`), and only while something deferred is left to be found.

    Raises:
        UsageError: something among the names is no name.
    """

    names: tuple[str, ...]
    deferred: frozenset[str] = frozenset()
    generated: bool = False

    def __post_init__(self) -> None:
        if not all(isinstance(name, str) for name in self.names):
            raise UsageError("a catalogue is a list of names")


def exposed(
    engine: Engine,
    request: Request,
    catalogue: Catalogue,
    state: RunState = START,
    *,
    hidden_from: Outcome = Outcome.DENY,
) -> Exposure:
    """Bound every tool of a catalogue, and say which are visible, deferred and hidden, in the catalogue's order.

    Args:
        engine: its `policies` are asked; `remote` ones are not, and may still deny a call.
        request: who asks, for which action, in what context. The kind of its resource is that of the whole catalogue;
            its resource's name and its arguments do not count.
        catalogue: the names.
        state: the run so far; what it has promoted is no longer deferred.
        hidden_from: the least bound that hides; with ASK, tools are hidden of which every call would at least ask.
    """
    names = tuple(dict.fromkeys(catalogue.names))
    bounds = _bounds(engine, request, names, state)
    waiting = catalogue.deferred - state.promotions
    if catalogue.generated and DISCOVERY in names:
        waiting -= {DISCOVERY}
        found = [
            name for name, bound in zip(names, bounds, strict=True) if name in waiting and bound.outcome < hidden_from
        ]
        bounds[names.index(DISCOVERY)] = _bounds(discovering(engine, found), request, (DISCOVERY,), state)[0]
    visible: list[str] = []
    still_deferred: list[str] = []
    hidden: dict[str, tuple[Finding, ...]] = {}
    for name, bound in zip(names, bounds, strict=True):
        if bound.outcome >= hidden_from:
            hidden[name] = bound.findings
        else:
            (still_deferred if name in waiting else visible).append(name)
    return Exposure(visible=tuple(visible), deferred=tuple(still_deferred), hidden=hidden)


def discovering(engine: Engine, deferred: Collection[str]) -> Engine:
    """Give the engine of a build that generated `DISCOVERY` over these deferred tools (`Exposure.deferred`).

    Policies that have filtered the catalogue by roles are not asked again about the tool that only reveals what they
    left; they say so by a method `generating`. Every other policy, guardrails above all, is asked as about any tool.
    """
    return replace(engine, policies=tuple(_generating(policy, deferred) for policy in engine.policies))


def _generating(policy: Policy, deferred: Collection[str]) -> Policy:
    generating: Callable[[Collection[str]], Policy] | None = getattr(policy, "generating", None)  # most have none
    return policy if generating is None else generating(deferred)


# -------------------------------------------------------------------------------------------------------------- bounds
class _Bound(NamedTuple):
    """What is said about a name: the outcome that is enforced, and why."""

    outcome: Outcome
    findings: tuple[Finding, ...]


class _Told(NamedTuple):
    """What one policy says: the outcome that is enforced, and its findings with their ranks."""

    outcome: Outcome
    ranked: Sequence[tuple[Any, Finding]]  # Any: whatever can be compared


_NOTHING = _Told(Outcome.ALLOW, ())


class _Answers(NamedTuple):
    """What one policy says of each name; it keeps the verdicts, so that none gets the id of another."""

    policy: Policy
    column: Sequence[Verdict]
    told: dict[int, _Told]

    def about(self, at: int) -> _Told:
        """Give what is said, as far as it counts without arguments: nothing can be rewritten then."""
        verdict = self.column[at]
        one = self.told.get(id(verdict))
        if one is None:
            findings = explained(checked(self.policy, verdict))
            ranked = sorted(((rank(finding), finding) for finding in findings), key=itemgetter(0))
            one = self.told[id(verdict)] = _Told(enforced(findings), ranked) if ranked else _NOTHING
        return one

    def are_idle(self) -> bool:
        """Whether one verdict is given about all, and it says nothing."""
        for verdict in self.column:
            if verdict is not self.column[0]:
                return False
        return not (self.column and self.about(0).ranked)


def _bounds(engine: Engine, request: Request, names: Sequence[str], state: RunState) -> list[_Bound]:
    """What `Engine.evaluate_tool` would say about each name."""
    if not engine.policies:
        nothing = combine(())
        return [_Bound(nothing.outcome, nothing.findings)] * len(names)
    given = [_Answers(policy, _column(engine, policy, request, names, state), {}) for policy in engine.policies]
    telling = [answers for answers in given if not answers.are_idle()]
    if not telling:
        return [_joined(())] * len(names)
    known: dict[tuple[int, ...], _Bound] = {}
    found = []
    for at, key in enumerate(zip(*(map(id, answers.column) for answers in telling), strict=True)):
        bound = known.get(key)
        if bound is None:
            bound = known[key] = _joined([answers.about(at) for answers in telling])
        found.append(bound)
    return found


def _joined(several: Sequence[_Told]) -> _Bound:
    """As `policy.combine` joins verdicts."""
    telling = [one for one in several if one.ranked]
    if len(telling) < 2:
        (one,) = telling or (_NOTHING,)
        return _Bound(one.outcome, tuple([finding for _, finding in one.ranked]))
    ranked = sorted([pair for one in telling for pair in one.ranked], key=itemgetter(0))
    return _Bound(max([one.outcome for one in telling]), tuple([finding for _, finding in ranked]))


def _column(
    engine: Engine, policy: Policy, request: Request, names: Sequence[str], state: RunState
) -> Sequence[Verdict]:
    """One policy's answers: all at once where it can (`policy.CataloguePolicy`), and nothing fails on the way."""
    if engine.deadline is None:
        try:
            bounds: Callable[..., object] | None = getattr(policy, "bounds", None)  # most have none
            column = None if bounds is None else bounds(replace(request, arguments=None), names, state)
        except Exception:  # it may fail about one name alone, and only that one is hidden
            column = None
        if type(column) is list and len(column) == len(names):
            return column
    return [engine.answer(policy, _about(request, name), NO_FACTS, state) for name in names]


def _about(request: Request, name: str) -> Request:
    return Request(
        principal=request.principal,
        action=request.action,
        resource=Resource(request.resource.kind, name),
        arguments=None,
        context=request.context,
    )
