"""What permission rules say that does nothing, or something else than it seems to.

A rule is dead where a deny or ask rule takes every call that it is about, shadowed where another of its own kind is as
wide; `covered_by` says so only where it is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from policyengine.config.permissions import MODES, Loaded
from policyengine.model import Outcome, Tier
from policyengine.policies.permissions import About, Rule, ToolPattern
from policyengine.policies.permissions.commands import STAR, CommandPattern
from policyengine.policies.permissions.globs import fits
from policyengine.policies.permissions.paths import Anchor
from policyengine.policies.permissions.syntax import TOOLS, names_tool
from policyengine.records import Record

ROOT_FOLDERS = frozenset({
    "Users", "home", "etc", "usr", "var", "tmp", "opt", "root", "mnt", "srv", "bin", "dev", "proc", "Volumes",
    "private",
})  # fmt: skip
# Programs that run another one which their words name: a star behind them covers none of those.
RUNNERS = frozenset({
    "npx", "bunx", "uvx", "pipx", "sudo", "doas", "env", "xargs", "watch", "nohup", "ssh", "bash", "sh", "zsh", "eval",
    "find", "direnv", "mise", "devbox", "nix-shell", "docker", "podman", "kubectl", "uv", "poetry", "pnpm", "time",
})  # fmt: skip
INTERPRETERS = frozenset({"python", "python3", "node", "deno", "ruby", "perl", "php", "bash", "sh", "zsh"})


class Complaint(Record):
    """What is wrong with a rule.

    Attributes:
        file: the file of the rule.
        text: the rule as written; empty where it is about the file.
        code: refused, dead, shadowed, never, particular, untrusted, wide, unknown-tool, anchor, mode, unused.
        message: why, and what would do.
    """

    file: str
    text: str
    code: str
    message: str


def lint_permissions(loaded: Loaded, knows: Callable[[str], bool]) -> Iterator[Complaint]:
    """Complain about permission rules.

    Args:
        loaded: what the files say.
        knows: whether a tool of this name is described.
    """
    for refused in loaded.refused:
        yield Complaint(file=refused.file, text=refused.text, code="refused", message=refused.reason)
    for file, mode in loaded.modes.items():
        if not MODES[mode] and mode != "default":
            yield Complaint(
                file=file, text=f"defaultMode: {mode}", code="mode",
                message="not taken: no mode changes what is asked; name what is allowed",
            )  # fmt: skip
    for at, rule in enumerate(loaded.rules):
        yield from _about(rule, loaded.rules[:at], loaded.rules, knows)


def _about(
    rule: Rule, earlier: Sequence[Rule], rules: Sequence[Rule], knows: Callable[[str], bool]
) -> Iterator[Complaint]:
    for code, message in _faults(rule, earlier, rules, knows):
        yield Complaint(file=rule.source.file, text=rule.pattern.text, code=code, message=message)


def _faults(
    rule: Rule, earlier: Sequence[Rule], rules: Sequence[Rule], knows: Callable[[str], bool]
) -> Iterator[tuple[str, str]]:
    if rule.outcome is Outcome.ALLOW and rule.source.tier is Tier.PROJECT:
        yield "untrusted", "a project's file allows nothing until a person trusts it (`policyengine trust`)"
    stricter = next((one for one in rules if one.outcome > rule.outcome and covered_by(rule, one)), None)
    if stricter is not None:
        yield "dead", f"the {stricter.outcome.word} rule {stricter.title} takes all that it is about"
    same = next((one for one in _others(rule, earlier, rules) if covered_by(rule, one)), None)
    if same is not None and stricter is None:
        yield "shadowed", f"the {same.outcome.word} rule {same.title} is as wide"
    if not _is_known(rule.pattern, knows):
        yield "unknown-tool", f"no tool `{rule.pattern.tool}` is described; a name is compared letter by letter"
    yield from _shape_faults(rule)


def _others(rule: Rule, earlier: Sequence[Rule], rules: Sequence[Rule]) -> Iterator[Rule]:
    """Rules of the same kind that may make a rule idle: of two that are equally wide, the earlier."""
    for one in rules:
        if one is rule or one.outcome is not rule.outcome or not _speaks_for(one, rule):
            continue
        if one in earlier or not covered_by(one, rule):
            yield one


def _speaks_for(one: Rule, rule: Rule) -> bool:
    """Whether a rule holds wherever the other does."""
    if rule.outcome is not Outcome.ALLOW:
        return True
    return one.source.tier is not Tier.PROJECT and one.source.project in ("", rule.source.project)


def _is_known(pattern: ToolPattern, knows: Callable[[str], bool]) -> bool:
    if pattern.is_glob or pattern.tool.startswith("mcp__") or pattern.tool in TOOLS:
        return True
    return knows(pattern.tool)


# ---------------------------------------------------------------------------------------------------------------- width
def covered_by(rule: Rule, wider: Rule) -> bool:
    """Whether every call that a rule is about is one that the other is about, as far as can be told."""
    one, other = rule.pattern, wider.pattern
    if other.specifier is None and names_tool(other, one.tool):
        return True
    if other.specifier is None and one.specifier is not None and other.about is one.about is not About.TOOL:
        return True
    if one.about is not other.about or one.specifier is None or other.specifier is None:
        return False
    if one.command is not None and other.command is not None:
        return _command_covered(one.command, other.command, strict=wider.outcome is not Outcome.ALLOW)
    if one.path is not None and other.path is not None:
        return (
            one.path.anchor is other.path.anchor
            and rule.source.folder == wider.source.folder
            and (one.path == other.path or _segments_covered(one.path.segments, other.path.segments))
        )
    if one.host is not None and other.host is not None:
        return other.host.every or one.host == other.host or _host_covered(one, other)
    return (
        one.tool == other.tool
        and fits(other.specifier.removesuffix(":*").strip() + "*", one.specifier)
        and (one.specifier == other.specifier or other.specifier.endswith((STAR, ":*")))
    )


def _command_covered(one: CommandPattern, other: CommandPattern, *, strict: bool) -> bool:
    if not one.simple or not other.simple:
        return one == other
    if any(STAR in word for word in other.words):
        return one.words == other.words and (other.open or one.open is other.open)
    if len(one.words) < len(other.words) or one.words[: len(other.words)] != other.words:
        return False
    return other.open or strict or (one.words == other.words and not one.open)


def _segments_covered(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether a pattern of paths lies below another that ends in a star: `src/a.py` and `src/**`."""
    head = other[:-1]
    return other[-1:] == (STAR,) and len(one) >= len(other) and one[: len(head)] == head and "**" not in head


