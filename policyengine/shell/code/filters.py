"""Text tools with a language of their own: awk and sed can start programs and write files."""

from __future__ import annotations

import re

from policyengine.effects import HOLE
from policyengine.patterns import lazily
from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.code.calls import unescaped
from policyengine.shell.paths import base_name
from policyengine.shell.values import UNKNOWN, Value, from_template

MAX_CODE = 64 * 1024

_SYSTEM = lazily(r"\bsystem\s*\(")
_LITERAL = r'"((?:[^"\\\n]|\\.){0,2000})"'
_PIPED = lazily(
    _LITERAL
    + r"\s*\|&?\s*getline|\|&?\s*"
    + _LITERAL
    + r"|(\w+|\))\s*\|&?\s*getline|\bprintf?\b[^;{}\n|]{0,400}\|&?\s*(\w+)"
)
_READ = lazily(r"\bgetline\b[^<;{}\n|]{0,200}<\s*" + _LITERAL)
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "python", "python3", "perl", "ruby", "node", "xargs"})
_CODE = lazily(r"\s-\w*[ceEpr]\b|<")  # it has its code elsewhere
_REDIRECTED = lazily(r"\bprintf?\b[^;{}\n>]{0,400}(>>?)\s*(?:" + _LITERAL + r"|(\w[\w.]*|\(|\$))")
_LITERALS = lazily(_LITERAL)
_PIECE = lazily(_LITERAL + r'|\w*\((?:[^()"\n]|"(?:[^"\\\n]|\\.){0,2000}"){0,400}\)|[^"()\n;{}|]')  # of an expression
_STARTS = (*";{}()\n&|!", "")  # what stands before an expression
_NETWORK = lazily(r"/inet[46]?/(?:tcp|udp)/[^/\"]*/([^/\"]*)/([^/\"]*)")


def read_awk(text: str) -> list[Act]:
    """awk: `system()`, pipes to and from commands, output files, and gawk's `/inet`."""
    if len(text) > MAX_CODE:
        return [Act(Kind.OPAQUE, UNKNOWN, ("code too long to be read",))]
    acts = [_system(text, found) for found in _SYSTEM.finditer(text)]
    if "|" in text:
        acts += [act for found in _PIPED.finditer(text) if not _is_or(text, found) for act in _piped(text, found)]
    if ">" in text:
        acts += [act for found in _REDIRECTED.finditer(text) for act in _redirected(found)]
    if "<" in text:
        acts += [
            Act(Kind.READ, unescaped(found[1]), start=found.start(), end=found.end()) for found in _READ.finditer(text)
        ]
    for found in _NETWORK.finditer(text):
        kind = Kind.DRIVEN if "getline" in text else Kind.CONNECT
        acts.append(Act(kind, Value(found[1]), (found[2],), start=found.start(), end=found.end()))
    return _outside_shell_text(acts)


def _outside_shell_text(acts: list[Act]) -> list[Act]:
    """Leave out what only looks like awk's inside a text that a shell reads by itself."""
    kept: list[Act] = []
    known = 0
    for act in sorted(acts, key=lambda act: act.start):
        if act.start >= known or act.kind is Kind.DRIVEN or (kept and act.start == kept[-1].start):
            kept.append(act)
        if act.kind is Kind.SHELL and act.value.exact and act.start >= known:
            known = act.end
    return kept


def _is_or(text: str, found: re.Match[str]) -> bool:
    return "||" in _LITERALS.sub('""', found[0]) or text[found.start() - 1 : found.start()] == "|"


def _system(text: str, found: re.Match[str]) -> Act:
    value, end = _concatenated(text, found.end())
    return Act(Kind.SHELL, value, start=found.start(), end=max(end, found.end()))


def _concatenated(text: str, at: int) -> tuple[Value, int]:
    """The text of literals that stand side by side, a hole for anything between them, and where that ends."""
    template = ""
    while (piece := _PIECE.match(text, at)) is not None:
        if piece[1] is not None:
            template += unescaped(piece[1]).text
        elif not piece[0].isspace() and not template.endswith(HOLE):
            template += HOLE
        at = piece.end()
    return from_template(template or HOLE), at


def _piped(text: str, found: re.Match[str]) -> list[Act]:
    command = found[1] or found[2]
    if command is not None and command.startswith("/inet"):
        return [Act(Kind.READ, Value("/dev/null"))]
    if found[2] is not None:
        value, _ = _concatenated(text, found.start(2) - 1)
    elif found[1] is not None and text[: found.start()].rstrip(" \t")[-1:] in _STARTS:
        value = unescaped(found[1])
    else:
        value = UNKNOWN
    act = Act(Kind.SHELL, value, start=found.start(), end=found.end())
    words = value.text.split() or [""]
    if found[2] is not None and base_name(words[0]) in _SHELLS and not _CODE.search(value.text):
        return [act, act._replace(value=UNKNOWN)]  # what is printed into a shell is what runs
    return [act]


def _redirected(found: re.Match[str]) -> list[Act]:
    kind = Kind.APPEND if found[1] == ">>" else Kind.WRITE
    if found[2] is not None:
        texts = [line for line in awk_texts(found[0][: found.start(2) - found.start() - 1]) if line]
        words = (from_template("\n".join([HOLE, *texts, HOLE])),) if texts else ()
        return [Act(kind, Value(found[2]), words=words, start=found.start(), end=found.end())]
    return [] if (found[3] or "")[:1].isdigit() else [Act(kind, UNKNOWN, start=found.start(), end=found.end())]


