"""Models that users of Casbin have been surprised by: a matcher that is always true, patterns of actions."""

from __future__ import annotations

import pytest

from policyengine.config.rbac import Settings, from_texts
from policyengine.model import Resource, ResourceKind
from tests.policies.rbac.worlds import PLAIN, principal

OVERRIDE = PLAIN.replace("p = sub, obj, act", "p = sub, obj, act, eft").replace(
    "some(where (p.eft == allow))", "some(where (p.eft == allow)) && !some(where (p.eft == deny))"
)
WHO = "r.sub == p.sub && r.obj == p.obj && r.act == p.act"
PATHS = "r.sub == p.sub && keyMatch2(r.obj, p.obj)"


def _word(matcher: str, lines: str, act: str = "GET", obj: str = "/orders/7") -> str:
    rbac = from_texts(OVERRIDE.replace(WHO, matcher), lines, Settings())
    return rbac.judge(principal("clerk"), Resource(ResourceKind.TOOL, obj), act).outcome.word


@pytest.mark.parametrize("matcher", ["1 == 1", 'r.act == "GET"'])
def test_a_line_that_denies_counts_where_the_matcher_looks_at_no_line(matcher: str) -> None:
    allowing = "p, clerk, /orders/7, GET, allow"
    assert _word(matcher, allowing) == "allow"
    assert _word(matcher, f"{allowing}\np, clerk, /orders/7, GET, deny") == "deny"


@pytest.mark.parametrize("matcher", [f"{PATHS} && r.act == p.act", f"{PATHS} && keyMatch(r.act, p.act)"])
@pytest.mark.parametrize(
    ("act", "obj", "word"),
    [
        ("GET", "/orders/7", "allow"),
        ("POST", "/orders/7", "deny"),
        ("GETALL", "/orders/7", "deny"),
        ("get", "/orders/7", "deny"),
        ("GET", "/orders/7/lines", "deny"),
    ],
)
def test_an_action_and_a_path_are_matched_as_a_whole(matcher: str, act: str, obj: str, word: str) -> None:
    assert _word(matcher, "p, clerk, /orders/:id, GET, allow", act, obj) == word
