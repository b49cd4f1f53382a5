"""Live ∩ signed: nothing that was signed lets more through than the live answer."""

from __future__ import annotations

import pytest

from policyengine.model import (
    ANONYMOUS,
    Context,
    Decision,
    Exposure,
    Obligation,
    ObligationKind,
    Outcome,
    Request,
    Resource,
    ResourceKind,
)
from policyengine.records import replace
from policyengine.signing import Purpose, decided, exposed
from policyengine.signing.narrowing import HIDDEN
from tests.signing.rings import claims

REQUEST = Request(
    principal=ANONYMOUS,
    action="invoke",
    resource=Resource(ResourceKind.TOOL, "bash"),
    arguments={},
    context=Context(),
)
LIVE = Exposure(visible=("read", "bash"), deferred=("search",), hidden={"web": ()})
OPEN = claims(names=None, obligations=(), outcome=Outcome.ALLOW)


def decision(outcome: Outcome, *obligations: Obligation) -> Decision:
    """A live decision."""
    return Decision(outcome=outcome, findings=(), effects=(), obligations=obligations, request=REQUEST)


def test_what_is_not_named_is_hidden() -> None:
    found = exposed(LIVE, claims(Purpose.EXPOSURE, names=frozenset({"bash", "web", "unheard"})))
    assert (found.visible, found.deferred) == (("bash",), ())
    assert found.hidden == {"web": (), "read": (HIDDEN,), "search": (HIDDEN,)}


def test_what_limits_no_names_hides_nothing() -> None:
    assert exposed(LIVE, claims(Purpose.EXPOSURE, names=None)) is LIVE
    assert exposed(LIVE, claims(Purpose.EXPOSURE, names=frozenset({"read", "bash", "search"}))) == LIVE


def test_an_empty_list_hides_everything() -> None:
    found = exposed(LIVE, claims(Purpose.EXPOSURE, names=frozenset()))
    assert (found.visible, found.deferred) == ((), ())


@pytest.mark.parametrize("live", Outcome)
@pytest.mark.parametrize("signed", Outcome)
def test_the_stricter_outcome_counts(live: Outcome, signed: Outcome) -> None:
    found = decided(decision(live), replace(OPEN, outcome=signed))
    assert found.outcome is max(live, signed)
    assert [one.outcome for one in found.findings] == ([signed] if signed > live else [])


@pytest.mark.parametrize("live", Outcome)
def test_a_tool_that_is_not_named_is_denied(live: Outcome) -> None:
    found = decided(decision(live), replace(OPEN, names=frozenset({"read"})))
    assert (found.outcome, found.findings) == (Outcome.DENY, (HIDDEN,))
    assert decided(replace(decision(live), request=None), claims(names=frozenset())).outcome is Outcome.DENY
    assert decided(decision(live), replace(OPEN, names=frozenset({"bash"}))).outcome is live


def test_the_duties_of_both_hold() -> None:
    ours = Obligation(kind=ObligationKind.TRUNCATE, limit=100)
    theirs = Obligation(kind=ObligationKind.TRUNCATE, limit=50)
    redact = Obligation(kind=ObligationKind.REDACT, names=frozenset({"secret"}))
    found = decided(decision(Outcome.ALLOW, ours), replace(OPEN, obligations=(theirs, redact)))
    assert found.obligations == (redact, theirs)
