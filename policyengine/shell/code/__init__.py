"""Reading code in languages other than the shell: Python by its own syntax tree, others by the calls that matter."""

from __future__ import annotations

from collections.abc import Callable

from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.code.filters import read_awk, read_nothing, read_sed, read_sql
from policyengine.shell.code.languages import READERS
from policyengine.shell.code.makefiles import read_make
from policyengine.shell.values import Value

__all__ = ["Act", "Kind", "read_code"]


def _read_python(text: str) -> list[Act]:
    from policyengine.shell.code.python import read_python  # noqa: PLC0415  `ast` costs a cold start 10 ms

    return read_python(text)


_READERS: dict[str, Callable[[str], list[Act]]] = {
    "python": _read_python,
    "awk": read_awk,
    "sed": read_sed,
    "sql": read_sql,
    "make": read_make,
    "jq": read_nothing,
    "yq": read_nothing,
    **READERS,
}


def read_code(language: str, text: str) -> list[Act]:
    """What the code does, as far as its text goes."""
    reader = _READERS.get(language)
    if reader is None:
        return [Act(Kind.OPAQUE, Value(text), (f"code in `{language}` is not read",), end=len(text))]
    return reader(text) if text.strip() else []
