"""Tokens and secrets of a run's context are never written down."""

from __future__ import annotations

from policyengine.signing import REDACTION_KEYS, TOKEN_KEYS, Purpose, redacted


def test_every_purpose_has_a_key_that_is_redacted() -> None:
    assert set(TOKEN_KEYS) == set(Purpose)
    assert set(TOKEN_KEYS.values()) <= REDACTION_KEYS
    assert len(set(TOKEN_KEYS.values())) == len(Purpose)


def test_redaction_leaves_the_rest_as_it_is() -> None:
    context: dict[str, object] = {**dict.fromkeys(REDACTION_KEYS, "x"), "thread_id": "t", "nested": {"a": 1}}
    assert redacted(context) == {"thread_id": "t", "nested": {"a": 1}}
    assert len(context) == len(REDACTION_KEYS) + 2
