"""Code that no reader understands: what stands in it as texts is tried as commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from policyengine.patterns import lazily
from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.code.calls import ARRIVED, unescaped
from policyengine.shell.code.plain import is_plain
from policyengine.shell.values import Value

MAX_CODE = 64 * 1024
MAX_TRIED = 40  # texts of one piece of code
MAX_WORDS = 12  # literals that stand side by side

# Texts in quotes, in backticks, and what stands between Lua's and Scala's longer ones.
_LITERAL = lazily(
    r"\"{3}(?P<long>[^\x00]{0,2000}?)\"{3}|\[\[(?P<lua>[^\]]{0,2000})\]\]"
    r"|\"(?P<double>(?:[^\"\\\n]|\\.){0,2000})\"|`(?P<back>[^`\n]{0,2000})`"
    r"|(?<!\w)'(?P<single>(?:[^'\\\n]|\\.){0,2000})'"
)
_BESIDE = lazily(r"[\s,;\[\]()]{0,20}(?:(?:list|args|vec!)[\s:\[(]{0,4})?")
# Where languages and tools put commands without quotes: `!CMD` (lftp, dc, ghci), `%(CMD)` (rpm), `\write18{CMD}`,
# `syscmd(CMD)` (m4), `%pipe%CMD` (Ghostscript), `qx{CMD}`, `#!CMD`.
_BARE = lazily(
    r"(?:^|[\n;:])[ \t]*!(?P<line>[^\n]{1,2000})|%\((?P<macro>[^()\n]{1,2000})\)|\\write18\s*\{(?P<tex>[^{}]{1,2000})\}"
    r"|syscmd\((?P<m4>[^()]{1,2000})\)|%pipe%(?P<pipe>[^\n]{1,2000})|\bqq?x\s*[{(\[/](?P<quoted>[^})\]/]{1,2000})"
)
_CONNECTS = lazily(r"tcp|socket|connect", re.IGNORECASE)
_STARTS = lazily(r"process|popen|spawn|\b(?:exec|system|shell|cmd)", re.IGNORECASE)
_PEER = lazily(r"[\"'](?!127\.)(\d{1,3}(?:\.\d{1,3}){3})[\"'][\s,]{1,9}[\"']?(\d{1,5})\b")
# PowerShell's cradles (ATT&CK T1059.001): what is downloaded is evaluated.
_INVOKES = lazily(r"\b(?:iex|invoke-expression)\b|\.invoke\(", re.IGNORECASE)
_DOWNLOADS = lazily(r"\b(?:iwr|irm|invoke-(?:webrequest|restmethod))\b|\.download(?:string|data|file)\b", re.IGNORECASE)
_SHELLS = frozenset({"fish", "csh", "nu", "xonsh", "osh", "elvish", "powershell", "rc"})


def unread(text: str, language: str) -> list[Act]:
    """Code in a language that has no reader."""
    if is_plain(language, text):
        return []
    acts = [Act(Kind.OPAQUE, Value(text), (f"code in `{language}` is not read",), end=len(text))]
    peer = _PEER.search(text) if _CONNECTS.search(text) and _STARTS.search(text) else None
    if peer is not None:  # programs are started, and a connection to a number is made: few do both in one line
        acts.append(Act(Kind.DRIVEN, Value(peer[1]), (peer[2],), start=peer.start(), end=peer.end()))
    if language == "powershell" and _INVOKES.search(text) and _DOWNLOADS.search(text):
        acts.append(Act(Kind.CODE, ARRIVED, (language,)))
    return acts


def tried(text: str, language: str = "") -> list[Act]:
    """What code would do if its texts, and those side by side as words, were commands."""
    if len(text) > MAX_CODE:
        return []
    acts = [
        Act(Kind.TRIED, Value(bare[bare.lastgroup or 0].replace("\\n", "\n")), start=bare.start(), end=bare.end())
        for bare in _BARE.finditer(text)
    ]
    if language in _SHELLS:
        acts.append(Act(Kind.TRIED, Value(text), end=len(text)))
    for row in _rows(text):
        values = [unescaped(found[found.lastgroup or 0]) for found in row]
        acts += [
            Act(Kind.TRIED, value, start=found.start(), end=found.end())
            for value, found in zip(values, row, strict=True)
            if " " in value.text.strip()
        ]
        if len(row) > 1 and values[0].text:
            acts.append(Act(Kind.TRIED, words=tuple(values[:MAX_WORDS]), start=row[0].start(), end=row[-1].end()))
    return acts[:MAX_TRIED]


def _rows(text: str) -> Iterator[Sequence[re.Match[str]]]:
    """Literals, those together between which stands nothing but commas and brackets."""
    row: list[re.Match[str]] = []
    for found in _LITERAL.finditer(text):
        if row and not _BESIDE.fullmatch(text, row[-1].end(), found.start()):
            yield row
            row = []
        row.append(found)
    if row:
        yield row