# ------------------------------------------------------------------------------------------------------------------ sed
_ADDRESS = lazily(
    r"\s*(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*+/[IM]*|\\(.)(?:(?!\1)[^\n])*+\1[IM]*)?(?:\s*,\s*(?:[+~]?\d+|\$|/(?:[^/\\\n]|\\.)*+/[IM]*))?\s*!?\s*"
)
_FLAGS = lazily(r"[gpiImM0-9e]*")


def read_sed(text: str) -> list[Act]:
    """sed: `w`, `W`, `r` and `R` name files, `e` and the flag `e` start programs (GNU sed manual 3.5, 3.7)."""
    acts: list[Act] = []
    at = 0
    while at < len(text) and len(text) <= MAX_CODE:
        if text[at] in " \t\n;{}":
            at += 1
            continue
        address = _ADDRESS.match(text, at)
        at = address.end() if address is not None else at
        at = _command(text, at, acts)
    if len(text) > MAX_CODE:
        acts.append(Act(Kind.OPAQUE, UNKNOWN, ("script too long to be read",)))
    put = _put(text) if any(act.kind is Kind.WRITE for act in acts) else ()
    return [act._replace(words=put) if act.kind is Kind.WRITE else act for act in acts]


def _put(text: str) -> tuple[Value, ...]:
    """What a script may write of its own among what it reads."""
    texts = sed_texts(text)
    return (from_template("\n".join([HOLE, *texts, HOLE])),) if texts else ()


def _command(text: str, at: int, acts: list[Act]) -> int:
    letter = text[at : at + 1]
    line_end = text.find("\n", at)
    line_end = len(text) if line_end < 0 else line_end
    if letter in ("s", "y") and at + 1 < len(text):
        return _substitution(text, at, acts)
    rest = text[at + 1 : line_end]
    if letter in ("w", "W"):
        acts.append(Act(Kind.WRITE, Value(rest.strip()), start=at, end=line_end))
        return line_end
    if letter in ("r", "R"):
        acts.append(Act(Kind.READ, Value(rest.strip()), start=at, end=line_end))
        return line_end
    if letter == "e":
        command = rest.strip()
        acts.append(
            Act(Kind.SHELL, Value(command) if command and command[0] not in ";}" else UNKNOWN, start=at, end=line_end)
        )
        return line_end
    if letter in ("a", "i", "c", "#", ":", "b", "t", "T", "F") and letter:
        stop = line_end if letter in "aic#" else next((i for i in range(at, line_end) if text[i] in ";}"), line_end)
        return max(stop, at + 1)
    return at + 1


def _substitution(text: str, at: int, acts: list[Act]) -> int:
    delimiter = text[at + 1]
    end = at + 2
    for _ in range(2):
        while end < len(text) and text[end] != delimiter:
            end += 2 if text[end] == "\\" else 1
        end += 1
    flags = _FLAGS.match(text, min(end, len(text)))
    letters = flags[0] if flags is not None and text[at] == "s" else ""
    stop = min(end, len(text)) + len(letters)
    if "e" in letters:
        put = text[at + 2 : end - 1].rpartition(delimiter)[2]
        acts.append(Act(Kind.SHELL, Value("", exact=False, rest=put), start=at, end=stop))
    if text[at] == "s" and text[stop : stop + 1] == "w":
        line_end = text.find("\n", stop)
        line_end = len(text) if line_end < 0 else line_end
        acts.append(Act(Kind.WRITE, Value(text[stop + 1 : line_end].strip()), start=at, end=line_end))
        return line_end
    return stop


_INSERTED = lazily(r"(?:^|[\n;{}\d$/])[ \t]*[aic](?:\\\n?[ \t]*|[ \t]+)([^\n]+)")
_REPLACED = lazily(r"s([^\w\s\\])(?:(?!\1)(?:[^\\\n]|\\.))*+\1((?:(?!\1)(?:[^\\\n]|\\.))*+)\1")


def sed_texts(text: str) -> list[str]:
    """What a script puts in place of what it reads, or between (GNU sed manual 3.3, 3.8)."""
    if len(text) > MAX_CODE:
        return []
    texts = [found[2] for found in _REPLACED.finditer(text)] + [found[1] for found in _INSERTED.finditer(text)]
    return [line for line in texts if " " in line]  # one word alone is hardly a command


def awk_texts(text: str) -> list[str]:
    """The literals that a program prints."""
    if len(text) > MAX_CODE:
        return []
    texts = [unescaped(literal).text for found in _PRINTED.finditer(text) for literal in _LITERALS.findall(found[0])]
    return [line for line in texts if " " in line]


def jq_texts(text: str) -> list[str]:
    """The literals of a filter, which it may put into what it prints."""
    texts = [unescaped(literal).text for literal in _LITERALS.findall(text[:MAX_CODE])]
    return [f'"{line}"' for line in texts if " " in line]


_PRINTED = lazily(r"\bprintf?\b[^;{}\n]{0,2000}")


# ------------------------------------------------------------------------------------------------------------------- yq
_LOADED = lazily(r"\bload(?:_str|_xml|_props|_base64)?\s*\(\s*\"([^\"\n]+)\"")


def read_yq(text: str) -> list[Act]:
    """Yq's operators that read files beside its input (mikefarah.gitbook.io/yq, Load)."""
    return [Act(Kind.READ, Value(found[1]), start=found.start(), end=found.end()) for found in _LOADED.finditer(text)]


def read_nothing(text: str) -> list[Act]:
    """Languages that only look at their input (jq)."""
    del text
    return []
