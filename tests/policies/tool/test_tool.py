"""What tools declare binds their calls; every check that fails is told; nothing is skipped for being unlisted."""

from __future__ import annotations

from typing import Any

import pytest

from policyengine.effects import (
    Cause,
    Cloud,
    Connect,
    Container,
    Contains,
    Database,
    Effect,
    Execute,
    Exhaust,
    Facts,
    FileAttribute,
    FileDelete,
    FileRead,
    FileWrite,
    Opaque,
    Package,
    Persist,
    System,
    Taint,
    Transfer,
    UseTool,
    VersionControl,
    Where,
)
from policyengine.errors import UsageError
from policyengine.model import (
    ANONYMOUS,
    Grant,
    Obligation,
    ObligationKind,
    Outcome,
    Request,
    Resource,
    ResourceKind,
    Tier,
)
from policyengine.policies.tool import STRICT, Metadata, Sandbox, Settings, SideEffect, ToolPolicy, Workspace
from policyengine.records import replace
from policyengine.state import START
from tests.policies.tool.tools import bound, engine, judged, only, read_only, request, rules, said

DENY: dict[SideEffect, Settings] = {
    flag: Settings(deny=frozenset({flag})) for flag in SideEffect if flag is not SideEffect.READ_ONLY
}


# ---------------------------------------------------------------------------------------------------- a tool as such
@pytest.mark.parametrize(
    ("tools", "settings", "expected"),
    [
        pytest.param({}, Settings(), [], id="unlisted, nothing asked"),
        pytest.param({"x": Metadata()}, Settings(), [], id="unclassified, nothing asked"),
        pytest.param({"x": said("payment", "destructive")}, Settings(), [], id="declared, nothing asked"),
        pytest.param({"x": read_only()}, STRICT, [], id="read-only, strict"),
        pytest.param({"x": said("network")}, STRICT, [], id="network, strict"),
        pytest.param(
            {},
            STRICT,
            ["tool.undeclared", "tool.side-effect.destructive", "tool.side-effect.payment"],
            id="unlisted, strict",
        ),
        pytest.param(
            {"x": Metadata()},
            STRICT,
            ["tool.unclassified", "tool.side-effect.destructive", "tool.side-effect.payment"],
            id="unclassified, strict",
        ),
        pytest.param({"x": said("payment")}, STRICT, ["tool.side-effect.payment"], id="payment, strict"),
        pytest.param(
            {"x": said("network", "destructive", "payment")},
            STRICT,
            ["tool.side-effect.destructive", "tool.side-effect.payment"],
            id="each flag by itself",
        ),
        pytest.param({"X": read_only()}, Settings(require_classification=True), ["tool.undeclared"], id="case counts"),
        pytest.param({"x": read_only()}, Settings(require_background_safe=True), [], id="background-safe"),
        pytest.param(
            {"x": said()},
            Settings(require_background_safe=True),
            ["tool.not-background-safe"],
            id="not background-safe",
        ),
        pytest.param(
            {}, Settings(require_background_safe=True), ["tool.not-background-safe"], id="unlisted in the background"
        ),
        pytest.param(
            {"x": replace(read_only(), classified=False)},
            Settings(require_background_safe=True),
            ["tool.not-background-safe"],
            id="what nobody answers for does not count for a tool",
        ),
        pytest.param({"x": said(approval_required=True)}, Settings(), ["tool.approval-required"], id="needs approval"),
        pytest.param(
            {"x": said(approval_required=True)}, Settings(approved=frozenset({"x"})), [], id="has its approval"
        ),
        pytest.param(
            {"x": said(approval_required=True)},
            Settings(approved=frozenset({"y"})),
            ["tool.approval-required"],
            id="another is approved",
        ),
        pytest.param({"x": said()}, Settings(require_approval=True), [], id="needs none, and says so"),
        pytest.param({}, Settings(require_approval=True), ["tool.approval-required"], id="unlisted, approvals asked"),
        pytest.param(
            {}, Settings(require_approval=True, approved=frozenset({"x"})), [], id="unlisted, approvals asked and given"
        ),
        pytest.param({"x": said(sandbox=Sandbox.REQUIRED)}, Settings(), [], id="needs a sandbox, nothing asked"),
        pytest.param(
            {"x": said(sandbox=Sandbox.REQUIRED)}, Settings(require_sandbox=True), ["tool.no-sandbox"], id="no sandbox"
        ),
        pytest.param({"x": said()}, Settings(require_sandbox=True), [], id="needs no sandbox, and says so"),
        pytest.param({}, Settings(require_sandbox=True), ["tool.no-sandbox"], id="unlisted, sandbox asked"),
        pytest.param(
            {"x": said(credentials=frozenset({"b", "a"}))},
            Settings(credentials=frozenset({"c"})),
            ["tool.credential-not-released", "tool.credential-not-released"],
            id="each credential by itself",
        ),
        pytest.param(
            {"x": said(credentials=frozenset({"a"}))}, Settings(credentials=frozenset({"a"})), [], id="released"
        ),
        pytest.param(
            {"x": said("payment", approval_required=True, sandbox=Sandbox.REQUIRED, credentials=frozenset({"a"}))},
            STRICT.tightened(Settings(require_sandbox=True, require_background_safe=True)),
            [
                "tool.side-effect.payment",
                "tool.not-background-safe",
                "tool.approval-required",
                "tool.no-sandbox",
                "tool.credential-not-released",
            ],
            id="every check that fails, not the first",
        ),
    ],
)
def test_what_is_declared_is_checked(tools: dict[str, Metadata], settings: Settings, expected: list[str]) -> None:
    policy = ToolPolicy(tools, settings)
    assert rules(bound(policy, "x")) == expected
    assert rules(judged(policy, "x")) == expected


