"""Prefix rules: words that a command begins with, each one text or several to choose from, with their own examples.

    prefix_rule(
        pattern = ["git", ["push", "fetch"]],
        decision = "prompt",                   # allow (if none is given), prompt or forbidden
        justification = "goes outward",
        match = ["git push origin", ["git", "fetch"]],
        not_match = ["git status"],
    )

The file form is Codex's (its documentation, "Rules"), a subset of Starlark that is also Python's: it is parsed, never
run, and nothing but literals is taken. In YAML the same keys stand in a list `prefix_rules`. Examples are checked when
a file is read. A star stands for itself.
"""

from __future__ import annotations

import ast
import itertools
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from policyengine.effects import Execute
from policyengine.errors import LoadError
from policyengine.model import Outcome
from policyengine.policies.permissions import About, Rule, Source, ToolPattern
from policyengine.policies.permissions.commands import CommandPattern, covers_command
from policyengine.records import replace

Json: TypeAlias = Any  # literals out of a file; taken apart here

DECISIONS: Mapping[str, Outcome] = {"allow": Outcome.ALLOW, "prompt": Outcome.ASK, "forbidden": Outcome.DENY}
KEYS = ("pattern", "decision", "justification", "match", "not_match")
MAX_WAYS = 256  # in which one pattern's choices may be combined


def prefix_rules(given: bytes | Json, source: Source) -> Iterator[Rule]:
    """Read prefix rules: a file's bytes, or the list out of a YAML file.

    Raises:
        LoadError: something is no prefix rule, or an example does not hold.
    """
    calls, paths = _calls(given, source.file) if isinstance(given, bytes) else (_items(given, source.file), {})
    for place, fields in calls:
        try:
            yield from _rules(fields, paths, source)
        except LoadError as error:
            raise LoadError(
                error.message, file=source.file, line=place or None, field=error.field, expected=error.expected
            ) from error


Calls: TypeAlias = list[tuple[int, Mapping[str, Json]]]  # line (0: not known) and fields of each rule


def _items(given: Json, file: str) -> Calls:
    if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
        raise LoadError("not a list of prefix rules", file=file, field="prefix_rules", expected="a list of mappings")
    return [(0, item) for item in given]


def _calls(data: bytes, file: str) -> tuple[Calls, dict[str, tuple[str, ...]]]:
    """The calls of a file, and where `host_executable` says that programs lie."""
    try:
        tree = ast.parse(data.decode("utf-8"), file)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = error.lineno if isinstance(error, SyntaxError) else None
        raise LoadError("not a file of prefix rules", file=file, line=line, expected="`prefix_rule(…)`") from error
    calls: Calls = []
    paths: dict[str, tuple[str, ...]] = {}
    for statement in tree.body:
        name, fields = _call(statement, file)
        if name == "prefix_rule":
            calls.append((statement.lineno, fields))
        elif name == "host_executable":
            paths |= _executable(fields, file, statement.lineno)
        else:
            raise LoadError(f"`{name}` is not read here", file=file, line=statement.lineno, expected="`prefix_rule`")
    return calls, paths


def _call(statement: ast.stmt, file: str) -> tuple[str, Mapping[str, Json]]:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise LoadError("a statement that is no rule", file=file, line=statement.lineno, expected="`prefix_rule(…)`")
    fields: dict[str, Json] = {}
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in fields:
            raise LoadError("an argument without a name of its own", file=file, line=statement.lineno)
        try:
            fields[keyword.arg] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, RecursionError, MemoryError, SyntaxError) as error:
            raise LoadError(
                "not a literal", file=file, line=keyword.value.lineno, field=keyword.arg, expected="texts and lists"
            ) from error
    return call.func.id, fields


def _executable(fields: Mapping[str, Json], file: str, line: int) -> dict[str, tuple[str, ...]]:
    name, paths = fields.get("name"), fields.get("paths")
    known = isinstance(name, str) and isinstance(paths, list) and all(isinstance(path, str) for path in paths)
    if not known or set(fields) != {"name", "paths"}:
        raise LoadError("not an executable of the host", file=file, line=line, expected="`name` and `paths`")
    return {str(name): tuple(map(str, paths or ()))}


# ---------------------------------------------------------------------------------------------------------------- rules
def _rules(fields: Mapping[str, Json], paths: Mapping[str, tuple[str, ...]], source: Source) -> Iterator[Rule]:
    for key in fields:
        if key not in KEYS:
            raise LoadError("an unknown argument", field=key, expected=", ".join(KEYS))
    choices = _choices(fields.get("pattern"))
    outcome = _outcome(fields.get("decision", "allow"))
    reason = fields.get("justification", "")
    if not isinstance(reason, str):
        raise LoadError("not a text", field="justification", expected="why the rule is there")
    commands = [
        CommandPattern(words=words, open=True, exact=False, literal=True, paths=paths.get(words[0], ()))
        for words in itertools.product(*choices)
    ]
    _check_examples(commands, fields, "match", True)
    _check_examples(commands, fields, "not_match", False)
    for command in commands:
        specifier = shlex.join(command.words)
        pattern = ToolPattern(
            text=f"prefix {specifier}", tool="Bash", specifier=specifier, about=About.COMMAND, command=command
        )
        yield Rule(outcome=outcome, pattern=pattern, source=source, reason=reason)


def _choices(given: Json) -> list[tuple[str, ...]]:
    if not isinstance(given, list) or not given:
        raise LoadError("a rule without words", field="pattern", expected="a list of words")
    choices = [_choice(word) for word in given]
    ways = 1
    for choice in choices:
        ways *= len(choice)
        if ways > MAX_WAYS:
            raise LoadError("too many ways to choose words", field="pattern", expected=f"at most {MAX_WAYS}")
    return choices


def _choice(given: Json) -> tuple[str, ...]:
    words = [given] if isinstance(given, str) else given
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word for word in words):
        raise LoadError("no word", field="pattern", expected="a text, or a list of texts to choose from")
    return tuple(words)


def _outcome(given: Json) -> Outcome:
    if not isinstance(given, str) or given not in DECISIONS:
        raise LoadError(f"there is no decision `{given}`", field="decision", expected=", ".join(DECISIONS))
    return DECISIONS[given]


def _check_examples(commands: Sequence[CommandPattern], fields: Mapping[str, Json], key: str, matches: bool) -> None:
    given = fields.get(key, [])
    if not isinstance(given, list):
        raise LoadError("not a list of commands", field=key, expected="commands that show what the rule is about")
    for example in given:
        words = _words(example, key)
        command = Execute(words[0], arguments=tuple(words[1:]))
        plain = [replace(one, paths=()) for one in commands]
        if any(covers_command(one, command) for one in plain) is not matches:
            verb = "should match and does not" if matches else "should not match and does"
            raise LoadError(f"the example `{shlex.join(words)}` {verb}", field=key, expected="examples that hold")


def _words(example: Json, key: str) -> list[str]:
    try:
        words = shlex.split(example) if isinstance(example, str) else example
    except ValueError as error:
        raise LoadError(f"`{example}` cannot be read", field=key, expected="closed quotes") from error
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise LoadError("no command", field=key, expected="a text, or a list of words")
    return words
