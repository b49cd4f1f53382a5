"""TeX: the ways out of a document to programs, to Lua and to files (pdfTeX, LuaTeX and TeX Live manuals)."""

from __future__ import annotations

import re

from policyengine.patterns import lazily
from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.values import UNKNOWN, Value

MAX_CODE = 64 * 1024
_GROUP = r"\{((?:[^{}]|\{[^{}]{0,1000}\}){0,2000})\}"
_NAME = r"\s*=?\s*\{?\s*([^\s{}|%\\]{1,200})"
_WAYS: tuple[tuple[Kind, tuple[str, ...], re.Pattern[str]], ...] = (
    (Kind.SHELL, (), lazily(r"\\write18\s*" + _GROUP)),
    (Kind.SHELL, (), lazily(r"\\(?:input|openin\d*\s*=?)\s*\{?\s*\"?\|([^}\n]{1,2000})")),
    (Kind.CODE, ("lua",), lazily(r"\\(?:directlua|latelua|luaexec|luadirect)\s*\d*\s*" + _GROUP)),
    (Kind.READ, (), lazily(r"\\(?:input|include|verbatiminput|lstinputlisting|openin\d*)\b" + _NAME)),
    (Kind.WRITE, (), lazily(r"\\openout\d*" + _NAME)),
)
_COMPUTED = lazily(r"\\csname|\\catcode|\\(?:let|def|edef)\b[^\n]{0,200}write")


def read_tex(text: str) -> list[Act]:
    """What a document does besides being typeset."""
    if len(text) > MAX_CODE:
        return [Act(Kind.OPAQUE, UNKNOWN, ("code too long to be read",))]
    acts = [
        Act(kind, Value(found[1].strip("\"' ")), more, start=found.start(1), end=found.end(1))
        for kind, more, way in _WAYS
        for found in way.finditer(text)
    ]
    computed = _COMPUTED.search(text)
    return acts if computed is None else [*acts, Act(Kind.OPAQUE, UNKNOWN, ("commands are put together",))]
