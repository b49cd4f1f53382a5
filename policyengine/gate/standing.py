"""Policies that every gate asks: tools have names that can be told apart, and for the whole run there hold what it was
restricted to and a person's no.

A rejection is kept in the run's state, for just this tool and these arguments in this run: a model that repeats a
rejected call is refused, and nobody is asked over and over. Once more than `state.MAX_COUNTERS` things are counted, a
further rejection holds for its call id alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.effects import Facts
from policyengine.model import Finding, Outcome, Request, Severity, Verdict, digest_of
from policyengine.policy import Policy
from policyengine.state import RunState, count

MAX_NAME = 256
REJECTIONS = "rejections"  # counter; where it is not, nothing was rejected
ALLOWED = Verdict(policy="gate", outcome=Outcome.ALLOW)


def refusal(code: str, message: str, instead: str = "Use one of the tools that were offered.") -> Verdict:
    """Give a verdict of the gate's own."""
    finding = Finding(
        rule=code, code=code, message=message, outcome=Outcome.DENY, severity=Severity.MEDIUM, instead=instead
    )
    return Verdict(policy="gate", outcome=Outcome.DENY, findings=(finding,))


REJECTED = refusal("gate.rejected", "A person has said no to this call.", "Do something else, or ask them why.")
_RESTRICTED = refusal("gate.restricted", "This run has been restricted to other tools.")
_NO_NAME = refusal("gate.tool-name", "A tool's name has 1 to 256 printable ASCII characters: others look like these.")


class Named:
    """Denies tools whose names could be taken for others' (Unicode UTS 39)."""

    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name = "gate"

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge a tool by its name."""
        del facts, state
        return _judged(request.resource.id)

    def bounds(self, request: Request, names: Sequence[str], state: RunState) -> Sequence[Verdict]:
        """Judge a catalogue."""
        del request, state
        return [_judged(name) for name in names]


def _judged(name: str) -> Verdict:
    fits = 0 < len(name) <= MAX_NAME and name.isascii() and name.isprintable() and name == name.strip()
    return ALLOWED if fits else _NO_NAME


class NotRejected:
    """Denies what a person has said no to in this run."""

    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name = "gate"

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge a call by what was said of it before."""
        del facts
        if REJECTIONS not in state.counters or request.arguments is None:
            return ALLOWED
        return REJECTED if _key(request) in state.counters else ALLOWED

    def bounds(self, request: Request, names: Sequence[str], state: RunState) -> Sequence[Verdict]:
        """Leave tools alone: it is calls that were rejected."""
        del request, state
        return [ALLOWED] * len(names)


class Unrestricted:
    """Denies the tools that a restriction of this run leaves out (`RunState.restrictions`)."""

    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name = "gate"

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge a tool by its name."""
        del facts
        name, lists = request.resource.id, state.restrictions.values()
        return ALLOWED if all(name in tools for tools in lists) else _RESTRICTED

    def bounds(self, request: Request, names: Sequence[str], state: RunState) -> Sequence[Verdict]:
        """Judge a catalogue."""
        del request
        if not state.restrictions:
            return [ALLOWED] * len(names)
        left = frozenset(names).intersection(*state.restrictions.values())
        return [ALLOWED if name in left else _RESTRICTED for name in names]


STANDING: tuple[Policy, ...] = (Named(), NotRejected(), Unrestricted())


def rejected(state: RunState, request: Request) -> RunState:
    """Remember that a person has said no to a call."""
    return count(state, REJECTIONS, _key(request))


def _key(request: Request) -> str:
    return f"rejected:{digest_of((request.context.run_id, request.arguments_digest))[:32]}"
