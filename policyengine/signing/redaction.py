"""What of a host's run context must never be written down, logged or shown to a model."""

from __future__ import annotations

from collections.abc import Mapping

_RUN_KEY = "policy_run"  # where adapters look for a run, which holds its tokens

# Ours, and what hosts of the same kind keep beside it: secrets of skills, and decisions that their middleware trusts.
REDACTION_KEYS = frozenset({
    _RUN_KEY,
    "secrets", "__active_skill_secrets", "__skill_secrets_binding_audit", "__skill_tool_policy_decision",
    "__slash_skill_activation_run", "__slash_skill_secret_source",
})  # fmt: skip


def redacted(context: Mapping[str, object]) -> dict[str, object]:
    """Copy a run's context without `REDACTION_KEYS`: for whatever persists, logs or shows it."""
    return {key: value for key, value in context.items() if key not in REDACTION_KEYS}
