"""Languages whose code is not parsed: the calls that start programs, touch files or open connections.

A call with a constant argument gives its act, one with anything else the act with an unknown value. Code that makes
code at run time is Opaque; text processing is nothing. Comments and strings are not told apart: what looks like a call
counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from policyengine.effects import HOLE, Taint
from policyengine.patterns import lazily
from policyengine.records import NamedTuple
from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.code.fetched import makes_code, runs_fetched
from policyengine.shell.values import UNKNOWN, Value, from_template

MAX_CODE = 64 * 1024
_SECRET = frozenset({Taint.SECRET})
MAX_ACTS = 500
_STRING = lazily(
    r"""\s*(?:"((?:[^"\\]|\\.){0,4000})"|'((?:[^'\\]|\\.){0,4000})'|`((?:[^`\\]|\\.){0,4000})`)""", re.DOTALL
)
_QUOTE_LIKE = lazily(r"\s*q[qwx]?\s*(?:\{([^}]{0,4000})\}|\(([^)]{0,4000})\)|\[([^\]]{0,4000})\]|/([^/]{0,4000})/)")
_NUMBER = lazily(r"\s*(\d{1,9})")
_PATTERN = lazily(r"\s*(?:(?:File::)?(?:bsd_)?glob\b\s*\(?|Dir\.glob\s*\(?|Dir\[|glob\.sync\(|globSync\()")
# A home directory: Ruby, JavaScript, Perl, PHP and Lua, Go.
_HOME = lazily(
    r"\s*(?:Dir\.home\b(?:\(\))?|(?:os|require\(['\"](?:node:)?os['\"]\))\.homedir\(\)|process\.env\.HOME\b|ENV\[['\"]HOME['\"]\]"
    r"|\$ENV\{['\"]?HOME['\"]?\}|(?:os\.)?[gG]etenv\(['\"]HOME['\"]\)|File\.expand_path\(['\"]~['\"]\))"
)
# Paths put together: JavaScript, Ruby, Python-like; `.join` of a list of texts; the working directory.
_PATH_JOINED = lazily(r"\s*(?:(?:path|require\(['\"](?:node:)?path['\"]\))\.(?:join|resolve)|File\.join)\s*\(")
_EXPANDED = lazily(
    r"\s*(?:File\.expand_path|Pathname(?:\.new)?|new\s+URL|String|Bun\.file|Deno\.realPathSync)\s*\((?=\s*['\"`])"
)
_LISTED = lazily(
    r"\s*\[((?:\s*(?:'[^'\\\n]*'|\"[^\"\\\n]*\")\s*,?){1,40})\]\s*\.\s*join\b"
    r"(?:\s*\(?\s*(?P<by>'[^'\\\n]*'|\"[^\"\\\n]*\"))?(?:\s*\(?\s*\))?"
)
_TEXTS = lazily(r"'([^'\\\n]*)'|\"([^\"\\\n]*)\"")
_CWD = lazily(r"\s*(?:process\.cwd\(\)|Dir\.pwd|Deno\.cwd\(\)|__dirname|__DIR__|getcwd\(\))")
_CWD_INSIDE = lazily(r"^(?:\$\{(?:process\.cwd\(\)|__dirname)\}|#\{Dir\.pwd\})")
_PROGRAM = lazily(
    r"\s*(?:process\.execPath|process\.argv0|RbConfig\.ruby|Gem\.ruby|Deno\.execPath\(\)|PHP_BINARY|\$\^X)"
)
_PROGRAMS = {"ruby": "ruby", "node": "node", "perl": "perl", "php": "php"}
_DECODER = lazily(  # what makes text of text that nobody can read
    r"\batob\b|base64|fromCharCode|\bunescape\(|hex2bin|gz(?:inflate|uncompress|decode)|str_rot13|\b(?:un)?pack\b|decode64"
    r"|convert_uudecode|['\"]hex['\"]"
)
_DECODED = Value("", exact=False, taint=frozenset({Taint.DECODED}))
ARRIVED = Value("", exact=False, taint=frozenset({Taint.FETCHED}))
_HOME_INSIDE = lazily(  # at the beginning of a literal
    r"^(?:\$ENV\{['\"]?HOME['\"]?\}|#\{(?:Dir\.home|ENV\[['\"]HOME['\"]\])\}|\$\{(?:process\.env\.HOME|os\.homedir\(\))\})"
)
_JOINT = lazily(r"\s*(?:\+|\.{1,2}|<<)\s*(?=[\"'`A-Za-z$(])")
_COMMA = lazily(r"\s*(?:,|=>)(?:\s*\{\s*args\s*:)?")


PLAIN = ("plain",)  # of a `READ`: the call has no modes and starts no programs


