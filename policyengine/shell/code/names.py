"""Other names of what matters in a language, put back: aliases, members by text, functions named by constant texts."""

from __future__ import annotations

import re

from policyengine.patterns import lazily

MAX_NAMES = 20  # of one text
_MODULES = r"(?:node:)?(?:child_process|fs(?:/promises)?|vm|os|net)"
_MEMBER = lazily(r"\[\s*(['\"])([A-Za-z_]\w*)\1\s*\]")
_TAKEN = lazily(
    rf"\{{([^{{}}]{{0,400}})\}}\s*=\s*(?:await\s+)?(?:require|import)\s*\(\s*['\"]{_MODULES}['\"]"
    rf"|\bimport\s*\{{([^{{}}]{{0,400}})\}}\s*from\s*['\"]{_MODULES}['\"]"
)
_RENAMED = lazily(r"([A-Za-z_$][\w$]*)\s*(?::|\bas\b)\s*([A-Za-z_$][\w$]*)")
_HELD = lazily(
    r"\b(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=\s*"
    rf"(?:require\s*\(\s*['\"]{_MODULES}['\"]\s*\)|\w+)\s*\.\s*([A-Za-z_]\w*)\s*(?:[;,\n]|$)"
)


def javascript(text: str) -> str:
    """`const {exec: e} = require("child_process"); e(…)` as `exec(…)`, `fs["rmSync"](…)` as `fs.rmSync(…)`."""
    plain = _MEMBER.sub(r".\2", text) if "[" in text else text
    names: dict[str, str] = {}
    for found in _TAKEN.finditer(plain):
        names |= {alias: name for name, alias in _RENAMED.findall(found[1] or found[2])}
    names |= {found[1]: found[2] for found in _HELD.finditer(plain)}
    return _called(plain, names)


def _called(text: str, names: dict[str, str]) -> str:
    """The text with other names where these are called."""
    for alias, name in list(names.items())[:MAX_NAMES]:
        text = re.sub(rf"(?<![\w$.]){re.escape(alias)}(?=\s*\()", name, text)
    return text


_TEXTS = r"(?:'[^'\\\n]{0,200}'|\"[^\"\\\n$]{0,200}\")"
_CONSTANT = lazily(rf"(\$\w+)\s*=\s*({_TEXTS}(?:\s*\.\s*{_TEXTS}){{0,8}})\s*;")


def php(text: str) -> str:
    """`$f = "sys" . "tem"; $f(…)` as `system(…)`."""
    if "$" not in text or "(" not in text:
        return text
    names = {}
    for found in _CONSTANT.finditer(text):
        value = "".join([one[1:-1] for one in re.findall(_TEXTS, found[2])])
        if value.isidentifier():
            names[found[1]] = value
    for name, value in list(names.items())[:MAX_NAMES]:
        text = re.sub(rf"{re.escape(name)}(?=\s*\()", value, text)
        text = re.sub(rf"\(\s*{re.escape(name)}\s*,", f"('{value}',", text)
    return text


def lua(text: str) -> str:
    """`[[text]]` as a quoted text, `os["execute"]` as `os.execute`."""
    text = _MEMBER.sub(r".\2", text) if "[" in text else text
    pieces: list[str] = []
    at = 0
    while (start := text.find("[[", at)) >= 0 and (end := text.find("]]", start)) >= 0:
        inner = text[start + 2 : end].replace("\\", "\\\\").replace('"', '\\"')
        pieces += [text[at:start], '"', inner, '"']
        at = end + 2
    return text if not pieces else "".join([*pieces, text[at:]])