def _host_covered(one: ToolPattern, other: ToolPattern) -> bool:
    assert one.host is not None
    assert other.host is not None
    labels, wider = one.host.labels, other.host.labels
    return (
        other.host.below
        and not any(STAR in label for label in labels)
        and (labels[-len(wider) :] == wider and (len(labels) > len(wider) or one.host.below))
    )


# ---------------------------------------------------------------------------------------------------------------- shape
def _shape_faults(rule: Rule) -> Iterator[tuple[str, str]]:
    pattern = rule.pattern
    if pattern.path is not None and pattern.path.anchor is Anchor.SETTINGS:
        first = pattern.path.segments[0] if pattern.path.segments else ""
        if first in ROOT_FOLDERS:
            yield "anchor", f"`/{first}` begins at the folder of the settings, not at the root; expected `//{first}`"
    if pattern.command is not None:
        yield from _command_faults(pattern.command, rule)
    if rule.outcome is Outcome.ALLOW and pattern.specifier is None and pattern.about is About.COMMAND:
        yield "wide", "answers whatever a command is asked about, except what the profile keeps; name commands"


def _command_faults(command: CommandPattern, rule: Rule) -> Iterator[tuple[str, str]]:
    allows = rule.outcome is Outcome.ALLOW
    if not command.simple and allows and not command.exact:
        yield "never", "a line of several commands, or with redirections, is never covered by a pattern: one rule each"
    elif not command.simple and allows:
        yield "particular", "covers this line's own effects, and no other line"
    if any(":*" in word for word in command.words):
        yield "never", "`:*` counts at the end alone; elsewhere it is a colon and any text"
    if not allows or command.exact:
        return
    program = command.words[0]
    if program in INTERPRETERS and len(command.words) == 1:
        yield "wide", f"covers files that `{program}` runs, not code in its words or its input: name the script"
    elif program in RUNNERS and len(command.words) == 1:
        yield (
            "wide",
            f"covers `{program}`, not what it runs: name that too, as in `{program} NAME *`",
        )
