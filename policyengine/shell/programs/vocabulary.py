"""The words that descriptions are written in (`rules/commands/README.md` says what each means)."""

from __future__ import annotations

EFFECTLESS_ROLES = frozenset({"data", "pattern", "number", "format", "name"})  # not even reported
PLAIN_ROLES = frozenset(
    [
        "read",
        "stat",
        "write",
        "append",
        "edit",
        "delete",
        "move",
        "into",
        "link",
        "execute",
        "chdir",
        "source",
        "target",
        "url",
        "host",
        "port",
        "listen",
        "upload",
        "upload-data",
        "attr-mode",
        "attr-owner",
        "attr-acl",
        "attr-flags",
        "attr-time",
        "attr-label",
        "attr-value",
        "command",
        "module",
        "shell",
        "bang-shell",
        "assign",
        "env-name",
        "user",
        "package",
        "hole",
    ]
)
LANGUAGE_ROLES = ("code:", "script:")  # followed by a language
TAIL_ROLES = frozenset({"command", "module"})
REFERENCE_ROLES = frozenset({"user", "package", "host", "url"})  # `$user` …
PLURAL_ROLES = frozenset({"package", "host", "url"})  # `$package`: one effect for each
STYLES = ("gnu", "posix", "single", "keyvalue", "none")
OUTPUTS = ("listing", "none", "content", "arguments", "fetched", "decoded", "secret", "generated")
INPUTS = ("data", "none", "shell", "arguments", "sent", "paths")  # or `code:LANG`
AUTOMATIC_FLAGS = frozenset({"dashdash"})  # set by `--`; `operands-N` are others


def is_role(name: str) -> bool:
    """Whether a role of the README has this name."""
    return name in PLAIN_ROLES or name in EFFECTLESS_ROLES or is_language_role(name)


def is_language_role(name: str) -> bool:
    """Whether a role is `code:LANG` or `script:LANG`."""
    start, _, language = name.partition(":")
    return f"{start}:" in LANGUAGE_ROLES and language.replace("-", "").isalnum() and language.islower()