@pytest.mark.parametrize("flag", DENY)
def test_a_denied_side_effect_is_named(flag: SideEffect) -> None:
    policy = ToolPolicy({"does": said(flag), "does-not": said()}, DENY[flag])
    finding = only(bound(policy, "does"))
    assert (finding.rule, finding.code, finding.outcome) == (
        f"tool.side-effect.{flag}",
        "tool.side-effect",
        Outcome.DENY,
    )
    assert f"`{flag}`" in finding.message
    assert bound(policy, "does-not").outcome is Outcome.ALLOW
    assert rules(bound(policy, "unlisted")) == [f"tool.side-effect.{flag}"]


def test_what_only_reads_cannot_be_denied_as_a_side_effect() -> None:
    with pytest.raises(UsageError, match="read_only"):
        Settings(deny=frozenset({SideEffect.READ_ONLY}))


@pytest.mark.parametrize(
    ("sandboxes", "run", "outcome"),
    [
        (None, "none", Outcome.DENY),
        (None, "required", Outcome.ALLOW),
        (None, "inherit", Outcome.DENY),
        (None, "docker", Outcome.DENY),
        (frozenset({"docker"}), "docker", Outcome.ALLOW),
        (frozenset({"docker"}), "required", Outcome.DENY),
        (frozenset[str](), "required", Outcome.DENY),
    ],
)
def test_only_a_sandbox_that_isolates_counts(sandboxes: frozenset[str] | None, run: str, outcome: Outcome) -> None:
    settings = Settings(require_sandbox=True, sandboxes=sandboxes)
    policy = ToolPolicy({"x": said(sandbox=Sandbox.REQUIRED)}, settings)
    assert judged(policy, "x", sandbox=run).outcome is outcome


def test_other_resources_are_not_tools() -> None:
    asked = Request(
        principal=ANONYMOUS, action="use", resource=Resource(ResourceKind.MODEL, "x"), arguments=None,
        context=request("x").context,
    )  # fmt: skip
    policy = ToolPolicy({}, STRICT)
    assert policy.bounds(asked, ("x",), START)[0].outcome is Outcome.ALLOW


