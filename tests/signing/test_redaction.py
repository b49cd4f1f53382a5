"""Tokens and secrets of a run's context are never written down."""

from __future__ import annotations

from policyengine.adapters.langchain.vouched import KEY
from policyengine.signing import REDACTION_KEYS, redacted


def test_the_key_under_which_adapters_find_tokens_is_redacted() -> None:
    assert KEY in REDACTION_KEYS


def test_redaction_leaves_the_rest_as_it_is() -> None:
    context: dict[str, object] = {**dict.fromkeys(REDACTION_KEYS, "x"), "thread_id": "t", "nested": {"a": 1}}
    assert redacted(context) == {"thread_id": "t", "nested": {"a": 1}}
    assert len(context) == len(REDACTION_KEYS) + 2
