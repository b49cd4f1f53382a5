"""Who asks comes from the server alone: nothing that a client or a model wrote becomes an identity."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyengine.errors import RequestError
from policyengine.model import Principal, freeze_object
from policyengine.principal import (
    IDENTITY_KEYS,
    INTERNAL_SOURCE,
    Identity,
    delegated,
    exposure_key,
    inherited,
    principal_of,
    server_context,
    stripped,
)
from policyengine.records import replace

FORGED = {
    "is_internal": True,
    "authz_attributes": {"tenant": "other"},
    "channel_user_id": "mallory",
    "langgraph_auth_user": {"id": "root"},
    "langgraph_auth_user_id": "root",
    "user_id": "root",
    "user_role": "admin",
    "oauth_provider": "own",
    "oauth_id": "1",
}


def test_every_identity_key_is_stripped_and_nothing_else() -> None:
    assert set(FORGED) == set(IDENTITY_KEYS)
    assert stripped({**FORGED, "thread_id": "t"}) == {"thread_id": "t"}


def test_a_client_cannot_say_who_it_is() -> None:
    body = {"context": dict(FORGED), "config": {"context": dict(FORGED), "configurable": dict(FORGED)}}
    context = server_context(body, auth_source="session", identity=None)
    assert context == {"is_internal": False}
    assert principal_of(context) == Principal(id="anonymous")


def test_the_server_overwrites_what_a_client_sent() -> None:
    identity = Identity(id="alice", roles=("engineer",), attributes={"tenant": "shop"})
    context = server_context({"context": dict(FORGED)}, auth_source="session", identity=identity)
    assert principal_of(context) == Principal(
        id="alice", roles=("engineer",), attributes=freeze_object({"tenant": "shop"})
    )


@pytest.mark.parametrize("source", ["session", "", None, True, 1, "Internal", ["internal"], "internal "])
def test_only_the_internal_source_is_internal(source: object) -> None:
    context = server_context({"context": {"channel_user_id": "u1"}}, auth_source=source, identity=None)
    assert context == {"is_internal": False}


def test_an_internal_caller_may_name_the_user_of_its_channel() -> None:
    context = server_context({"context": {"channel_user_id": "u1"}}, auth_source=INTERNAL_SOURCE, identity=None)
    assert principal_of(context).internal is True
    assert principal_of(context).attributes["channel_user_id"] == "u1"


@pytest.mark.parametrize("body", [{}, {"config": {"channel_user_id": "u1"}}, {"channel_user_id": "u1"}])
def test_a_channel_user_comes_from_the_context_of_the_body_alone(body: dict[str, Any]) -> None:
    assert server_context(body, auth_source=INTERNAL_SOURCE, identity=None) == {"is_internal": True}


@pytest.mark.parametrize("channel", [7, None, "", ["u1"], {"id": "u1"}])
def test_a_channel_user_is_a_text(channel: object) -> None:
    body = {"context": {"channel_user_id": channel}}
    assert "channel_user_id" not in server_context(body, auth_source=INTERNAL_SOURCE, identity=None)


@pytest.mark.parametrize("value", ["true", 1, "yes", [True], None, 1.0])
def test_internal_is_strictly_true(value: object) -> None:
    assert principal_of({"is_internal": value}).internal is False


@pytest.mark.parametrize(
    ("role", "roles"), [(None, ("user",)), ("", ("user",)), ([], ("user",)), ("ghost", ("ghost",))]
)
def test_the_default_role_replaces_a_missing_one_and_no_unknown_one(role: object, roles: tuple[str, ...]) -> None:
    assert principal_of({"user_role": role}, default_role="user").roles == roles


@pytest.mark.parametrize(
    ("context", "code"),
    [
        ({"user_id": 7}, "principal.id"),
        ({"user_role": 7}, "principal.role"),
        ({"user_role": ["a", 7]}, "principal.role"),
        ({"user_role": {"a": 1}}, "principal.role"),
        ({"authz_attributes": ["a"]}, "principal.attributes"),
        ({"authz_attributes": "a"}, "principal.attributes"),
    ],
)
def test_a_wrong_type_is_refused_with_its_own_code(context: dict[str, object], code: str) -> None:
    with pytest.raises(RequestError) as refused:
        principal_of(context)
    assert refused.value.code == code


def test_a_context_that_is_no_object_is_refused() -> None:
    with pytest.raises(RequestError, match="context"):
        server_context({"context": [1]}, auth_source="session", identity=None)


def test_attributes_are_copied_deeply_and_frozen() -> None:
    teams = ["a"]
    principal = principal_of({"authz_attributes": {"org": {"teams": teams}}})
    teams.append("b")
    assert principal.attributes["org"] == {"teams": ("a",)}
    with pytest.raises(TypeError):
        principal.attributes["org"] = 1  # type: ignore[index]


def test_attributes_cannot_pose_as_what_the_server_proved() -> None:
    context = {"authz_attributes": {"oauth_id": "forged", "channel_user_id": "forged"}, "oauth_id": "real"}
    assert principal_of(context).attributes == {"oauth_id": "real"}


def test_a_sub_agent_inherits_internal_always_and_copies_of_attributes() -> None:
    attributes = {"teams": ["a"]}
    passed = inherited({"authz_attributes": attributes, "user_role": "dev", "thread_id": "t"})
    attributes["teams"].append("b")
    assert passed == {"is_internal": False, "authz_attributes": {"teams": ("a",)}, "user_role": "dev"}
    assert inherited({"is_internal": True})["is_internal"] is True
    assert inherited({"is_internal": "true"})["is_internal"] is False


def test_delegation_keeps_the_person_and_notes_the_way() -> None:
    first = delegated(Principal(id="alice", roles=("dev",), internal=True), "researcher")
    second = delegated(first, "coder")
    assert (second.id, second.roles, second.internal) == ("alice", ("dev",), True)
    assert (second.agent, second.delegation) == ("coder", ("alice", "researcher"))


BASE = Principal(id="a", roles=("r",), attributes=freeze_object({"t": "x"}), internal=False, agent="g")
CHANGES: dict[str, Any] = {
    "id": "b",
    "roles": ("r", "s"),
    "attributes": freeze_object({"t": "y"}),
    "internal": True,
    "agent": "h",
    "delegation": ("a",),
}


@pytest.mark.parametrize("field", CHANGES)
def test_an_exposure_is_named_by_the_whole_principal(field: str) -> None:
    assert exposure_key(replace(BASE, **{field: CHANGES[field]}), "d") != exposure_key(BASE, "d")


def test_the_change_of_every_field_is_tried() -> None:
    assert set(CHANGES) == set(Principal._fields)


def test_an_exposure_is_named_by_the_policy_too() -> None:
    assert exposure_key(BASE, "d") == exposure_key(BASE, "d") != exposure_key(BASE, "e")


@given(st.dictionaries(st.sampled_from([*IDENTITY_KEYS, "x"]), st.one_of(st.booleans(), st.text(), st.integers())))
def test_no_client_field_changes_the_principal(sent: dict[str, object]) -> None:
    identity = Identity(id="alice", roles=("dev",))
    context = server_context({"context": sent, "config": sent, **sent}, auth_source="session", identity=identity)
    assert principal_of(context) == Principal(id="alice", roles=("dev",))
