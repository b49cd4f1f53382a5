"""Variables that hold commands, code or options: what programs and the shell itself run out of them."""

from __future__ import annotations

import re
from collections.abc import Callable

from policyengine.effects import Effect, EvaluateCode, Execute, Opaque
from policyengine.patterns import lazily
from policyengine.shell.interpret.evaluate import Code, evaluate, shell_text
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.redirects import place_of
from policyengine.shell.interpret.streams import NOTHING
from policyengine.shell.values import Value

MAX_OPTIONS = 32  # words of one variable
# Shell text: git(1) section ENVIRONMENT, man(1), less(1), systemctl(1), ssh(1), bash manual 5.2, cargo reference 3.5,
# and the manuals of gh, bat, delta, psql, aws, sudo and kubectl.
_SHELL = """
    PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER GH_PAGER GLAB_PAGER BAT_PAGER DELTA_PAGER PSQL_PAGER AWS_PAGER
    LESSOPEN LESSCLOSE EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR SYSTEMD_EDITOR GH_EDITOR PSQL_EDITOR
    SUDO_EDITOR KUBE_EDITOR FCEDIT LESSEDIT HGEDITOR SVN_EDITOR BUNDLER_EDITOR GEM_EDITOR BROWSER GH_BROWSER
    GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS GIT_PROXY_COMMAND
    KUBECTL_EXTERNAL_DIFF PROMPT_COMMAND FZF_DEFAULT_COMMAND RSYNC_RSH CVS_RSH SVN_SSH CC CXX CPP LD RUSTC
    RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC CARGO_BUILD_RUSTC_WRAPPER
"""
_COMMANDS = frozenset(_SHELL.split())
_PROMPTS = frozenset({"PS0", "PS1", "PS2", "PS4"})  # expanded as in double quotes (bash manual 6.9)
_FILES = frozenset({"BASH_ENV", "ENV"})  # read before anything else (bash manual 6.2)
_CODE = {"PERL5DB": "perl"} | dict.fromkeys(("LUA_INIT", *(f"LUA_INIT_5_{minor}" for minor in range(1, 5))), "lua")
_JAVA = "JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS MAVEN_OPTS GRADLE_OPTS SBT_OPTS"
# Options that a program takes beside those of its command line, by what stands before them.
_OPTIONS = {
    "LESS": "less", "FZF_DEFAULT_OPTS": "fzf", "MAKEFLAGS": "make", "GNUMAKEFLAGS": "make", "MAKEFILES": "make -f",
    "NODE_OPTIONS": "node", "BUN_OPTIONS": "bun", "RUBYOPT": "ruby", "PERL5OPT": "perl", "TAR_OPTIONS": "tar",
    "GOFLAGS": "go build", "RUSTFLAGS": "rustc", "CARGO_BUILD_RUSTFLAGS": "rustc",
    **dict.fromkeys(_JAVA.split(), "java"),
}  # fmt: skip
_HELD = _COMMANDS | _PROMPTS | _FILES | _CODE.keys() | _OPTIONS.keys()
_BY_CARGO = re.compile(r"CARGO_TARGET_[A-Z0-9_]+_(?:RUNNER|LINKER)\Z").match
_SETTING = re.compile(r"(?:(PIP|UV)|((?i:npm))_(?i:config))_(\w+)\Z").match  # an option of that program


def holds(name: str) -> bool:
    """Whether a program runs, or takes as options, what a variable of this name holds."""
    return name in _HELD or _BY_CARGO(name) is not None or _SETTING(name) is not None


def run_held(machine: Machine, name: str, value: Value) -> None:
    """Add what the text in a variable does. That a part of it is not understood is no news: setting it is an effect."""
    if name in _CODE:
        _aside(machine, lambda: evaluate(machine, Code(_CODE[name], value, "argument", name)))
    words = _words(name, value)
    if words:
        _aside(machine, lambda: machine.runner.words(machine, words), words[0].text)
    for code in _code(machine, name, value):
        _aside(machine, lambda code=code: shell_text(machine, code))  # type: ignore[misc]


def _aside(machine: Machine, run: Callable[[], None], program: str = "") -> None:
    """Run something, and leave out what is unknown and that a program starts which this variable does not start."""
    at = len(machine.effects)
    out, machine.out = machine.out, None

    def quietly() -> None:
        machine.stdin = NOTHING
        run()

    machine.forked(quietly)
    machine.out = out
    machine.effects[at:] = [effect for effect in machine.effects[at:] if not _is_no_news(effect, program)]


def _is_no_news(effect: Effect, program: str) -> bool:
    if isinstance(effect, EvaluateCode):
        return effect.source == "stdin" and program != ""
    return isinstance(effect, Opaque) or (isinstance(effect, Execute) and effect.program == program)


def _words(name: str, value: Value) -> tuple[Value, ...]:
    """A command with the options that a variable holds, or that it is (`PIP_INDEX_URL`, `npm_config_registry`)."""
    before = _OPTIONS.get(name)
    if before is not None:
        options = _OPTION.findall(value.text)[:MAX_OPTIONS]
        return (*map(Value, before.split()), *(value._replace(text=_unquoted(option)) for option in options))
    setting = _SETTING(name)
    if setting is None:
        return ()
    program, option = (setting[1] or setting[2]).lower(), f"--{setting[3].lower().replace('_', '-')}="
    return (Value(program), value._replace(text=option + value.text))


def _unquoted(option: str) -> str:
    return option if _OPEN(option) else _QUOTES("", option)


_OPEN = re.compile(r"\+|.*\$\(").match  # an initial command of less, code of make: taken as they are
_QUOTES = re.compile(r"[\"'\\]").sub
_OPTION = lazily(r"""\+[^$\n]+|(?:"[^"]*"|'[^']*'|\$\([^)]*\)|\\.|[^\s"'\\]|["'\\])+""")


def function_of(name: str, value: Value) -> Value | None:
    """What a variable of an exported function defines: `BASH_FUNC_f%%=() { …; }` (bash manual 3.3)."""
    found = _FUNCTION(name)
    if found is None or not value.text.startswith("()"):
        return None
    return value._replace(text=f"{found[1]} {value.text}")


_FUNCTION = re.compile(r"BASH_FUNC_(.+)(?:%%|\(\))\Z", re.DOTALL).match


def _code(machine: Machine, name: str, value: Value) -> list[Value]:
    if name in _COMMANDS or _BY_CARGO(name):
        return [value._replace(text=value.text.lstrip("|-"))]
    if name in _PROMPTS:
        text = value.text.replace('"', "")
        return [value._replace(text=f': "{text}"')] if "$(" in text or "`" in text else []
    if name not in _FILES:
        return []
    path = place_of(machine, value)
    versions = () if path.unknown else machine.file(path.path)
    return [Value(version.text, span=value.span) for version in versions if version.text is not None]
