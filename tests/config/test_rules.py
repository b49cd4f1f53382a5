"""What the loader refuses in rules, zones and profiles, and where it says so."""

from __future__ import annotations

from typing import Any

import pytest

from policyengine.config import compiled, opened
from policyengine.config.sources import SourceFile
from policyengine.effects import EFFECTS
from policyengine.errors import LoadError
from policyengine.model import Tier
from tests.policies.rulesets import EXAMPLES, ZONES, profile, request_rule, rule, source


def _load(*files: SourceFile) -> None:
    compiled([source("profiles", profile()), source("zones", ZONES), *files])


def _refusal(*files: SourceFile) -> LoadError:
    with pytest.raises(LoadError) as caught:
        _load(*files)
    return caught.value


@pytest.mark.parametrize(
    ("keys", "message", "field"),
    [
        ({"effect": "file.raed"}, "there is no kind of effect `file.raed`", "0.effect"),
        ({"where": {"host": "x"}}, "there is no field `host` here", "0.where.host"),
        ({"where": {"span": 1}}, "there is no field `span` here", "0.where.span"),
        ({"where": {"path": {"like": 1}}}, "not a text or a list of texts", "0.where.path.like"),
        ({"where": {"path": {"like": []}}}, "not a text or a list of texts", "0.where.path.like"),
        ({"where": {"path": {"glob": "x"}}}, "`glob` cannot be used on a path", "0.where.path.glob"),
        ({"where": {"path": ["x"]}}, "a list alone is no matcher", "0.where.path"),
        ({"where": {"path": {}}}, "an empty matcher", "0.where.path"),
        ({"where": {"path": 3}}, "`3` does not fit", "0.where.path"),
        ({"where": {"path": {"in": "x"}}}, "not a list of values", "0.where.path.in"),
        ({"where": {"path": {"in": []}}}, "not a list of values", "0.where.path.in"),
        ({"where": {"path": {"zone": "sytem"}}}, "there is no zone `sytem` here", "0.where.path.zone"),
        ({"where": {"path": {"zone": "loopback"}}}, "there is no zone `loopback` here", "0.where.path.zone"),
        ({"where": {"recursive": "true"}}, "`true` does not fit", "0.where.recursive"),
        ({"where": {"recursive": 1}}, "`1` does not fit", "0.where.recursive"),
        ({"where": {"where": "there"}}, "`there` is not known", "0.where.where"),
        ({"where": {"where": {"like": "h*"}}}, "`like` cannot be used on one of a few words", "0.where.where.like"),
        ({"where": {"path": {"not": {"not": "x"}}}}, "a `not` in a `not`", "0.where.path.not"),
        ({"where": {"path": {"matches": "("}}}, "not an RE2 expression", "0.where.path.matches"),
        ({"where": {"path": {"matches": "(?=x)"}}}, "not an RE2 expression", "0.where.path.matches"),
        ({"where": {"path": {"matches": r"(x)\1"}}}, "not an RE2 expression", "0.where.path.matches"),
        ({"effect": "file.write", "where": {"taint": "fetched"}}, "`fetched` does not fit", "0.where.taint"),
        (
            {"effect": "file.write", "where": {"taint": {"any": ["fetchd"]}}},
            "`fetchd` is no taint",
            "0.where.taint.any",
        ),
        (
            {"effect": "net.connect", "where": {"host": {"zone": "system"}}},
            "there is no zone `system` here",
            "0.where.host.zone",
        ),
        (
            {"effect": "net.connect", "where": {"host": {"inside": "x"}}},
            "`inside` cannot be used on a host",
            "0.where.host.inside",
        ),
        ({"effect": "process.execute", "where": {"arguments": "x"}}, "`x` does not fit", "0.where.arguments"),
        (
            {"effect": "process.execute", "where": {"arguments": {"item": {"at": "0"}}}},
            "`0` is no position",
            "0.where.arguments.item.at",
        ),
        (
            {"effect": "process.execute", "where": {"arguments": {"item": {"at": 0}}}},
            "an empty matcher",
            "0.where.arguments.item",
        ),
        ({"outcome": "block"}, "input should be 'allow', 'ask' or 'deny'", "0.outcome"),
        ({"outcome": True}, "input should be 'allow', 'ask' or 'deny'", "0.outcome"),
        ({"severity": "huge"}, "input should be 'info'", "0.severity"),
        ({"id": "Rule"}, "string should match pattern", "0.id"),
        ({"id": "norule"}, "string should match pattern", "0.id"),
        ({"id": "engine.x"}, "the id `engine.x` is the engine's own", "0.id"),
        ({"id": "profile.x"}, "the id `profile.x` is the engine's own", "0.id"),
        ({"unknown": 1}, "the key `unknown` is not known here", "0.unknown"),
        ({"why": ""}, "string should have at least 1 character", "0.why"),
        ({"examples": {"match": ["a"]}}, "field required", "0.examples.pass"),
        ({"examples": {"match": [], "pass": ["b"]}}, "list should have at least 1 item", "0.examples.match"),
        ({"profiles": {"playn": {"outcome": "ask"}}}, "there is no profile `playn`", "0.profiles"),
        ({"only": ["playn"]}, "there is no profile `playn`", "0.profiles"),
        ({"labels": ["secret"]}, "input should be 'untrusted' or 'secrets'", "0.labels.0"),
        ({"with": [{"effect": "file.raed"}]}, "there is no kind of effect `file.raed`", "0.with.0.effect"),
        (
            {"without": [{"effect": "file.read", "where": {"x": 1}}]},
            "there is no field `x` here",
            "0.without.0.where.x",
        ),
        ({"request": True}, "a rule looks at an effect or at the request", "0"),
    ],
)
def test_a_wrong_rule_is_refused_where_it_is_wrong(keys: dict[str, Any], message: str, field: str) -> None:
    error = _refusal(source("rules", [rule(**keys)], inner="shell/a.yaml"))
    assert error.message.startswith(message)
    assert (error.field, error.file, error.line) == (field, "shell/a.yaml", 1)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"where": {"argumnet.x": 1}}, "there is no field `argumnet.x` here"),
        ({"where": {"argument.": 1}}, "there is no field `argument.` here"),
        ({"where": {"argument.x": {"zone": "system"}}}, "`zone` cannot be used on any value"),
        ({"where": {"context.depth": {"over": "1"}}}, "`1` does not fit"),
        ({"where": {"context.depth": {"over": True}}}, "`True` does not fit"),
        ({"where": {"context.shell": "fish"}}, "`fish` is not known"),
        ({"with": [{"effect": "file.read"}]}, "a rule over the request has no companions"),
    ],
)
def test_a_wrong_rule_over_the_request_is_refused(keys: dict[str, Any], message: str) -> None:
    assert _refusal(source("rules", [request_rule(**keys)])).message == message


