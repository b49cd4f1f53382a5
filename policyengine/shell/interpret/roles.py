"""What each role of an argument does: the table of `rules/commands/README.md` (Roles), one handler for each."""

from __future__ import annotations

import re
from collections.abc import Callable

from policyengine.effects import HOLE, SetVariable, Where
from policyengine.patterns import lazily
from policyengine.shell.interpret import files, network, terminals
from policyengine.shell.interpret.evaluate import Code, ScriptFile, evaluate, evaluate_input, run_script
from policyengine.shell.interpret.held import function_of, holds, run_held
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.interpret.processes import STANDARD_INPUT, standard
from policyengine.shell.paths import Path
from policyengine.shell.programs import Use
from policyengine.shell.values import Value

ATTRIBUTES = ("mode", "owner", "acl", "flags", "time", "label")


def _rest(invocation: Invocation, value: Value) -> list[Value]:
    """The operands after the one that is the code or the script."""
    operands = invocation.reading.operands
    for at, operand in enumerate(operands):
        if operand is value or (operand.span is not None and operand.span == value.span and operand.text == value.text):
            return list(operands[at + 1 :])
    return []


def _after(invocation: Invocation, use: Use) -> list[Value]:
    """What the code is given as arguments: all operands where an option carried it, else those after it."""
    return list(invocation.reading.operands) if use.option else _rest(invocation, use.value)


def _shell(invocation: Invocation, use: Use) -> None:
    """Shell code: `sh -c CODE NAME ARGUMENTS`, or what another program hands to a shell."""
    machine = invocation.machine
    rest = _after(invocation, use)
    name, arguments = (rest[0], rest[1:]) if rest else (None, [])
    invocation.printed = True

    def run() -> None:
        evaluate(machine, Code("sh", use.value, "argument", invocation.origin, arguments, name))

    _there(invocation, use, run)


def _there(invocation: Invocation, use: Use, run: Callable[[], None]) -> None:
    machine = invocation.machine
    if use.where is not Where.HERE and use.where is not machine.where:
        machine.elsewhere(use.where, run)
        return

    def here() -> None:
        invocation.handed_on()
        if invocation.cwd is not machine.cwd:
            machine.put("/cwd", invocation.cwd)
        run()

    machine.forked(here)


def _bang_shell(invocation: Invocation, use: Use) -> None:
    if use.value.text.startswith("!"):
        code = use.value._replace(text=use.value.text[1:])
        _there(invocation, use, lambda: evaluate(invocation.machine, Code("sh", code, "argument", invocation.origin)))


def language_role(invocation: Invocation, use: Use) -> None:
    """`code:LANG` and `script:LANG`."""
    kind, _, language = use.role.partition(":")
    machine = invocation.machine
    arguments = _after(invocation, use)
    if kind == "code":
        if language not in _TEXT_LANGUAGES:
            invocation.printed = True
        _there(
            invocation,
            use,
            lambda: evaluate(machine, Code(language, use.value, "argument", invocation.origin, arguments)),
        )
        return
    if kind != "script":
        return
    invocation.printed = True
    name = standard(use.value)
    if files.is_dash(use.value) or (name in STANDARD_INPUT and not machine.file(name)):
        evaluate_input(machine, language, arguments, invocation.span, invocation.origin)
        return
    files.read(invocation, use)
    path = Path(name) if name else invocation.path(use)
    file = ScriptFile(path.path, path.unknown, arguments, use.value.span, language)
    _there(invocation, use, lambda: run_script(machine, file, invocation.origin))


_TEXT_LANGUAGES = frozenset({"sed", "awk", "jq", "sql"})  # they print what they read


def _assign(invocation: Invocation, use: Use) -> None:
    name, _, text = use.value.text.partition("=")
    value = use.value._replace(text=text)
    machine = invocation.machine
    machine.effects.append(
        SetVariable(name, text, not value.exact, invocation.where(use), value.span, invocation.origin)
    )
    if holds(name):
        run_held(machine, name, value)
    function = function_of(name, value) if name[:9] == "BASH_FUNC" else None
    if function is not None:
        invocation.functions.append(function)
    invocation.assigned.append((name, value._replace(span=None)))


def _shell_option(invocation: Invocation, use: Use) -> None:
    """An option of the shell that is started, which it would as well find in its environment (bash manual 5.2)."""
    invocation.assigned.append(("BASHOPTS", use.value._replace(span=None)))


def _object(invocation: Invocation, use: Use) -> None:
    """What a revision holds at a path (`HEAD:.env`, gitrevisions(7)), or what may be a path itself."""
    text = use.value.text
    path = text.partition(":")[2] or (text if not _REVISION(text) or _is_behind_dashes(invocation, use.value) else "")
    if path:
        files.read(invocation, use._replace(value=use.value._replace(text=path)))


# What is no path; any other word may be one, or a revision.
_REVISION = re.compile(r".*(?:\.\.(?!/)|[\^:]|@\{|[^/]~)|@?\Z|(?:[A-Z]+_)?HEAD\Z|[0-9a-f]{7,40}\Z").match


def _is_behind_dashes(invocation: Invocation, value: Value) -> bool:
    arguments = invocation.arguments
    dashes = next((at for at, one in enumerate(arguments) if one.text == "--"), len(arguments))
    return value in arguments[dashes + 1 :]


def _write_out(invocation: Invocation, use: Use) -> None:
    """What curl says at the end (curl(1), --write-out): `@FILE` has the format, `%output{FILE}` leads it elsewhere."""
    text = use.value.text
    if text.startswith("@") and text != "@-":
        files.read(invocation, use._replace(role="read", value=use.value._replace(text=text[1:])))
    for found in _OUTPUT.finditer(use.value.template):
        value = use.value._replace(text=found[2], rest="", exact=HOLE not in found[2])
        (files.append if found[1] else files.write)(invocation, use._replace(role="write", value=value))


_OUTPUT = lazily(r"%output\{(>>)?([^}]+)\}")


def _no_effect(invocation: Invocation, use: Use) -> None:
    """A value that other handlers and templates look at."""


ROLES: dict[str, Callable[[Invocation, Use], None]] = {
    "read": files.read,
    "list": files.listed,
    "link": files.read,
    "stat": _no_effect,
    "write": files.write,
    "append": files.append,
    "edit": files.edit,
    "into": files.into,
    "onto": files.onto,
    "object": _object,
    "write-out": _write_out,
    "delete": files.delete,
    "move": files.move,
    **{f"attr-{attribute}": files.attribute(attribute) for attribute in ATTRIBUTES},
    "attr-value": _no_effect,
    "execute": files.execute,
    "chdir": files.chdir,
    "source": network.source,
    "target": network.target,
    "url": network.url,
    "document": network.document,
    "host": network.host,
    "instead": network.instead,
    "port": _no_effect,
    "listen": network.listen,
    "upload": network.upload,
    "upload-data": network.upload_data,
    "query-data": network.query_data,
    "said": network.said,
    "shell": _shell,
    "bang-shell": _bang_shell,
    "hole": _no_effect,
    "typed": terminals.typed,
    "pasted": terminals.pasted,
    "pasted-file": terminals.pasted_file,
    "formats": terminals.formats,
    "mount": _no_effect,
    "assign": _assign,
    "env-name": _no_effect,
    "shell-option": _shell_option,
    "user": _no_effect,
    "package": _no_effect,
}