@pytest.mark.parametrize(
    "wrong",
    [
        {"side_effects": frozenset({SideEffect.READ_ONLY, SideEffect.DESTRUCTIVE})},
        {"side_effects": frozenset({SideEffect.READ_ONLY, SideEffect.WRITES_FILES})},
        {"timeout_ms": -1},
        {"max_result_bytes": True},
        {"trusted_roots": ("relative",)},
        {"trusted_roots": ("~other",)},
    ],
)
def test_a_declaration_that_contradicts_itself_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Metadata(classified=True, **wrong)


def test_reading_over_the_network_is_no_contradiction() -> None:
    assert said("read_only", "network").classified


# ------------------------------------------------------------------------------------------------------- obligations
@pytest.mark.parametrize(
    ("declared", "settings", "expected"),
    [
        (said(), Settings(), []),
        (said(max_result_bytes=10), Settings(), [("truncate", 10)]),
        (said(max_result_bytes=10), Settings(max_result_bytes=5), [("truncate", 5)]),
        (said(max_result_bytes=0), Settings(max_result_bytes=5), [("truncate", 0)]),
        (said(timeout_ms=7), Settings(timeout_ms=9), [("timeout", 7)]),
        (said(sandbox=Sandbox.REQUIRED), Settings(), [("sandbox", None)]),
        (said(sandbox=Sandbox.DISABLED), Settings(), []),
        (Metadata(sandbox=Sandbox.REQUIRED, timeout_ms=1), Settings(), [("sandbox", None), ("timeout", 1)]),
    ],
)
def test_what_a_tool_declares_about_running_is_an_obligation(
    declared: Metadata, settings: Settings, expected: list[tuple[str, int | None]]
) -> None:
    found = judged(ToolPolicy({"x": declared}, settings), "x").obligations
    assert [(one.kind.value, one.limit) for one in found] == expected


def test_bounds_of_the_host_hold_for_tools_that_are_not_listed() -> None:
    policy = ToolPolicy({}, Settings(max_result_bytes=5, timeout_ms=9))
    assert judged(policy, "x").obligations == (
        Obligation(kind=ObligationKind.TRUNCATE, limit=5),
        Obligation(kind=ObligationKind.TIMEOUT, limit=9),
    )


def test_a_run_that_is_isolated_has_discharged_the_sandbox() -> None:
    policy = ToolPolicy({"x": said(sandbox=Sandbox.REQUIRED)})
    assert judged(policy, "x", sandbox="required").obligations == ()


# ------------------------------------------------------------------------------------------- what a call does besides
@pytest.mark.parametrize(
    ("effect", "flag"),
    [
        (FileWrite("/workspace/a"), "writes_files"),
        (FileAttribute("/workspace/a", "mode"), "writes_files"),
        (FileDelete("/workspace/a"), "writes_files"),
        (Persist("cron"), "writes_files"),
        (FileDelete("/workspace/a", recursive=True), "destructive"),
        (FileDelete("/a", recursive=True, where=Where.REMOTE), "destructive"),
        (Connect("x.test"), "network"),
        (Transfer("x.test"), "network"),
        (Package("pip", "install"), "installs_dependencies"),
        (Package("npm", "publish"), "network"),
        (VersionControl("git", "record"), "writes_files"),
        (VersionControl("git", "push"), "external_service"),
        (VersionControl("git", "force-push"), "destructive"),
        (VersionControl("git", "discard"), "destructive"),
        (UseTool("browser", "browser"), "network"),
        (Cloud("aws", "read"), "external_service"),
        (Cloud("aws", "delete"), "destructive"),
        (Container("prune"), "destructive"),
        (Database("postgres", "destroy"), "destructive"),
        (System("disk", "format"), "destructive"),
        (Exhaust("fork-bomb"), "destructive"),
    ],
)
def test_a_call_that_goes_beyond_what_its_tool_declares_is_denied(effect: Effect, flag: str) -> None:
    quiet = ToolPolicy({"x": said()})
    assert f"tool.exceeds-side-effects.{flag}" in rules(judged(quiet, "x", effect))
    loud = ToolPolicy({"x": replace(said(), side_effects=frozenset(DENY))})
    assert judged(loud, "x", effect).outcome is Outcome.ALLOW
    banned = ToolPolicy({}, DENY[SideEffect(flag)])
    assert judged(banned, "unlisted", effect).outcome is Outcome.DENY