class Rule(NamedTuple):
    """What one call does with its argument number `at`; `more` goes into the act."""

    kind: Kind
    more: tuple[str, ...] = ()
    at: int = 0
    literal: bool = False  # the expression matches a whole literal that runs: backticks, `%x(…)`, `qx!…!`
    content: int = -1  # the argument that is written there
    source: int = -1  # the argument that it is copied or linked from
    gone: bool = False  # the source is moved, not copied
    every: bool = False  # all arguments from there on, not only one
    fetched: bool = False  # what runs is fetched from there


class Language(NamedTuple):
    """A language by its calls (regular expression up to the arguments → meaning), its backticks and what makes code."""

    calls: Mapping[str, Rule]
    backticks: bool = False
    plain: str = ""  # the quotes within which only the quote and the backslash are escaped
    interpolating: str = '"`'  # the quotes within which variables are replaced
    interpolated: str = r"[$@]\{?\w|\$\{|#\{"  # how a variable looks there
    environment: str = ""  # how the environment as a whole looks
    plainly: Callable[[str], str] | None = None  # puts other names of what matters back
    name: str = ""  # as in `code:LANG`, where decoders are known


def reader(language: Language) -> Callable[[str], list[Act]]:
    """A reader of that language."""
    names = list(language.calls)
    rules = [language.calls[name] for name in names]

    @cache
    def compiled() -> re.Pattern[str]:  # when it is needed: most processes read no such code
        return re.compile("|".join(f"(?P<c{at}>{name})" for at, name in enumerate(names)))

    def read(text: str) -> list[Act]:
        if len(text) > MAX_CODE:
            return [Act(Kind.OPAQUE, UNKNOWN, ("code too long to be read",))]
        plain = language.plainly(text) if language.plainly is not None else text
        acts: list[Act] = []
        known = 0  # up to here the text is that of a shell, which reads it by itself
        for found in compiled().finditer(plain):
            if found.start() < known:
                continue
            rule = rules[int((found.lastgroup or "c0")[1:])]
            made = _act(language, rule, plain, found)
            acts += made
            known = max([known, *(act.end for act in made if act.kind is Kind.SHELL and act.value.exact)])
            if len(acts) > MAX_ACTS:
                break
        if runs_fetched(plain, acts):
            acts.append(Act(Kind.CODE, ARRIVED, (language.name,)))
        if plain is not text:
            acts = [act._replace(start=0, end=0) for act in acts]
        acts = _filled(plain, acts)
        if language.name and any(map(makes_code, acts)) and _DECODER.search(text):
            acts.append(Act(Kind.CODE, _DECODED, (language.name,)))
        return _secret(acts) if language.environment and re.search(language.environment, text) else acts

    return read


# What is printed into an open file: Perl and Ruby, PHP, Lua, JavaScript.
_INTO = lazily(
    r"(?:\bprintf?\s*\{?\s*\$?\w+\s*\}?\s+|\bfwrite\s*\([^,;]{0,80},|\bfputs\s*\([^,;]{0,80},"
    r"|[.:](?:write|puts|print|end)\b\s*\(?|<<)(?=\s*['\"`])"
)


def _filled(text: str, acts: list[Act]) -> list[Act]:
    """Files that are opened to be written hold some of the texts that the code prints."""
    if not any(act.kind in _WRITING and not act.words for act in acts):
        return acts
    texts = [_STRING.match(text, found.end()) for found in _INTO.finditer(text)]
    inner = [next(group for group in found.groups() if group is not None) for found in texts if found is not None]
    written = [line for line in [unescaped(one).text for one in inner] if " " in line]
    if not written:
        return acts
    content = (from_template("\n".join([HOLE, *written, HOLE])),)
    return [act._replace(words=content) if act.kind in _WRITING and not act.words else act for act in acts]


_WRITING = (Kind.WRITE, Kind.APPEND)


def _secret(acts: list[Act]) -> list[Act]:
    """What is sent by code that looks at the environment as a whole may be that."""
    return [
        act._replace(value=act.value._replace(taint=act.value.taint | _SECRET)) if act.kind is Kind.SEND else act
        for act in acts
    ]


def _act(language: Language, rule: Rule, text: str, found: re.Match[str]) -> list[Act]:
    if rule.literal:
        inner = found[0].removeprefix("%x").removeprefix("qx").removeprefix("Bun.").lstrip("$ \t\n")[1:-1]
        variable = re.search(language.interpolated, inner)
        inner = inner if variable is None else inner[: variable.start()]
        return [Act(rule.kind, Value(inner, variable is None), start=found.start(), end=found.end())]
    arguments, end = arguments_of(text, found.end(), language)
    value = arguments[rule.at] if rule.at < len(arguments) else UNKNOWN
    act = Act(rule.kind, value, rule.more, start=found.start(), end=max(end, found.end()))
    if rule.fetched:
        return [act._replace(kind=Kind.FETCH, more=()), act._replace(value=ARRIVED)]
    if rule.content >= 0:
        act = act._replace(words=tuple(arguments[rule.content : rule.content + 1]))
    special = _SPECIAL.get(rule.kind)
    if special is not None:
        return special(act, arguments)
    return [act, *_further(act, rule, arguments)] if rule.kind is not Kind.LINK else _linked(act, rule, arguments)


