"""Commands of terminal multiplexers, as their configuration files hold them (tmux(1), screen(1)).

A command of tmux is what its program takes as arguments, so each becomes a call of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from policyengine.patterns import lazily
from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.code.calls import MAX_CODE
from policyengine.shell.paths import base_name
from policyengine.shell.values import UNKNOWN, Value

MAX_NESTED = 6
_TOO_LONG = Act(Kind.OPAQUE, UNKNOWN, ("commands too long to be read",))
_TOKEN = lazily(
    r"[ \t]+|\\\n|(?P<comment>(?<![^\s;])#[^\n]*)|(?P<end>[;\n])"
    r"|(?P<block>(?<!\S)\{)|(?P<word>(?:\"(?:[^\"\\]|\\.)*+\"|'[^']*'|\\.|#\{[^}\n]*\}|[^\s;\"'\\])+|[\"'\\])",
    re.DOTALL,
)
_PART = lazily(r"\"((?:[^\"\\]|\\.)*+)\"|'([^']*)'|\\(.)", re.DOTALL)
_ESCAPED = lazily(r"\\(.)", re.DOTALL)
_BRACES = lazily(r"\"(?:[^\"\\]|\\.)*+\"|'[^']*'|\\.|[{}]", re.DOTALL)


def _commands(text: str) -> Iterator[list[str]]:
    """The words of each command; a block in braces is one word."""
    words: list[str] = []
    at = 0
    while at < len(text) and (found := _TOKEN.match(text, at)) is not None:
        at = found.end()
        if found["word"] is not None:
            words.append(_plain(found["word"]))
        elif found["block"] is not None:
            end = _block_end(text, at)
            words.append(text[at:end])
            at = end + 1
        elif found["end"] is not None and words:
            yield words
            words = []
    if words:
        yield words


def _block_end(text: str, at: int) -> int:
    depth = 1
    for found in _BRACES.finditer(text, at):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if not depth:
            return found.start()
    return len(text)


def _plain(word: str) -> str:
    return _PART.sub(
        lambda found: _ESCAPED.sub(r"\1", found[1]) if found[1] is not None else found[2] or found[3] or "", word
    )


def read_tmux(text: str) -> list[Act]:
    """Commands of tmux."""
    if len(text) > MAX_CODE:
        return [_TOO_LONG]
    return [
        Act(Kind.COMMAND, words=(Value("tmux"), *map(Value, words)))
        for words in _commands(text)
        if words[0][:1] not in ("%", "}") and "=" not in words[0]
    ]


# --------------------------------------------------------------------------------------------------------------- screen
def _program(words: list[str], depth: int) -> list[Act]:
    del depth
    return [Act(Kind.COMMAND, words=tuple(map(Value, words)))] if words else []


def _executed(words: list[str], depth: int) -> list[Act]:
    """`exec [[FDPAT] COMMAND …]`."""
    piped = bool(words) and not words[0].strip(".!:|")
    return _program(words[1:] if piped else words, depth)


def _window(words: list[str], depth: int) -> list[Act]:
    """`screen [-OPTION …] [NUMBER] [COMMAND …]`."""
    at = 0
    while at < len(words) and (words[at][:1] in ("-", "/") or words[at].isdigit()) and "/" not in words[at][:1]:
        at += 2 if words[at] in ("-t", "-h", "-T") else 1
    return _program(words[at:], depth)


def _stuffed(words: list[str], depth: int) -> list[Act]:
    del depth
    return [Act(Kind.SHELL, Value(typed_text(" ".join(words))))]


def _sourced(words: list[str], depth: int) -> list[Act]:
    del depth
    return [Act(Kind.SCRIPT, Value(words[0]), ("screen",))] if words else []


def _each(words: list[str], depth: int) -> list[Act]:
    return [act for word in words for act in _screen(word, depth + 1)]


def _behind(number: int) -> Callable[[list[str], int], list[Act]]:
    """A command that takes a command behind so many words."""
    return lambda words, depth: _screen_command(words[number:], depth + 1)


def _bound(words: list[str], depth: int) -> list[Act]:
    """`bind [-c CLASS] KEY COMMAND …`."""
    return _screen_command(words[3:] if words[:1] == ["-c"] else words[1:], depth + 1)


def _shell(words: list[str], depth: int) -> list[Act]:
    del depth
    known = not words or base_name(words[0]).lstrip("-") in ("sh", "bash", "zsh", "fish", "ksh", "dash")
    return [] if known else [Act(Kind.COMMAND, words=tuple(map(Value, words)))]


def _file(kind: Kind, at: int = 0) -> Callable[[list[str], int], list[Act]]:
    return lambda words, _: [Act(kind, Value(words[at]))] if len(words) > at else []


def _variable(words: list[str], depth: int) -> list[Act]:
    del depth
    return [Act(Kind.VARIABLE, Value(words[1]), (words[0],))] if len(words) > 1 else []


_SCREEN: dict[str, Callable[[list[str], int], list[Act]]] = {
    "exec": _executed,
    "screen": _window,
    "stuff": _stuffed,
    "paste": _stuffed,
    "register": lambda words, depth: _stuffed(words[1:], depth),
    "source": _sourced,
    "eval": _each,
    "bind": _bound,
    "at": _behind(1),
    "idle": _behind(1),
    "bindkey": _behind(1),
    "backtick": lambda words, depth: _program(words[3:], depth),
    "blankerprg": _program,
    "shell": _shell,
    "defshell": _shell,
    "setenv": _variable,
    "hardcopy": _file(Kind.WRITE),
    "writebuf": _file(Kind.WRITE),
    "logfile": _file(Kind.WRITE),
    "readbuf": _file(Kind.READ),
    "readreg": _file(Kind.READ, 1),
}


def read_screen(text: str) -> list[Act]:
    """Commands of screen, one in a line."""
    return [_TOO_LONG] if len(text) > MAX_CODE else _screen(text, 0)


def _screen(text: str, depth: int) -> list[Act]:
    return [act for words in _commands(text) for act in _screen_command(words, depth)]


def _screen_command(words: list[str], depth: int) -> list[Act]:
    handler = _SCREEN.get(words[0]) if words and depth <= MAX_NESTED else None
    return handler(words[1:], depth) if handler is not None else []


_ENTER = lazily(r"\\(?:015|012|[nr])|\^[MJ]")


def typed_text(text: str) -> str:
    """What `stuff` types: its escapes for the end of a line are such."""
    return _ENTER.sub("\n", text)