@pytest.mark.parametrize(
    "effect", [FileRead("/workspace/a"), Execute("ls"), Package("pip", "config"), Opaque(Cause.OPTION)]
)
def test_a_call_that_stays_within_it_is_not(effect: Effect) -> None:
    assert judged(ToolPolicy({"x": said()}), "x", effect).outcome is Outcome.ALLOW


def test_a_denied_side_effect_is_seen_in_calls_of_tools_that_do_not_declare_it() -> None:
    policy = ToolPolicy({"shell": said("writes_files", "network")}, STRICT)
    verdict = judged(policy, "shell", FileDelete("/workspace", recursive=True, span=(0, 3)))
    assert rules(verdict) == ["tool.effect.destructive", "tool.exceeds-side-effects.destructive"]
    assert {finding.span for finding in verdict.findings} == {(0, 3)}


def test_an_unlisted_tool_is_judged_by_its_calls_where_nothing_is_asked_of_tools() -> None:
    assert judged(ToolPolicy({}), "x", FileDelete("/", recursive=True)).outcome is Outcome.ALLOW


# ------------------------------------------------------------------------------------------------------------- files
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/workspace", []),
        ("/workspace/a/b", []),
        ("/workspace-evil/a", ["tool.outside-workspace"]),
        ("/work", ["tool.outside-workspace"]),
        ("/", ["tool.outside-workspace"]),
        ("/data/x", []),
        ("/database/x", ["tool.outside-workspace"]),
        ("/home/agent/notes/x", []),
        ("/home/agent/x", ["tool.outside-workspace"]),
        ("/workspace/../etc/passwd", ["tool.outside-workspace"]),
        ("/WORKSPACE/a", ["tool.outside-workspace"]),
        ("relative", ["tool.workspace-unknown"]),
        ("", ["tool.workspace-unknown"]),
    ],
)
def test_a_scoped_tool_stays_in_the_workspace_and_its_trusted_roots(path: str, expected: list[str]) -> None:
    declared = said(workspace=Workspace.SCOPED, trusted_roots=("/data", "~/notes"))
    assert rules(judged(ToolPolicy({"x": declared}), "x", FileRead(path))) == expected


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (FileRead("/workspace/", unknown=True), ["tool.workspace-unknown"]),  # it may go on with `..`
        (FileRead("/workspace/a", unknown=True), ["tool.workspace-unknown"]),
        (FileRead("", unknown=True), ["tool.workspace-unknown"]),
        (FileRead("/work", unknown=True), ["tool.workspace-unknown"]),  # it may go on as the workspace
        (FileRead("/etc/", unknown=True), ["tool.outside-workspace"]),
        (FileRead("/workspace/*.c", glob=True), []),
        (FileRead("/workspace/.*/x", glob=True), ["tool.workspace-unknown"]),  # `.*` may be `..`
        (FileRead("/*/x", glob=True), ["tool.workspace-unknown"]),
        (FileRead("/etc/*", glob=True), ["tool.outside-workspace"]),
        (FileRead("/w*", glob=False), ["tool.outside-workspace"]),  # a name with a star in it
        (Transfer("x.test", path="/etc/passwd"), ["tool.outside-workspace"]),
        (Transfer("x.test"), []),
        (Container("run", mount="/etc"), ["tool.outside-workspace"]),
        (FileDelete("/etc/x", where=Where.CONTAINER), []),
        (Execute("python", path="/usr/bin/python"), []),
    ],
)
def test_what_is_not_known_of_a_path_asks(effect: Effect, expected: list[str]) -> None:
    everything = replace(said(workspace=Workspace.SCOPED), side_effects=frozenset(DENY))
    assert rules(judged(ToolPolicy({"x": everything}), "x", effect)) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "/etc/passwd"}, ["tool.workspace-unknown"]),
        ({"deep": [{"x": "~/.ssh/id"}]}, ["tool.workspace-unknown"]),
        ({"x": "../../etc/passwd"}, ["tool.workspace-unknown"]),
        ({"x": "a/../../workspace/b"}, []),
        ({"x": " file:///etc/passwd "}, ["tool.workspace-unknown"]),
        ({"x": "/workspace/a", "y": "b/c", "z": "see /etc"}, []),
        ({"x": "/workspace/../etc"}, ["tool.workspace-unknown"]),
        ({"x": "/etc\nand more"}, []),
        ({"x": "/" + "a" * 5000}, []),
        ({}, []),
    ],
)
def test_an_argument_that_may_be_a_path_outside_asks_where_nobody_described_the_tool(
    arguments: dict[str, Any], expected: list[str]
) -> None:
    unread = Opaque(Cause.PROGRAM, origin="x")
    policy = ToolPolicy({"x": said(workspace=Workspace.SCOPED)})
    assert rules(policy.evaluate(request("x", arguments), Facts((unread,)), START)) == expected
    described = Opaque(Cause.PROGRAM, origin="foo")  # a program in a shell's command
    assert rules(policy.evaluate(request("x", arguments), Facts((described,)), START)) == []
    nowhere = ToolPolicy({"x": said(workspace=Workspace.NONE)})
    assert rules(nowhere.evaluate(request("x", arguments), Facts((unread,)), START)) == []


