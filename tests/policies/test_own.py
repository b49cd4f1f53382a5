"""Files that the engine lives on: what meets them, and what does not."""

from __future__ import annotations

import pytest

from policyengine.effects import Effect, Facts, FileAttribute, FileDelete, FileRead, FileWrite, Transfer, Where
from policyengine.model import ANONYMOUS, Context, Outcome, Request, Resource, ResourceKind
from policyengine.policies.own import OwnFiles
from policyengine.state import START

OWN = OwnFiles(["/srv/pe/setup.yaml", "/srv/pe/audit"], ["/srv/pe/keys/k1"])
REQUEST = Request(
    principal=ANONYMOUS,
    action="invoke",
    resource=Resource(ResourceKind.TOOL, "bash"),
    arguments={},
    context=Context(),
)


def _said(effect: Effect) -> list[str]:
    verdict = OWN.evaluate(REQUEST, Facts((effect,)), START)
    assert (verdict.outcome is Outcome.DENY) is bool(verdict.findings)
    return [finding.rule for finding in verdict.findings]


@pytest.mark.parametrize(
    "effect",
    [
        FileWrite("/srv/pe/setup.yaml"),
        FileWrite("/srv//pe/./setup.yaml"),
        FileWrite("/srv/pe/audit/x.jsonl"),
        FileWrite("/srv/pe/audit/", unknown=True),
        FileWrite("/srv/pe", recursive=True),
        FileWrite("/srv/*/setup.yaml", glob=True),
        FileWrite("/srv/**", glob=True),
        FileDelete("/srv/pe"),
        FileDelete("/srv", recursive=True),
        FileDelete("/srv/pe/s*", glob=True),
        FileDelete("/srv/pe/keys/k1"),
        FileAttribute("/srv/pe/audit", "mode"),
        FileAttribute("/srv", "owner", recursive=True),
    ],
)
def test_changes_are_denied(effect: Effect) -> None:
    assert _said(effect) == ["own.changed"]


@pytest.mark.parametrize(
    "effect",
    [
        FileRead("/srv/pe/keys/k1"),
        FileRead("/srv/pe/keys", recursive=True),
        FileRead("/srv/pe/keys/*", glob=True),
        Transfer("collector.example.test", path="/srv/pe/keys/k1"),
    ],
)
def test_reading_a_key_is_denied(effect: Effect) -> None:
    assert _said(effect) == ["own.key-read"]


@pytest.mark.parametrize(
    "effect",
    [
        FileWrite("/srv/pe/setup.yaml.bak"),
        FileWrite("/srv/pe/se", unknown=True),
        FileWrite("/srv/pe"),
        FileWrite("", unknown=True),
        FileWrite("/srv/pe/setup.yaml", where=Where.REMOTE),
        FileDelete("/srv/other", recursive=True),
        FileDelete("/srv/pe/x*", glob=True),
        FileRead("/srv/pe/setup.yaml"),
        FileRead("/srv/pe/keys"),
        Transfer("collector.example.test", path=""),
    ],
)
def test_what_is_elsewhere_is_left_alone(effect: Effect) -> None:
    assert _said(effect) == []