def test_a_line_is_that_of_the_fault() -> None:
    text = "- id: a.b\n  title: t\n  effect: file.read\n  where:\n    path:\n      zone: nowhere\n"
    text += f"  outcome: ask\n  severity: low\n  why: w\n  instead: i\n  references: []\n  examples: {EXAMPLES}\n"
    error = _refusal(SourceFile("r.yaml", "r.yaml", "rules", Tier.USER, text.encode()))
    assert (error.file, error.line, error.field) == ("r.yaml", 6, "0.where.path.zone")


def test_a_rule_id_is_taken_once() -> None:
    first, second = source("rules", [rule()], inner="a.yaml"), source("rules", [rule()], inner="b.yaml")
    assert _refusal(first, second).message == "the rule id `test.rule` is taken by a.yaml:1"


@pytest.mark.parametrize(
    "keys",
    [{"outcome": "allow"}, {"profiles": {"plain": {"outcome": "allow"}}}],
)
def test_a_projects_rule_may_not_loosen(keys: dict[str, Any]) -> None:
    assert _refusal(source("rules", [rule(**keys)], Tier.PROJECT)).message == "a project's rule may only tighten"
    _load(source("rules", [rule()], Tier.PROJECT))


@pytest.mark.parametrize("content", ["commands", "tools", "zones", "profiles"])
def test_a_project_holds_rules_and_nothing_else(content: str) -> None:
    assert _refusal(source(content, {}, Tier.PROJECT)).message == f"{content} of a project"


@pytest.mark.parametrize(
    ("zones", "message"),
    [
        ({"paths": {"home": {"summary": "s", "patterns": ["/x"]}}}, "the zone `home` comes from the request's context"),
        ({"paths": {"keys": {"summary": "s", "patterns": ["/x"]}}}, "the zone `keys` is defined twice"),
        ({"hosts": {"loopback": {"summary": "s", "patterns": ["x"]}}}, "the zone `loopback` is defined twice"),
        ({"paths": {"a": {"summary": "s", "patterns": ["x/y"]}}}, "the pattern `x/y` names no path"),
        ({"paths": {"a": {"summary": "s", "patterns": ["/x/../y"]}}}, "the pattern `/x/../y` names no path"),
        ({"paths": {"a": {"summary": "s", "patterns": ["/x/"]}}}, "the pattern `/x/` names no path"),
        ({"paths": {"a": {"summary": "s", "patterns": ["~bob/x"]}}}, "the pattern `~bob/x` names no path"),
        (
            {"paths": {"a": {"summary": "s", "patterns": ["/[ab]"]}}},
            "the pattern `/[ab]` is no glob of `*`, `?` and `**`",
        ),
        (
            {"paths": {"a": {"summary": "s", "patterns": ["/a**"]}}},
            "the pattern `/a**` is no glob of `*`, `?` and `**`",
        ),
        (
            {"paths": {"a": {"summary": "s", "patterns": []}}},
            "list should have at least 1 item after validation, not 0",
        ),
        ({"hosts": {"a": {"summary": "s", "patterns": ["10.0.0.0/x"]}}}, "the pattern `10.0.0.0/x` is no network"),
    ],
)
def test_a_wrong_zone_is_refused(zones: dict[str, Any], message: str) -> None:
    assert _refusal(source("zones", zones)).message == message


def test_a_profile_answers_for_every_kind() -> None:
    wanting = profile("other")
    del wanting["effects"]["net.connect"]
    assert _refusal(source("profiles", wanting)).message == "no answer for `net.connect`"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"effects": {**dict.fromkeys(EFFECTS, "allow"), "net.conect": "ask"}},
            "there is no kind of effect `net.conect`",
        ),
        ({"outcomes": {"deny": "ask"}}, "a deny cannot be turned into anything"),
        ({"name": "plain"}, "the profile `plain` is defined twice"),
        ({"effects": dict.fromkeys(EFFECTS, "block")}, "input should be 'allow', 'ask' or 'deny'"),
    ],
)
def test_a_wrong_profile_is_refused(change: dict[str, Any], message: str) -> None:
    assert _refusal(source("profiles", {**profile("other"), **change})).message == message


def test_a_profile_that_is_not_there_is_refused() -> None:
    with pytest.raises(LoadError, match="there is no profile `other`"):
        opened(compiled([source("profiles", profile())]), "other")
