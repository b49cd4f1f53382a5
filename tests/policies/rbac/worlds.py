"""Policies for the tests, small enough to see through."""

from __future__ import annotations

from policyengine.config.rbac import Settings, from_texts, shipped_folder
from policyengine.model import Context, Principal, Request, Resource, ResourceKind, freeze_object
from policyengine.policies.rbac import Rbac

with open(f"{shipped_folder()}/model.conf", encoding="utf-8") as file:
    MODEL = file.read()

PLAIN = """
[request_definition]
r = sub, obj, act

[policy_definition]
p = sub, obj, act

[policy_effect]
e = some(where (p.eft == allow))

[matchers]
m = r.sub == p.sub && r.obj == p.obj && r.act == p.act
"""

POLICY = """
p, guest, *, tool, tool_search, *, allow
p, guest, *, tool, read_file, *, allow
p, dev, *, tool, mcp__github__*, *, allow
p, dev, *, tool, mcp__github__delete_repo, *, deny
p, dev, *, route, threads:*, read, allow
p, dev, shop, model, large, use, allow
p, ops, *, tool, *, *, allow
p, user:eve, *, tool, read_file, *, deny
g, dev, guest, *
g, user:alice, dev, shop
g, user:eve, guest, *
"""


def policy(lines: str = POLICY, settings: Settings | None = None) -> Rbac:
    """The shipped model with these lines."""
    return from_texts(MODEL, lines, settings or Settings())


def principal(*roles: str, name: str = "bob", **attributes: object) -> Principal:
    """Somebody with roles and attributes."""
    return Principal(id=name, roles=roles, attributes=freeze_object(attributes))


def call(who: Principal, tool: str, arguments: dict[str, object] | None = None) -> Request:
    """A call of a tool, or with no arguments the tool itself."""
    return Request(
        principal=who,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, tool),
        arguments=None if arguments is None else freeze_object(arguments),
        context=Context(),
    )