def test_every_path_that_leaves_the_workspace_is_told() -> None:
    policy = ToolPolicy({"x": said(workspace=Workspace.SCOPED)})
    verdict = judged(policy, "x", FileRead("/a"), FileRead("/workspace/b"), FileRead("/c"))
    assert [finding.effect for finding in verdict.findings] == [FileRead("/a"), FileRead("/c")]


def test_many_paths_that_are_not_known_hide_none_that_is() -> None:
    policy = ToolPolicy({"x": said(workspace=Workspace.SCOPED)})
    many = [FileRead(f"/workspace/{number}/", unknown=True) for number in range(200)]
    verdict = judged(policy, "x", *many, FileRead("/etc/passwd"))
    assert verdict.outcome is Outcome.DENY
    assert len(verdict.findings) == 50
    assert "tool.outside-workspace" in rules(verdict)


def test_a_tool_without_a_workspace_touches_no_file() -> None:
    policy = ToolPolicy({"x": said("network", workspace=Workspace.NONE)})
    assert rules(judged(policy, "x", FileRead("/workspace/a"))) == ["tool.no-workspace"]
    assert judged(policy, "x", Connect("x.test")).outcome is Outcome.ALLOW


def test_a_tool_that_may_touch_any_file_may() -> None:
    assert judged(ToolPolicy({"x": said()}), "x", FileRead("/etc/hosts")).outcome is Outcome.ALLOW


def test_the_default_of_what_nobody_classified_is_no_declaration() -> None:
    assert judged(ToolPolicy({"x": Metadata()}), "x", FileRead("/etc/hosts")).outcome is Outcome.ALLOW
    scoped = ToolPolicy({"x": Metadata(workspace=Workspace.SCOPED)})
    assert rules(judged(scoped, "x", FileRead("/etc/hosts"))) == ["tool.outside-workspace"]


def test_macos_takes_upper_case_for_lower() -> None:
    policy = ToolPolicy({"x": said(workspace=Workspace.SCOPED)})
    assert judged(policy, "x", FileRead("/Workspace/A"), platform="darwin").outcome is Outcome.ALLOW


def test_a_run_without_a_workspace_is_nowhere() -> None:
    policy = ToolPolicy({"x": said(workspace=Workspace.SCOPED)})
    assert rules(judged(policy, "x", FileRead("/workspace/a"), workspace=())) == ["tool.outside-workspace"]


