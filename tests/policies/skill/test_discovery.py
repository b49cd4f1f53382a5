"""What a discovery tool may tell, and what it cannot smuggle past."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policyengine.errors import RequestError
from policyengine.policies.skill import discovered
from policyengine.policies.skill.discovery import MAX_TEXT, NOTHING_FOUND


def _permits(name: str) -> bool:
    return name in ("read", "grep")


def _text(*names: str) -> str:
    return json.dumps([{"type": "function", "function": {"name": name, "parameters": {}}} for name in names])


def test_names_and_schemas_are_cut_alike() -> None:
    found = discovered(["read", "bash", "grep"], _text("read", "bash", "grep"), _permits)
    assert (found.names, found.removed) == (("read", "grep"), ("bash",))
    assert [schema["function"]["name"] for schema in json.loads(found.schemas)] == ["read", "grep"]
    flat = discovered(("read", "bash"), json.dumps([{"name": "read"}, {"name": "bash"}]), _permits)
    assert json.loads(flat.schemas) == [{"name": "read"}]


def test_a_schema_that_was_not_promoted_is_not_shown() -> None:
    found = discovered(["read"], _text("read", "grep", "bash"), _permits)
    assert [schema["function"]["name"] for schema in json.loads(found.schemas)] == ["read"]


def test_nothing_left_says_so() -> None:
    for names, text in ((["bash"], _text("bash")), ([], "any text at all"), ([], _text("read"))):
        found = discovered(names, text, _permits)
        assert (found.names, found.schemas) == ((), NOTHING_FOUND)


def test_each_name_is_asked_about_once() -> None:
    asked: list[str] = []

    def permits(name: str) -> bool:
        asked.append(name)
        return len(asked) == 1  # a second answer would be another

    found = discovered(["a", "a"], _text("a", "a"), permits)
    assert (found.names, asked, len(json.loads(found.schemas))) == (("a",), ["a"], 2)


@pytest.mark.parametrize("names", [None, "read", {"read": 1}, [1], ["read", None], [""], [["read"]], b"read"])
def test_names_that_are_none_are_an_error(names: Any) -> None:
    with pytest.raises(RequestError) as caught:
        discovered(names, _text("read"), _permits)
    assert caught.value.code == "skill.discovery-malformed"


@pytest.mark.parametrize(
    "schemas",
    [
        None,
        [{"name": "read"}],
        "",
        "no JSON",
        "{}",
        "null",
        '"read"',
        '["read"]',
        "[[]]",
        "[{}]",
        '[{"name": 1}]',
        '[{"name": null, "function": {"name": "read"}}]',
        '[{"name": "read", "function": {"name": "bash"}}]',
        '[{"function": {"name": ["read"]}}]',
        '[{"function": "read"}]',
        '[{"name": "read", "name": "bash"}]',
        '[{"function": {"name": "bash", "name": "read"}}]',
        '[{"name": "read", "x": NaN}]',
        '[{"name": "read"}] trailing',
        '[{"name": "read"}, 7]',
        "[" * 100_000,
        '[{"name": "read", "x": ' + "[" * 200 + "]" * 200 + "}]",
        " " * (MAX_TEXT + 1),
    ],
)
def test_schemas_that_cannot_be_checked_are_an_error(schemas: Any) -> None:
    with pytest.raises(RequestError) as caught:
        discovered(["read"], schemas, _permits)
    assert caught.value.code == "skill.discovery-malformed"


def test_what_is_shown_is_written_anew() -> None:
    found = discovered(["read"], '[{"\\u006eame": "r\\u0065ad", "d": "\\u2028\\ud800"}]', _permits)
    assert found.schemas.isascii()
    assert json.loads(found.schemas)[0]["name"] == "read"
