"""Calls in the expressions of editors that matter wherever they stand."""

from __future__ import annotations

import re

from policyengine.patterns import lazily
from policyengine.shell.code.acts import Kind
from policyengine.shell.code.calls import Language, Rule, reader

_HOMES = lazily(r"\$HOME\b(?=\s*[,.)])|\bexpand\s*\(\s*[\"'](?:~|\$HOME)(/[^\"']*)?[\"']\s*\)")
_LIST = lazily(r"\bwritefile\s*\(\s*\[((?:\s*(?:\"(?:[^\"\\\n]|\\.)*+\"|'[^'\n]*')\s*,?)*+)\s*\]")
_ITEM = lazily(r"\"((?:[^\"\\\n]|\\.)*+)\"|'([^'\n]*)'")


def _plainly(text: str) -> str:
    """Home directories as such, and a list of lines as one text."""
    plain = _HOMES.sub(lambda found: f'"~{found[1] or ""}"', text)
    return _LIST.sub(_as_text, plain)


def _as_text(found: re.Match[str]) -> str:
    return 'writefile("' + "\\n".join([one[1] or one[2] or "" for one in _ITEM.finditer(found[1])]) + '"'


# Calls that matter wherever an expression stands (builtin.txt, channel.txt; Neovim's job_control.txt, lua.txt).
read_calls = reader(
    Language(
        {
            r"\b(?:system|systemlist|term_start|termopen|jobstart|job_start|popen)\s*\(": Rule(Kind.COMMAND),
            r"\bvim\.system\s*\(\s*\{?": Rule(Kind.COMMAND),
            r"\bos\.(?:system|execute|popen)\s*\(": Rule(Kind.SHELL),
            r"\bdelete\s*\((?=[^()\n]{0,400}(?:\([^()\n]*\)[^()\n]*)?,\s*['\"]\w*r)": Rule(Kind.DELETE_TREE),
            r"(?<![\w:.])(?:vim\.fn\.)?delete\s*\(": Rule(Kind.DELETE),
            r"\bwritefile\s*\(": Rule(Kind.WRITE, at=1, content=0),
            r"\b(?:readfile|readblob)\s*\(": Rule(Kind.READ),
            r"(?<![\w.])rename\s*\(": Rule(Kind.WRITE, at=1, source=0, gone=True),
            r"\bfilecopy\s*\(": Rule(Kind.WRITE, at=1, source=0),
            r"\b(?:execute|vim\.cmd|vim\.command|nvim_command|nvim_exec2?)\s*\(": Rule(Kind.CODE, ("vim",)),
            r"\bfeedkeys\s*\(": Rule(Kind.CODE, ("vim-keys",)),
            r"\b(?:py3?eval|pyxeval)\s*\(": Rule(Kind.CODE, ("python",)),
            r"\bluaeval\s*\(": Rule(Kind.CODE, ("lua",)),
            r"\brubyeval\s*\(": Rule(Kind.CODE, ("ruby",)),
            r"\bperleval\s*\(": Rule(Kind.CODE, ("perl",)),
            r"\b(?:libcall|libcallnr)\s*\(": Rule(Kind.OPAQUE, ("code of a library is called",)),
            r"\b(?:ch_open|sockconnect)\s*\((?:\s*['\"]tcp['\"]\s*,)?": Rule(Kind.CONNECT),
        },
        interpolating="",
        plainly=_plainly,
    )
)
