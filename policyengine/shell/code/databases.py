"""What database clients are asked to do: statements of SQL, and commands of the clients themselves.

A client starts programs, reads and writes files besides asking its database (psql(1), meta-commands; sqlite3(1), dot
commands; mysql(1), commands; duckdb.org, COPY and table functions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from policyengine.patterns import lazily
from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.paths import base_name
from policyengine.shell.values import UNKNOWN, Value

MAX_CODE = 64 * 1024
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "python", "python3", "perl", "ruby", "node"})

_COMMENT = lazily(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_DESTROYS = lazily(r"(?:DROP|TRUNCATE)\b", re.IGNORECASE)
_DELETES = lazily(r"(?:DELETE\s+FROM|UPDATE)\b", re.IGNORECASE)
_WRITES = lazily(r"(?:INSERT|UPDATE|DELETE|REPLACE|MERGE|CREATE|ALTER|COPY|LOAD|VACUUM|REINDEX)\b", re.IGNORECASE)
_ADMINISTERS = lazily(
    r"(?:GRANT|REVOKE|CREATE\s+(?:USER|ROLE)|ALTER\s+(?:USER|ROLE|SYSTEM)|SET\s+PASSWORD|SHUTDOWN)\b", re.IGNORECASE
)
_RUNS = lazily(
    r"xp_cmdshell|\bTO\s+PROGRAM\b|\bFROM\s+PROGRAM\b|\bsys_exec\b|\bload_extension\b|\bINTO\s+(?:OUT|DUMP)FILE\b"
    r"|(?:^|\n)\s*(?:\\!|\.shell|\.system|\.load|system)\s|\bwritefile\s*\(",
    re.IGNORECASE,
)

_START = r"(?:^|\n)[ \t]*"
_META = r"(?:^|(?<=[\s;]))"
# Text for a shell. What a client prints goes into the programs of the first group.
_PIPED = lazily(
    rf"{_START}\.(?:output|once|excel|log)\s+(?:-\w+\s+)*['\"]?\|([^\n]*)"
    rf"|{_META}\\(?:[goEw]|gx|g\s*\([^)\n]*\))\s*['\"]?\|([^\n]*)|{_START}(?:pager|\\P)[ \t]+([^\n;]+)"
)
_SHELLED = lazily(
    rf"{_START}\.(?:shell|system|sh|sy)\s+([^\n]*)|{_META}\\!\s*([^\n]*)|{_START}system\s+([^\n]*)"
    rf"|{_START}\.(?:read|import|open)\s+(?:-+\w+\s+)*['\"]?\|([^\n]*)"
    r"|(?i:\b(?:TO|FROM)\s+PROGRAM)\s+'((?:[^']|''){1,4000})'"
    r"|\bedit\s*\([^()']{0,400}(?:'(?:[^']|'')*'[^()']{0,400})?,\s*'((?:[^']|''){1,4000})'\s*\)"
    rf"|{_META}\\setenv\s+\S*(?:PAGER|EDITOR|VISUAL|SHELL)\s+([^\n]*)|{_META}\\\w+[^\n`]{{0,400}}`([^`\n]+)`"
)
_SCRIPT = lazily(rf"(?:{_START}(?:\.read|source|\\\.)|{_META}\\ir?|{_META}\\include)[ \t]+['\"]?([^\s'\"|;][^\s'\";]*)")
_NAME = r"'((?:[^'\n]|''){1,1000})'"
_OUTPUT = lazily(
    rf"(?:{_START}\.(?:output|once|log|backup|save|clone)|{_META}\\(?:[goEws]|gx)|{_START}(?:tee|\\T))"
    r"[ \t]+(?:--?\w+[ \t]+)*['\"]?([^\s'\"|;-][^\s'\";]*)"
)
_WRITTEN = lazily(
    rf"\bwritefile\s*\(\s*{_NAME}|\bINTO\s+(?:OUT|DUMP)FILE\s+{_NAME}|\bVACUUM\s+INTO\s+{_NAME}"
    rf"|\bCOPY\b[^;]{{1,4000}}?\bTO\s+{_NAME}|\bEXPORT\s+DATABASE\s+{_NAME}|\blo_export\s*\([^,()]*,\s*{_NAME}",
    re.IGNORECASE,
)
_INPUT = lazily(rf"{_START}\.(?:import|open|restore)\s+(?:--?\w+\s+)*['\"]?([^\s'\"|-][^\s'\"]*)")
_READ = lazily(
    rf"\bATTACH\s+(?:DATABASE\s+)?{_NAME}|\bCOPY\b[^;']{{1,4000}}?\bFROM\s+{_NAME}|\bINFILE\s+{_NAME}"
    r"|\b(?:readfile|load_file|lo_import|read_\w+|\w+_scan|sniff_csv|pg_read_\w+|pg_ls_dir)\s*\(\s*\[?\s*"
    rf"{_NAME}|\bFROM\s+{_NAME}",
    re.IGNORECASE,
)
_FILES = (
    (Kind.SCRIPT, _SCRIPT),
    (Kind.WRITE, _OUTPUT),
    (Kind.WRITE, _WRITTEN),
    (Kind.READ, _INPUT),
    (Kind.READ, _READ),
)
_LITERALS = lazily(r"'((?:[^']|''){1,4000})'")


def _named(found: re.Match[str]) -> str:
    return next((group for group in found.groups() if group), "").strip()


def _around_sql(text: str) -> list[Act]:
    """What a client does for a statement or command besides asking the database: programs and files."""
    acts = [act for found in _PIPED.finditer(text) for act in _piped(text, found)]
    for found in _SHELLED.finditer(text):
        command = _named(found).rstrip("'\"").replace("''", "'")
        acts.append(Act(Kind.SHELL, Value(command) if command else UNKNOWN, start=found.start(), end=found.end()))
    for kind, pattern in _FILES:
        acts += [_file(kind, found) for found in pattern.finditer(text)]
    return acts


def _piped(text: str, found: re.Match[str]) -> Iterator[Act]:
    """A program that is given what the client prints: the texts of statements, where it runs what it is given."""
    act = Act(Kind.SHELL, Value(_named(found).rstrip("'\"")), start=found.start(), end=found.end())
    yield act
    words = act.value.text.split() or [""]
    if base_name(words[0]) in _SHELLS and not any(word.startswith(("-c", "-e")) for word in words[1:]):
        yield act._replace(value=UNKNOWN)
        for literal in _LITERALS.findall(text, found.end()):
            yield act._replace(value=Value(literal.replace("''", "'")))


def _file(kind: Kind, found: re.Match[str]) -> Act:
    name = _named(found).replace("''", "'")
    if "://" in name:
        return Act(Kind.FETCH, Value(name), start=found.start(), end=found.end())
    return Act(kind, Value(name), ("sql",) if kind is Kind.SCRIPT else (), start=found.start(), end=found.end())


def read_sql(text: str) -> list[Act]:
    """SQL by statements: destroying (DROP, TRUNCATE, DELETE or UPDATE without WHERE), administering, writing."""
    if len(text) > MAX_CODE:
        return [Act(Kind.OPAQUE, UNKNOWN, ("statements too long to be read",))]
    acts = _around_sql(text)
    for statement in _COMMENT.sub(" ", text).split(";"):
        words = statement.strip()
        if _RUNS.search(words):
            acts.append(Act(Kind.DATABASE, Value(words), ("sql", "execute")))
        action = _action(words)
        if action:
            acts.append(Act(Kind.DATABASE, Value(words), ("sql", action)))
    return acts


def _action(statement: str) -> str:
    if _DESTROYS.match(statement):
        return "destroy"
    if _ADMINISTERS.match(statement):
        return "admin"
    if _DELETES.match(statement) and not re.search(r"\bWHERE\b", statement, re.IGNORECASE):
        return "destroy"
    return "write" if _WRITES.match(statement) else ""
