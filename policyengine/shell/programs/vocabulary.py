"""The words that descriptions are written in (`rules/commands/README.md` says what each means)."""

from __future__ import annotations

EFFECTLESS_ROLES = frozenset({"data", "pattern", "number", "format", "name"})  # not even reported
WRITING_ROLES = frozenset({"write", "append", "edit", "delete", "move", "into", "onto"})
PATH_ROLES = WRITING_ROLES | {"read", "list", "stat", "link", "execute", "chdir"}
HOST_ROLES = frozenset(
    {
        "source",
        "target",
        "url",
        "document",
        "host",
        "port",
        "listen",
        "upload",
        "upload-data",
        "query-data",
        "said",
        "instead",
    }
)
ATTRIBUTE_ROLES = frozenset(f"attr-{name}" for name in ("mode", "owner", "acl", "flags", "time", "label", "value"))
CODE_ROLES = frozenset({"command", "module", "again", "shell", "bang-shell", "hole"})
TERMINAL_ROLES = frozenset({"typed", "pasted", "pasted-file", "formats"})
NAME_ROLES = frozenset(
    {"assign", "env-name", "shell-option", "object", "write-out", "user", "package", "peer", "mount"}
)
PLAIN_ROLES = PATH_ROLES | HOST_ROLES | ATTRIBUTE_ROLES | CODE_ROLES | NAME_ROLES | TERMINAL_ROLES | EFFECTLESS_ROLES
BELOW = "below-"  # before a role of a path: of some path below it, which is not known
LANGUAGE_ROLES = ("code:", "script:")  # followed by a language
TAIL_ROLES = frozenset({"command", "module", "again"})
URL_FILE = "url-file"  # the last part of each URL: the name under which a download is kept
REFERENCE_ROLES = frozenset({"user", "package", "host", "peer", "url", URL_FILE})  # `$user` …
PLURAL_ROLES = frozenset({"package", "host", "url", URL_FILE})  # `$package`: one effect for each
STYLES = ("gnu", "posix", "single", "keyvalue", "none")
OUTPUTS = (
    "listing", "none", "content", "arguments", "fetched", "decoded", "secret", "generated", "processes", "settings",
    "made",
)  # fmt: skip
INPUTS = ("data", "none", "shell", "arguments", "sent", "paths", "patch", "envelope")  # or `code:LANG`
AUTOMATIC_FLAGS = frozenset({"dashdash", "bare", "help"})  # set by `--`, a missing subcommand, `HELP_OPTIONS`
HELP_OPTIONS = frozenset({"--help", "-help"})  # GNU coding standards 4.8.2; the package `flag` of Go


def is_role(name: str) -> bool:
    """Whether a role of the README has this name."""
    return name.removeprefix(BELOW) in PLAIN_ROLES or is_language_role(name)


def is_language_role(name: str) -> bool:
    """Whether a role is `code:LANG` or `script:LANG`."""
    start, _, language = name.partition(":")
    return f"{start}:" in LANGUAGE_ROLES and language.replace("-", "").isalnum() and language.islower()
