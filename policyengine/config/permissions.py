"""Permission rules out of files: settings of an agent runtime as they are, our own YAML, prefix rules.

A file is read as a whole or refused. An allow rule that says nothing that could be granted is left out and kept in
`refused`, since leaving it out loosens nothing; a deny or ask rule that cannot be read is an error, since leaving it
out would. Neither pydantic nor YAML is loaded for a JSON file.

Facts (Claude Code's documentation, "Configure permissions" and "Settings"): deny before ask before allow, whatever the
file; `/x` in a path begins at the project of `.claude/settings.json`, else at the file's folder; allow rules take a
glob for a tool's name behind `mcp__SERVER__` alone, and no `Tool(parameter:value)`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from policyengine.config.permissions_files import SettingsFile
from policyengine.config.permissions_synonyms import synonyms_of
from policyengine.config.permissions_trust import project_named
from policyengine.effects import Facts
from policyengine.errors import LoadError
from policyengine.model import Outcome, Request, Resource, ResourceKind, Tier
from policyengine.policies.permissions import (
    About,
    Means,
    Permissions,
    Rule,
    Source,
    Standing,
    ToolPattern,
    pattern_of,
)
from policyengine.policies.permissions.coverage import as_written
from policyengine.policies.permissions.syntax import is_parameter, is_server
from policyengine.records import Record, replace
from policyengine.state import START

if TYPE_CHECKING:
    from policyengine.config import Ready

Json: TypeAlias = Any  # what a file holds; taken apart here

LISTS: Mapping[str, Outcome] = {"allow": Outcome.ALLOW, "ask": Outcome.ASK, "deny": Outcome.DENY}
# Other keys that hosts read; what they say is theirs to enforce, or loosens and is not taken.
OTHER_KEYS = frozenset({"additionalDirectories", "disableBypassPermissionsMode", "disableAutoMode"})
MODE = "defaultMode"
# Mode → the rules that it amounts to. The others are the host's: no mode lowers what the profile asks.
MODES: Mapping[str, tuple[tuple[Outcome, str], ...]] = {
    "acceptEdits": ((Outcome.ALLOW, "Edit(./**)"),),
    "plan": ((Outcome.DENY, "Edit"), (Outcome.ASK, "Bash")),
    "default": (),
    "dontAsk": (),
    "auto": (),
    "delegate": (),
    "bypassPermissions": (),
}
MANAGED_ONLY = "allowManagedPermissionRulesOnly"


class Refused(Record):
    """A rule that was left out, and why."""

    file: str
    text: str
    reason: str


class Loaded(Record):
    """What files of permission rules say.

    Attributes:
        rules: in the order of the files.
        refused: allow rules that were left out.
        modes: file → the mode that it sets.
        managed_only: the organisation lets nobody else allow anything.
    """

    rules: tuple[Rule, ...] = ()
    refused: tuple[Refused, ...] = ()
    modes: Mapping[str, str] = {}
    managed_only: bool = False


def load_permissions(files: Iterable[SettingsFile]) -> Loaded:
    """Take the rules out of files.

    Raises:
        LoadError: a file is not what its name says, or has a deny or ask rule that cannot be told.
    """
    loaded = [read_permissions(file) for file in files]
    managed = any(one.managed_only for one in loaded)
    rules = [rule for one in loaded for rule in one.rules if not managed or _may_stay(rule)]
    return Loaded(
        rules=tuple(rules),
        refused=tuple(refused for one in loaded for refused in one.refused),
        modes={file: mode for one in loaded for file, mode in one.modes.items()},
        managed_only=managed,
    )


def _may_stay(rule: Rule) -> bool:
    return rule.outcome is not Outcome.ALLOW or rule.source.tier is Tier.ORGANISATION


def read_permissions(file: SettingsFile) -> Loaded:
    """Read the contents of one file: `.json` settings, `.yaml` of ours, `.rules` prefix rules.

    Raises:
        LoadError: it is not what its name says, or has a deny or ask rule that cannot be told.
    """
    source = _source(file)
    if file.path.endswith(".rules"):
        from policyengine.config.permissions_prefix import prefix_rules  # noqa: PLC0415  `ast` costs a hook 5 ms

        return Loaded(rules=tuple(prefix_rules(file.data, source)))
    if file.path.endswith((".yaml", ".yml")):
        from policyengine.config.yamlfile import read_bytes  # noqa: PLC0415  YAML costs a hook 30 ms

        return _ours(read_bytes(file.data, file.path).value, source)
    return _settings(_object(_json(file.data, file.path), file.path, ""), source)


def _source(file: SettingsFile) -> Source:
    folder = os.path.dirname(os.path.abspath(file.path))
    project = ""
    if file.tier is Tier.PROJECT:
        folder = project = project_named(file.path)
    tier = Tier.USER if file.trusted else file.tier
    return Source(file=file.path, tier=tier, folder=folder, project=project)


# ------------------------------------------------------------------------------------------------------------- settings
def _json(data: bytes, file: str) -> Json:
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_without_repetition)
    except json.JSONDecodeError as error:
        raise LoadError(f"not JSON: {error.msg.lower()}", file=file, line=error.lineno) from error
    except (ValueError, RecursionError) as error:  # also of numbers that are too long to be read
        raise LoadError("not JSON in UTF-8", file=file) from error
    except LoadError as error:
        raise LoadError(error.message, file=file, field=error.field, expected=error.expected) from error


def _without_repetition(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for key, value in pairs:
        if key in made:
            raise LoadError("the key is there twice", field=key, expected="each key once")
        made[key] = value
    return made


def _ours(value: Json, source: Source) -> Loaded:
    """Our own spelling: `permissions` as in settings, and `prefix_rules`; nothing else."""
    from policyengine.config.permissions_prefix import prefix_rules  # noqa: PLC0415  as above

    fields = _object(value, source.file, "")
    for key in fields:
        if key not in ("permissions", "prefix_rules"):
            raise LoadError("an unknown key", file=source.file, field=key, expected="`permissions` or `prefix_rules`")
    loaded = _settings(fields, source)
    given = fields.get("prefix_rules", [])
    return replace(loaded, rules=(*loaded.rules, *prefix_rules(given, source)))


def _settings(fields: Mapping[str, Json], source: Source) -> Loaded:
    _check_spelling(fields, source.file)
    permissions = _object(fields.get("permissions", {}), source.file, "permissions")
    for key in permissions:
        if key not in LISTS and key not in OTHER_KEYS and key != MODE:
            known = ", ".join([*LISTS, MODE, *sorted(OTHER_KEYS)])
            raise LoadError("an unknown key, which would have no effect", file=source.file, field=f"permissions.{key}",
                            expected=known)  # fmt: skip
    rules: list[Rule] = []
    refused: list[Refused] = []
    for key, outcome in LISTS.items():
        for at, text in enumerate(_texts(permissions.get(key, []), source.file, f"permissions.{key}")):
            try:
                rules.append(Rule(outcome=outcome, pattern=_checked(text, outcome), source=source))
            except LoadError as error:
                if outcome is not Outcome.ALLOW:
                    raise _placed(error, source.file, f"permissions.{key}.{at}", text) from error
                refused.append(Refused(file=source.file, text=text, reason=_reason(error)))
    mode = _mode(permissions, source)
    managed = source.tier is Tier.ORGANISATION and _truth(fields.get(MANAGED_ONLY, False), source.file, MANAGED_ONLY)
    return Loaded(
        rules=(*rules, *_rules_of(mode, source)),
        refused=tuple(refused),
        modes={source.file: mode} if mode else {},
        managed_only=managed,
    )


def _check_spelling(fields: Mapping[str, Json], file: str) -> None:
    """Refuse a key that only looks like one that is read: its rules would have no effect."""
    for key in fields:
        meant = _READ.get(key.strip().casefold(), key)
        if key != meant:
            raise LoadError("a key that is not read as it is spelled", file=file, field=key, expected=f"`{meant}`")


_READ = {key.casefold(): key for key in ("permissions", MANAGED_ONLY)}


def _mode(permissions: Mapping[str, Json], source: Source) -> str:
    mode = permissions.get(MODE, "")
    if mode != "" and (not isinstance(mode, str) or mode not in MODES):
        field = f"permissions.{MODE}"
        raise LoadError(f"there is no mode `{mode}`", file=source.file, field=field, expected=", ".join(MODES))
    return str(mode)


def _rules_of(mode: str, source: Source) -> Iterable[Rule]:
    for outcome, text in MODES.get(mode, ()):
        pattern = replace(pattern_of(text), text=f"{MODE}: {mode}")
        yield Rule(outcome=outcome, pattern=pattern, source=source)


def _checked(text: str, outcome: Outcome) -> ToolPattern:
    """A rule's words, as far as they can say something for its outcome."""
    pattern = pattern_of(text)
    if pattern.tool.startswith("mcp__") and len(pattern.tool.split("__")[1]) == 0:
        raise LoadError("a rule that names no MCP server", expected="`mcp__SERVER` or `mcp__SERVER__TOOL`")
    if outcome is Outcome.ALLOW:
        _check_allowed(pattern)
    return pattern


