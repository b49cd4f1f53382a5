"""Files that are changed in place: what the new text is where that can be computed, else what is put into the old one.

What lay in a file that this run did not write is not known, and is a matter of the project; what a call puts into it
stands in the call. So its text becomes a hole, and behind it the lines that the program may insert.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from policyengine.effects import CLEAN, HOLE, Taint, Taints, WrittenFile
from policyengine.patterns import lazily
from policyengine.shell.code import Kind, awk_texts, read_code, sed_texts
from policyengine.shell.interpret.content import stream_of
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.interpret.redirects import place_of
from policyengine.shell.interpret.stored import file_stream
from policyengine.shell.interpret.streams import MAX_TEXT, Stream
from policyengine.shell.interpret.trees import LAID
from policyengine.shell.paths import Path
from policyengine.shell.values import Value

MAX_LINE = 2000  # characters of a line in which a pattern with stars is searched
MAX_SCRIPTS = 16  # that are applied to one text
_BROUGHT: Taints = frozenset({Taint.FETCHED, Taint.DECODED, Taint.FOREIGN})

_SUBSTITUTION = lazily(
    r"\s*(\d{0,6})\s*s([^\w\s\\])((?:(?!\2)(?:[^\\\n]|\\.))*+)\2((?:(?!\2)(?:[^\\\n]|\\.))*+)\2([gIi]*)\s*(?:[;\n]|\Z)"
)
_TOKEN = lazily(r"\\.|\.\*|.", re.DOTALL)
_LITERALS = lazily(r"\"((?:[^\"\\\n]|\\.){1,2000})\"|'((?:[^'\\\n]|\\.){1,2000})'")
_ADDRESSED = lazily(r"[\d$,%. ]*(?:insert|append|change|normal!? ?[ioIOaAcC]|[iac])!?\s+")
_ESCAPED = lazily(r"\\(.)", re.DOTALL)
_NAMED = {"n": "\n", "t": "\t"}


def in_place(
    invocation: Invocation, path: str, known: Sequence[WrittenFile], added: Sequence[str] = ()
) -> Stream | None:
    """What a file holds once the call has changed it; None where there is nothing to say of it."""
    scripts = [use for use in invocation.reading.uses if use.role in _TEXTS]
    if known and scripts:
        texts = [_computed(invocation, [use.value for use in scripts], file.text) for file in known]
        made = tuple([text for text in texts if text is not None])
        taint = frozenset().union(*[file.taint for file in known])
        if len(made) == len(known) == 1:
            return Stream(made[0], taint)
    words = " ".join([value.text for value in invocation.arguments]) if invocation.origin in _CUTTING else ""
    size = _SIZE.search(words)
    if size is not None and len(known) == 1 and known[0].text is not None:
        return Stream(known[0].text[: int(size[1])], known[0].taint)
    brought, lines = _inserted(invocation)
    lines += added
    if not known and not lines and not brought:
        return None
    taint = file_stream(invocation.machine, Path(path)).taint | brought
    kept = [file.text for file in known if file.text is not None]
    return Stream(None, taint | LAID, rest=f"\n{HOLE}\n".join(["", *lines, *kept])[:MAX_TEXT])


def _inserted(invocation: Invocation) -> tuple[Taints, list[str]]:
    """Lines that the code of a call may put into what it changes, and where they came from if not out of the call."""
    taint, lines, uses = CLEAN, list[str](), invocation.reading.uses
    for use in uses:
        texts = _TEXTS.get(use.role)
        if texts is None:
            continue
        taint |= use.value.taint
        lines += texts(use.value.template)
        for act in read_code("sed", use.value.template) if use.role == "code:sed" else ():
            if act.kind is Kind.READ:  # the command `r`
                stream = file_stream(invocation.machine, place_of(invocation.machine, act.value))
                taint |= stream.taint
                lines.append(stream.template or "")
    if invocation.origin in _PATCHING:
        sources = [stream_of(invocation.machine, use, invocation.cwd) for use in uses if use.role == "read"]
        for stream in sources or [invocation.machine.stdin]:
            taint |= stream.taint
            lines += [line for added in added_lines(stream.template or "").values() for line in added]
    if invocation.reading.input == "code:ex":
        stdin = invocation.machine.stdin
        taint |= stdin.taint
        lines += _editor_texts(stdin.template or "")
    return taint & _BROUGHT, [line for line in lines if line.strip()]


def added_lines(patch: str) -> dict[str, list[str]]:
    """What a patch adds to each file that it names; lines that follow each other are one text (diff(1))."""
    found: dict[str, list[str]] = {}
    name, piece = "", list[str]()
    for line in (*patch.split("\n"), ""):
        if line[:1] in ("+", "!") and line[:4] != "+++ ":
            piece.append(line[1:])
            continue
        if piece:
            found.setdefault(name, []).append("\n".join(piece))
            piece = []
        if line[:4] in ("+++ ", "*** ", "diff"):
            name = line[4:].partition("\t")[0].strip() if line[:4] != "diff" else name
    return found


def _of_literals(text: str) -> list[str]:
    """Texts in quotes, and what substitutions put in place of something."""
    quoted = [found[1] or found[2] for found in _LITERALS.finditer(text[:MAX_TEXT])]
    return [*_unescaped(quoted), *_sed_texts(text)]


def _sed_texts(text: str) -> list[str]:
    return _unescaped(sed_texts(text))


def _editor_texts(text: str) -> list[str]:
    """Lines of input, and commands of ed and vi that insert what follows them."""
    lines = [line for piece in text[:MAX_TEXT].split("\n") for line in (piece, *piece.split("|")[1:])]
    return [*[_ADDRESSED.sub("", line.lstrip(" :"), count=1) for line in lines], *_of_literals(text)]


def _unescaped(texts: Sequence[str]) -> list[str]:
    return [_ESCAPED.sub(lambda found: _NAMED.get(found[1], found[1]), text) for text in texts]


_TEXTS: dict[str, Callable[[str], list[str]]] = {
    "code:sed": _sed_texts,
    "code:awk": awk_texts,
    "code:perl": _of_literals,
    "code:ruby": _of_literals,
    "code:vim": _editor_texts,
}


# ------------------------------------------------------------------------------------------------------------ computing
def _computed(invocation: Invocation, scripts: Sequence[Value], text: str | None) -> str | None:
    """The text after plain substitutions; None where a script does anything else."""
    words = [value.text for value in invocation.arguments]
    extended = invocation.origin not in ("sed", "gsed") or not {"-E", "-r", "--regexp-extended"}.isdisjoint(words)
    for script in scripts[:MAX_SCRIPTS]:
        if text is None or "-n" in words or invocation.origin not in _SUBSTITUTING:
            return None
        text = _substituted(script.template, text, extended=extended)
    return text if len(scripts) <= MAX_SCRIPTS else None


_CUTTING = frozenset({"truncate", "gtruncate"})
_SIZE = lazily(r"(?:^| )(?:-s|--size)[ =]?(\d{1,9})(?: |\Z)")
_PATCHING = frozenset({"patch", "gpatch"})
_SUBSTITUTING = frozenset({"sed", "gsed", "perl"})


def _substituted(script: str, text: str, *, extended: bool) -> str | None:
    at, lines = 0, text.split("\n")
    for _ in range(MAX_SCRIPTS):
        found = _SUBSTITUTION.match(script, at)
        if found is None:
            return None
        pattern, by = _pattern(found[3], extended=extended), _replacement(found[4])
        if pattern is None or by is None or ("*" in found[3] and max(map(len, lines)) > MAX_LINE):
            return None
        matcher = re.compile(pattern, re.IGNORECASE if "i" in found[5].lower() else 0)
        count = 0 if "g" in found[5] else 1
        chosen = range(len(lines)) if not found[1] else range(int(found[1]) - 1, min(int(found[1]), len(lines)))
        for number in chosen:
            lines[number] = matcher.sub(lambda _, by=by: by, lines[number], count=count)  # type: ignore[misc]
        at = found.end()
        if not script[at:].strip():
            return "\n".join(lines)
    return None


def _pattern(text: str, *, extended: bool) -> str | None:
    """A pattern of plain characters, `.`, at most two `.*` and anchors, for `re`; None for any other."""
    made: list[str] = []
    for item in _TOKEN.findall(text):
        special = item.strip("\\") in _SPECIAL and extended is (item[0] != "\\")
        if special or item in ("*", "[") or (item[0] == "\\" and item[1:].isalnum()):
            return None
        anchor = item == "$" or (item == "^" and not made)
        made.append(item if anchor or item in (".", ".*") else re.escape(item[-1]))
    return "".join(made) if made and made.count(".*") <= 2 and "$" not in made[:-1] else None


_SPECIAL = frozenset("+?(){}|")


def _replacement(text: str) -> str | None:
    plain = _ESCAPED.sub("", text)
    if not {"&", "$", "@"}.isdisjoint(plain) or re.search(r"\\[^nt\W]", text):
        return None
    return _ESCAPED.sub(lambda found: _NAMED.get(found[1], found[1]), text)
