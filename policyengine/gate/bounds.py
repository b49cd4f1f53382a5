"""What tokens leave of a decision: policies of one call that only ever deny, asked beside the live ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from hmac import compare_digest

from policyengine.effects import Facts
from policyengine.engine import Engine
from policyengine.engine.exposure import DISCOVERY, discovering
from policyengine.errors import TokenError
from policyengine.gate.memory import Remembered
from policyengine.gate.parts import Held, Parts
from policyengine.gate.standing import ALLOWED, REJECTED, STANDING, refusal
from policyengine.gate.terms import Run
from policyengine.gate.tokens import verified_delegation, verified_exposure
from policyengine.model import Outcome, Request, Verdict
from policyengine.policy import Policy
from policyengine.records import NamedTuple, replace
from policyengine.state import RunState

NOTHING: frozenset[str] = frozenset()
_HIDDEN = refusal("exposure.hidden", "This tool was not offered in this step.")
_NOT_DELEGATED = refusal("delegation.not-allowed", "This tool was not handed down to this sub-agent.")
_NO_DELEGATION = refusal("delegation.missing", "This sub-agent does not show what was handed down to it.")
_DENIED_BEFORE = refusal("gate.denied-before", "This call was denied as a part of its reply.")


class Refused(NamedTuple):
    """A token that was refused: what it was for, and why."""

    purpose: str
    code: str


class Presented:
    """What became of the tokens that came with a question, and where it was asked."""

    __slots__ = ("cwd", "refused", "used")

    def __init__(self) -> None:
        self.cwd: str | None = None  # of the run's persistent shell
        self.refused: dict[Refused, None] = {}
        self.used: set[str] = set()  # approvals that this call has used up

    def refuse(self, purpose: str, error: TokenError) -> None:
        """Note that a token does not count."""
        self.refused[Refused(purpose, error.code)] = None


class Only:
    """Allows the tools of a list, whatever they do."""

    __slots__ = ("_names", "_refusal", "name")

    def __init__(self, names: frozenset[str], refusal: Verdict) -> None:
        self.name = "gate"
        self._names = names
        self._refusal = refusal

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Deny what is not in the list."""
        del facts, state
        return ALLOWED if request.resource.id in self._names else self._refusal

    def bounds(self, request: Request, names: Sequence[str], state: RunState) -> Sequence[Verdict]:
        """Deny what is not in the list, for a whole catalogue."""
        del request, state
        return [ALLOWED if name in self._names else self._refusal for name in names]


class NoAsks:
    """Denies what is hidden because every call of it would ask."""

    __slots__ = ("_engine", "name")

    def __init__(self, engine: Engine) -> None:
        self.name = "gate"
        self._engine = engine

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Deny what the live policies would hide now."""
        del facts
        return ALLOWED if self._engine.evaluate_tool(request, state).outcome is Outcome.ALLOW else _HIDDEN


def narrowed(engine: Engine, bounds: Collection[Policy]) -> Engine:
    """Give an engine that also asks the gate's own policies."""
    if not engine.policies:  # no policies are a DENY, which no bound may turn into an answer
        return engine
    return replace(engine, policies=(*engine.policies, *STANDING, *bounds))


def engine_for(held: Held, request: Request, run: Run, presented: Presented) -> Engine:
    """Give the engine that decides a call: the live policies, and what the tokens of its run leave.

    A refused token leaves the answer to the live policies, except a delegation: a sub-agent that cannot show what was
    handed down to it may do nothing.
    """
    parts, step, engine = held.parts, held.memory.step(run), held.parts.engine
    if request.resource.id == DISCOVERY and step.generated:
        engine = discovering(engine, step.deferred)
    bounds: list[Policy] = [*_exposed(parts, run, step, presented)]
    if request.context.call_id in step.denied:
        bounds.append(Only(NOTHING, _DENIED_BEFORE))
    if request.context.call_id in step.rejected:
        bounds.append(Only(NOTHING, REJECTED))
    if parts.hidden_from is not Outcome.DENY:
        bounds.append(NoAsks(parts.engine))
    return narrowed(engine, (*bounds, *bounds_of_agent(parts, run, presented)))


def _exposed(parts: Parts, run: Run, step: Remembered, presented: Presented) -> Iterator[Policy]:
    """Narrow to what this gate has exposed in this very step, if only nothing, and to what is said beside it."""
    token, is_known = run.exposure or step.exposure, parts.now() < step.expires
    if run.offered is not None and not (is_known and step.visible <= run.offered):
        yield Only(run.offered, _HIDDEN)
    if is_known:
        yield Only(step.visible, _HIDDEN)
    if not token or (is_known and _are_same(token, step.exposure)):
        return
    try:
        names = verified_exposure(parts, token, run).names
    except TokenError as error:
        presented.refuse("exposure", error)
        return
    if names is not None:
        yield Only(names, _HIDDEN)


def _are_same(token: str, remembered: str) -> bool:
    """Whether a token is the one that this gate remembers; mostly it is the very same text."""
    return token is remembered or compare_digest(token.encode("utf-8", "replace"), remembered.encode())


def bounds_of_agent(parts: Parts, run: Run, presented: Presented) -> tuple[Policy, ...]:
    """Give what a sub-agent's delegation leaves it; an agent that nobody has started needs none."""
    if not run.delegation:
        is_below = run.principal.delegation or run.context.depth > 0
        return (Only(NOTHING, _NO_DELEGATION),) if is_below else ()
    try:
        names = verified_delegation(parts, run.delegation, run).names
    except TokenError as error:
        presented.refuse("delegation", error)
        return (Only(NOTHING, _NO_DELEGATION),)
    return () if names is None else (Only(names, _NOT_DELEGATED),)
