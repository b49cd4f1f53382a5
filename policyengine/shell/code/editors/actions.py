"""What commands of vim, ex and ed do with their arguments."""

from __future__ import annotations

import re
from collections.abc import Callable

from policyengine.effects import HOLE
from policyengine.patterns import lazily
from policyengine.records import NamedTuple
from policyengine.shell.code.acts import ARGUMENT, Act, Kind
from policyengine.shell.code.calls import unescaped
from policyengine.shell.paths import base_name
from policyengine.shell.values import UNKNOWN, Value, from_template

_INTERPRETERS = {
    "sh": "sh", "bash": "sh", "zsh": "sh", "dash": "sh", "ksh": "sh", "ash": "sh", "python": "python",
    "python3": "python", "perl": "perl", "ruby": "ruby", "node": "node", "php": "php", "lua": "lua",
}  # fmt: skip
_BUFFER = Value(ARGUMENT + "1")  # the file that is edited
STARTS_A_SHELL = "starts a shell"
Reader = Callable[[str, tuple[str, ...], int], list[Act]]


class Line(NamedTuple):
    """One command: its arguments, whether a `!` or a range was given, what earlier commands put into the buffer.

    `read` reads commands inside of it: their text, what is in the buffer, how deeply they are nested.
    """

    read: Reader
    rest: str
    bang: bool = False
    ranged: bool = False
    put: tuple[str, ...] = ()
    depth: int = 0


_ENTERED = lazily(r"\\?<(?i:cr|enter|return|nl)>|\r")
_TYPED = lazily(r":((?:(?!\\?<(?i:cr|enter|return)>|\r)[^\n]){1,2000})")
_FILTER = lazily(r"(?<![:\w<])!(?:!|[ai][pw}{()]|G|gg|\d*[jk])((?:(?!\\?<(?i:cr|enter|return)>|\r)[^\n]){1,2000})")
_TERMINAL_OPTIONS = lazily(r"^(?:\+\+\S+[ \t]*)+")
_BACKTICKS = lazily(r"`([^`=\n][^`\n]{0,1000})`")
_FILE_OPTION = lazily(r"\+(?:\+\S+|((?:[^\s\\]|\\.)*))(?:[ \t]+|$)")
_ESCAPE = lazily(r"\\([ |\\\"])")
_ATTRIBUTE = lazily(r"(?:\+\+\w+|-(?:nargs|range|count|addr|complete|bang|bar|register|buffer|keepscript)\S*)\Z").match
_DELIMITED = lazily(r"!?[ \t]*([^\w\s\\|\"])(?:(?!\1)(?:[^\\\n]|\\.))*+(?:\1|\Z)")
_PIECE = lazily(
    r"[ \t]*(?:(?P<joint>\.{1,2}(?!\d)|\+)|\"(?P<double>(?:[^\"\\\n]|\\.){0,4000})\""
    r"|'(?P<single>(?:[^'\n]|''){0,4000})'"
    r"|[\w&$@#:]*(?:\((?:[^()\n]|\([^()\n]*\))*+\))?)"
)
_NAMED = lazily(r"[:\w!]+[ \t=]|(?:norm|set|let|e|b)\w*!?[ \t]*\Z")
_SETTING = lazily(r"(?:[^\s\\|]|\\.)+")
_EQUALS = lazily(r"[+^-]?[=:]")
_LET = lazily(r"[ \t]*&(?:[lg]:)?(\w+)[ \t]*\.{0,2}=[ \t]*(?:\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*)')")


# ------------------------------------------------------------------------------------------------ commands and programs
def shell(line: Line) -> list[Act]:
    """`:shell`, `:!CMD`: a program, or a shell to type into."""
    command = _ENTERED.split(line.rest)[0].strip()
    return [Act(Kind.SHELL, _value(command)) if command else Act(Kind.OPAQUE, more=(STARTS_A_SHELL,))]


def bang(line: Line) -> list[Act]:
    """`:!CMD`, and `:%!CMD`, which is given the lines."""
    return _given(line, line.rest) if line.ranged else shell(line)