def _check_allowed(pattern: ToolPattern) -> None:
    if pattern.is_glob and not _is_anchored(pattern.tool):
        raise LoadError("an allow rule for tools by a glob", expected="a name, or a glob behind `mcp__SERVER__`")
    if is_parameter(pattern) and pattern.about is not About.SKILL:
        raise LoadError("an allow rule about one parameter, which makes no call safe", expected="a deny or ask")
    if pattern.specifier is not None and pattern.about is About.TOOL:
        raise LoadError(f"`{pattern.tool}` takes nothing in parentheses", expected=f"`{pattern.tool}`")


def _is_anchored(tool: str) -> bool:
    server, _, rest = tool.removeprefix("mcp__").partition("__")
    return tool.startswith("mcp__") and bool(rest) and is_server(f"mcp__{server}") and "*" not in server


def _reason(error: LoadError) -> str:
    return f"{error.message} (expected {error.expected})" if error.expected else error.message


def _placed(error: LoadError, file: str, field: str, text: str) -> LoadError:
    return LoadError(f"`{text}`: {error.message}", file=file, field=field, expected=error.expected)


def _object(value: Json, file: str, field: str) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise LoadError("not an object", file=file, field=field, expected="an object with keys")
    return value


def _truth(value: Json, file: str, field: str) -> bool:
    if not isinstance(value, bool):
        raise LoadError("neither true nor false", file=file, field=field, expected="true or false")
    return value


