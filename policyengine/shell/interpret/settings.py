"""Settings of git that name what it runs (git-config(1)): those that this run made count whenever it runs git."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from policyengine.effects import CLEAN, HOLE, Where
from policyengine.patterns import lazily
from policyengine.shell.interpret.evaluate import Code, ScriptFile, evaluate, run_some
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.interpret.known import drop_unread
from policyengine.shell.interpret.streams import Stream
from policyengine.shell.paths import resolve
from policyengine.shell.values import Value, from_template

MAX_SETTINGS = 200  # lines of one file that are looked at
_RUN = {
    "core": frozenset({"pager", "editor", "sshcommand", "fsmonitor", "askpass", "gitproxy", "alternaterefscommand"}),
    "diff": frozenset({"external", "command", "textconv"}),
    "merge": frozenset({"driver"}),
    "filter": frozenset({"clean", "smudge", "process"}),
    "interactive": frozenset({"difffilter"}),
    "sequence": frozenset({"editor"}),
    "gpg": frozenset({"program"}),
    "difftool": frozenset({"cmd"}),
    "mergetool": frozenset({"cmd"}),
    "browser": frozenset({"cmd"}),
    "man": frozenset({"cmd"}),
    "trailer": frozenset({"cmd", "command"}),
    "tar": frozenset({"command"}),
    "remote": frozenset({"uploadpack", "receivepack"}),
}
_MARKED = frozenset({"alias", "credential", "submodule"})  # run where they begin with `!`
_LINE = lazily(
    r"^[ \t]*(?=\S)(?:\[\s*([\w.-]+)[^\]\n]*\])?[ \t]*(?:([A-Za-z][\w-]*)[ \t]*=[ \t]*((?:[^\n\\]|\\.)*))?",
    re.MULTILINE,
)
_ESCAPED = lazily(r"\\(.)|\"")


def run_settings(invocation: Invocation) -> None:
    """Read what this run wrote into the configuration of a repository or of its user; keep what a call sets."""
    machine = invocation.machine
    if machine.where is not Where.HERE:
        return
    operands = [value.template for value in invocation.reading.operands if value.text != "set"]
    if "runs" in invocation.reading.flags and len(operands) > 1:
        section, _, key = operands[0].partition(".")
        text = f"[{section}]\n{key.rpartition('.')[2]} = {operands[1]}\n".replace("\\", "\\\\")
        path = resolve(".git/config", invocation.cwd).path
        machine.write_file(path, Stream(text), append=True)
        return
    roots = [invocation.cwd.path, *machine.situation.workspace]
    paths = [*[f"{root.rstrip('/')}/.git/config" for root in roots], f"{machine.situation.home}/.gitconfig"]
    for file in [file for path in dict.fromkeys(paths) for file in machine.file(path)]:
        for section, key, text in _settings(file.text or ""):
            _run(invocation, section, key, from_template(text, file.taint, invocation.span))


def _run(invocation: Invocation, section: str, key: str, value: Value) -> None:
    machine = invocation.machine
    at = len(machine.effects)
    if (section, key) == ("core", "hookspath"):
        hooks = ScriptFile(resolve(value.text, invocation.cwd).path + "/", True, (), invocation.span, "sh")
        run_some(machine, hooks)
    elif section == "pager" or key in _RUN.get(section, CLEAN):
        machine.forked(lambda: evaluate(machine, Code("sh", value, "file", invocation.origin)))
    elif section in _MARKED and value.text.startswith("!"):
        code = value._replace(text=value.text[1:])
        machine.forked(lambda: evaluate(machine, Code("sh", code, "file", invocation.origin)))
    drop_unread(machine, at)


def _settings(text: str) -> Iterator[tuple[str, str, str]]:
    """Section, key in small letters, and value of each line that sets something."""
    section, found = "", _LINE.finditer(text.replace("\\\n", ""))
    for line in itertools.islice(found, MAX_SETTINGS):
        if line[1] is not None:
            section = line[1].lower().partition(".")[0]
        if line[2] is not None:
            yield section, line[2].lower(), _ESCAPED.sub(lambda one: one[1] or "", line[3]).strip().rstrip(HOLE)
