"""DeerFlow's settings load as they are, and are checked as strictly; what they leave open is closed."""

from __future__ import annotations

import pytest

from policyengine.config.rbac import authorization
from policyengine.config.yamlfile import read_text
from policyengine.errors import LoadError
from policyengine.model import Outcome, Resource, ResourceKind
from policyengine.policies.rbac import Rbac, filtered, route_permissions
from tests.policies.rbac.worlds import principal

ROLES = """
user:
  tools: {allow: [web_search, read_file, "mcp__github__*"], deny: ["mcp__github__delete_*", read_file]}
  models: {allow: "*", deny: [large]}
  routes: {allow: ["threads:read", "runs:*"]}
admin:
  tools: {allow: true}
  routes: {allow: "*"}
locked:
  tools: {allow: false}
vague:
  tools: {deny: [bash]}
none: {}
"""


def _indented(text: str, spaces: int) -> str:
    return "\n".join(" " * spaces + line for line in text.strip().splitlines())


def _block(extra: str = "", roles: str = ROLES, enabled: str = "true") -> str:
    provider = f"""
  provider:
    use: deerflow.authz.rbac:RbacAuthorizationProvider
    config:
      roles:
{_indented(roles, 8)}
"""
    return f"models: []\nauthorization:\n  enabled: {enabled}\n{extra}{provider}"


def _loaded(text: str) -> Rbac:
    rbac = authorization(read_text(text, "config.yaml"))
    assert rbac is not None
    return rbac


def _granted(rbac: Rbac, role: str, kind: ResourceKind, name: str) -> bool:
    return rbac.judge(principal(role), Resource(kind, name), "call").outcome is Outcome.ALLOW


@pytest.mark.parametrize(
    ("role", "kind", "name", "granted"),
    [
        ("user", "tool", "web_search", True),
        ("user", "tool", "read_file", False),  # deny wins
        ("user", "tool", "bash", False),  # not listed
        ("user", "tool", "mcp__github__get", True),
        ("user", "tool", "mcp__github__delete_repo", False),
        ("user", "model", "small", True),
        ("user", "model", "large", False),
        ("user", "skill", "any", False),  # DeerFlow: no policy means everything
        ("user", "sandbox", "execute", False),
        ("admin", "tool", "bash", True),
        ("admin", "model", "small", False),
        ("locked", "tool", "bash", False),
        ("vague", "tool", "read_file", False),  # DeerFlow: no allow means everything
        ("none", "tool", "read_file", False),
    ],
)
def test_what_is_not_listed_is_denied(role: str, kind: str, name: str, granted: bool) -> None:
    assert _granted(_loaded(_block()), role, ResourceKind(kind), name) is granted


def test_one_policy_answers_for_catalogues_and_routes() -> None:
    rbac = _loaded(_block())
    assert filtered(rbac, principal("user"), ["bash", "web_search"]) == ("web_search",)
    routes = route_permissions(rbac, lambda: principal("user"))
    assert routes.granted == {"threads:read", "runs:create", "runs:read", "runs:cancel"}


@pytest.mark.parametrize("role", ["user", "admin", "none"])
def test_the_default_role_is_a_configured_one(role: str) -> None:
    assert _loaded(_block(f"  default_role: {role}\n")).default_role == role


def test_the_default_role_is_user_where_none_is_named() -> None:
    assert _loaded(_block()).default_role == "user"
    with pytest.raises(LoadError, match="the default role `user` is not in the policy"):
        _loaded(_block(roles="admin:\n  tools: {allow: true}"))


def test_roles_alone_are_read_too() -> None:
    rbac = _loaded(f"roles:\n{_indented(ROLES, 2)}\n")
    assert rbac.default_role == ""
    assert _granted(rbac, "user", ResourceKind.TOOL, "web_search")