def _texts(value: Json, file: str, field: str) -> Sequence[str]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise LoadError("not a list of rules", file=file, field=field, expected='a list of texts such as "Bash(ls)"')
    return value


# --------------------------------------------------------------------------------------------------------- for a policy
def permissions_of(ready: Ready, rules: Iterable[Rule], real: Callable[[str], str] = as_written) -> Permissions:
    """Make a policy of rules, over the descriptions and the profile that calls are judged by.

    Args:
        ready: what an engine is built of.
        rules: the rules.
        real: follows the links of a path, where the files are those that the calls are about.
    """
    standing = Standing(
        never=tuple(ready.standing.get("never", ())), particular=tuple(ready.standing.get("particular", ()))
    )
    return Permissions(rules, means_of(ready, real), standing)


def means_of(ready: Ready, real: Callable[[str], str] = as_written) -> Means:
    """Give what patterns are compared by: the descriptions that calls are judged by, and how links are followed."""

    def read(request: Request, text: str) -> Facts:
        return ready.analyze(replace(request, resource=_SHELL, arguments={"command": text}), START)

    def naming(tool: str) -> str:
        described = ready.tool(tool)
        return tool if described is None else described.name

    @cache
    def synonyms(words: tuple[str, ...]) -> Mapping[str, str]:
        return synonyms_of(words, ready.programs)

    return Means(read=read, naming=naming, real=real, synonyms=synonyms)


_SHELL = Resource(ResourceKind.TOOL, "bash")
