"""What could mean something else than it says is refused, with file, line, field and what was expected."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import casbin
import pytest
from casbin.model import Model as CasbinModel
from casbin.persist import Adapter
from casbin.persist.adapters import FileAdapter
from casbin.persist.adapters.string_adapter import StringAdapter
from casbin.util import key_match_func

from policyengine.config.rbac import (
    Settings,
    from_adapter,
    from_enforcer,
    from_files,
    from_folder,
    from_texts,
    shipped_folder,
)
from policyengine.config.rbac.conf import model_of
from policyengine.config.rbac.installed import check_installed
from policyengine.config.rbac.lines import CsvLines
from policyengine.config.rbac.loading import Compiled, compiled_of
from policyengine.config.rbac.matcher import shape_of
from policyengine.errors import LoadError
from policyengine.model import Outcome, Resource, ResourceKind
from policyengine.policies.rbac import Rbac
from tests.policies.rbac.worlds import MODEL, PLAIN, POLICY, principal

TOOL = Resource(ResourceKind.TOOL, "read_file")
DENY_ONLY = PLAIN.replace("p = sub, obj, act", "p = sub, obj, act, eft").replace(
    "some(where (p.eft == allow))", "!some(where (p.eft == deny))"
)


def _told(error: LoadError) -> str:
    return str(error)


# -------------------------------------------------------------------------------------------------------------- lines
@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("", "policy.csv: `p`: no policy lines (expected lines `p, sub, dom, kind, name, act, eft`)"),
        ("# p, a, *, tool, x, *, allow", "policy.csv: `p`: no policy lines"),
        ("g, a, b, *", "policy.csv: `p`: no policy lines"),
        ("\np, a, *, tool, x, *", "policy.csv:2: `p`: 5 fields (expected 6: sub, dom, kind, name, act, eft)"),
        ("p, a, *, tool, x, *, allow, b", "policy.csv:1: `p`: 7 fields"),
        ("g, a, b", "policy.csv:1: `g`: 2 fields (expected 3: the names of its definition)"),
        ("p2, a, *, tool, x, *, allow", "policy.csv:1: `p2`: a line of a type that the model does not have"),
        ("q, a, *, tool, x, *, allow", "(expected p, g)"),
        ("permit", "policy.csv:1: `permit`: a line of a type"),
        ("\ufeffp, a, *, tool, x, *, allow", "a line of a type that the model does not have"),
        ("p, a, *, tool, eval(r.sub), *, allow", "policy.csv:1: `name`: `eval()`, which would run text"),
        ("p, a, *, tool, eval (1), *, allow", "`eval()`"),
        ('p, a, *, tool, "x, y", *, allow', "7 fields"),
        ('p, a, *, tool, "x", *, allow', "policy.csv:1: `name`: a quote"),
        ("p, a, *, tool, x, *, deny # for now", "policy.csv:1: `eft`: a comment behind a value"),
        ("p, a, *, tool, , *, allow", "policy.csv:1: `name`: an empty field (expected a value)"),
        ("p, a, *, tool, x, *, Deny", "policy.csv:1: `eft`: the effect `Deny` (expected `allow` or `deny`)"),
        (
            "p, a, *, tool, mcp__*__get, *, allow",
            "policy.csv:1: `name`: text after a `*`, which keyMatch does not read",
        ),
        ("p, a, *, tool, x), *, allow", "policy.csv:1: brackets that do not match"),
        ("p, a, *, tool, f(x, *, allow", "policy.csv:1: brackets that do not match"),
    ],
)
def test_lines_that_are_refused(lines: str, told: str) -> None:
    with pytest.raises(LoadError) as refused:
        from_texts(MODEL, lines)
    assert told in _told(refused.value)


@pytest.mark.parametrize(
    "lines",
    [
        "p, a, *, tool, x, *, allow\r\n  # a note\r\n\r\n",
        "p,a,*,tool,x,*,allow",
        "p, a, *, tool, c#, *, allow",
        "p, a, *, tool, evaluate, *, allow",
        "p, a, *, tool, f(x, y), *, allow",
        "p, a, *, tool, x, *, allow\np, a, *, tool, x, *, allow",
    ],
)
def test_lines_that_are_taken(lines: str) -> None:
    assert isinstance(from_texts(MODEL, lines), Rbac)


def test_an_effect_that_only_denies_needs_a_line_that_does() -> None:
    with pytest.raises(LoadError, match="everybody would be allowed everything"):
        from_texts(DENY_ONLY, "p, a, x, y, allow")
    rbac = from_texts(DENY_ONLY, "p, a, x, invoke, deny")
    assert rbac.judge(principal("a"), Resource(ResourceKind.TOOL, "x"), "invoke").outcome is Outcome.DENY
    assert rbac.judge(principal("a"), Resource(ResourceKind.TOOL, "y"), "invoke").outcome is Outcome.ALLOW
    assert rbac.judge(principal("b"), Resource(ResourceKind.TOOL, "y"), "invoke").outcome is Outcome.DENY  # unknown


# -------------------------------------------------------------------------------------------------------------- models
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[matchers]", "[matcher]", "`matcher`: a section that Casbin does not know"),
        ("m = r.sub == p.sub && r.obj == p.obj && r.act == p.act", "", "model.conf: `matchers`: no `m`"),
        ("m = ", "m2 = ", "`m2`: a further definition, which no decision would ask"),
        ("m = ", "x = ", "`x`: a key that [matchers] does not have"),
        ("r = sub, obj, act", "r = sub, obj, act\nr = sub, obj, act", "model.conf:4: `r`: a second definition"),
        ("r = sub, obj, act", "r sub, obj, act", "no definition (expected `key = value`)"),
        ("r = sub, obj, act", "r = sub, , act", "`r`: `` is no field"),
        ("r = sub, obj, act", "r = sub, sub, act", "`sub` is no field, or a field twice"),
        ("r = sub, obj, act", "r = sub, act", "`m`: a name `r_obj` that is not defined"),
        ("some(where (p.eft == allow))", "some(where (p.eft==allow))", "`e`: an effect that Casbin does not know"),
        ("r.act == p.act", "eval(p.act)", "`m`: `eval()` makes code of policy lines"),
        ("r.act == p.act", "mine(r.act)", "`m`: a function `mine` that no file can give"),
        ("r.act == p.act", "g(r.act, p.act)", "a function `g` that no file can give"),
        ("r.act == p.act", "r.act == p.eft", "a name `p_eft` that is not defined"),
        ("r.act == p.act", "r.act == act", "a name `act` that is not defined"),
        ("r.act == p.act", "r.act.owner == p.act", "requests are texts, which have no attributes"),
        ("r.act == p.act", "r.act ==", "`m`: no expression"),
        ("r.act == p.act", 'r.act == "a&&b"', "a text with an operator in it"),
        ("r.act == p.act", 'r.act == "run!"', "a text with an operator in it"),
    ],
)
def test_models_that_are_refused(old: str, new: str, told: str) -> None:
    assert old in PLAIN
    with pytest.raises(LoadError) as refused:
        from_texts(PLAIN.replace(old, new, 1), "p, a, x, y")
    assert told in _told(refused.value)


@pytest.mark.parametrize(
    ("roles", "told"),
    [
        ("g = _", "a role definition that is not read"),
        ("g = _, _, _, _", "a role definition that is not read"),
        ("g = _, _, (_, _)", "a role definition that is not read"),
        ("g2 = _, _", "`g2`: a role definition that Casbin does not find (expected g)"),
        ("g = _, _\ng3 = _, _", "`g3`: a role definition that Casbin does not find"),
    ],
)
def test_role_definitions_that_are_refused(roles: str, told: str) -> None:
    with pytest.raises(LoadError) as refused:
        from_texts(f"{PLAIN}\n[role_definition]\n{roles}\n", "p, a, x, y")
    assert told in _told(refused.value)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (PLAIN.replace("r = sub,", "r = colour,").replace("r.sub", "r.colour"), "a field `colour`"),
        (PLAIN.replace("r = sub,", "r = kind,").replace("r.sub", "r.kind"), "a request without a subject"),
        (PLAIN.replace("r = sub, obj", "r = sub, user").replace("r.obj", "r.user"), "two fields"),
    ],
)
def test_a_request_needs_fields_that_something_goes_into(model: str, told: str) -> None:
    with pytest.raises(LoadError, match=told):
        from_texts(model, "p, a, x, y")


def test_a_default_role_has_to_be_in_the_policy() -> None:
    assert from_texts(MODEL, POLICY, Settings(default_role="guest")).default_role == "guest"
    with pytest.raises(LoadError, match="the default role `gest` is not in the policy"):
        from_texts(MODEL, POLICY, Settings(default_role="gest"))


@pytest.mark.parametrize("depth", [0, -1])
def test_a_depth_has_to_be_one_at_least(depth: int) -> None:
    with pytest.raises(LoadError, match="depth"):
        from_texts(MODEL, POLICY, Settings(depth=depth))


def test_the_old_distribution_is_refused_beside_the_new_one() -> None:
    with pytest.raises(LoadError, match="`casbin` is installed"):
        check_installed(lambda name: name == "casbin")
    check_installed(lambda name: name == "pycasbin")


# ----------------------------------------------------------------------------------------------------- what compiles
COMPILES = [
    "r.sub == p.sub && r.obj == p.obj && r.act == p.act",
    "p.act == r.act && (r.sub == p.sub && r.obj == p.obj)",
    'g(r.sub, p.sub) && (r.obj == p.obj || p.obj == "*") && keyMatch(r.act, p.act)',
    '("*" == p.sub || g(r.sub, p.sub)) && globMatch(r.obj, p.obj)',
    "g(r.sub, p.sub) && g2(r.obj, p.obj) && r.act == p.act",
    "r_sub == p_sub",
]
RUNS_ON_PYCASBIN = [
    "r.sub == p.sub || r.obj == p.obj",
    "r.sub == p.sub && regexMatch(r.act, p.act)",
    "r.sub == p.sub && keyMatch2(r.obj, p.obj)",
    "r.sub != p.sub && r.obj == p.obj",
    "keyMatch(r.obj, p.obj)",
    "r.sub == p.sub && r.obj == p.sub",
    "r.sub == p.sub && r.sub == p.obj",
    "r.sub == r.obj && r.act == p.act",
    'r.sub == p.sub && r.obj == "x"',
    "r.sub == p.sub && keyMatch(p.obj, r.obj)",
    '(r.sub == p.sub || p.sub == "any") && r.obj == p.obj',
    '(keyMatch(r.obj, p.obj) || p.obj == "*") && r.sub == p.sub',
    "g(r.sub, p.sub, r.obj) && r.act == p.act",  # a hierarchy without domains
    "r.sub == p.sub && r.act in (p.act, p.obj)",
    "!(r.sub == p.sub) && r.obj == p.obj",
]


def _plain_with(matcher: str) -> str:
    roles = "[role_definition]\ng = _, _\ng2 = _, _\n"
    return PLAIN.replace("r.sub == p.sub && r.obj == p.obj && r.act == p.act", matcher) + roles


@pytest.mark.parametrize("matcher", COMPILES)
def test_matchers_that_compile(matcher: str) -> None:
    assert shape_of(model_of(_plain_with(matcher), "model.conf")) is not None


@pytest.mark.parametrize("matcher", RUNS_ON_PYCASBIN)
def test_matchers_that_only_pycasbin_evaluates(matcher: str) -> None:
    assert shape_of(model_of(_plain_with(matcher), "model.conf")) is None


@pytest.mark.parametrize(
    ("name", "indexed"), [("mcp__*", True), ("?ash", True), ("a/*", False), ("[ab]", False), ("**", False)]
)
def test_a_glob_of_another_kind_runs_on_pycasbin(name: str, indexed: bool) -> None:
    model = _plain_with("r.sub == p.sub && globMatch(r.obj, p.obj)")
    assert _compiled(model, f"p, a, {name}, x").indexed is indexed


def _compiled(model: str, lines: str) -> Compiled:
    return compiled_of(model_of(model, "model.conf"), CsvLines(lines, "policy.csv"))


def test_priorities_run_on_pycasbin_in_the_order_of_lines() -> None:
    model = DENY_ONLY.replace("!some(where (p.eft == deny))", "priority(p.eft) || deny")
    compiled = _compiled(model, "p, a, x, y, deny\np, a, x, y, allow\np, a, z, y, allow\np, a, z, y, deny")
    assert not compiled.indexed
    assert [compiled.answers.decide(("a", name, "y")) for name in "xzw"] == [-1, 3, 0]


def test_an_enforcer_keeps_no_names() -> None:
    model = _plain_with("(g(r.sub, p.sub) || r.obj == p.obj) && r.act == p.act")
    compiled = _compiled(model, "p, a, x, y\ng, b, a")
    enforcer: Any = compiled.answers
    for number in range(2_000):
        compiled.answers.decide((f"u{number}", "x", f"d{number}"))
    roles = enforcer._enforcer.rm_map["g"].all_roles
    assert set(roles) == {"a", "b"}
    assert compiled.answers.decide(("b", "other", "y")) == 1


def test_domains_of_an_enforcer_keep_no_names() -> None:
    model = MODEL.replace("keyMatch(r.act, p.act)", "keyMatch2(r.act, p.act)").replace('|| g(r.sub, p.sub, "*")', "")
    compiled = _compiled(model, "p, a, *, tool, x, go, allow\ng, b, a, shop")
    assert not compiled.indexed
    enforcer: Any = compiled.answers
    for number in range(500):
        compiled.answers.decide((f"u{number}", f"d{number}", "tool", "x", "go"))
    assert set(enforcer._enforcer.rm_map["g"]._managers) == {"shop"}
    assert compiled.answers.decide(("b", "shop", "tool", "x", "go")) == 1
    assert compiled.answers.decide(("b", "bank", "tool", "x", "go")) == 0
    assert compiled.answers.decide(("a", "bank", "tool", "x", "go")) == 1


@pytest.mark.parametrize(("depth", "reached"), [(1, 0), (2, 1), (10, 9), (12, 11)])
def test_a_chain_of_roles_is_as_long_as_the_depth(depth: int, reached: int) -> None:
    links = "\n".join(f"g, r{number}, r{number + 1}, *" for number in range(15))
    lines = "\n".join(f"p, r{number}, *, tool, t{number}, *, allow" for number in range(16))
    rbac = from_texts(MODEL, f"{lines}\n{links}", Settings(depth=depth))
    granted = [
        rbac.judge(principal("r0"), Resource(ResourceKind.TOOL, f"t{number}"), "invoke").outcome is Outcome.ALLOW
        for number in range(16)
    ]
    assert granted == [number <= reached for number in range(16)]


# ------------------------------------------------------------------------------------------------------------ sources
def test_the_shipped_folder_loads_and_says_what_its_notes_say() -> None:
    rbac = from_folder(shipped_folder())
    assert rbac.judge(principal("engineer"), TOOL, "invoke").outcome is Outcome.ALLOW
    assert rbac.judge(principal("guest"), Resource(ResourceKind.TOOL, "bash"), "invoke").outcome is Outcome.DENY
    assert rbac.judge(principal(name="alice", domain="shop"), TOOL, "invoke").outcome is Outcome.ALLOW


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"model\.conf: cannot be read"):
        from_folder(tmp_path)
    (tmp_path / "model.conf").write_text(MODEL)
    (tmp_path / "policy.csv").write_bytes(b"# one\np, \xff")
    with pytest.raises(LoadError, match=r"policy\.csv:2: not UTF-8"):
        from_folder(tmp_path)


class _Rows(Adapter):  # type: ignore[misc]  # pycasbin has no types
    """An adapter that writes as those of databases do."""

    def __init__(self, *rows: tuple[Any, ...]) -> None:
        self._rows = rows

    def load_policy(self, model: Any) -> None:
        for kind, *fields in self._rows:
            model.add_policy(kind[:1], kind, fields)


class _Asynchronous:
    async def load_policy(self, model: Any) -> None:
        model.add_policy("p", "p", ["a", "*", "tool", "read_file", "*", "allow"])


class _Filtered(StringAdapter):  # type: ignore[misc]  # pycasbin has no types
    def is_filtered(self) -> bool:
        return True


class _Broken:
    def load_policy(self, model: Any) -> None:
        raise OSError("the database is away")


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    """The shipped model as a file."""
    path = tmp_path / "model.conf"
    path.write_text(MODEL)
    return path


def test_every_kind_of_adapter_gives_the_same_policy(tmp_path: Path, model_file: Path) -> None:
    text = "p, a, *, tool, read_file, *, allow\ng, b, a, *"
    file = tmp_path / "policy.csv"
    file.write_text(text)
    adapters: list[Any] = [
        FileAdapter(str(file)),
        StringAdapter(text),
        _Rows(("p", "a", "*", "tool", "read_file", "*", "allow"), ("g", "b", "a", "*")),
    ]
    policies = [from_adapter(model_file, adapter) for adapter in adapters] + [from_files(model_file, file)]
    for rbac in policies:
        assert rbac.judge(principal("b"), TOOL, "invoke").outcome is Outcome.ALLOW
        assert rbac.judge(principal("b"), Resource(ResourceKind.TOOL, "x"), "invoke").outcome is Outcome.DENY
    assert len({rbac.digest for rbac in policies[:3]}) == 1


def test_an_asynchronous_adapter_is_waited_for(model_file: Path) -> None:
    assert from_adapter(model_file, _Asynchronous()).judge(principal("a"), TOOL, "invoke").outcome is Outcome.ALLOW


@pytest.mark.parametrize(
    ("adapter", "told"),
    [
        (_Broken(), "the adapter failed: the database is away"),
        (_Filtered("p, a, *, tool, x, *, allow"), "an adapter that is filtered"),
        (StringAdapter(""), "the adapter failed"),
        (StringAdapter("# nothing"), "no policy lines"),
        (StringAdapter("p2, a, *, tool, x, *, allow"), "`p2`: a line of a type that the model does not have"),
        (StringAdapter("zz, a"), "`zz`: a line of a type"),
        (_Rows(("p", "a", "*", "tool", "x", "*", None)), "a field that is no text"),
        (_Rows(("p", "a", "*", "tool", "x", "*")), "5 fields"),
    ],
)
def test_adapters_that_are_refused(model_file: Path, adapter: Any, told: str) -> None:
    with pytest.raises(LoadError, match=told):
        from_adapter(model_file, adapter)


def test_a_database_feeds_a_policy(model_file: Path, tmp_path: Path) -> None:
    module = pytest.importorskip("casbin_sqlalchemy_adapter", reason="its metadata asks for the old casbin")
    adapter = module.Adapter(f"sqlite:///{tmp_path}/policy.db")
    adapter.add_policy("p", "p", ["a", "*", "tool", "read_file", "*", "allow"])
    adapter.add_policy("g", "g", ["b", "a", "*"])
    adapter._engine.dispose()
    assert from_adapter(model_file, adapter).judge(principal("b"), TOOL, "invoke").outcome is Outcome.ALLOW


def test_an_asynchronous_database_feeds_a_policy(model_file: Path, tmp_path: Path) -> None:
    module = pytest.importorskip("casbin_async_sqlalchemy_adapter")
    sqlalchemy = pytest.importorskip("sqlalchemy.ext.asyncio")
    pool = pytest.importorskip("sqlalchemy.pool").NullPool  # keeps no connection open between two event loops
    adapter = module.Adapter(
        sqlalchemy.create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/policy.db", poolclass=pool)
    )
    asyncio.run(_filled(adapter))
    assert from_adapter(model_file, adapter).judge(principal("b"), TOOL, "invoke").outcome is Outcome.ALLOW


async def _filled(adapter: Any) -> None:
    await adapter.create_table()
    await adapter.add_policy("p", "p", ["a", "*", "tool", "read_file", "*", "allow"])
    await adapter.add_policy("g", "g", ["b", "a", "*"])


def _enforcer(lines: str = "p, a, x, invoke") -> Any:
    model = CasbinModel()
    model.load_model_from_text(PLAIN)
    return casbin.Enforcer(model, StringAdapter(lines))


def test_an_enforcer_is_taken_over() -> None:
    rbac = from_enforcer(_enforcer())
    assert rbac.judge(principal("a"), Resource(ResourceKind.TOOL, "x"), "invoke").outcome is Outcome.ALLOW
    assert rbac.judge(principal("a"), Resource(ResourceKind.TOOL, "y"), "invoke").outcome is Outcome.DENY


def test_a_disabled_enforcer_is_refused() -> None:
    enforcer = _enforcer()
    enforcer.enable_enforce(False)
    with pytest.raises(LoadError, match="disabled: it allows everything"):
        from_enforcer(enforcer)


def test_an_enforcer_without_lines_is_refused() -> None:
    enforcer = _enforcer()
    enforcer.clear_policy()
    with pytest.raises(LoadError, match="no policy lines"):
        from_enforcer(enforcer)


def test_an_enforcer_with_functions_of_its_own_is_refused() -> None:
    enforcer = _enforcer()
    enforcer.add_function("keyMatch", lambda *_: True)
    with pytest.raises(LoadError, match="functions of its own"):
        from_enforcer(enforcer)


def test_an_enforcer_with_roles_by_patterns_is_refused() -> None:
    model = CasbinModel()
    model.load_model_from_text(_plain_with("g(r.sub, p.sub) && r.obj == p.obj && r.act == p.act"))
    enforcer = casbin.Enforcer(model, StringAdapter("p, a, x, invoke\ng, b, a"))
    assert (
        from_enforcer(enforcer).judge(principal("b"), Resource(ResourceKind.TOOL, "x"), "invoke").outcome
        is Outcome.ALLOW
    )
    enforcer.add_named_matching_func("g", key_match_func)
    with pytest.raises(LoadError, match="roles by patterns"):
        from_enforcer(enforcer)


def test_the_index_needs_no_casbin() -> None:
    program = (
        "import sys, policyengine.config.rbac as rbac\n"
        "rbac.from_folder(rbac.shipped_folder())\n"
        "sys.exit(any(name.split('.')[0] in ('casbin', 'simpleeval', 'wcmatch') for name in sys.modules))"
    )
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", program]) == 0
