"""The roles that an argument of a tool may have; `rules/tools.yaml` says what each means."""

from __future__ import annotations

ROLES = frozenset({
    "shell", "words", "code", "language", "read", "search", "stat", "write", "append", "edit", "delete", "move",
    "chdir", "content", "old", "new", "patch", "url", "host", "method", "body", "upload", "data", "job",
})  # fmt: skip
