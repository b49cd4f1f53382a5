"""Command lines of vim, ex and ed (index.txt, editing.txt, various.txt; ex(1p); ed(1)).

Each line holds commands between bars: a range, a name that may be abbreviated, arguments. The rows of `rows` say what
the commands that matter do with their arguments; commands that take a command are read again. Calls in expressions
(`system()`, `delete()`) count wherever they stand. A command that is in no row only moves, shows or changes text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from policyengine.patterns import lazily
from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.code.calls import MAX_CODE
from policyengine.shell.code.editors.actions import Line, keys
from policyengine.shell.code.editors.expressions import read_calls
from policyengine.shell.code.editors.rows import COMMANDS, EXPRESSIONS, PIPING, WHOLE
from policyengine.shell.values import UNKNOWN

MAX_NESTED = 6  # commands inside commands
MAX_LINES = 2000  # of one text
_RANGE = (
    r"[ \t:]*(?P<range>(?:[%.$\d,;+\-*]|'[\w<>\[\]]|/(?:[^/\\\n]|\\.){0,400}/|\?(?:[^?\\\n]|\\.){0,400}\?"
    r"|[ \t]+(?=[%.$\d,;+\-'!]))*)"
)
_COMMAND = lazily(_RANGE + r"[ \t:]*(?P<name>py3\w*|python3|[A-Za-z]+|!)?(?P<bang>!?)[ \t]*")
_NO_BLOCK: list[str] = []
_LITERAL = lazily(r"[ \t]*(?:\"((?:[^\"\\\n]|\\.){0,4000})\"|'((?:[^'\n]|''){0,4000})')")
_BAR = lazily(r"(?:[^|\\\n]|\\.)*+")
_TEXT_BAR = lazily(r"(?:\"(?:[^\"\\\n]|\\.)*+\"|'[^'\n]*'|\|\||[^|\n])*+")
_BLOCK = lazily(r"[ \t:]*[%.$\d,]*[ \t]*(?:[aic]|append|insert|change)!?[ \t]*\Z").match
_HEREDOC = lazily(r"<<[ \t]*(?:trim[ \t]+)?(\S*)[ \t]*\Z").match
_PUT = lazily(r"\b(?:setline|append|setbufline|appendbufline)\s*\([^\"'\n]{0,80}\[?(.*)")


def read_vim(text: str) -> list[Act]:
    """Commands of vim, ex or ed, and the calls in their expressions."""
    if len(text) > MAX_CODE:
        return [Act(Kind.OPAQUE, UNKNOWN, ("commands too long to be read",))]
    return list(dict.fromkeys([*read_commands(text, (), 0), *read_calls(text)]))


def read_keys(text: str) -> list[Act]:
    """Keys that are typed into vim."""
    return keys(Line(read_commands, text))


def read_commands(text: str, put: tuple[str, ...], depth: int) -> list[Act]:
    """Commands of which nothing outside is known but what is `put` into the buffer, and how deeply they are nested."""
    acts: list[Act] = []
    if depth > MAX_NESTED:
        return [Act(Kind.OPAQUE, more=("commands are nested too deeply",))]
    lines, at, start = text.split("\n"), 0, 0
    while at < min(len(lines), MAX_LINES):
        line, first = lines[at], start
        block = _block(lines, at)
        if block:
            put = (*put, "\n".join(block))
        elif (found := _PUT.search(line)) is not None:
            put = (
                *put,
                *["\n".join([one[1] or one[2] or "" for one in _LITERAL.finditer(found[1].replace(",", " "))])],
            )
        made = () if _BLOCK(line) else _line(line, "\n".join(block), put, depth)
        acts += [act._replace(start=first, end=first + len(line)) if not depth else act for act in made]
        taken = 1 + (len(block) + 1 if block is not _NO_BLOCK else 0)
        start += sum(len(one) + 1 for one in lines[at : at + taken])
        at += taken
    return acts


def _block(lines: list[str], at: int) -> list[str]:
    """The lines behind one that begins a text: up to a single dot (`a`, `i`, `c`), or to the mark of a heredoc."""
    heredoc = _HEREDOC(lines[at][lines[at].find("<<") :]) if "<<" in lines[at] else None
    end = (heredoc[1] or ".") if heredoc is not None else "." if _BLOCK(lines[at]) else ""
    if not end:
        return _NO_BLOCK
    block: list[str] = []
    for line in lines[at + 1 : MAX_LINES]:
        if line.strip() == end:
            break
        block.append(line)
    return block


def _line(text: str, block: str, put: tuple[str, ...], depth: int) -> Iterator[Act]:
    """The commands of one line."""
    at = 0
    while at < len(text):
        found = _COMMAND.match(text, at)
        if found is None or found.end() == at:
            at += 1
            continue
        end = _end(text, found)
        handler = COMMANDS.get(found["name"] or "")
        if handler is not None:
            rest = block or text[found.end() : end]
            yield from handler(Line(read_commands, rest, bool(found["bang"]), bool(found["range"].strip()), put, depth))
        at = end + 1


def _end(text: str, found: re.Match[str]) -> int:
    """Where the arguments of a command end."""
    name, start = found["name"] or "", found.end()
    if name in WHOLE or (name in PIPING and (found["bang"] or text[start : start + 1] == "!")):
        return len(text)
    ended = (_TEXT_BAR if name in EXPRESSIONS else _BAR).match(text, start)
    return ended.end() if ended is not None else start