def _given(line: Line, command: str) -> list[Act]:
    """A program that is given the text of the buffer: an interpreter without code of its own runs it."""
    words = command.split()
    language = _INTERPRETERS.get(base_name(words[0])) if words else None
    if language is None or any(not word.startswith("-") or word[1:2] in ("c", "e", "m", "r") for word in words[1:]):
        return shell(line._replace(rest=command))
    inner = [Act(Kind.SHELL if language == "sh" else Kind.CODE, Value(text), (language,)) for text in line.put]
    return [Act(Kind.SCRIPT, _BUFFER, (language,)), *inner, Act(Kind.SHELL, UNKNOWN)]


def terminal(line: Line) -> list[Act]:
    """`:terminal ++OPTION CMD`."""
    return shell(line._replace(rest=_TERMINAL_OPTIONS.sub("", line.rest)))


def program(name: str) -> Callable[[Line], list[Act]]:
    """`:make ARGS`: a program that the shell is given with these arguments."""
    return lambda line: [Act(Kind.SHELL, _value(f"{name} {line.rest}".rstrip()))]


def script(language: str) -> Callable[[Line], list[Act]]:
    """`:source FILE`, `:luafile FILE`."""
    return lambda line: _files(line, Kind.SCRIPT, (language,))


def code_of(language: str) -> Callable[[Line], list[Act]]:
    """`:python CODE`."""
    return lambda line: [Act(Kind.CODE, _value(line.rest), (language,))] if line.rest.strip() else []


# ---------------------------------------------------------------------------------------------------------------- files
def _files(line: Line, kind: Kind, more: tuple[str, ...] = ()) -> list[Act]:
    """The file that a command names; in backticks stands a shell command that gives its name."""
    acts = [Act(Kind.SHELL, _value(found)) for found in _BACKTICKS.findall(line.rest)]
    name = line.rest.strip()
    while (option := _FILE_OPTION.match(name)) is not None:
        acts += _inside(line, option[1]) if option[1] else []
        name = name[option.end() :]
    if acts or not name or name[:1] in "#%!>|":
        return acts
    words = (from_template("\n".join(line.put)),) if line.put and kind in (Kind.WRITE, Kind.APPEND) else ()
    return [Act(kind, _value(_ESCAPE.sub(r"\1", name)), more, words)]


def opens(line: Line) -> list[Act]:
    """`:split FILE`."""
    return _files(line, Kind.READ)


def reads(line: Line) -> list[Act]:
    """`:r FILE`, `:r !CMD`; ed's `e !CMD` as well."""
    bang = line.bang or line.rest.startswith("!")
    return shell(line._replace(rest=line.rest.removeprefix("!"))) if bang and line.rest else opens(line)


def edits(line: Line) -> list[Act]:
    """`:e! FILE`; ed's `e !CMD`."""
    return reads(line._replace(bang=False))


def writes(line: Line) -> list[Act]:
    """`:w FILE`, `:w >>FILE`, `:w !CMD`."""
    if line.rest.startswith("!"):
        return _given(line, line.rest[1:])
    more = line.rest.startswith(">>")
    return _files(line._replace(rest=line.rest.removeprefix(">>")), Kind.APPEND if more else Kind.WRITE)


def saves(line: Line) -> list[Act]:
    """`:saveas FILE`."""
    return _files(line, Kind.WRITE)


def appends(line: Line) -> list[Act]:
    """Ed's `W FILE`."""
    return _files(line, Kind.APPEND)


def redirects(line: Line) -> list[Act]:
    """`:redir > FILE`."""
    target = line.rest.lstrip("> ")
    return (
        _files(line._replace(rest=target), Kind.APPEND if ">>" in line.rest else Kind.WRITE) if ">" in line.rest else []
    )


def changes_directory(line: Line) -> list[Act]:
    """`:cd DIRECTORY`."""
    return [Act(Kind.CHDIR, _value(line.rest))] if line.rest.strip() not in ("", "-") else []


