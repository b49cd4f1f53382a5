"""Overrides: only the organisation, in a signed bundle, makes a rule milder, and the decision says so."""

from __future__ import annotations

from typing import Any

import pytest

from policyengine.bundle import Bundle, read_bundle, sealed
from policyengine.config import opened
from policyengine.config.compiler import compile_files
from policyengine.config.sources import SourceFile
from policyengine.effects import FileRead
from policyengine.errors import BundleError, LoadError
from policyengine.model import Finding, Outcome, Severity, Tier
from policyengine.policy import strictest_first
from tests.policies.rulesets import ZONES, judged, only, profile, rule, source

RULES = [rule(id="a.deny", outcome="deny", severity="high"), rule(id="a.ask", where={"path": {"like": "/ask/*"}})]
OTHER = profile("other")


def files(overrides: object, tier: Tier = Tier.ORGANISATION) -> list[SourceFile]:
    """Shipped rules, and overrides of a tier."""
    shipped = [("rules", RULES), ("profiles", profile()), ("profiles", OTHER), ("zones", ZONES)]
    return [
        *(source(content, value, Tier.SHIPPED) for content, value in shipped),
        source("overrides", overrides, tier, "overrides.yaml"),
    ]


def signed(overrides: object) -> Bundle:
    """The bundle that the organisation signs."""
    data = sealed(compile_files(files(overrides)), lambda head: (bytes(8), bytes(64)))
    return read_bundle(data, "f", vouch=lambda name, signature, head: None)


def override(**keys: Any) -> dict[str, Any]:
    """An override with everything that is not at issue filled in."""
    return {"rule": "a.deny", "outcome": "ask", "why": "We read it in a sandbox.", **keys}


def finding(overrides: object, chosen: str = "plain", path: str = "/x") -> Finding:
    """What the rules say about reading a file."""
    return only(judged(opened(signed(overrides), chosen).rules, FileRead(path)))


@pytest.mark.parametrize("outcome", Outcome)
def test_the_organisation_changes_an_outcome_and_the_finding_says_so(outcome: Outcome) -> None:
    found = finding([override(outcome=outcome.word)])
    assert (found.rule, found.outcome, found.severity) == ("a.deny", outcome, Severity.HIGH)
    note = f"The organisation has changed this from deny to {outcome.word}: We read it in a sandbox."
    assert found.message == f"Title. Why. {note}"


def test_a_stricter_outcome_is_at_least_as_severe_as_such_outcomes_are() -> None:
    rules = opened(signed([override(rule="a.ask", outcome="deny"), override(outcome="allow")]), "plain").rules
    first, second = strictest_first(judged(rules, FileRead("/ask/x")).findings)
    assert (first.rule, first.outcome, first.severity >= Severity.MEDIUM) == ("a.ask", Outcome.DENY, True)
    assert (second.rule, second.outcome) == ("a.deny", Outcome.ALLOW)


def test_an_override_may_be_for_some_profiles() -> None:
    overrides = [override(profiles=["other"])]
    assert finding(overrides, "other").outcome is Outcome.ASK
    assert finding(overrides, "plain").outcome is Outcome.DENY
    assert finding([], "other").message == "Title. Why."


def described(tier: Tier, shipped: dict[str, Any], own: dict[str, Any], content: str = "commands") -> Bundle:
    """A bundle of a shipped description and of one of another tier."""
    both = [source(content, shipped, Tier.SHIPPED, "shipped.yaml"), source(content, own, tier, "own.yaml")]
    others = [source("profiles", profile(), Tier.SHIPPED), source("zones", ZONES, Tier.SHIPPED)]
    return read_bundle(
        sealed(compile_files([*both, *others]), lambda head: (bytes(8), bytes(64))), "f", vouch=lambda *seal: None
    )


FROB = {
    "frob": {"summary": "s", "operands": "read...", "names": ["frob2"]},
    "tar": {"summary": "s", "operands": "read"},
}
OWN = {"frob": {"summary": "s", "operands": "write..."}, "mine": {"summary": "s", "operands": "data..."}}


def test_the_organisation_describes_a_program_otherwise() -> None:
    found = described(Tier.ORGANISATION, FROB, OWN).group("program")
    alone = described(Tier.USER, {}, {"frob": OWN["frob"]}).group("program")
    assert sorted(found) == ["frob", "mine", "tar"]
    assert found["frob"] == alone["frob"]


def test_the_organisation_describes_a_tool_otherwise() -> None:
    shipped = {"look": {"summary": "s", "arguments": {"path": "read"}, "names": ["see"]}}
    own = {"look": {"summary": "s", "arguments": {"path": "write"}}}
    found = described(Tier.ORGANISATION, shipped, own, "tools").group("tool")
    assert dict(found) == {"look": {"a": {"path": "write"}}}


def test_nobody_else_describes_what_is_shipped_otherwise() -> None:
    with pytest.raises(LoadError, match="`frob` is described twice"):
        described(Tier.USER, FROB, OWN)


@pytest.mark.parametrize("tier", [Tier.SHIPPED, Tier.USER, Tier.PROJECT])
def test_nobody_else_overrides(tier: Tier) -> None:
    with pytest.raises(LoadError, match="overrides") as caught:
        compile_files(files([override()], tier))
    assert caught.value.file == "overrides.yaml"


def test_without_a_signature_that_holds_nothing_is_overridden() -> None:
    with pytest.raises(BundleError, match="in the organisation's name"):
        read_bundle(compile_files(files([override()])), "f")


@pytest.mark.parametrize(
    ("overrides", "message", "field"),
    [
        ([override(rule="a.denny")], "there is no rule `a.denny`", "0.rule"),
        ([override(rule="engine.no-policies")], "there is no rule", "0.rule"),
        ([override(profiles=["plane"])], "there is no profile `plane`", "0.profiles"),
        ([override(), override(profiles=["other"])], "a second override of `a.deny` in `other`", "1"),
        ([override(outcome="warn")], "input should be", "0.outcome"),
        ([override(why="")], "at least 1 character", "0.why"),
        ([override(until=5)], "the key `until` is not known", "0.until"),
        ({"a.deny": "ask"}, "valid list", ""),
    ],
)
def test_what_is_no_override_is_refused(overrides: object, message: str, field: str) -> None:
    with pytest.raises(LoadError) as caught:
        compile_files(files(overrides))
    assert (message in caught.value.message, caught.value.field) == (True, field)