def _further(act: Act, rule: Rule, arguments: list[Value]) -> list[Act]:
    """What the other arguments of a call mean."""
    if rule.every:
        return [act._replace(value=value) for value in arguments[rule.at + 1 :] if value.text]
    if rule.source < 0 or rule.source >= len(arguments):
        return []
    read = act._replace(kind=Kind.READ, value=arguments[rule.source], more=())
    return [read, read._replace(kind=Kind.DELETE)] if rule.gone else [read]


def _linked(act: Act, rule: Rule, arguments: list[Value]) -> list[Act]:
    target = arguments[rule.source] if rule.source < len(arguments) else UNKNOWN
    return [act._replace(words=(target,))]


def arguments_of(text: str, at: int, language: Language) -> tuple[list[Value], int]:
    """The leading constant arguments after a call's name, and where they end."""
    values: list[Value] = []
    for opening in ("( [", "["):
        if text[at : at + 1] and text[at] in opening and not _LISTED.match(text, at):
            at += 1
    for _ in range(12):
        value, end = _constant(text, at, language)
        if value is None:
            if values:  # behind a comma
                values.append(UNKNOWN)
            break
        value, at = _joined(text, end, value, language)
        values.append(value)
        comma = _COMMA.match(text, at)
        if comma is None:
            rest = text[at : at + 40].lstrip()
            if rest[:1] in (".", "+", "%") and values:  # put together with something else
                values[-1] = values[-1]._replace(exact=False)
            break
        at = comma.end()
        if text[at : at + 2].lstrip()[:1] == "[":
            at += len(text[at : at + 2]) - len(text[at : at + 2].lstrip()) + 1
    return values, at


def _joined(text: str, at: int, value: Value, language: Language) -> tuple[Value, int]:
    """A constant with the literals and home directories that are put behind it."""
    for _ in range(12):
        joint = _JOINT.match(text, at)
        following = joint and (_STRING.match(text, joint.end()) or _HOME.match(text, joint.end()))
        if joint is None or not following:
            break
        more, at = _constant(text, joint.end(), language)
        value = from_template(value.template + (more or UNKNOWN).template)
    return value, at


def _constant(text: str, at: int, language: Language) -> tuple[Value | None, int]:
    for constant in (_literal, _named, _put_together, _number_or_quoted):
        found = constant(text, at, language)
        if found is not None:
            return found
    return None, at


Found = tuple[Value | None, int] | None


def _literal(text: str, at: int, language: Language) -> Found:
    found = _STRING.match(text, at)
    if found is None:
        return None
    inner = next(group for group in found.groups() if group is not None)
    quote = text[found.end() - 1]
    if quote in language.interpolating:
        inner = _CWD_INSIDE.sub(".", _HOME_INSIDE.sub("~", inner, count=1), count=1)
    value = Value(_PLAIN_ESCAPE.sub(r"\1", inner)) if quote in language.plain else unescaped(inner)
    variable = re.search(language.interpolated, inner) if quote in language.interpolating else None
    if variable is not None:
        value = Value(unescaped(inner[: variable.start()]).text, exact=False)
    return value, found.end()


def _named(text: str, at: int, language: Language) -> Found:
    """A home directory, the working directory, the interpreter itself."""
    for pattern, constant in ((_HOME, "~"), (_CWD, "."), (_PROGRAM, _PROGRAMS.get(language.name, ""))):
        found = pattern.match(text, at)
        if found is not None and constant:
            return Value(constant), found.end()
    return None


def _put_together(text: str, at: int, language: Language) -> Found:
    """Patterns of file names, paths of several parts, texts that are joined."""
    found = _PATTERN.match(text, at)
    if found is not None:
        inner, end = _constant(text, found.end(), language)
        return (inner._replace(glob=True) if inner is not None else None), end
    found = _PATH_JOINED.match(text, at)
    if found is not None:
        return _path(text, found.end(), language)
    found = _EXPANDED.match(text, at)
    if found is not None:
        inner, end = _constant(text, found.end(), language)
        closed = text.find(")", end)
        return inner, closed + 1 if closed >= 0 else end
    found = _LISTED.match(text, at)
    if found is None:
        return None
    by = found["by"][1:-1] if found["by"] else "," if language.name == "node" else ""
    return Value(by.join([one or other for one, other in _TEXTS.findall(found[1])])), found.end()