# ----------------------------------------------------------------------------------------------------------- secrets
@pytest.mark.parametrize(
    "effect",
    [
        Transfer("x.test", taint=frozenset({Taint.SECRET})),
        FileWrite("/workspace/a", taint=frozenset({Taint.SECRET})),
        Contains("secret", "secret.token"),
        Cloud("aws", "secret"),
    ],
)
def test_a_tool_that_declares_no_credentials_uses_no_secrets(effect: Effect) -> None:
    loud = replace(said(), side_effects=frozenset(DENY))
    assert rules(judged(ToolPolicy({"x": loud}), "x", effect)) == ["tool.undeclared-credentials"]
    holder = replace(loud, credentials=frozenset({"key"}))
    assert (
        judged(ToolPolicy({"x": holder}, Settings(credentials=frozenset({"key"}))), "x", effect).outcome
        is Outcome.ALLOW
    )


# ------------------------------------------------------------------------------------------------- answers to its asks
def _grant(tool: str, policy: ToolPolicy) -> Grant:
    ask = only(judged(policy, tool))
    assert ask.effect is not None
    return Grant(source="person", tier=Tier.USER, rules=frozenset({ask.rule}), effects=frozenset({ask.effect}))


def test_a_person_may_approve_one_tool_and_not_another() -> None:
    policy = ToolPolicy({"deploy": said(approval_required=True), "drop": said(approval_required=True)})
    deciding = engine(policy)
    granted = _grant("deploy", policy)
    assert deciding.decide(request("deploy", {}), START, [granted])[0].outcome is Outcome.ALLOW
    assert deciding.decide(request("drop", {}), START, [granted])[0].outcome is Outcome.ASK


def test_nobody_approves_a_denial() -> None:
    policy = ToolPolicy({"pay": said("payment", approval_required=True)}, STRICT)
    everything = Grant(
        source="person", tier=Tier.USER, rules=frozenset({"tool.approval-required", "tool.side-effect.payment"})
    )
    assert engine(policy).decide(request("pay", {}), START, [everything])[0].outcome is Outcome.DENY


# -------------------------------------------------------------------------------------------------- settings add up
def test_settings_only_tighten() -> None:
    tightened = STRICT.tightened(Settings(deny=frozenset({SideEffect.NETWORK}), max_result_bytes=9))
    assert tightened.deny == {SideEffect.DESTRUCTIVE, SideEffect.PAYMENT, SideEffect.NETWORK}
    assert tightened.require_classification
    assert tightened.tightened(Settings(max_result_bytes=20)).max_result_bytes == 9


def test_only_what_all_release_is_released() -> None:
    one = Settings(approved=frozenset({"a", "b"}), credentials=frozenset({"k"}))
    both = one.tightened(Settings(approved=frozenset({"b", "c"})))
    assert (both.approved, both.credentials) == (frozenset({"b"}), frozenset({"k"}))


def test_declarations_about_one_tool_all_hold() -> None:
    policy = ToolPolicy({"x": (said("network", max_result_bytes=9), said(approval_required=True, max_result_bytes=3))})
    verdict = judged(policy, "x", Connect("x.test"))
    assert rules(verdict) == ["tool.approval-required", "tool.exceeds-side-effects.network"]
    assert verdict.obligations == (Obligation(kind=ObligationKind.TRUNCATE, limit=3),)


def test_a_declaration_by_somebody_else_classifies_nothing() -> None:
    policy = ToolPolicy({}, STRICT).declaring({"x": read_only()})
    assert "tool.undeclared" in rules(bound(policy, "x"))


def test_policies_are_named_by_everything_that_they_consist_of() -> None:
    policies = [
        ToolPolicy({}),
        ToolPolicy({}, STRICT),
        ToolPolicy({"x": said()}),
        ToolPolicy({"x": said("network")}),
        ToolPolicy({"y": said()}),
        ToolPolicy({"x": (said(), said())}),
    ]
    assert len({policy.digest for policy in policies}) == len(policies)
    assert ToolPolicy({"x": said()}).digest == policies[2].digest
