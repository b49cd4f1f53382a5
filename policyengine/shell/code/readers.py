"""Which reader reads which language."""

from __future__ import annotations

from collections.abc import Callable

from policyengine.shell.code.acts import Act
from policyengine.shell.code.databases import read_sql
from policyengine.shell.code.editors import read_keys, read_vim
from policyengine.shell.code.filters import read_awk, read_nothing, read_sed, read_yq
from policyengine.shell.code.languages import READERS
from policyengine.shell.code.makefiles import read_make
from policyengine.shell.code.terminals import read_screen, read_tmux
from policyengine.shell.code.tex import read_tex


def _read_python(text: str) -> list[Act]:
    from policyengine.shell.code.python import read_python  # noqa: PLC0415  `ast` costs a cold start 10 ms

    return read_python(text)


def _read_pdb(text: str) -> list[Act]:
    """The debugger's commands: statements behind `!`, and lines that are none of its own commands."""
    acts: list[Act] = []
    for line in text.replace(";;", "\n").splitlines():
        found = _read_python(line.strip().removeprefix("!").strip())
        acts += [act._replace(start=0, end=0) for act in found if not act.kind.opaque or act.value.text]
    return acts


ALL: dict[str, Callable[[str], list[Act]]] = {
    "python": _read_python,
    "pdb": _read_pdb,
    "awk": read_awk,
    "sed": read_sed,
    "sql": read_sql,
    "make": read_make,
    "tex": read_tex,
    "jq": read_nothing,
    "yq": read_yq,
    "tmux": read_tmux,
    "screen": read_screen,
    "vim": read_vim,
    "ex": read_vim,
    "vim-keys": read_keys,
    **READERS,
}