def _number_or_quoted(text: str, at: int, language: Language) -> Found:
    found = _NUMBER.match(text, at)
    if found is not None:
        return Value(found[1]), found.end()
    found = _QUOTE_LIKE.match(text, at) if language.backticks else None
    if found is None:
        return None
    return Value(next(group for group in found.groups() if group is not None)), found.end()


def _path(text: str, at: int, language: Language) -> tuple[Value | None, int]:
    """The path that a call joins, as far as its parts are constant."""
    parts, end = arguments_of(text, at, language)
    closed = text.find(")", end)
    if not parts:
        return None, at
    return from_template("/".join([part.template for part in parts])), closed + 1 if closed >= 0 else end


_PLAIN_ESCAPE = lazily(r"\\([\\'])")
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b"}


def unescaped(inner: str) -> Value:
    """The text of a double-quoted literal."""
    if "\\" not in inner:
        return Value(inner)
    text = re.sub(
        r"\\(?:x\{?([0-9A-Fa-f]{2})\}?|(.))",
        lambda found: chr(int(found[1], 16)) if found[1] else _SIMPLE.get(found[2], found[2]),
        inner,
        flags=re.DOTALL,
    )
    return Value(text)


# ------------------------------------------------------------------------------------------------------ argument shapes
def _command(act: Act, arguments: list[Value]) -> list[Act]:
    """A program and its arguments; one text alone goes to a shell."""
    if not arguments:
        return [act._replace(kind=Kind.SHELL, value=UNKNOWN)]
    if len(arguments) == 1 and act.more != PLAIN:
        return [act._replace(kind=Kind.SHELL, value=arguments[0])]
    return [act._replace(words=tuple(arguments))]


def _connection(act: Act, arguments: list[Value]) -> list[Act]:
    """Host and port in either order (`net.connect(port, host)`, `fsockopen(host, port)`)."""
    host = next((value for value in arguments if not value.text.isdigit()), UNKNOWN)
    port = next((value.text for value in arguments if value.text.isdigit()), "")
    return [act._replace(value=host, more=(port,))]


def _opened(act: Act, arguments: list[Value]) -> list[Act]:
    """`open`: a mode in an argument of its own or, in Perl, in front of the name; a pipe starts a program."""
    texts = [value.text for value in arguments]
    if act.more == PLAIN:  # it opens nothing but files, to be read
        return [act._replace(more=())]
    if not texts:
        return [act._replace(kind=Kind.OPAQUE, more=("what is opened is not known",))]
    first = texts[0].strip()
    if len(texts) > 1 and first in ("-|", "|-"):
        acts = _command(act._replace(kind=Kind.COMMAND), arguments[1:])
        given = first == "|-" and _runs_input(" ".join(texts[1:]))
        return [*acts, act._replace(kind=Kind.SHELL, value=UNKNOWN)] if given else acts
    if first.startswith((">&", "<&", "+<&")):  # another name of a descriptor
        return []
    if first.startswith("|") or first.endswith("|"):
        act = act._replace(kind=Kind.SHELL, value=arguments[0]._replace(text=first.strip("| ")))
        return [act, act._replace(value=UNKNOWN)] if first[0] == "|" and _runs_input(act.value.text) else [act]
    if first in (">", ">>", "<", "+<", "+>") or first.startswith((">:", "<:", ">>:")):
        name = arguments[1] if len(arguments) > 1 else UNKNOWN
        return [act._replace(kind=_mode(first), value=name)]
    if first[:1] in (">", "<", "+"):
        return [act._replace(kind=_mode(first), value=arguments[0]._replace(text=first.lstrip("+<> ")))]
    kind = _mode(texts[1]) if len(texts) > 1 and re.fullmatch(r"[rwabx+t]{1,4}", texts[1]) else Kind.READ
    return [act._replace(kind=kind, value=arguments[0])]


_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "python", "python3", "perl", "ruby", "node"})


def _runs_input(command: str) -> bool:
    """Whether a program is a shell that is given its code by what is printed into it."""
    words = command.split()
    return bool(words) and words[0].rpartition("/")[2] in _SHELLS and "-c" not in words and "-e" not in words


def _mode(text: str) -> Kind:
    if ">>" in text or "a" in text:
        return Kind.APPEND
    return Kind.WRITE if set(text) & set(">wx+") else Kind.READ


_SPECIAL: dict[Kind, Callable[[Act, list[Value]], list[Act]]] = {
    Kind.COMMAND: _command,
    Kind.CONNECT: _connection,
    Kind.READ: _opened,
}
