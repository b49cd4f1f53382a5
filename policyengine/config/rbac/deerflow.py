"""DeerFlow's own authorization settings as a policy of the shipped model.

    authorization:
      enabled: true
      default_role: user
      provider:
        use: deerflow.authz.rbac:RbacAuthorizationProvider
        config:
          roles:
            user:
              tools: {allow: ["web_search", "mcp__github__*"], deny: ["mcp__github__delete_repo"]}
              routes: {allow: "*"}

A document with `roles` alone is read too. What differs from DeerFlow, always to the stricter side: what `allow` does
not list is denied, also where `allow` or the whole resource is missing; `fail_closed: false` is refused; a name may end
in `*`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NoReturn

from policyengine.config.rbac.lines import RowLines
from policyengine.config.rbac.loading import Settings, rbac_of
from policyengine.config.yamlfile import Document, Place, Plain
from policyengine.model import ResourceKind
from policyengine.policies.rbac import Rbac
from policyengine.records import Record

KEYS: Mapping[str, ResourceKind] = {
    "tools": ResourceKind.TOOL,
    "models": ResourceKind.MODEL,
    "skills": ResourceKind.SKILL,
    "sandbox": ResourceKind.SANDBOX,
    "mcp_servers": ResourceKind.MCP_SERVER,
    "routes": ResourceKind.ROUTE,
}
ALIASES = {kind.value: key for key, kind in KEYS.items() if kind.value != key}
PROVIDER = "deerflow.authz.rbac:RbacAuthorizationProvider"
DEFAULT_ROLE = "user"  # DeerFlow's own
ANY = "*"

# The shipped model's text, as far as these lines need it: no people, no domains, no hierarchy.
MODEL = """\
[request_definition]
r = sub, kind, name

[policy_definition]
p = sub, kind, name, eft

[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))

[matchers]
m = r.sub == p.sub && r.kind == p.kind && keyMatch(r.name, p.name)
"""


def authorization(document: Document) -> Rbac | None:
    """Make a policy of DeerFlow's settings: None where they say `enabled: false`, as they do by default.

    Raises:
        LoadError: something in them is wrong, unknown, or means that errors allow.
    """
    settings = _settings_of(document)
    if settings is None:
        return None
    rows = list(_rows(document, settings.roles, (*settings.place, "roles")))
    named = {fields[0] for _, fields in rows}
    empty = [role for role in settings.roles if role not in named]
    rows += [("p", (role, ResourceKind.TOOL.value, ANY, "deny")) for role in empty]  # known, and may do nothing
    source = RowLines(rows, document.file)
    return rbac_of(MODEL, document.file, source, Settings(default_role=settings.default_role))


class _Settings(Record):
    roles: Mapping[str, Plain]
    default_role: str
    place: Place


def _settings_of(document: Document) -> _Settings | None:
    top = _mapping(document, document.value, ())
    if "authorization" not in top:
        return _provider_settings(document, top, (), "")
    place: Place = ("authorization",)
    block = _mapping(document, top["authorization"], place)
    _known(document, block, place, ("enabled", "fail_closed", "default_role", "provider"))
    if not _flag(document, block, place, "fail_closed", True):
        raise document.error(
            "errors of the policy would allow calls; here an error is always a denial, and no setting changes that",
            (*place, "fail_closed"), expected="`true`, or no such key",
        )  # fmt: skip
    if not _flag(document, block, place, "enabled", False):
        return None
    role = _text(document, block.get("default_role", DEFAULT_ROLE), (*place, "default_role"))
    if "provider" not in block:
        raise document.error("authorization is enabled, and has no provider", place, expected="`provider`")
    place = (*place, "provider")
    provider = _mapping(document, block["provider"], place)
    _known(document, provider, place, ("use", "config"))
    if provider.get("use") != PROVIDER:
        raise document.error("a provider that is not read here", (*place, "use"), expected=PROVIDER)
    return _provider_settings(document, _mapping(document, provider.get("config"), (*place, "config")),
                              (*place, "config"), role)  # fmt: skip


def _provider_settings(document: Document, config: Mapping[str, Plain], place: Place, role: str) -> _Settings:
    _known(document, config, place, ("roles",))
    if "roles" not in config:
        raise document.error("no `roles`", place, expected="`roles: {NAME: {tools: {allow, deny}}}`")
    return _Settings(roles=_mapping(document, config["roles"], (*place, "roles")), default_role=role, place=place)


def _rows(document: Document, roles: Mapping[str, Plain], place: Place) -> Iterator[tuple[str, tuple[str, ...]]]:
    for role, resources in roles.items():
        where = (*place, _text(document, role, place))
        for key, rules in _mapping(document, resources, where).items():
            kind = _kind(document, key, where)
            policy = _mapping(document, rules, (*where, key))
            _known(document, policy, (*where, key), ("allow", "deny"))
            for name in _allowed(document, policy, (*where, key)):
                yield "p", (role, kind.value, name, "allow")
            for name in _names(document, policy.get("deny", []), (*where, key, "deny")):
                yield "p", (role, kind.value, name, "deny")


def _kind(document: Document, key: str, place: Place) -> ResourceKind:
    if key in KEYS:
        return KEYS[key]
    expected = f"`{ALIASES[key]}`" if key in ALIASES else ", ".join(KEYS)
    raise document.error(f"there is no resource `{key}`", (*place, key), expected=expected)


def _allowed(document: Document, policy: Mapping[str, Plain], place: Place) -> list[str]:
    place = (*place, "allow")
    allow = policy.get("allow", [])
    if allow is True or allow == ANY:
        return [ANY]
    if allow is False:
        return []
    if not isinstance(allow, list):
        raise document.error(
            "neither everything, nor nothing, nor a list", place, expected='"*", true, false or a list'
        )
    return _names(document, allow, place)


def _names(document: Document, names: Plain, place: Place) -> list[str]:
    if not isinstance(names, list):
        raise document.error("no list", place, expected="a list of names")
    for index, name in enumerate(names):
        where = (*place, index)
        if ANY in _text(document, name, where)[:-1]:
            raise document.error("a `*` that is not at the end of a name", where, expected="`*` at the end")
        if name == ANY:
            raise document.error('`"*"` in a list, which DeerFlow takes for a name', where, expected='`allow: "*"`')
    return [str(name) for name in names]


def _mapping(document: Document, value: Plain, place: Place) -> Mapping[str, Plain]:
    if not isinstance(value, dict):
        raise document.error("no mapping", place, expected="a mapping")
    return value


def _known(document: Document, found: Mapping[str, Plain], place: Place, keys: tuple[str, ...]) -> None:
    for key in found:
        if key not in keys:
            _unknown(document, (*place, key), keys)


def _unknown(document: Document, place: Place, keys: tuple[str, ...]) -> NoReturn:
    raise document.error(f"the key `{place[-1]}` is not known here", place, expected=", ".join(keys))


def _flag(document: Document, found: Mapping[str, Plain], place: Place, key: str, default: bool) -> bool:
    value = found.get(key, default)
    if not isinstance(value, bool):
        raise document.error("neither true nor false", (*place, key), expected="true or false")
    return value


def _text(document: Document, value: Plain, place: Place) -> str:
    if not isinstance(value, str) or not value:
        raise document.error("no text, or an empty one", place, expected="a name")
    return value