# ------------------------------------------------------------------------------------------ commands inside of commands
def _inside(line: Line, text: str) -> list[Act]:
    return line.read(text, line.put, line.depth + 1)


def modifier(line: Line) -> list[Act]:
    """`:silent CMD`."""
    return _inside(line, line.rest)


def behind(*numbers: int) -> Callable[[Line], list[Act]]:
    """A command that takes a command behind so many words, or so many: `:autocmd [GROUP] EVENT PATTERN CMD`."""

    def read(line: Line) -> list[Act]:
        rest = " ".join([word for word in line.rest.split(" ") if word and not _ATTRIBUTE(word)])
        found = [rest.split(" ", number)[number:] for number in numbers]
        acts = [act for texts in found for text in texts for act in _inside(line, text)]
        return list(dict.fromkeys(acts))

    return read


def everywhere(line: Line) -> list[Act]:
    """`:g/PATTERN/CMD`."""
    found = _DELIMITED.match(line.rest)
    return _inside(line, line.rest[found.end() :]) if found is not None else []


def keys(line: Line) -> list[Act]:
    """Keys that are typed or stand behind a mapping: command lines among them, and filters of lines (`!!CMD`)."""
    typed = [found[1] for found in _TYPED.finditer(line.rest)]
    filters = [found[1] for found in _FILTER.finditer(line.rest)]
    return [act for text in typed for act in _inside(line, text)] + [
        act for text in filters for act in _given(line, text)
    ]


def executes(line: Line) -> list[Act]:
    """`:execute EXPR …`: literals, put together, are a command; of one that is not known the beginning is read."""
    template, at, apart, rest = "", 0, "", line.rest
    while at < len(rest) and (found := _PIECE.match(rest, at)) is not None:
        if found["joint"] is not None:
            apart = ""
        elif found[0].strip() or found.end() == at:
            template += apart + _piece(found)
            apart = " "
        at = max(found.end(), at + 1)
    known = template.split(HOLE)[0].strip()
    vague = [Act(Kind.OPAQUE, more=("a command is put together at run time",))] if not _NAMED.match(known) else []
    return [*(vague if HOLE in template else ()), *_inside(line, template)]


def _piece(found: re.Match[str]) -> str:
    if found["double"] is not None:
        return unescaped(found["double"]).text
    return HOLE if found["single"] is None else found["single"].replace("''", "'")


# ------------------------------------------------------------------------------------------------------------- settings
_STARTED = frozenset(
    {"makeprg", "mp", "grepprg", "gp", "equalprg", "ep", "formatprg", "fp", "keywordprg", "kp", "cscopeprg", "csprg"}
)


def sets(line: Line) -> list[Act]:
    """`:set OPTION=VALUE`: options that name programs."""
    settings = [_ESCAPE.sub(r"\1", found[0]) for found in _SETTING.finditer(line.rest)]
    return [act for text in settings for act in _option(line, *_EQUALS.split(text, maxsplit=1), "")]


def lets(line: Line) -> list[Act]:
    """`:let &OPTION = EXPR`."""
    found = _LET.match(line.rest)
    if found is None:
        return []
    return _option(line, found[1], unescaped(found[2] or found[3] or "").text)


def _option(line: Line, name: str, value: str, *_: str) -> list[Act]:
    if not value:
        return []
    if name in _STARTED:
        return _inside(line, value) if value[0] == ":" else [Act(Kind.SHELL, Value(value))]
    if name in ("shell", "sh"):
        return [] if base_name(value) in _INTERPRETERS else [Act(Kind.SHELL, Value(value))]
    return [Act(Kind.SHELL, Value(f"sh {value} true"))] if name in ("shellcmdflag", "shcf") else []


def nothing(line: Line) -> list[Act]:
    """A command of which only the calls in its expressions count."""
    del line
    return []


def _value(text: str) -> Value:
    return from_template(text.strip()) if HOLE in text else Value(text.strip())
