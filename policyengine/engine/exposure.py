"""Which tools of a catalogue a model may see: those for which `Engine.evaluate_tool` leaves an answer below DENY.

What is hidden can therefore never be decided otherwise, whatever its arguments. Nothing is kept between two catalogues:
what is answered within one is answered once for all tools about which the policies gave the very same verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import chain
from operator import itemgetter
from typing import TypeAlias

from policyengine.engine.closed import checked
from policyengine.engine.engine import NO_FACTS, Engine
from policyengine.errors import UsageError
from policyengine.model import Exposure, Finding, Outcome, Request, Resource, Verdict, enforced
from policyengine.policy import DISCOVERY, Policy, combine
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
    whys = _whys(engine, request, names, state, hidden_from)
    waiting = catalogue.deferred - state.promotions
    if catalogue.generated and DISCOVERY in names:
        waiting -= {DISCOVERY}
        found = [name for name, why in zip(names, whys, strict=True) if why is None and name in waiting]
        (why,) = _whys(discovering(engine, found), request, (DISCOVERY,), state, hidden_from)
        whys[names.index(DISCOVERY)] = why
    left = [name for name, why in zip(names, whys, strict=True) if why is None]
    return Exposure(
        visible=tuple([name for name in left if name not in waiting]),
        deferred=tuple([name for name in left if name in waiting]),
        hidden={name: why for name, why in zip(names, whys, strict=True) if why is not None},
    )


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
Why: TypeAlias = "tuple[Finding, ...] | None"  # why a tool is hidden; None where it is not


class _Answers(NamedTuple):
    """What one policy says of each name; it keeps the verdicts, so that none gets the id of another."""

    policy: Policy
    column: Sequence[Verdict]

    def are_idle(self) -> bool:
        """Whether one verdict is given about all, and it says nothing."""
        for verdict in self.column:
            if verdict is not self.column[0]:
                return False
        return not (self.column and checked(self.policy, self.column[0]).ranked)


def _whys(engine: Engine, request: Request, names: Sequence[str], state: RunState, hidden_from: Outcome) -> list[Why]:
    """Give for each name the findings of `Engine.evaluate_tool` where its outcome hides the tool."""
    if not engine.policies:
        nothing = combine(())
        return [nothing.findings if nothing.outcome >= hidden_from else None] * len(names)
    given = [_Answers(policy, _column(engine, policy, request, names, state)) for policy in engine.policies]
    telling = [answers for answers in given if not answers.are_idle()]
    keys = list(zip(*[map(id, answers.column) for answers in telling], strict=True)) or [()] * len(names)
    places = dict(zip(keys, range(len(names)), strict=True))  # of one name for each combination of verdicts
    known = {key: _joined(telling, at, hidden_from) for key, at in places.items()}
    return list(map(known.__getitem__, keys))


def _joined(telling: Sequence[_Answers], at: int, hidden_from: Outcome) -> Why:
    """As `policy.combine` joins verdicts, as far as they count without arguments: nothing can be rewritten then."""
    told = [ranked for policy, column in telling if (ranked := checked(policy, column[at]).ranked)]
    both = sorted(chain.from_iterable(told), key=itemgetter(0)) if len(told) > 1 else chain.from_iterable(told)
    findings = tuple([finding for _, finding in both])
    return findings if enforced(findings) >= hidden_from else None


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
