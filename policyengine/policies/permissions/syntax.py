r"""The words of a permission rule: `Tool` or `Tool(specifier)`, as agent runtimes write them, and what they are about.

The syntax is that of Claude Code's settings (its documentation, "Configure permissions"): the tool's name, then in
parentheses a command (`Bash(git diff:*)`), a path (`Read(./src/**)`), a host (`WebFetch(domain:x.test)`) or a name
(`Agent(x)`, `Skill(x)`). A bare name, `Tool()` and `Tool(*)` are about every use of the tool. `\(`, `\)` and `\\`
stand for themselves.
"""

from __future__ import annotations

from enum import StrEnum

from policyengine.errors import LoadError
from policyengine.patterns import lazily
from policyengine.policies.permissions.commands import CommandPattern, command_pattern
from policyengine.policies.permissions.globs import fits
from policyengine.policies.permissions.hosts import HostPattern, host_pattern
from policyengine.policies.permissions.paths import PathPattern, path_pattern
from policyengine.records import Record, replace

MAX_TEXT = 16_384  # characters of one rule

_NAME = lazily(r"[A-Za-z*][\w.*/ -]*\Z").match
_PARAMETER = lazily(r"\s*[A-Za-z_]\w*\s*\Z").match
_ESCAPED = lazily(r"\\([()\\])").sub


class About(StrEnum):
    """What the specifier of a tool's rule names."""

    COMMAND = "command"
    READ = "read"
    WRITE = "write"
    HOST = "host"
    AGENT = "agent"
    SKILL = "skill"
    TOOL = "tool"  # nothing but the tool itself


# Tool names of rules, as they are documented and as real files spell them, and what their specifiers name.
TOOLS: dict[str, About] = {
    "Bash": About.COMMAND,
    "Read": About.READ,
    "NotebookRead": About.READ,
    "Glob": About.READ,
    "Grep": About.READ,
    "LS": About.READ,
    "Edit": About.WRITE,
    "MultiEdit": About.WRITE,
    "Write": About.WRITE,
    "NotebookEdit": About.WRITE,
    "WebFetch": About.HOST,
    "Task": About.AGENT,
    "Agent": About.AGENT,
    "Skill": About.SKILL,
    "SlashCommand": About.SKILL,
}


SHELL_PARAMETERS = frozenset({"run_in_background", "timeout", "description", "dangerouslyDisableSandbox"})


class ToolPattern(Record):
    """A rule's words.

    Attributes:
        text: as written.
        tool: the tool's name, with `*` where it is a glob.
        specifier: what stands in the parentheses, escapes resolved; None where it is about every use.
        about: what the specifier names.
        command, path, host: the specifier as what it names; None where it names something else, or there is none.
    """

    text: str
    tool: str
    specifier: str | None
    about: About
    command: CommandPattern | None = None
    path: PathPattern | None = None
    host: HostPattern | None = None

    @property
    def is_particular(self) -> bool:
        """Whether it has no star anywhere: it names the very thing."""
        plain = self.command is None or self.command.exact
        return self.specifier is not None and plain and "*" not in self.specifier and not self.is_glob

    @property
    def is_glob(self) -> bool:
        """Whether the tool's name is a glob."""
        return "*" in self.tool

    def named(self, tool: str) -> ToolPattern:
        """Give the same with another tool's name."""
        return self if tool == self.tool else replace(self, tool=tool)

    def specified(self, specifier: str) -> ToolPattern:
        """Give the same with another specifier's text."""
        return self if specifier == self.specifier else replace(self, specifier=specifier)


def pattern_of(text: str) -> ToolPattern:
    """Read a rule's words.

    Raises:
        LoadError: they are none; the message says what is wrong.
    """
    if len(text) > MAX_TEXT:
        raise LoadError("a rule that is too long", expected=f"at most {MAX_TEXT} characters")
    written = text.strip()
    name, parenthesis, rest = written.partition("(")
    name = name.rstrip()
    if not name:
        raise LoadError("a rule without a tool's name", expected="`Tool` or `Tool(specifier)`")
    if not name.isascii() or not _NAME(name):
        raise LoadError(f"`{name}` is no name of a tool", expected="letters, digits, `_`, `-`, `.` or `*`")
    specifier = _specifier(rest) if parenthesis else None
    about = TOOLS.get(name, About.TOOL)
    bare = ToolPattern(text=text, tool=name, specifier=specifier, about=about)
    if specifier is None:
        return bare
    match about:
        case About.COMMAND if is_parameter(bare):
            return bare
        case About.COMMAND:
            return replace(bare, command=command_pattern(specifier))
        case About.READ | About.WRITE:
            return replace(bare, path=path_pattern(specifier))
        case About.HOST:
            return replace(bare, host=host_pattern(specifier))
        case _:
            return bare


def is_parameter(pattern: ToolPattern) -> bool:
    """Whether a specifier is `name:value` about an argument of the call (`Agent(model:opus)`), for deny and ask rules.

    For shell tools only their own parameters count, since a command may hold a colon.
    """
    specifier = pattern.specifier or ""
    name, colon, value = specifier.partition(":")
    if not colon or not value.strip() or not _PARAMETER(name):
        return False
    if pattern.about is About.COMMAND:
        return name.strip() in SHELL_PARAMETERS
    return pattern.about in (About.TOOL, About.AGENT, About.SKILL)


def names_tool(pattern: ToolPattern, tool: str) -> bool:
    """Whether a rule's tool name is that of a tool: exactly, as a glob, or as the server that the tool is from."""
    if pattern.is_glob:
        return fits(pattern.tool, tool)
    return pattern.tool == tool or (is_server(pattern.tool) and tool.startswith(f"{pattern.tool}__"))


def is_server(tool: str) -> bool:
    """Whether a name is that of an MCP server (`mcp__x`), not of one of its tools (`mcp__x__y`)."""
    return tool.startswith("mcp__") and "__" not in tool[5:] and len(tool) > 5


def names_subject(pattern: ToolPattern, subject: str) -> bool:
    """Whether a name is what the specifier names: exactly, or begun by one that ends in `:*` or ` *`."""
    wanted = (pattern.specifier or "").strip()
    for end in (":*", " *"):
        if wanted.endswith(end):
            head = wanted[: -len(end)]
            return subject == head or subject.startswith((f"{head}:", f"{head} "))
    return fits(wanted, subject)


def _specifier(rest: str) -> str | None:
    """What stands before the last parenthesis; None for nothing or a lone star."""
    if not rest.endswith(")") or _is_escaped(rest):
        raise LoadError("the parenthesis is not closed", expected="`)` at the end")
    inner = _ESCAPED(r"\1", rest[:-1])
    return None if inner.strip() in ("", "*") else inner


def _is_escaped(rest: str) -> bool:
    """Whether the last character has an odd number of backslashes before it."""
    before = rest[:-1]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
