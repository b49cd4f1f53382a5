"""The laws of exposure, tool policies and selection, whatever is declared, listed and granted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policyengine.effects import (
    Connect,
    Effect,
    Facts,
    FileDelete,
    FileRead,
    FileWrite,
    Package,
    Taint,
    Transfer,
)
from policyengine.engine import Engine
from policyengine.engine.exposure import DISCOVERY, Catalogue, discovering, exposed
from policyengine.model import (
    Context,
    Frozen,
    Outcome,
    Principal,
    Request,
    Resource,
    ResourceKind,
    Verdict,
    freeze,
    freeze_object,
)
from policyengine.policies.rbac import Rbac
from policyengine.policies.ruleset import RuleSet
from policyengine.policies.tool import (
    Layer,
    Metadata,
    Sandbox,
    Selection,
    Settings,
    SideEffect,
    ToolPolicy,
    When,
    Workspace,
    bounded,
    inheriting,
    truncated,
)
from policyengine.policy import Policy
from policyengine.state import START
from tests.policies.rbac import worlds
from tests.policies.rulesets import profile, request_rule, rule, ruleset

TOOLS = ("bash", "read_file", "mcp__github__get", "mcp__github__delete_repo", "mcp__x__get", "", DISCOVERY)
NAMES = st.sampled_from(TOOLS)
FLAGS = sorted(set(SideEffect) - {SideEffect.READ_ONLY})
MASKS = st.frozensets(st.sampled_from(FLAGS), max_size=3)
WORDS = st.frozensets(st.sampled_from(("bash", "read_file", "key")), max_size=2)
BOUNDS = st.none() | st.integers(0, 3)
PATHS = st.sampled_from(["", "/", "/workspace", "/workspace/a", "/workspace-x", "/data/x", "/etc/passwd", "/w"])
TAINTS = st.sampled_from([frozenset[Taint](), frozenset({Taint.SECRET})])
EFFECTS: st.SearchStrategy[Effect] = st.one_of(
    st.builds(FileRead, PATHS, unknown=st.booleans(), glob=st.booleans()),
    st.builds(FileWrite, PATHS, taint=TAINTS),
    st.builds(FileDelete, PATHS, recursive=st.booleans()),
    st.builds(Connect, st.just("x.test")),
    st.builds(Transfer, st.just("x.test"), path=PATHS, taint=TAINTS),
    st.builds(Package, st.just("pip"), st.just("install")),
)
ALL_EFFECTS = st.lists(EFFECTS, max_size=3).map(tuple)
METADATA = st.builds(
    Metadata,
    classified=st.booleans(),
    side_effects=MASKS | st.just(frozenset({SideEffect.READ_ONLY})),
    timeout_ms=BOUNDS,
    sandbox=st.sampled_from(Sandbox),
    max_result_bytes=BOUNDS,
    workspace=st.sampled_from(Workspace),
    trusted_roots=st.sampled_from([(), ("/data",), ("~",)]),
    credentials=st.none() | WORDS,
    approval_required=st.booleans(),
    background_safe=st.booleans(),
)
SETTINGS = st.builds(
    Settings,
    require_classification=st.booleans(),
    require_background_safe=st.booleans(),
    require_approval=st.booleans(),
    require_sandbox=st.booleans(),
    deny=MASKS,
    approved=st.none() | WORDS,
    sandboxes=st.none() | st.frozensets(st.sampled_from(["required", "docker"])),
    credentials=st.none() | WORDS,
    max_result_bytes=BOUNDS,
    timeout_ms=BOUNDS,
)
DECLARATIONS = st.dictionaries(NAMES, METADATA, max_size=4)
TOOL_POLICIES = st.builds(ToolPolicy, DECLARATIONS, SETTINGS)
HINTS = st.dictionaries(
    st.sampled_from(["readOnlyHint", "destructiveHint", "openWorldHint", "read_only_hint"]),
    st.sampled_from([True, False, None, "true", 1]),
    max_size=3,
)
PATTERNS = st.lists(st.sampled_from([*TOOLS[:5], "mcp__*", "*", "mcp__*get", "b?sh", "*_file"]), max_size=3).map(tuple)
WHENS = st.builds(
    When,
    tags=st.frozensets(st.sampled_from("tu"), max_size=1),
    least_depth=st.integers(0, 2),
    models=st.sampled_from([(), ("small*",), ("large",)]),
)
LAYERS = st.builds(Layer, source=st.sampled_from(["p", "q"]), allow=st.none() | PATTERNS, deny=PATTERNS, when=WHENS)
SELECTIONS = st.lists(LAYERS, max_size=3).map(Selection)
CONTEXTS = st.builds(
    Context,
    sandbox=st.sampled_from(["none", "required", "docker"]),
    depth=st.integers(0, 3),
    tags=st.frozensets(st.sampled_from("tu")),
    model=st.sampled_from(["", "small-1", "large"]),
    home=st.just("/home/agent"),
)
LINES = st.lists(
    st.tuples(
        st.sampled_from(["guest", "dev", "user:bob"]),
        st.sampled_from(["*", *TOOLS[:5], "mcp__*", "mcp__github__*"]),
        st.sampled_from(["allow", "deny"]),
    ),
    min_size=1,
    max_size=6,
)
PEOPLE = st.builds(
    Principal,
    id=st.sampled_from(["bob", "eve"]),
    roles=st.lists(st.sampled_from(["guest", "dev", "ghost"]), max_size=2, unique=True).map(tuple),
    attributes=st.sampled_from([freeze_object({}), freeze_object({"domain": 7})]),
)
RULESETS: tuple[RuleSet, ...] = (
    ruleset(using=profile()),
    ruleset(
        request_rule(id="law.deep", where={"context.depth": {"over": 1}}, outcome="deny"),
        request_rule(id="law.file", where={"tool": {"in": ["bash", "read_file"]}}, outcome="ask"),
        request_rule(id="law.given", where={"argument.a": 1}, outcome="deny"),
        using=profile(opaque="ask"),
    ),
    ruleset(
        rule(id="law.read", effect="file.read", where={"path": {"outside": ["workspace"]}}, outcome="ask"),
        request_rule(id="law.hides", where={"tool": {"like": "mcp__github*"}}, outcome="deny"),
        request_rule(id="law.tag", where={"context.tags": {"contains": "t"}, "tool": "bash"}, outcome="ask"),
        request_rule(id="law.argument", where={"tool": "read_file", "argument.a": {"not": 1}}, outcome="deny"),
        request_rule(id="law.not", where={"tool": {"not": "bash"}, "context.model": "large"}, outcome="deny"),
        using=profile(file_delete="deny"),
    ),
)


def _rbac(lines: Sequence[tuple[str, str, str]]) -> Rbac:
    text = [f"p, {who}, *, tool, {tool or '*'}, *, {effect}" for who, tool, effect in lines]
    return worlds.policy("\n".join([*text, "p, dev, *, tool, unused, *, allow", "g, dev, guest, *"]))


POLICIES: st.SearchStrategy[Policy] = st.one_of(LINES.map(_rbac), TOOL_POLICIES, SELECTIONS, st.sampled_from(RULESETS))


def _request(context: Context, who: Principal, tool: str = "", arguments: dict[str, Any] | None = None) -> Request:
    return Request(
        principal=who,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, tool),
        arguments=None if arguments is None else freeze_object(arguments),
        context=context,
    )


def _engine(policies: Sequence[Policy], effects: tuple[Effect, ...] = ()) -> Engine:
    return Engine(analyze=lambda request, state: Facts(effects), policies=tuple(policies))


# ------------------------------------------------------------------------------------------------------------ exposure
@given(st.lists(POLICIES, min_size=1, max_size=4), CONTEXTS, PEOPLE, ALL_EFFECTS, st.sampled_from([{}, {"a": 1}]))
@settings(max_examples=150)
def test_what_is_hidden_cannot_run(
    policies: list[Policy], context: Context, who: Principal, effects: tuple[Effect, ...], arguments: dict[str, Any]
) -> None:
    """bound(tool) <= decide(tool, arguments) before discharge, and what is hidden is denied."""
    engine = _engine(policies, effects)
    shown = exposed(engine, _request(context, who), Catalogue(names=TOOLS))
    for tool in TOOLS:
        bound = engine.evaluate_tool(_request(context, who, tool))
        decided = engine.decide(_request(context, who, tool, arguments), START)[0]
        assert bound.outcome <= decided.outcome
        assert tool not in shown.hidden or decided.outcome is Outcome.DENY


@given(st.lists(POLICIES, max_size=4), CONTEXTS, PEOPLE, st.sampled_from(Outcome))
@settings(max_examples=100)
def test_a_catalogue_is_bounded_as_each_tool_is(
    policies: list[Policy], context: Context, who: Principal, hidden_from: Outcome
) -> None:
    engine = _engine(policies)
    shown = exposed(engine, _request(context, who), Catalogue(names=TOOLS), hidden_from=hidden_from)
    for tool in TOOLS:
        bound = engine.evaluate_tool(_request(context, who, tool))
        assert (tool in shown.hidden) is (bound.outcome >= hidden_from)
        assert shown.hidden.get(tool, bound.findings) == bound.findings
    assert set(shown.visible) | set(shown.hidden) == set(TOOLS)


@given(LINES, st.lists(TOOL_POLICIES | SELECTIONS, max_size=2), CONTEXTS, PEOPLE, st.sets(NAMES, max_size=4))
@settings(max_examples=60)
def test_a_generated_search_changes_the_answer_about_no_other_tool(
    lines: list[tuple[str, str, str]], others: list[Policy], context: Context, who: Principal, deferred: set[str]
) -> None:
    engine, asked = _engine([_rbac(lines), *others]), _request(context, who)
    plain = exposed(engine, asked, Catalogue(names=TOOLS, deferred=frozenset(deferred)))
    built = exposed(engine, asked, Catalogue(names=TOOLS, deferred=frozenset(deferred), generated=True))
    rest = set(TOOLS) - {DISCOVERY}
    assert [tool for tool in plain.hidden if tool in rest] == [tool for tool in built.hidden if tool in rest]
    building = discovering(engine, built.deferred)
    for tool in TOOLS:
        decided = building.decide(_request(context, who, tool, {}), START)[0].outcome
        assert tool not in built.hidden or decided is Outcome.DENY


@given(POLICIES, CONTEXTS, PEOPLE)
@settings(max_examples=100)
def test_a_policy_judges_a_catalogue_as_it_judges_each_tool(policy: Policy, context: Context, who: Principal) -> None:
    bounds = getattr(policy, "bounds", None)
    if bounds is not None:
        alone = [policy.evaluate(_request(context, who, tool), Facts(), START) for tool in TOOLS]
        assert bounds(_request(context, who), TOOLS, START) == alone


# ------------------------------------------------------------------------------------------------------- tool policies
def _judged(policy: Policy, context: Context, tool: str, effects: tuple[Effect, ...]) -> Verdict:
    return policy.evaluate(_request(context, Principal(), tool, {}), Facts(effects), START)


def _is_tighter(tight: Verdict, loose: Verdict) -> bool:
    """Whether everything that one verdict says is said by the other, or more."""
    kept = {finding.rule for finding in loose.findings} <= {finding.rule for finding in tight.findings}
    limits = {one.kind: one.limit for one in tight.obligations}
    bound = all(
        one.kind in limits and (one.limit is None or (limits[one.kind] or 0) <= one.limit) for one in loose.obligations
    )
    return tight.outcome >= loose.outcome and kept and bound


@given(DECLARATIONS, st.tuples(SETTINGS, SETTINGS), CONTEXTS, NAMES, ALL_EFFECTS)
def test_further_settings_never_loosen(
    tools: dict[str, Metadata],
    asked: tuple[Settings, Settings],
    context: Context,
    tool: str,
    effects: tuple[Effect, ...],
) -> None:
    """Where neither releases anything, or both do, nothing that one of them asks can be dropped by the other."""
    one, other = asked
    for released in ("approved", "credentials", "sandboxes"):
        if (getattr(one, released) is None) is not (getattr(other, released) is None):
            return
    both = _judged(ToolPolicy(tools, one).tightened(other), context, tool, effects)
    assert _is_tighter(both, _judged(ToolPolicy(tools, one), context, tool, effects))
    assert _is_tighter(both, _judged(ToolPolicy(tools, other), context, tool, effects))
    assert both == _judged(ToolPolicy(tools, other.tightened(one)), context, tool, effects)


@given(TOOL_POLICIES, DECLARATIONS, CONTEXTS, NAMES, ALL_EFFECTS)
def test_a_further_declaration_never_loosens(
    policy: ToolPolicy, more: dict[str, Metadata], context: Context, tool: str, effects: tuple[Effect, ...]
) -> None:
    after = _judged(policy.declaring(more), context, tool, effects)
    assert _is_tighter(after, _judged(policy, context, tool, effects))


@given(TOOL_POLICIES, st.dictionaries(NAMES, HINTS, max_size=3), CONTEXTS, NAMES, ALL_EFFECTS)
def test_a_hint_never_loosens(
    policy: ToolPolicy, hints: dict[str, dict[str, Any]], context: Context, tool: str, effects: tuple[Effect, ...]
) -> None:
    after = _judged(policy.hinted(hints), context, tool, effects)
    assert set(_judged(policy, context, tool, effects).findings) <= set(after.findings)


@given(TOOL_POLICIES, CONTEXTS, NAMES, ALL_EFFECTS, EFFECTS)
def test_doing_more_is_never_milder(
    policy: ToolPolicy, context: Context, tool: str, effects: tuple[Effect, ...], more: Effect
) -> None:
    less, all_of_it = (_judged(policy, context, tool, done) for done in (effects, (*effects, more)))
    assert _is_tighter(all_of_it, less)


@given(METADATA, SETTINGS, CONTEXTS)
def test_nothing_is_gained_by_not_being_listed(said: Metadata, asked: Settings, context: Context) -> None:
    """What is asked of tools is asked of an unlisted one at least as of any that is listed."""
    unlisted = _judged(ToolPolicy({}, asked), context, "x", ())
    declared = _judged(ToolPolicy({"x": said}, asked), context, "x", ())
    of_settings = {"tool.side-effect", "tool.not-background-safe", "tool.no-sandbox"}
    assert {one.rule for one in declared.findings if one.code in of_settings} <= {one.rule for one in unlisted.findings}


# ----------------------------------------------------------------------------------------------------------- selection
def _allowed(selection: Selection, context: Context) -> set[str]:
    return set(exposed(_engine([selection]), _request(context, Principal()), Catalogue(names=TOOLS)).visible)


@given(st.lists(st.tuples(SELECTIONS, CONTEXTS), min_size=2, max_size=5))
def test_sub_agents_only_lose(chain: list[tuple[Selection, Context]]) -> None:
    """allowed(child) <= allowed(parent) down a chain, whatever tags, depths and models the children run with."""
    selection, context = chain[0]
    allowed = [_allowed(selection, context)]
    for own, next_context in chain[1:]:
        selection = inheriting(selection, context, own)
        context = next_context
        allowed.append(_allowed(selection, context))
        assert allowed[-1] <= _allowed(own, context)
    assert all(child <= parent for parent, child in pairwise(allowed))


@given(SELECTIONS, LAYERS, CONTEXTS)
def test_a_further_layer_never_widens(selection: Selection, more: Layer, context: Context) -> None:
    assert _allowed(Selection((*selection.layers, more)), context) <= _allowed(selection, context)
    assert _allowed(Selection((more, *selection.layers)), context) == _allowed(
        Selection((*selection.layers, more)), context
    )


@given(SELECTIONS, CONTEXTS, st.frozensets(st.sampled_from("tu")), st.integers(0, 2))
def test_more_tags_and_more_depth_never_widen(
    selection: Selection, context: Context, tags: frozenset[str], deeper: int
) -> None:
    further = Context(depth=context.depth + deeper, tags=context.tags | tags, model=context.model)
    assert _allowed(selection, further) <= _allowed(selection, context)


# ------------------------------------------------------------------------------------------------------------- results
TEXTS = st.text(st.sampled_from('aé€😀\ud800\n"'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.sampled_from([1.5, -0.25]) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(TEXTS, st.integers(0, 40))
def test_a_cut_text_is_the_longest_beginning_that_fits(text: str, limit: int) -> None:
    kept, cut = truncated(text, limit)
    assert text.startswith(kept)
    assert cut is (kept != text)
    assert len(kept.encode("utf-8", "surrogatepass")) <= limit
    assert not cut or len(text[: len(kept) + 1].encode("utf-8", "surrogatepass")) > limit
    assert truncated(kept, limit) == (kept, False)


@given(VALUES, st.integers(0, 60))
def test_cut_data_fits_and_stays_cut(value: Any, limit: int) -> None:
    frozen = freeze(value)
    kept, cut = bounded(frozen, limit)
    assert cut is (kept != frozen)
    assert kept is None or _size(kept) <= limit
    assert bounded(kept, limit) == (kept, False)


def _size(value: Frozen) -> int:
    """Bytes of a text, or of data's JSON with every character as it is."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, tuple):
        return 2 + sum(map(_inner, value)) + max(len(value) - 1, 0)
    if isinstance(value, Mapping):
        return 2 + sum(_size(key) + 3 + _inner(item) for key, item in value.items()) + max(len(value) - 1, 0)
    return len(json.dumps(value))


def _inner(value: Frozen) -> int:
    return _size(value) + (2 if isinstance(value, str) else 0)