def test_an_unknown_role_has_its_own_code() -> None:
    verdict = _loaded(_block()).judge(principal("ghost"), Resource(ResourceKind.TOOL, "bash"), "call")
    assert verdict.findings[0].code == "rbac.unknown-role"


@pytest.mark.parametrize("text", ["authorization: {}", _block(enabled="false")])
def test_disabled_means_no_policy(text: str) -> None:
    assert authorization(read_text(text, "config.yaml")) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            _block("  fail_closed: false\n"),
            "config.yaml:4: `authorization.fail_closed`: errors of the policy would allow",
        ),
        (_block("  fail_closed: false\n", enabled="false"), "errors of the policy would allow"),
        (_block("  fail_closed: 1\n"), "neither true nor false"),
        (_block("  fail_open: true\n"), "the key `fail_open` is not known here"),
        (_block(enabled="yes"), "`authorization.enabled`: neither true nor false"),
        (_block("  default_role: ghost\n"), "the default role `ghost` is not in the policy"),
        (_block("  default_role: ''\n"), "no text, or an empty one"),
        ("authorization: {enabled: true}", "authorization is enabled, and has no provider"),
        ("authorization: {enabled: true, provider: {use: 'mine:Provider'}}", "a provider that is not read here"),
        ("authorization: []", "`authorization`: no mapping"),
        ("rules: {}", "the key `rules` is not known here"),
        ("[]", "no mapping"),
        ("{}", "no `roles`"),
        ("roles: []", "`roles`: no mapping"),
        ("roles: {user: []}", "`roles.user`: no mapping"),
        ("roles: {user: null}", "`roles.user`: no mapping"),
        ("roles: {user: {tools: ['*']}}", "`roles.user.tools`: no mapping"),
        ("roles: {'': {tools: {allow: true}}}", "no text, or an empty one"),
        ("roles: {user: {tool: {allow: true}}}", "there is no resource `tool` (expected `tools`)"),
        ("roles: {user: {mcp_server: {allow: true}}}", "there is no resource `mcp_server` (expected `mcp_servers`)"),
        ("roles: {user: {widgets: {allow: true}}}", "there is no resource `widgets` (expected tools, models, skills"),
        ("roles: {user: {tools: {alow: [a]}}}", "the key `alow` is not known here (expected allow, deny)"),
        (
            "roles: {user: {tools: {allow: null}}}",
            "`roles.user.tools.allow`: neither everything, nor nothing, nor a list",
        ),
        ("roles: {user: {tools: {allow: all}}}", "neither everything, nor nothing, nor a list"),
        ("roles: {user: {tools: {allow: 1}}}", "neither everything, nor nothing, nor a list"),
        ("roles: {user: {tools: {allow: {a: b}}}}", "neither everything, nor nothing, nor a list"),
        ("roles: {user: {tools: {allow: [1]}}}", "`roles.user.tools.allow.0`: no text"),
        ("roles: {user: {tools: {allow: ['']}}}", "no text, or an empty one"),
        ("roles: {user: {tools: {allow: ['*']}}}", "which DeerFlow takes for a name"),
        ("roles: {user: {tools: {allow: ['a*b']}}}", "a `*` that is not at the end of a name"),
        ("roles: {user: {tools: {deny: null}}}", "`roles.user.tools.deny`: no list"),
        ("roles: {user: {tools: {deny: '*'}}}", "`roles.user.tools.deny`: no list"),
        ("roles: {user: {tools: {deny: [null]}}}", "no text, or an empty one"),
        ("roles: {}", "no policy lines"),
    ],
)
def test_settings_that_are_refused(text: str, told: str) -> None:
    with pytest.raises(LoadError) as refused:
        authorization(read_text(text, "config.yaml"))
    assert told in str(refused.value)


def test_a_role_without_tools_still_has_its_routes() -> None:
    rbac = _loaded("roles: {reader: {routes: {allow: ['threads:read']}}}")
    assert route_permissions(rbac, lambda: principal("reader")).granted == {"threads:read"}
