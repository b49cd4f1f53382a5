r"""Reading bash's execution trace (`set -x`) back into the words that were executed.

bash writes each word of a command in a form that reads back as the same word: plain, `''`, `'…'\''…'` or `$'…'`
(print_cmd.c, xtrace_print_word_list). Every trace line of ours begins with a nonce, so a word may hold newlines.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[.*?\])?\+?=", re.DOTALL)
_COMPOUND = ("((", "[[", "for", "case", "select")  # traced in a form of their own; their headers are no commands
_ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ANSI = re.compile(r"(?:\\[0-7]{3})+|\\.", re.DOTALL)
_WORD = re.compile(r"\$'((?:[^'\\]|\\.)*)'|'([^']*)'|\\(.)|([^\s'\\]+?(?=\$'|'|\\|\s|$))|(\s+)", re.DOTALL)


class Run(NamedTuple):
    """One execution of one script: the words of each executed command in order of first execution, each once, and the
    exit status (None: killed).
    """

    executed: tuple[tuple[str, ...], ...]
    status: int | None


def unquote(text: str) -> tuple[str, ...]:
    """The words of one trace line."""
    words: list[str] = []
    current: str | None = None
    for ansi, single, escaped, plain, blank in _WORD.findall(text):
        if blank:
            if current is not None:
                words.append(current)
            current = None
            continue
        current = (current or "") + (_ANSI.sub(_decode, ansi) or single or escaped or plain)
    return tuple(words if current is None else [*words, current])


def _decode(match: re.Match[str]) -> str:
    """A run of octal escapes, which are bytes of UTF-8, or one other escape."""
    body = match[0]
    if body[1] in "01234567":
        return bytes(int(octal, 8) for octal in body[1:].split("\\")).decode("utf-8", "replace")
    return _ESCAPES.get(body[1], body[1])


def commands(lines: list[str]) -> tuple[tuple[str, ...], ...]:
    """The executed commands among trace lines: headers of compound commands and assignments left out."""
    found = []
    for line in dict.fromkeys(lines):
        words = unquote(line)
        if words and words[0] not in _COMPOUND and not _ASSIGNMENT.match(line):
            found.append(words)
    return tuple(found)


def split(trace: str, nonce: str) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Trace lines by run (`key`) and each run's exit status, out of everything a server wrote."""
    lines: dict[str, list[str]] = {}
    statuses: dict[str, int] = {}
    for record in re.split(rf"^\+*{nonce}:", trace, flags=re.MULTILINE)[1:]:
        key, _, rest = record.partition(":")
        if rest.startswith("="):
            statuses[key] = int(rest[1:])
        else:
            lines.setdefault(key, []).append(rest[1:].removesuffix("\n"))
    return lines, statuses
